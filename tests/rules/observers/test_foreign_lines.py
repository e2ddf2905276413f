"""Tests of complaints of programs between the lines of another tool, with the time of their command if known."""

from __future__ import annotations

from typing import Any

import pytest

from rules.case.case import Case
from rules.observers.foreign_lines import GAVE_UP_S, MOST_STRANGE, WITHIN, observe
from rules.observers.observer import Sighting
from rules.signatures.signatures import recognise
from tests.parsers.formats.evidence import read_bytes

Row = dict[str, Any]
AGAIN = "client: store.example: Temporary failure in name resolution"


def seen(
    *notes: Row, kind: str = "time", real: float | None = None, line: int = 9, cpu: float = 0.01
) -> list[Sighting]:
    times = [{"part": 1, "series": "client", "line_no": line - 2, "line_end": line, "elapsed_s": real, "cpu_s": cpu}]
    tables: dict[str, list[Row]] = {
        "artifacts": [{"part": 1, "kind": kind}],
        "notes": list(notes),
        "conn_times": times if real is not None else [],
    }
    return list(observe(Case.of_tables(tables)))


def note(text: str, line: int = 2, kind: str = "unknown", lines: int | None = None) -> Row:
    return {
        "part": 1,
        "kind": kind,
        "text": text,
        "line_no": line,
        "line_end": line + (lines or text.count("\n") + 1) - 1,
    }


def test_the_error_of_a_command_is_told_with_its_time() -> None:
    (made,) = seen(note(f"ready\n{AGAIN}"), real=12.5)
    assert made.headline == f'the command that took 12.500 s ended with "{AGAIN}"'
    assert made.seconds == pytest.approx(12.49)
    assert (made.of_s, made.failure) == (12.5, True)
    assert [(c.line_from, c.line_to) for c in made.lines] == [(3, 3), (7, 9)]
    assert recognise(**made.seen[0])[0].mechanism == "resolver-timeout"


@pytest.mark.parametrize(("real", "event"), [(GAVE_UP_S + 0.02, True), (GAVE_UP_S - 0.02, False), (0.02, False)])
def test_a_look_up_that_fails_at_once_has_waited_for_nobody(real: float, event: bool) -> None:
    (made,) = seen(note(AGAIN), real=real)
    assert (made.seen[0] == {"event": "look-up-gave-up"}) is event


def test_a_complaint_without_a_time_stands_alone() -> None:
    (made,) = seen(note("* Resolving timed out after 5002 milliseconds"), kind="packets")
    assert made.headline == 'between the lines of another tool stands "* Resolving timed out after 5002 milliseconds"'
    assert (made.value, made.unit, made.seconds, made.failure) == (5.002, "s", None, True)
    (far,) = seen(note(AGAIN), real=12.5, line=3 + WITHIN)
    assert far.seconds is None
    (plain,) = seen(note("frobnicator: cannot frob"), real=12.5)
    assert (plain.seconds, plain.failure, plain.seen) == (None, False, ({"log": "frobnicator: cannot frob"},))


def test_strange_lines_that_complain_of_nothing_are_silent() -> None:
    assert seen(note("Added connection 0. The cache now contains 1 members"), kind="packets") == []
    assert seen(note(AGAIN, kind="elided")) == []
    assert seen(note(AGAIN), kind="text") == []
    assert seen() == []


def test_a_note_that_was_cut_and_a_part_that_was_misread_are_left_out() -> None:
    assert seen(note(f"ready\n{AGAIN}", lines=5)) == []
    assert seen(note(f"{AGAIN}\nready", lines=5)) != []
    assert seen(*(note(AGAIN, 3 * n + 1) for n in range(MOST_STRANGE + 1))) == []


def test_what_a_timed_command_prints_is_not_swallowed_by_its_times() -> None:
    text = f"$ time ./client -c store.example\n{AGAIN}\n\nreal\t0m12.500s\nuser\t0m0.010s\nsys\t0m0.000s\n"
    reading = read_bytes(text.encode())
    assert reading.tables["notes"]["text"].to_list() == [AGAIN]
    assert reading.tables["conn_times"]["series"].to_list() == ["./client -c store.example"]


@pytest.mark.parametrize(
    ("line", "series"),
    [
        ("time ./client -c store.example", "./client -c store.example"),
        ("time curl -s https://example.com/", "curl -s https://example.com/"),
        ("time passes slowly here.", "time"),
    ],
)
def test_a_command_without_a_prompt_names_its_times(line: str, series: str) -> None:
    text = f"{line}\n\nreal\t0m12.500s\nuser\t0m0.010s\nsys\t0m0.000s\n"
    assert read_bytes(text.encode()).tables["conn_times"]["series"].to_list() == [series]


def test_a_heading_complains_of_nothing() -> None:
    assert seen(note("[ ID] Interval           Transfer     Jitter    Lost/Total Datagrams"), kind="ping") == []
    assert seen(note("[client]  gave up: connection lost"), kind="ping"), "two columns may be a sentence"
