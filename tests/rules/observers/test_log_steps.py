"""Tests of log steps whose words name a begin and an end, and of the time for which a server was gone."""

from __future__ import annotations

from typing import Any

import pytest

from rules.case.case import Case
from rules.observers.log_steps import absences, named_steps


def case(*rows: tuple[float, str], pid: int | None = None) -> Case:
    made: list[dict[str, Any]] = [
        {"line_no": n, "t_local": t, "text": text, "pid": pid} for n, (t, text) in enumerate(rows, 1)
    ]
    return Case.of_tables({"logs": made})


@pytest.mark.parametrize(
    ("first", "last"),
    [
        ("dh: Generating DH parameters", "dh: DH parameters generation finished"),
        ("Starting Nightly report of orders...", "Finished Nightly report of orders."),
        ("checkpoint starting: time", "checkpoint complete: wrote 17 buffers"),
        ("info | Loading search index", "info | Loaded search index"),
        ("Backup of shop started", "Backup of shop completed with 3 warnings"),
    ],
)
def test_a_step_ends_where_the_same_thing_is_done(first: str, last: str) -> None:
    (made,) = named_steps(case((1.0, first), (3.0, "something else"), (31.5, last)))
    assert made.headline == f'30.500 s went by from "{first}" to "{last}"'
    assert ([c.line_from for c in made.lines], made.seconds) == ([1, 3], None)


@pytest.mark.parametrize(
    "rows",
    [
        ((1.0, "Starting Nightly report..."), (2.0, "x"), (9.0, "Finished Weekly cleanup.")),
        ((1.0, "checkpoint starting: time"), (1.5, "x"), (1.9, "checkpoint complete: wrote 1 buffer")),
        ((1.0, "Waiting for the lock"), (9.0, "done")),
        ((9.0, "Finished Nightly report."), (10.0, "x"), (12.0, "Starting Nightly report...")),
    ],
)
def test_what_is_no_step_is_none(rows: tuple[tuple[float, str], ...]) -> None:
    assert list(named_steps(case(*rows))) == []


def test_a_step_begins_where_it_began_last_and_the_longest_is_first() -> None:
    made = named_steps(case(
        (0.0, "vacuum starting"), (50.0, "vacuum starting"), (51.0, "x"), (52.0, "vacuum complete"),
        (60.0, "vacuum starting"), (61.0, "x"), (69.0, "vacuum complete"), (99.0, "vacuum complete"),
    ))  # fmt: skip
    assert [s.value for s in made] == [9.0, 2.0]


@pytest.mark.parametrize(
    ("gone", "back"),
    [
        ("Instance terminated by LMON, pid = 9", "Starting ORACLE instance (normal)"),
        ("database system is shut down", "starting PostgreSQL 16.2 on aarch64"),
        ("mysqld: Shutdown complete", "mysqld: ready for connections. Version: '8.0.30'"),
    ],
)
def test_a_server_is_gone_from_its_end_to_its_next_start(gone: str, back: str) -> None:
    (made,) = absences(case((5.0, gone), (47.0, back), (48.0, "database system is ready to accept connections")))
    assert (made.value, made.seconds, [c.line_from for c in made.lines]) == (42.0, 42.0, [1, 2])


def test_a_start_that_tells_of_an_earlier_end_and_an_end_without_a_start_are_no_absence() -> None:
    assert not list(
        absences(case((1.0, "database system was shut down at 10:00"), (9.0, "ready to accept connections")))
    )
    assert not list(absences(case((1.0, "starting PostgreSQL 16.2"), (9.0, "database system is shut down"))))
