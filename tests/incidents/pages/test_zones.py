"""Tests that forms read times in the zone that they show, and ask about ambiguous times instead of guessing."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from incidents.access import Room
from incidents.models.judging.case import Host, Marker
from incidents.models.plan.action import Action
from incidents.models.room.standing import Milestone
from tests.incidents.conftest import make_room
from tests.incidents.pages.conftest import client_of
from tests.incidents.pages.pages import unbroken

WARSAW, NEW_YORK = "Europe/Warsaw", "America/New_York"
STARTED = datetime(2016, 4, 14, 5, 58, tzinfo=UTC)
FIELDS = ("started", "detected", "mitigated", "resolved", "next_update_at", "next_update_by")


@pytest.fixture
def room(db: None) -> Room:
    return make_room()


@pytest.fixture
def reader(room: Room) -> Client:
    """Return a client with a browser's zone of Warsaw."""
    client = client_of(room)
    client.cookies["zone"] = WARSAW
    return client


def address(room: Room) -> str:
    return reverse("status", args=[room.incident.slug])


def status(room: Room) -> dict[str, datetime]:
    return dict(Milestone.objects.filter(incident=room.incident).values_list("kind", "at"))


def sent(page: str, **changed: str) -> dict[str, str]:
    """Return what a browser sends when it saves the page's form, with some values changed."""
    inputs = re.findall(r'<input type="(?:datetime-local|hidden)" name="([a-z_-]+)"(?: value="([^"]*)")?', page)
    found = {name: value for name, value in inputs if name.removeprefix("initial-") in {*FIELDS, "zone"}}
    assert found["zone"]
    return found | changed


def test_a_form_shows_and_takes_times_in_the_browsers_zone(room: Room, reader: Client) -> None:
    page = reader.get(address(room)).content.decode()
    assert "Started (Europe/Warsaw)" in page
    assert "<b>Europe/Warsaw</b>, your browser’s zone" in page
    assert reader.post(address(room), sent(page, started="2016-04-14T07:58")).status_code == 302
    assert status(room) == {"started": STARTED}
    page = reader.get(address(room)).content.decode()
    assert 'name="started" value="2016-04-14T07:58:00"' in page
    assert 'name="initial-started" value="2016-04-14T07:58:00+02:00"' in page


def test_without_scripts_and_from_a_script_times_are_utc(room: Room, reader: Client) -> None:
    page = client_of(room).get(address(room)).content.decode()
    assert "Started (UTC)" in page
    # The cookie stands in the browser, but this form does not say in which zone it was made.
    assert reader.post(address(room), {"started": "2016-04-14T05:58"}).status_code == 302
    assert status(room) == {"started": STARTED}


def test_what_is_sent_is_read_in_the_zone_it_was_shown_in(room: Room, reader: Client) -> None:
    reader.post(address(room), {"started": "2016-04-14T05:58"})
    page = reader.get(address(room)).content.decode()
    reader.cookies["zone"] = "Asia/Tokyo"  # the reader travels on between two looks
    assert reader.post(address(room), sent(page, detected="2016-04-14T08:00")).status_code == 302
    assert status(room) == {"started": STARTED, "detected": datetime(2016, 4, 14, 6, 0, tzinfo=UTC)}


def test_another_zone_may_be_chosen_and_moves_nothing(room: Room, reader: Client) -> None:
    Host.objects.create(incident=room.incident, name="db1", tz=NEW_YORK)
    reader.post(address(room), {"started": "2016-04-14T05:58"})
    page = unbroken(reader.get(address(room)))
    assert '<a href="?zone=UTC">UTC</a>' in page
    assert f'<a href="?zone={NEW_YORK}">{NEW_YORK}</a> (db1)' in page
    page = unbroken(reader.get(address(room), {"zone": NEW_YORK}))
    assert 'name="started" value="2016-04-14T01:58:00"' in page
    assert f'<a href="?zone={WARSAW}">{WARSAW}</a> (your browser)' in page
    assert reader.post(address(room), sent(page)).status_code == 302
    assert status(room) == {"started": STARTED}
    assert room.incident.activity.filter(verb="set status").count() == 1, "saved as it was, nothing was set"


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("2016-10-30T02:30", "came twice, at 2016-10-30 00:30 and 01:30 UTC"),
        ("2016-03-27T02:30", "this time was left out"),
        ("0001-01-01T00:00", "Is the year right?"),
        ("yesterday", "Enter a valid date/time"),
    ],
)
def test_a_time_that_the_zone_cannot_tell_is_refused(room: Room, reader: Client, typed: str, words: str) -> None:
    page = reader.get(address(room)).content.decode()
    answer = reader.post(address(room), sent(page, started=typed))
    assert answer.status_code == 422
    assert words in answer.content.decode()
    assert status(room) == {}


def test_what_stands_in_an_hour_that_came_twice_is_kept_apart(room: Room, reader: Client) -> None:
    """Check that the hidden value of a shown time has its UTC offset: the later 02:30 is not the earlier one."""
    for hour in (0, 1):
        at = datetime(2016, 10, 30, hour, 30, tzinfo=UTC)
        client_of(room).post(address(room), {"started": f"{at:%Y-%m-%dT%H:%M:%S}"})
        page = reader.get(address(room)).content.decode()
        assert f'name="initial-started" value="2016-10-30T02:30:00+0{2 - hour}:00"' in page
        assert reader.post(address(room), sent(page)).status_code == 422
        in_utc = reader.get(address(room), {"zone": "UTC"}).content.decode()
        assert reader.post(address(room), sent(in_utc)).status_code == 302
        assert status(room) == {"started": at}


@pytest.mark.parametrize("name", ["Mars/Olympus", "localtime", "../../etc/passwd", "europe/warsaw", ""])
def test_a_name_of_no_zone_is_refused_and_a_cookie_of_none_is_utc(room: Room, reader: Client, name: str) -> None:
    assert reader.get(address(room), {"zone": name}).status_code == 400
    assert reader.post(address(room), {"zone": name, "started": "2016-04-14T05:58"}).status_code == 400
    assert status(room) == {}
    reader.cookies["zone"] = name
    assert "Started (UTC)" in reader.get(address(room)).content.decode()


def test_two_writers_in_two_zones_see_the_same_instant(room: Room, reader: Client) -> None:
    page = reader.get(address(room)).content.decode()
    client_of(room).post(address(room), {"started": "2016-04-14T05:58"})
    answer = reader.post(address(room), sent(page, started="2016-04-14T09:00"))
    words = answer.content.decode()
    assert answer.status_code == 409
    assert "changed it meanwhile to: 2016-04-14 05:58:00 UTC" in words
    assert 'name="initial-started" value="2016-04-14T05:58:00+00:00"' in words
    assert reader.post(address(room), sent(words, started="2016-04-14T09:00")).status_code == 302
    assert status(room) == {"started": datetime(2016, 4, 14, 7, 0, tzinfo=UTC)}


def test_every_form_with_a_moment_says_its_zone(room: Room, reader: Client) -> None:
    slug = room.incident.slug
    action = Action.objects.create(incident=room.incident, text="Restart", author=room.user)
    pages: dict[str, list[Any]] = {
        "status": [slug], "case": [slug], "decision-new": [slug], "action-new": [slug], "request-new": [slug],
        "room-new": [], "action-done": [slug, action.pk],
    }  # fmt: skip
    for name, args in pages.items():
        page = reader.get(reverse(name, args=args)).content.decode()
        moments = page.count('type="datetime-local"')
        assert moments > 0, name
        assert page.count(f"({WARSAW})</label>") == moments, name
        assert page.count(f'name="zone" value="{WARSAW}"') == moments, name
        assert f"<b>{WARSAW}</b>" in page, name


@pytest.mark.parametrize("zone", ["Mars", "localtime", "../../etc/passwd", "europe/warsaw"])
def test_a_host_in_no_known_zone_is_refused_in_words(reader: Client, zone: str) -> None:
    said = {
        "title": "Slow",
        "hosts-TOTAL_FORMS": 1,
        "hosts-INITIAL_FORMS": 0,
        "hosts-0-name": "db1",
        "hosts-0-tz": zone,
    }
    answer = reader.post(reverse("room-new"), said)
    assert answer.status_code == 422
    assert "Not a time zone" in answer.content.decode()
    assert not Host.objects.exists()


def test_markers_of_the_case_and_deeds_are_kept_in_utc(room: Room, reader: Client) -> None:
    slug = room.incident.slug
    rows = {f"{name}-{field}": n for name in ("hosts", "phases", "statements", "names") for field, n in (("TOTAL_FORMS", 0), ("INITIAL_FORMS", 0))}  # fmt: skip
    case: dict[str, Any] = rows | {
        "form": "case", "title": "Slow", "zone": WARSAW, "since": "2016-04-14T07:00", "markers-TOTAL_FORMS": 1,
        "markers-INITIAL_FORMS": 0, "markers-0-label": "sga_target", "markers-0-kind": "change", "markers-0-at": "2016-04-14T07:58",
    }  # fmt: skip
    assert reader.post(reverse("case", args=[slug]), case).status_code == 302
    assert Marker.objects.get().at == STARTED
    room.incident.refresh_from_db()
    assert room.incident.since == datetime(2016, 4, 14, 5, 0, tzinfo=UTC)
    action = Action.objects.create(incident=room.incident, text="Restart", author=room.user)
    done = {"at": "2016-04-14T09:30", "zone": NEW_YORK, "changed": "restart"}
    assert reader.post(reverse("action-done", args=[slug, action.pk]), done).status_code == 302
    action.refresh_from_db()
    assert action.done_at == datetime(2016, 4, 14, 13, 30, tzinfo=UTC)
