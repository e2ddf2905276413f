"""Parts made once for all who have the same rights."""

from __future__ import annotations

import json
import re
import threading
import time

import pytest
from django.db import connection
from django.template.loader import render_to_string
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from incidents.actions import findings as disputes
from incidents.pages import part_cache
from incidents.pages.part_cache import Shelf
from incidents.pages.timeline import views as timeline
from tests.incidents.conftest import make_user
from tests.incidents.pages.conftest import client_of

HTMX = {"HX-Request": "true"}


@pytest.fixture(autouse=True)
def _empty_shelf():
    part_cache.SHELF.clear()


def fetch(room, name="findings", **query):
    answer = client_of(room).get(reverse(name, args=[room.incident.slug]), query, headers=HTMX)
    assert answer.status_code == 200
    return answer.content.decode()


def renders(monkeypatch):
    made = []

    def render(template, context, request):
        made.append(template)
        return render_to_string(template, context, request)

    monkeypatch.setattr(part_cache, "render_to_string", render)
    return made


def test_a_part_is_rendered_once_for_all_with_the_same_rights(judged, monkeypatch):
    made = renders(monkeypatch)
    first = fetch(judged.investigator)
    assert fetch(judged.investigator) == first
    assert len(made) == 1
    fetch(judged.viewer)
    assert len(made) == 2, "other rights, other buttons"
    fetch(judged.investigator, selected="0" * 16)
    assert len(made) == 3


def test_what_happens_in_the_room_makes_it_anew(judged, monkeypatch):
    made = renders(monkeypatch)
    before = fetch(judged.viewer)
    key = judged.lead.incident.findings.filter(gone_since__isnull=True).first().key
    disputes.dispute(judged.investigator, key, "The clock of that host was set.")
    after = fetch(judged.viewer)
    assert len(made) == 2
    assert after != before


def test_a_stranger_is_refused_before_the_shelf_is_looked_at(judged):
    fetch(judged.viewer)
    stranger = Client()
    stranger.force_login(make_user())
    assert stranger.get(reverse("findings", args=[judged.slug]), headers=HTMX).status_code == 404


def test_each_reader_has_a_token_of_their_own(judged, monkeypatch):
    monkeypatch.setattr(
        part_cache, "render_to_string", lambda template, context, request: f"<i>{context['csrf_token']}</i>"
    )
    one, two = fetch(judged.investigator), fetch(judged.lead)
    assert re.fullmatch(r"<i>\w{64}</i>", one)
    assert re.fullmatch(r"<i>\w{64}</i>", two)
    assert part_cache.TOKEN not in one + two
    assert one != two


def test_frames_are_drawn_once_and_lanes_stay_private(judged, monkeypatch):
    drawn = []
    draw = timeline.frames_drawn

    def watched(*args):
        drawn.append(1)
        return draw(*args)

    monkeypatch.setattr(timeline, "frames_drawn", watched)
    client = client_of(judged.lead)
    address = reverse("timeline-data", args=[judged.slug])
    first = client.get(address).json()
    with CaptureQueriesContext(connection) as caught:
        assert client.get(address).json() == first
    assert len(drawn) == 1
    assert len(caught) <= 6
    kept = client.post(reverse("timeline-keep", args=[judged.slug]), {"lanes": json.dumps({"A": {"hide": ["x"]}})})
    assert kept.json() == {"kept": True}
    assert client.get(address).json()["layouts"]["mine"] == {"A": {"hide": ["x"]}}
    assert "layouts" not in client_of(judged.viewer).get(address).json()


def test_a_text_is_made_by_one_while_others_wait():
    shelf, made, begin = Shelf(), [], threading.Barrier(4)

    def make():
        made.append(1)
        time.sleep(0.2)
        return "text"

    def want():
        begin.wait()
        assert shelf.get(("k",), make) == "text"

    threads = [threading.Thread(target=want) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == [1]


def test_texts_age_and_the_oldest_go():
    shelf = Shelf(most_bytes=10, kept_s=60)
    assert shelf.get(("a",), lambda: "aaaaaa") == "aaaaaa"
    assert shelf.get(("b",), lambda: "bbbbbb") == "bbbbbb"
    assert shelf.get(("a",), lambda: "anew") == "anew", "there was no room for both"
    assert Shelf(kept_s=0).get(("a",), lambda: "1") == "1"
    short = Shelf(kept_s=0)
    short.get(("a",), lambda: "old")
    assert short.get(("a",), lambda: "new") == "new"


def test_what_fails_is_tried_again():
    shelf = Shelf()
    with pytest.raises(ZeroDivisionError):
        shelf.get(("a",), lambda: str(1 / 0))
    assert shelf.get(("a",), lambda: "now") == "now"


def test_what_took_long_to_make_is_kept_longer(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("incidents.pages.part_cache.time.monotonic", lambda: now[0])

    def dear():
        now[0] += 4.0
        return "dear"

    shelf = Shelf(kept_s=20)
    shelf.get(("dear",), dear)
    shelf.get(("cheap",), lambda: "cheap")
    now[0] += 60
    assert shelf.get(("dear",), lambda: "anew") == "dear"
    assert shelf.get(("cheap",), lambda: "anew") == "anew"
    now[0] += 30
    assert shelf.get(("dear",), lambda: "anew") == "anew"
