"""Annotations of a report: instants in milliseconds, what has no date stays out, what is not sure says so."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from incidents.content.grafana import Links, annotations_of
from incidents.models.words.note import Note
from tests.incidents.conftest import make_user
from tests.incidents.pages import reports
from tests.incidents.pages.room.test_lead import observation

CLOCK: dict[str, Any] = {
    "clock": "1.1:1",
    "artifact": 1,
    "part": 1,
    "kind": "wall-utc",
    "base": "2016-04-14T05:58:00+00:00",
    "zone": None,
    "host": "db1",
    "t_begin": 0.0,
    "t_end": 60.0,
    "frame": "A",
    "add": 0.0,
    "err": 0.0,
}
#: Seconds of a trace that was tied to the clock above.
TIED = CLOCK | {"clock": "2.1:1", "artifact": 2, "kind": "trace-relative", "base": None, "add": 0.5}
ZERO_MS = int(datetime(2016, 4, 14, 5, 58, tzinfo=UTC).timestamp() * 1000)
LINKS = Links("https://exhibit.example.com", "logins-abcdefgh")


def report(**clock: Any) -> reports.Json:
    made = reports.report() | {"clocks": [CLOCK | clock, TIED]}
    made["findings"][0] |= {"title": "Attach of shared memory", "t_from": 9.3187, "t_to": 11.7921}
    when = {"clock": "2.1:1", "t_from": 20.0, "t_to": 20.0}
    made["observations"] = [
        observation(1, **when),
        observation(2, **when),  # stands for no mechanism
        observation(3, **when, mechanism="resolver-timeout", idle=True),
        observation(4, **when, mechanism="resolver-timeout", normal=True),
        observation(5, mechanism="resolver-timeout", clock="1.1:1", t_from=None, t_to=None),
    ]
    return made


def test_a_finding_has_its_instants_its_lines_and_its_address():
    finding, _ = annotations_of(report(), [], LINKS)
    assert (finding["time"], finding["timeEnd"]) == (ZERO_MS + 9318, ZERO_MS + 11792)
    assert finding["title"] == "Finding: Attach of shared memory"
    headline, cited, address = finding["text"].split("\n")
    assert headline == "Server process 3731 waited up to 2.473 s to attach a DISM segment"
    assert cited == "truss-listener.txt:7-11; pmap-smon.txt:4-5"
    assert address == "https://exhibit.example.com/rooms/logins-abcdefgh/#clock=1.1%3A1&from=9.3187&to=11.7921"
    assert finding["tags"] == ["exhibit", "finding", "cause", "critical", "SHM-001", "operating system", "db1"]


def test_only_an_observation_that_leads_somewhere_comes():
    _, one = annotations_of(report(), [], LINKS)
    assert (one["title"], one["tags"][1]) == ("Observation: a wait", "observation")
    assert one["time"] == one["timeEnd"] == ZERO_MS + 20_500


@pytest.mark.parametrize(
    ("begin", "end", "many"),
    [
        (None, None, 2),
        (11_792, 20_500, 2),
        (11_793, 20_499, 0),
        (None, 9317, 0),
        (20_501, None, 0),
        (10_000, 11_000, 1),
    ],
)
def test_what_overlaps_the_window_comes(begin: int | None, end: int | None, many: int):
    window = [None if at is None else ZERO_MS + at for at in (begin, end)]
    assert len(annotations_of(report(), [], LINKS, *window)) == many


def test_a_clock_without_a_zone_says_so_and_one_without_a_date_is_silent():
    finding, _ = annotations_of(report(kind="wall-local", base="2016-04-14T05:58:00"), [], LINKS)
    assert finding["time"] == ZERO_MS + 9318
    assert "(the time zone is not known: times are taken as UTC)" in finding["text"]
    assert finding["tags"][-1] == "time zone unknown"
    assert annotations_of(report(kind="trace-relative", base=None), [], LINKS) == []
    assert annotations_of({**report(), "clocks": []}, [], LINKS) == []
    assert annotations_of(report(base="9999-12-31T23:59:59+00:00"), [], LINKS) == []


def test_without_links_no_text_has_an_address():
    assert not any("http" in one["text"] or "#clock" in one["text"] for one in annotations_of(report(), [], None))


@pytest.mark.django_db
def test_notes_lie_on_their_own_time_or_on_that_of_their_finding():
    nils = make_user("nils")
    notes = [
        Note(text="here\u202e it is", author=nils, clock="1.1:1", t_from=1.0, t_to=2.0),
        Note(text="agreed", author=nils, finding_key=reports.CAUSE_KEY, program="the model"),
        Note(text="no time there", author=nils, finding_key=reports.CLEAR_KEY),
        Note(text="no such finding", author=nils, finding_key="0" * 16),
        Note(text="no such clock", author=nils, clock="9.9:9", t_from=1.0, t_to=2.0),
    ]
    found = [one for one in annotations_of(report(), notes, LINKS) if "note" in one["tags"]]
    assert [one["title"] for one in found] == ["Note of nils", "Note of the model, a program of nils"]
    assert found[0]["text"].startswith("here⟨U+202E⟩ it is\n")
    assert (found[0]["time"], found[1]["time"]) == (ZERO_MS + 1000, ZERO_MS + 9318)
