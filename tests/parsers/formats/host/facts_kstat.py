"""Checks of the facts stored beside the corpus samples of kstat."""

from __future__ import annotations

from tests.parsers.formats.told_rows import asks, clock, notes, rows_of

CHECKERS = {
    "rows": rows_of("counters", "line_no", "sample", "grp", "item", "name", "value", "unit", "mode", "delta"),
    "asks": asks,
    "clock": clock,
    "notes": notes,
}
WAIVED: dict[str, str] = {}
