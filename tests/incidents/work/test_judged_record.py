"""Tests that the activity has one row on what a judgement changed, without any text of the evidence."""

from __future__ import annotations

from typing import Any

import pytest

from incidents.access import Room
from incidents.actions import rooms
from incidents.content.report import Outlook, changes
from incidents.models.room.activity import Activity
from tests.incidents.conftest import make_artifact, make_room
from tests.incidents.pages import reports
from tests.incidents.pages.conftest import add_report
from tests.incidents.pages.room import test_lead

pytestmark = pytest.mark.django_db


@pytest.fixture
def room() -> Room:
    made = make_room()
    make_artifact(made, b"one\ntwo\n", "truss-listener.txt")
    return made


def seen(rank: int, /, **more: Any) -> reports.Json:
    return {**test_lead.observation(rank), "key": f"{rank:016x}", **more}


def report(*observations: reports.Json, state: str = "cannot tell") -> reports.Json:
    made = test_lead.report()
    if state != "lead":
        made["verdict"] = {"state": state, "rules": [], "support": "none", "sentence": "Nobody knows.", "missing": []}
    return {**made, "observations": list(observations)}


def rows(room: Room) -> list[tuple[str, str, dict[str, Any]]]:
    found = Activity.objects.filter(incident=room.incident, verb="judged").order_by("seq")
    return [(row.actor_name, row.object, row.detail) for row in found]


def test_each_judgement_has_one_row_that_says_what_is_new(room: Room) -> None:
    add_report(room, report(seen(1)))
    add_report(room, report(seen(1), seen(2), seen(3, observer="timer-steps"), state="lead"))
    assert rows(room) == [
        ("Exhibit", "evaluation 1", {"verdict": "cannot tell", "newly stands out": "long-waits"}),
        (
            "Exhibit",
            "evaluation 2",
            {"verdict": "cannot tell → lead, name service", "newly stands out": "long-waits, timer-steps"},
        ),
    ]
    assert Activity.objects.first_broken(room.incident.pk) is None


def test_the_row_quotes_no_evidence(room: Room) -> None:
    add_report(room, report(seen(1, headline="A secret word", subject="secret"), state="lead"))
    add_report(room, reports.report())
    assert "secret" not in str(rows(room))
    assert all(finding["headline"] not in str(rows(room)) for finding in reports.report()["findings"])


def test_findings_are_named_by_their_rules(room: Room) -> None:
    found = reports.report()
    add_report(room, found)
    ((_, _, first),) = rows(room)
    assert first["verdict"] == "cause, operating system"
    assert "SHM-001" in first["newly found"]
    add_report(room, {**found, "findings": [f for f in found["findings"] if f["rule"] != "SHM-001"]})
    assert rows(room)[1][2] == {"no longer found": "SHM-001"}


def test_a_judgement_that_changed_only_words_has_no_row(room: Room) -> None:
    add_report(room, report(seen(1), seen(2)))
    add_report(room, report(seen(2, rank=1, headline="The same, said otherwise"), seen(1, rank=2)))
    add_report(room, report(seen(1)))  # what no longer stands out is no news
    assert len(rows(room)) == 1


def test_idle_ones_those_within_bounds_and_those_folded_are_no_news(room: Room) -> None:
    add_report(room, report())
    many = [seen(n) for n in range(1, 8)]
    add_report(room, report(*many, seen(8, observer="folded"), seen(9, observer="idle", idle=True)))
    assert rows(room)[1][2] == {"newly stands out": "long-waits (7)"}
    add_report(room, report(*many[:3], seen(10, observer="bounds", normal=True)))
    assert len(rows(room)) == 2


def test_a_judgement_of_a_closed_room_is_recorded_when_a_lead_takes_it_over(room: Room) -> None:
    add_report(room, report(seen(1)))
    rooms.set_status(room, "closed")
    room.incident.refresh_from_db()
    add_report(room, report(seen(1), seen(2), state="lead"))
    assert len(rows(room)) == 1
    rooms.accept_evaluation(room)
    assert rows(room)[1][1:] == (
        "evaluation 2",
        {"verdict": "cannot tell → lead, name service", "newly stands out": "long-waits"},
    )


def test_the_room_says_what_newly_stands_out_in_one_line() -> None:
    before = Outlook(report(seen(1)), "room")
    after = Outlook(report(seen(4), seen(1), seen(2), state="lead"), "room")
    assert changes(before, after) == [
        "verdict cannot tell → lead, name service",
        "support none → fair",
        "now stands out: Wait number 4 takes 4.5 s and 1 more",
    ]
    old = {name: value for name, value in report().items() if name != "observations"}
    assert not any("stands out" in line for line in changes(Outlook(old, "room"), after))  # it had none to compare
    assert changes(after, after) == []
