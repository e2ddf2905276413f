"""Checks of the facts stored beside the corpus samples of memory figures."""

from __future__ import annotations

from tests.parsers.formats.told_rows import notes, rows_of

CHECKERS = {
    "figures": rows_of("meminfo", "sample", "name", "value", "unit"),
    "counters": rows_of("counters", "sample", "grp", "item", "name", "value"),
    "times": rows_of("meminfo", "sample", "t_local"),
    "notes": notes,
}
WAIVED: dict[str, str] = {}
