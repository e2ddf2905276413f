"""Checks of the facts stored beside the corpus samples of kernel memory caches."""

from __future__ import annotations

from tests.parsers.formats.told_rows import notes, rows_of

CHECKERS = {
    "counters": rows_of("counters", "sample", "item", "name", "value", "unit"),
    "notes": notes,
}
WAIVED: dict[str, str] = {}
