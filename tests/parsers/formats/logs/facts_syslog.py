"""Checks of the facts stored beside the corpus samples of system logs."""

from __future__ import annotations

from tests.parsers.formats.told_rows import asks, clock, notes, rows_of

CHECKERS = {
    "rows": rows_of("logs", "line_no", "t_local", "program", "pid", "severity", "code", "text"),
    "asks": asks,
    "clock": clock,
    "notes": notes,
}
WAIVED: dict[str, str] = {}
