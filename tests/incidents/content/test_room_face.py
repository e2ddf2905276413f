"""Faces of a room: label, headline and what they rest on, for each state of the verdict and while files are read."""

from __future__ import annotations

import copy
import dataclasses
from typing import Any

import pytest

from incidents.content.report import Outlook, symptom_seconds
from incidents.content.room_face import Progress, face
from rules.model import LABELS, State
from tests.incidents.pages import reports

READ = Progress(total=4, read=4, failed=0, under_way=False)


def outlook(**verdict: Any) -> Outlook:
    report = copy.deepcopy(reports.report())
    report["verdict"] |= verdict
    return Outlook(report, "x-abcdefgh")


def without_findings(**verdict: Any) -> Outlook:
    made = outlook(rules=[], support="none", **verdict)
    made.report |= {"findings": [], "cleared": [], "whose_seconds": None}
    return made


def said(shown: Outlook, progress: Progress = READ) -> list[tuple[str, str]]:
    return [(one.lead, one.tone) for one in face(shown, progress).statements]


def test_a_cause_says_what_its_support_counts_and_what_it_is_not() -> None:
    made = face(outlook(headline="A login waits for memory."), READ)
    assert (made.name, made.label, made.headline) == ("cause", "Cause", "A login waits for memory.")
    support, cleared = made.statements
    assert (support.lead, support.text) == ("Good support:", "one trace of system calls, one memory map")
    assert (cleared.lead, cleared.tone) == ("Not network:", "good")
    assert made.steps == [True, True, True, False]


def test_an_older_report_without_a_headline_shows_its_sentence_once() -> None:
    made = face(outlook(), READ)
    assert made.headline.startswith("New server processes wait up to 2.473 s")
    assert made.reasoning == ""


@pytest.mark.parametrize(
    ("state", "name", "more", "second"),
    [
        ("lead", "lead", {"rival": "a firewall drops the answers", "support": "fair"}, "Looks the same:"),
        ("suspect", "suspect", {}, "Missing:"),
        ("undecided", "undecided", {}, "Decides it:"),
    ],
)
def test_each_open_state_says_what_would_close_it(state: State, name: str, more: dict[str, Any], second: str) -> None:
    shown = outlook(state=state, **more)
    shown.report["asks"] = [{"ask": "vmstat 5 12", "who": "system administrator", "host": "db1", "decides": [], "cost": "60 s", "why": "x"}]  # fmt: skip
    made = face(shown, READ)
    assert (made.name, made.label) == (name, LABELS[state])
    assert said(shown)[1][0] == second
    assert len(made.statements) == 2


def test_no_cause_has_no_empty_boxes_and_counts_what_fits() -> None:
    shown = without_findings(state="cannot tell", headline="shmat waited 2.473 s. Why is not visible yet.")
    shown.report["hypotheses"] = [{"code": "H-NET", "score": 4}, {"code": "H-NSS", "score": 2}, {"code": "H-DB", "score": -3}]  # fmt: skip
    made = face(shown, READ)
    assert made.steps == []
    assert [(one.lead, one.text) for one in made.statements] == [("No cause yet:", "2 explanations fit, none is ahead")]
    shown.report["hypotheses"] = []
    assert face(shown, READ).statements[0].text == "no explanation has evidence for it"


def test_without_a_cause_it_says_what_to_bring_and_who_has_it() -> None:
    shown = without_findings(state="cannot tell")
    shown.report["asks"] = [{"ask": "vmstat 5 12", "who": "system administrator", "host": "db1", "os": "linux"}]
    made = face(shown, READ)
    assert [(one.lead, one.text) for one in made.statements][1:] == [
        ("Bring:", "Run of vmstat, db1 (system administrator)")
    ]


def test_nothing_wrong_says_what_was_looked_at_and_what_not() -> None:
    shown = without_findings(state="nothing wrong seen", headline="In 4 files, long enough to hold the slow moment.")
    leads = said(shown)
    assert [lead for lead, _ in leads] == ["Looked at:", "Not looked at:"]


def test_an_unread_file_leads_only_while_it_could_change_the_verdict() -> None:
    one_failed = Progress(total=4, read=3, failed=1, under_way=False)
    told = face(without_findings(state="cannot tell"), one_failed)
    assert (told.name, told.label) == ("unread", "1 file not read")
    assert told.headline == "1 of 4 files is not understood; it is kept and can be read as text."
    assert told.statements[0].lead == "From the others:"
    assert face(outlook(), one_failed).name == "cause"


@pytest.mark.parametrize(
    ("total", "headline"),
    [
        (1, "The only file is not understood; it is kept and can be read as text."),
        (3, "All 3 files are not understood; they are kept and can be read as text."),
    ],
)
def test_where_nothing_was_understood_no_others_are_told_of(total: int, headline: str) -> None:
    made = face(without_findings(state="cannot tell"), Progress(total=total, read=0, failed=total, under_way=False))
    assert made.headline == headline
    assert [(one.lead, one.href) for one in made.statements] == [("See why:", "/rooms/x-abcdefgh/evidence/")]


def test_a_file_that_was_not_understood_can_be_looked_at_from_there() -> None:
    shown = without_findings(state="cannot tell")
    shown.report["artifacts"] = [{"id": 7, "file": "core.txt", "account": {"unknown": 3}}]
    (look,) = face(shown, Progress(total=1, read=1, failed=0, under_way=False)).statements
    assert (look.text, look.href) == ("core.txt", "/rooms/x-abcdefgh/evidence/7/")


def test_a_dispute_stands_with_the_verdict_that_it_concerns() -> None:
    shown = Outlook(reports.report(), "x-abcdefgh", disputes={reports.CAUSE_KEY: 1})
    assert said(shown)[1] == ("Under dispute:", "warn")


def test_before_the_first_verdict_it_says_what_is_being_done() -> None:
    made = face(Outlook(None, "x"), Progress(total=5, read=3, failed=0, under_way=True))
    assert (made.name, made.headline) == ("judging", "Reading 5 files. No verdict before all are judged.")
    assert made.statements[0].lead == "Read 3 of 5"
    assert face(Outlook(None, "x"), Progress(0, 0, 0, False)).label == "No evidence"
    assert face(Outlook(None, "x"), Progress(1, 0, 1, False)).name == "unread"


def test_a_verdict_stays_while_new_files_are_read() -> None:
    made = face(outlook(), Progress(total=6, read=4, failed=0, under_way=True))
    assert made.name == "cause"
    assert (made.statements[-1].lead, made.statements[-1].text) == ("2 files being read;", "may change")


def test_the_bar_of_a_symptom_needs_both_of_its_times() -> None:
    made = symptom_seconds(3.9, 0.3, "s", "a login", explained=False)
    assert made is not None
    assert [(piece.share.label, piece.kind) for piece in made.pieces] == [
        ("usual", "rest"),
        ("not looked into", "untraced"),
    ]
    assert round(sum(piece.share.share for piece in made.pieces)) == 100
    for bad, normal, unit in ((3.9, None, "s"), (None, 0.3, "s"), (0.3, 3.9, "s"), (3.9, 0.3, "ms")):
        assert symptom_seconds(bad, normal, unit, "", explained=False) is None


def test_parts_of_the_bar_under_one_percent_are_one_part_and_texts_are_shown_only_where_they_fit() -> None:
    report = copy.deepcopy(reports.report())
    piece = report["whose_seconds"]["pieces"][0]
    report["whose_seconds"]["pieces"] += [piece | {"label": f"tiny {n}", "seconds": 0.004} for n in range(3)]
    bar = Outlook(report, "x").seconds
    assert bar is not None
    assert len(bar.shown) == len(bar.pieces) - 3
    assert bar.shown[-1].share.label == "4 more, under 1 % each:"
    assert round(sum(part.share.share for part in bar.shown), 6) == 100
    assert len(bar.legend) == 3
    assert bar.unnamed == len(bar.shown) - 3
    assert bar.narrow_legend == bar.legend[: len(bar.narrow_legend)]
    assert len(bar.narrow_legend) < 3, "a window of 1024 pixels has room for two"
    assert bar.unnamed_narrow == len(bar.shown) - len(bar.narrow_legend)
    assert [part.fitting for part in bar.shown if part.share.share < 5] == [""] * sum(
        p.share.share < 5 for p in bar.shown
    )


@pytest.mark.parametrize(("where", "fits"), [("db1", True), ("db1, " * 20, False)])
def test_a_narrow_bar_leaves_out_where_it_was_rather_than_its_largest_part(where: str, fits: bool) -> None:
    report = copy.deepcopy(reports.report())
    bar = Outlook(report, "x").seconds
    assert bar is not None
    bar = dataclasses.replace(bar, title="One login", where=where)
    assert bar.where_fits is fits
    assert len(bar.narrow_legend) >= 1
