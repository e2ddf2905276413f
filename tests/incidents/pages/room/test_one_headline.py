"""One thing, one name: label and headline of a verdict are the same wherever they are told."""

from __future__ import annotations

import html
import re

import pytest
from django.urls import reverse

from incidents.access import Room
from incidents.content.report import Outlook
from incidents.models.judging.verdict import Verdict
from tests.incidents.conftest import make_artifact, make_room
from tests.incidents.pages import reports
from tests.incidents.pages.conftest import add_report, client_of

HEADLINE = "A new login spends most of its time attaching shared memory."


@pytest.fixture
def room(db: None) -> Room:
    made = make_room()
    make_artifact(made, b"a line\n", "truss-listener.txt")
    report = reports.report()
    report["verdict"]["headline"] = HEADLINE
    add_report(made, report)
    return made


def words(room: Room, name: str, *args: str, query: str = "") -> str:
    page = client_of(room).get(reverse(name, args=[room.incident.slug, *args]) + query).content.decode()
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", "", page)))


def test_the_head_the_compact_line_and_the_wall_say_the_same(room: Room) -> None:
    page = words(room, "room")
    assert page.count(HEADLINE) == 2, "the head and the line that stays"
    assert words(room, "room", query="?wall").count(HEADLINE) == 1
    for said in (page, words(room, "room", query="?wall")):
        assert re.search(rf"Cause\s+{re.escape(HEADLINE)}", said)


def test_copies_lists_and_messages_say_the_same(room: Room) -> None:
    assert f"CAUSE: {HEADLINE}" in words(room, "verdict-copy", "text")
    assert f"**Cause:** {HEADLINE}" in words(room, "verdict-copy", "markdown").replace("\\", "")
    assert Verdict.objects.get(incident=room.incident).sentence == HEADLINE
    evaluation = room.incident.evaluations.latest("number")
    assert Outlook(evaluation.report, room.incident.slug).verdict.told == f"Cause: {HEADLINE}"


def test_the_reasoning_stands_beside_it_and_not_instead_of_it(room: Room) -> None:
    sentence = reports.report()["verdict"]["sentence"]
    for said in (words(room, "room"), words(room, "verdict-copy", "markdown").replace("\\", "")):
        assert said.index(HEADLINE) < said.index(sentence)
