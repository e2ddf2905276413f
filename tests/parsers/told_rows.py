"""Facts that are whole rows: a list of lists beside the sample, in the order of the lines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.parsers.evidence import Reading

Check = Callable[[Reading, list[list[Any]]], None]


def rows_of(table: str, *columns: str) -> Check:
    """All rows of a table, these columns of them."""

    def check(reading: Reading, value: list[list[Any]]) -> None:
        rows = reading.table(table).sort("line_no", maintain_order=True).select(columns)
        assert [list(row) for row in rows.iter_rows()] == value

    return check


def notes(reading: Reading, value: list[list[Any]]) -> None:
    """All notes as [first line, last line, kind]."""
    assert [[n.line_from, n.line_to, n.kind] for n in reading.account.notes] == value
