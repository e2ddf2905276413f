"""What the facts beside reports of faults mean."""

from __future__ import annotations

from tests.parsers.told_rows import asks, clock, notes, rows_of

CHECKERS = {
    "rows": rows_of("logs", "line_no", "t_local", "code", "severity", "op", "program", "text"),
    "asks": asks,
    "clock": clock,
    "notes": notes,
}
WAIVED: dict[str, str] = {}
