"""Checks of the facts stored beside the corpus samples of fault reports."""

from __future__ import annotations

from tests.parsers.formats.evidence import Reading
from tests.parsers.formats.told_rows import asks, clock, notes, rows_of


def secondaries(reading: Reading, value: list[list[str] | None]) -> None:
    assert reading.table("logs")["secondary"].to_list() == value


CHECKERS = {
    "secondaries": secondaries,
    "rows": rows_of("logs", "line_no", "t_local", "code", "severity", "op", "program", "text"),
    "asks": asks,
    "clock": clock,
    "notes": notes,
}
WAIVED: dict[str, str] = {}
