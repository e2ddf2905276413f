"""An observation in the drawer: its lines and what it is compared with, its grounds, who may see it, notes on its lines."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from incidents.access import Room
from rules.signatures.mechanisms import mechanisms
from tests.incidents.conftest import make_artifact, make_room, make_user
from tests.incidents.pages import reports
from tests.incidents.pages.conftest import add_report, client_of
from tests.incidents.pages.pages import page_in
from tests.incidents.pages.room import test_lead

KEY = "00000000000000aa"
PLAIN = "00000000000000bb"
MEANS = "waits until what was written to a file is on stable storage"


@pytest.fixture
def room(db: None) -> Room:
    made = make_room(title="Starts take fifteen seconds")
    make_artifact(made, "".join(f"{line}\n" for line in reports.TRUSS).encode(), "truss-listener.txt")
    report = test_lead.report()
    first = {
        "key": KEY,
        "headline": "The wait of 3731 takes 2.473 s",
        "means": MEANS,
        "against": {"what": "the usual one", "value": 0.25, "unit": "s"},
        "t_to": 11.7921,
        "citations": [reports.cite(1, reports.TRUSS, 11, 12, "wait")],
    }
    report["observations"] = [
        test_lead.observation(1, **first),
        test_lead.observation(2, key=PLAIN, means=None, citations=[]),
    ]
    report["findings"] = [reports.report()["findings"][0]]
    add_report(made, report)
    return made


def opened(room: Room, key: str = KEY, **headers: str):
    address = reverse("observation", args=[room.incident.slug, key])
    return client_of(room).get(address, headers={"HX-Request": "true", **headers})


def panel(room: Room, name: str, key: str = KEY) -> str:
    return " ".join(page_in(opened(room, key)).part(f"#see-{name}").text.split())


def test_the_row_opens_it_and_is_marked_as_open(room):
    address = reverse("observation", args=[room.incident.slug, KEY])
    page = page_in(client_of(room).get(reverse("room", args=[room.incident.slug])))
    link = page.part(f"#observation-{KEY} a[hx-target='#drawer']")
    assert link.attributes["href"] == address
    whole = page_in(client_of(room).get(address))
    row = whole.part(f"#observation-{KEY}")
    assert "on" in row.attributes["class"].split()
    assert row.part("[aria-current]").attributes["href"] == address
    assert "chosen" in whole.part(".columns").attributes["class"].split()


def test_its_lines_mark_what_it_names_and_it_is_compared(room):
    shown = page_in(opened(room)).part("#see-lines")
    assert {mark.text for mark in shown.select("mark")} == {"3731", "11.7921"}
    assert [part.text for part in shown.select(".versus dt")] == ["this", "the usual one"]
    assert [" ".join(part.text.split()) for part in shown.select(".versus dd")] == ["1.500 s", "0.250 s"]


def test_it_says_why_it_names_a_mechanism_and_what_would_speak_against_it(room):
    mechanism = mechanisms()["resolver-timeout"]
    why, against = panel(room, "why"), panel(room, "against")
    assert MEANS in why
    assert mechanism.is_ in why
    assert "fsync(2)" in why, "the source of the words"
    assert "2.473 s to attach a DISM segment" in why, "the finding that cites the same lines"
    assert mechanism.contradicted_by
    for contradiction in mechanism.contradicted_by:
        assert contradiction.because in against
    for name in mechanism.looks_like:
        assert mechanisms()[name].is_ in against
    assert "below 1 ms on flash" in against


def test_it_lists_what_decides_with_who_and_how_long(room):
    do = panel(room, "do")
    assert test_lead.ASKS[0] in do
    assert "network engineer · db1 · linux · takes 60 s" in do
    assert "iostat -x 1" in do


def test_without_a_mechanism_every_part_says_so(room):
    assert "The report cites no lines for it." in panel(room, "lines", PLAIN)
    assert "It cites no lines" in panel(room, "discussion", PLAIN)
    plain = test_lead.report()
    plain["observations"] = [test_lead.observation(2, key=PLAIN, means=None)]
    add_report(room, plain)
    assert "It names none" in panel(room, "why", PLAIN)
    assert "It names no mechanism" in panel(room, "against", PLAIN)
    assert "Nothing is asked for because of it" in panel(room, "do", PLAIN)


def test_notes_on_its_lines_stand_in_its_discussion_and_others_do_not(room):
    notes = reverse("notes", args=[room.incident.slug])
    place = {"artifact": 1, "line_from": 11, "line_to": 12}
    answer = client_of(room).post(
        notes, {"text": "This is the slow one.", **place}, headers={"HX-Request": "true", "HX-Target": "range-notes"}
    )
    assert "This is the slow one." in page_in(answer).part("#range-notes").text
    client_of(room).post(notes, {"text": "Elsewhere.", "artifact": 1, "line_from": 1, "line_to": 2})
    discussion = panel(room, "discussion")
    assert "This is the slow one." in discussion
    assert "Elsewhere." not in discussion


@pytest.mark.parametrize("place", [{"artifact": 9, "line_from": 1, "line_to": 2}, {"artifact": "x"}])
def test_notes_on_lines_that_are_not_there_are_refused(room, place):
    asked = {"section": "range-notes", **place}
    answer = client_of(room).get(reverse("notes", args=[room.incident.slug]), asked, headers={"HX-Request": "true"})
    assert answer.status_code == 404


def test_a_stranger_and_a_key_of_nothing_get_the_same_answer(room):
    stranger = Client()
    stranger.force_login(make_user())
    assert stranger.get(reverse("observation", args=[room.incident.slug, KEY])).status_code == 404
    assert opened(room, "00000000000000cc").status_code == 404


def test_a_room_without_findings_opens_with_its_first_observation(room):
    report = test_lead.report()
    report["observations"] = [test_lead.observation(1, key=KEY)]
    add_report(room, report)
    page = page_in(client_of(room).get(reverse("room", args=[room.incident.slug])))
    assert "Wait number 1" in page.part("#drawer .dhead").text
