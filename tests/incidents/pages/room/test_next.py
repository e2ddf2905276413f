"""Do next: at most three steps, each requested with one press, taken back with another, and nothing else is wished for."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.urls import reverse

from incidents.access import Room
from tests.incidents.conftest import make_artifact, make_member, make_room
from tests.incidents.pages import reports
from tests.incidents.pages.conftest import add_report, client_of

HTMX = {"HX-Request": "true"}


def report(asks: int = 4) -> reports.Json:
    made = reports.report()
    made["asks"] = [
        {"ask": f"{tool} 5 12", "who": "system administrator", "host": "db1", "os": "linux", "decides": ["CPU-001"], "cost": "60 s", "why": "load"}
        for tool in ("vmstat", "mpstat", "sar", "iostat")[:asks]
    ]  # fmt: skip
    return made


@pytest.fixture
def room(db: None) -> Room:
    made = make_room()
    make_artifact(made, b"a line\n", "truss-listener.txt")
    add_report(made, report())
    return made


def shown(room: Room) -> str:
    page = client_of(room).get(reverse("room", args=[room.incident.slug])).content.decode()
    found = re.search(r'<section class="next".*?</section>', page, re.S)
    assert found
    return found[0]


def press(room: Room, ask: str, htmx: bool = True, **more: Any) -> Any:
    headers = HTMX if htmx else {}
    return client_of(room).post(reverse("ask-next", args=[room.incident.slug]), {"ask": ask, **more}, headers=headers)


def first_ask(part: str) -> str:
    found = re.search(r'name="ask" value="([0-9a-f]{16})"', part)
    assert found
    return found[1]


def test_a_cause_has_its_remedy_first_and_three_steps_in_all(room: Room) -> None:
    part = shown(room)
    assert len(re.findall("<li>", part)) == 3
    assert "remedy · system administrator · db1" in part, "who does it"
    assert f"{reverse('action-new', args=[room.incident.slug])}?finding={reports.CAUSE_KEY}" in part
    assert part.count(">Request</button>") == 2
    assert "system administrator · db1 · 60\u00a0s" in part
    words = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", part))
    assert "2 rules had nothing to look at" in words


def test_what_is_missing_is_wished_for_nowhere_else(room: Room) -> None:
    page = client_of(room).get(reverse("room", args=[room.incident.slug])).content.decode()
    rest = re.sub(r'<section class="next".*?</section>', "", page, flags=re.S).split('id="drawer"')[0]
    assert "Would settle" not in rest
    assert not re.search(r"""(href|action|hx-\w+)="[^"]*requests/new""", rest)


def test_one_press_requests_it_and_another_takes_it_back(room: Room) -> None:
    ask = first_ask(shown(room))
    part = press(room, ask).content.decode()
    assert "<html" not in part
    assert "asked" in part
    row = room.incident.requests.get()
    assert (row.ask_id, row.command, row.host, row.asked_by) == (ask, "vmstat 5 12", "db1", room.user)
    press(room, ask)
    assert room.incident.requests.count() == 1, "who presses twice asks once"
    part = press(room, ask, undo="1").content.decode()
    row.refresh_from_db()
    assert row.state == "withdrawn"
    assert first_ask(part) == ask, "it can be requested again"


def test_without_htmx_the_room_is_shown_again(room: Room) -> None:
    answer = press(room, first_ask(shown(room)), htmx=False)
    assert (answer.status_code, answer["Location"]) == (302, reverse("room", args=[room.incident.slug]))
    assert "asked" in shown(room)


def test_what_the_report_does_not_ask_for_is_refused(room: Room) -> None:
    assert press(room, "0" * 16).status_code == 409
    assert not room.incident.requests.exists()


def test_a_viewer_reads_the_steps_without_buttons(room: Room) -> None:
    viewer = make_member(room.incident, "viewer")
    part = shown(viewer)
    assert "<button" not in part
    assert press(viewer, first_ask(shown(room))).status_code == 403


def test_without_an_ask_it_says_so(room: Room) -> None:
    made = report(0)
    made["verdict"]["state"] = "suspect"
    add_report(room, made)
    assert "Nothing is missing that would tell more." in shown(room)
