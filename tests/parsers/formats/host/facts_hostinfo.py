"""Checks of the facts stored beside the corpus samples of descriptions of machines."""

from __future__ import annotations

from tests.parsers.formats.told_rows import notes, rows_of

CHECKERS = {
    "hosts": rows_of("hosts", "os", "os_release", "model", "ncpu", "cores", "ent", "capped", "mem_kb"),
    "loads": rows_of("vmstat", "line_no", "sample", "load1"),
    "notes": notes,
}
WAIVED: dict[str, str] = {}
