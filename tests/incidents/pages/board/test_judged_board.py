"""Tests of rows of evidence and causes that people add to the board, and that judging uses the same."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import pytest
from django.db import transaction

from incidents.access import Room, enter
from incidents.actions import board, rooms
from incidents.content.report import Outlook
from incidents.errors import Refused
from incidents.models.judging.argument import Argument
from incidents.models.judging.finding import Evaluation
from incidents.models.people.membership import Role
from incidents.models.room.job import Job, JobKind
from incidents.pages.board.course import MOST_LINES, Judged, course_of
from incidents.pages.board.table import Board, Cell, board_of
from incidents.work import analysis
from rules.case.case_yaml import load_case_yaml
from rules.judging.evaluate import evaluate
from rules.model import FreeHypothesis, Statement
from tests.incidents.conftest import make_artifact, make_member, make_room, make_user

pytestmark = pytest.mark.django_db
PINGS = board.Said("pings were slow", {"H-NET": "for", "H-DB-SQL": "slightly against"})


@pytest.fixture
def lead() -> Room:
    return make_room(make_user("ada", first_name="Ada", last_name="Byron"))


@pytest.fixture
def other(lead: Room) -> Room:
    return make_member(lead.incident, Role.INVESTIGATOR, make_user("bo"))


def words(room: Room) -> list[tuple[str, str | None, str | None]]:
    return [(s.name, s.text, s.author) for s in analysis.case_of(room.incident).statements]


def test_a_row_is_a_statement_for_each_word_and_is_judged(lead: Room) -> None:
    row = board.argue(lead, PINGS)
    assert words(lead) == [
        ("H-DB-SQL", "slightly against: pings were slow", "Ada Byron"),
        ("H-NET", "for: pings were slow", "Ada Byron"),
    ]
    assert Job.objects.filter(incident=lead.incident, kind=JobKind.JUDGE).count() == 1
    last = lead.incident.activity.order_by("-seq").first()
    assert last is not None
    assert (last.verb, last.object, last.detail["reason"]) == (
        "put on the board",
        f"evidence {row.pk}",
        "pings were slow",
    )
    assert lead.incident.events.filter(kind="case").exists()


def test_the_exported_case_gives_the_same_board(lead: Room) -> None:
    board.put_cause(lead, "backup", "the backup reads the same disks", "storage")
    board.argue(lead, board.Said("starts: at the same minute", {"H-BACKUP": "strongly for", "H-NET": "against"}))
    spec = analysis.case_of(lead.incident)
    assert spec.hypotheses == (FreeHypothesis("H-BACKUP", "the backup reads the same disks", "storage", "Ada Byron"),)
    exported = load_case_yaml(analysis.case_yaml(lead.incident)).spec(())
    assert (exported.statements, exported.hypotheses) == (spec.statements, spec.hypotheses)
    one, two = evaluate(spec, rules=()), evaluate(exported, rules=())
    assert (one.hypotheses, one.board) == (two.hypotheses, two.board)
    backup = next(h for h in one.hypotheses if h.code == "H-BACKUP")
    assert (backup.score, backup.cause, backup.people) == (10, "the backup reads the same disks", 10)
    (group,) = one.board.groups
    assert (group.said_by, group.reason) == ("Ada Byron", "starts: at the same minute")
    assert not one.failed


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (board.Said("  \n ", {"H-NET": "for"}), "Say why"),
        (board.Said("because", {}), "Choose a word"),
        (board.Said("because", {"H-NET": ""}), "Choose a word"),
        (board.Said("because", {"H-NET": "very much for"}), "none of the words"),
        (board.Said("because", {"H-TAPE": "for"}), "no cause H-TAPE"),
        (board.Said("x" * 501, {"H-NET": "for"}), "at most 500"),
        (board.Said("because", {"H-NET": "for"}, "0" * 16), "no such finding"),
        (board.Said("because", {"H-NET": "for"}, None, 7, (1, 2)), "no artifact 7"),
        (board.Said("because", {"H-NET": "for"}, None, None, (1, 2)), "Name the artifact"),
        (board.Said("because", {"H-NET": "for"}, None, 1, (3, 2)), "first to last"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_written(lead: Room, said: board.Said, why: str) -> None:
    make_artifact(lead)
    with pytest.raises(Refused, match=why) as refused:
        board.argue(lead, said)
    assert refused.value.status == 400
    assert not Argument.objects.exists()


def test_a_row_points_at_lines(lead: Room) -> None:
    make_artifact(lead)
    row = board.argue(lead, board.Said("see there", {"H-NET": "for"}, None, 1, (2, 3)))
    assert row.artifact is not None
    assert (row.artifact.number, row.line_from, row.line_to) == (1, 2, 3)


def test_the_same_reason_counts_once_and_a_form_sent_twice_too(lead: Room, other: Room) -> None:
    sent = uuid.uuid4()
    row = board.argue(lead, PINGS, client_id=sent)
    assert board.argue(lead, PINGS, client_id=sent).pk == row.pk
    assert board.argue(lead, board.Said("another reason", PINGS.words), client_id=sent).pk != row.pk, (
        "typed after going back"
    )
    with pytest.raises(Refused, match="stands on the board already"):
        board.argue(lead, board.Said(" pings  were slow ", {"H-NSS": "for"}))
    assert board.argue(other, PINGS).pk != row.pk
    assert Argument.objects.count() == 3


def test_only_its_author_edits_and_what_was_changed_meanwhile_is_told(lead: Room, other: Room) -> None:
    row = board.argue(other, PINGS)
    with pytest.raises(Refused, match="Only its author") as refused:
        board.argue(lead, PINGS, row.pk)
    assert refused.value.status == 403
    changed = board.argue(other, board.Said("pings took 80 ms", {"H-NET": "strongly for"}), row.pk, row.version)
    assert (changed.version, changed.edited_at is not None) == (2, True)
    assert words(lead) == [("H-NET", "strongly for: pings took 80 ms", "bo")]
    with pytest.raises(Refused, match="it says now: pings took 80 ms") as overtaken:
        board.argue(other, PINGS, row.pk, 1)
    assert overtaken.value.status == 409


def test_taking_off_and_the_undo(lead: Room, other: Room) -> None:
    row = board.argue(lead, PINGS)
    with pytest.raises(Refused, match="Only its author or a lead"):
        board.take_off(other, row.pk)
    board.take_off(lead, row.pk)
    board.take_off(lead, row.pk)  # twice is once
    assert words(lead) == []
    with pytest.raises(Refused, match="taken off"):
        board.argue(lead, PINGS, row.pk)
    board.put_back(lead, row.pk)
    assert len(words(lead)) == 2
    assert [a.verb for a in lead.incident.activity.filter(object=f"evidence {row.pk}").order_by("seq")] == [
        "put on the board", "took off the board", "put back on the board",
    ]  # fmt: skip
    theirs = board.argue(other, PINGS)
    board.take_off(lead, theirs.pk)
    assert len(words(lead)) == 2
    with pytest.raises(Refused) as unknown:
        board.take_off(lead, 10_000)
    assert unknown.value.status == 404


def test_a_row_does_not_come_back_beside_its_twin(lead: Room) -> None:
    row = board.argue(lead, PINGS)
    board.take_off(lead, row.pk)
    board.argue(lead, PINGS)
    with pytest.raises(Refused, match="already under your name"):
        board.put_back(lead, row.pk)


def test_causes_of_peoples_own(lead: Room, other: Room) -> None:
    row = board.put_cause(other, "h_night backup", "the backup", "storage")
    assert row.code == "H-NIGHT-BACKUP"
    assert board.put_cause(other, "H-NIGHT-BACKUP", "the backup", "storage").pk == row.pk, "sent twice"
    for code, why in (
        ("H-NIGHT-BACKUP", "on the board already"),
        ("H-NET", "every board"),
        ("H-42", "A code is"),
        ("", "A code is"),
    ):
        with pytest.raises(Refused, match=why):
            board.put_cause(lead, code, "another", None)
    with pytest.raises(Refused, match="Say in a few words"):
        board.put_cause(lead, "H-TAPE", " ", None)
    with pytest.raises(Refused, match="layer"):
        board.put_cause(lead, "H-TAPE", "the tape", "attic")
    edited = board.put_cause(other, "", "the nightly backup", None, row.pk, row.version)
    assert (edited.cause, edited.layer, edited.code, edited.version) == ("the nightly backup", None, row.code, 2)
    with pytest.raises(Refused, match="changed meanwhile"):
        board.put_cause(other, "", "old", None, row.pk, 1)


def test_a_cause_leaves_when_nothing_speaks_of_it(lead: Room, other: Room) -> None:
    row = board.put_cause(other, "H-TAPE", "the tape", None)
    said = board.argue(lead, board.Said("it squeaks", {"H-TAPE": "for"}))
    with pytest.raises(Refused, match="One row speaks of H-TAPE"):
        board.take_cause_off(other, row.pk)
    board.take_off(lead, said.pk)
    board.take_cause_off(other, row.pk)
    assert analysis.case_of(lead.incident).hypotheses == ()
    with pytest.raises(Refused, match="not on the board any more"):
        board.put_back(lead, said.pk)
    board.put_cause_back(other, row.pk)
    board.put_back(lead, said.pk)
    assert words(lead) == [("H-TAPE", "for: it squeaks", "Ada Byron")]


def test_who_may(lead: Room) -> None:
    viewer = make_member(lead.incident, Role.VIEWER, make_user("vera"))
    with pytest.raises(Refused) as refused:
        board.argue(viewer, PINGS)
    assert refused.value.status == 403
    row = board.argue(lead, PINGS)
    rooms.close(lead)
    closed = enter(lead.user, lead.incident.slug)
    for deed in (
        lambda: board.argue(closed, PINGS),
        lambda: board.take_off(closed, row.pk),
        lambda: board.put_cause(closed, "H-X", "x", None),
    ):
        with pytest.raises(Refused, match="closed") as refused:
            deed()
        assert refused.value.status == 409


def test_statements_of_the_case_page_stand_beside(lead: Room) -> None:
    lead.incident.statements.create(name="H-NET", text="for: pings", author=lead.user, author_label="DBA")
    board.argue(lead, PINGS)
    assert [s.author for s in analysis.case_of(lead.incident).statements] == ["DBA", "Ada Byron", "Ada Byron"]
    assert all(isinstance(s, Statement) for s in analysis.case_of(lead.incident).statements)


# --- the course of the scores -----------------------------------------------------------------------------------------


def test_an_evaluation_keeps_its_scores_small(lead: Room) -> None:
    board.argue(lead, PINGS)
    spec = analysis.case_of(lead.incident)
    with transaction.atomic():
        analysis.save_report(lead.incident, spec, evaluate(spec, rules=()).as_json())
    kept = Evaluation.objects.values_list("number", "made_at", "scores").get()
    judged = Judged.of(*kept)
    assert judged.state == "cannot tell"
    assert (judged.scores["H-NET"], judged.scores["H-DB-SQL"], judged.scores["H-OTHER"]) == (6, -3, 0)


def at(number: int, state: str = "suspect", **scores: int) -> Judged:
    return Judged(
        number,
        datetime(2026, 1, 1, number % 24, tzinfo=UTC),
        state,
        {c.replace("_", "-"): n for c, n in scores.items()},
    )


def test_the_course_shows_who_led_and_only_changes() -> None:
    made = course_of(
        [at(1, H_NET=6, H_CFG=0), at(2, H_NET=6, H_CFG=0), at(3, H_NET=-10, H_CFG=15)], {"H-CFG": "a limit"}
    )
    assert made.codes == ["H-CFG", "H-NET"]
    assert [change.judged.number for change in made.changes] == [1, 3]
    first = made.lines[0]
    assert (first.code, first.label, first.path.count("H")) == ("H-CFG", "a limit", 2)
    assert first.end_y < made.lines[1].end_y, "more is higher"
    assert made.lines[1].label == "H-NET"


def test_a_single_evaluation_has_no_line_and_none_nothing() -> None:
    assert course_of([], {}).changes == []
    one = course_of([at(1, H_NET=6)], {})
    assert (one.lines, len(one.changes)) == ([], 1)


def test_labels_of_equal_scores_stand_apart_inside_the_chart() -> None:
    many: dict[str, Any] = {f"H_{letter}": 3 for letter in "ABCDEFG"}
    made = course_of([at(n, **many) for n in (1, 2)], {})
    places = [line.label_y for line in made.lines]
    assert len(places) == MOST_LINES
    assert all(b - a >= 12.9 for a, b in pairwise(places))
    assert max(places) <= made.height


# --- how a report is laid out -----------------------------------------------------------------------------------------


def hypothesis(code: str, score: int, **more: object) -> dict[str, object]:
    return {"code": code, "cause": code.lower(), "score": score, "cells": {"g": score} if score else {}} | more


def laid(*rows: dict[str, object], **verdict: object) -> Board:
    cells = {row["code"]: row["score"] for row in rows}
    group = {"name": "g", "title": "A sign", "findings": [], "cells": cells, "spread": 9, "discriminates": True}
    groups = [group | {"without": WITHOUT}]
    report = {"hypotheses": list(rows), "verdict": verdict, "board": {"groups": groups}}
    return board_of(Outlook(report, "room"), (), ())


WITHOUT = {"state": "cannot tell", "leader": None, "support": "none", "score": 0, "margin": None, "kept": 0}


def test_best_first_parts_under_their_whole_and_ties_as_ties() -> None:
    made = laid(
        hypothesis("H-SERVER-SLOW", 30, role="umbrella"),
        hypothesis("H-SINGLE-FILE", 12, part_of="H-STORAGE"),
        hypothesis("H-NET", 10),
        hypothesis("H-NSS", 10),
        hypothesis("H-STORAGE", 3),
        hypothesis("H-CFG-DISM", 20, why_of="H-OS-SHM"),
        hypothesis("H-OS-SHM", 1),
        hypothesis("H-OTHER", 0, role="other"),
    )
    assert [column.code for column in made.columns] == [
        "H-STORAGE", "H-SINGLE-FILE", "H-NET", "H-NSS", "H-OS-SHM", "H-CFG-DISM", "H-SERVER-SLOW", "H-OTHER",
    ]  # fmt: skip
    assert [column.code for column in made.columns if column.tied] == ["H-NET", "H-NSS"]
    of = {column.code: column for column in made.columns}
    assert (of["H-SINGLE-FILE"].relation, of["H-CFG-DISM"].short) == ("a part of: h-storage", "why of H-OS-SHM")
    assert (made.rivals, of["H-SERVER-SLOW"].rival, made.leader) == (6, False, None)


def test_marks_have_one_bound() -> None:
    assert [Cell(n).mark for n in (20, 10, 9, 3, 0, -3, -9, -10, None)] == [
        "++",
        "++",
        "+",
        "+",
        "0",
        "−",
        "−",
        "−−",
        "",
    ]
    assert [Cell(n).words for n in (10, 9, 0, -9, -10, None)] == [
        "strongly for", "for", "neither for nor against", "against", "strongly against", "says nothing",
    ]  # fmt: skip


def test_without_its_only_sign_nothing_leads() -> None:
    made = laid(hypothesis("H-NET", 12), state="suspect", hypothesis="H-NET", margin=12)
    (one,) = made.what_ifs
    assert (one.what, one.then, one.changes, made.idle) == ("“A sign”", "no cause would lead", True, 0)


def test_a_report_of_before_has_causes_and_no_rows() -> None:
    made = board_of(Outlook({"hypotheses": [hypothesis("H-NET", 12)], "verdict": {}}, "room"), (), ())
    assert ([c.code for c in made.columns], made.rows, made.turning) == (["H-NET"], [], [])
    assert board_of(Outlook(None, "room"), (), ()).columns == []
