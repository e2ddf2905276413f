"""Check facts that are whole rows: a list of lists stored beside the sample, in the order of the lines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.parsers.formats.evidence import Reading

Check = Callable[[Reading, list[list[Any]]], None]


def rows_of(table: str, *columns: str) -> Check:
    """Return a check that compares these columns of all rows of a table."""

    def check(reading: Reading, value: list[list[Any]]) -> None:
        rows = reading.table(table).sort("line_no", maintain_order=True).select(columns)
        assert [list(row) for row in rows.iter_rows()] == value

    return check


def notes(reading: Reading, value: list[list[Any]]) -> None:
    """Check all notes as [first line, last line, kind]."""
    assert [[n.line_from, n.line_to, n.kind] for n in reading.account.notes] == value


def asks(reading: Reading, value: list[str]) -> None:
    """Check the names of the questions to a person, except the zone."""
    questions = reading.account.parts[0].facts.get("questions", [])
    # The zone is asked for if none is printed: `test_clocks_of_kinds.py` lists the kinds.
    assert [q["ask"] for q in questions if q["ask"] != "tz"] == value


def clock(reading: Reading, value: str) -> None:
    """Check the kind of all clocks."""
    assert {d.kind for d in reading.account.parts[0].domains} == {value}
