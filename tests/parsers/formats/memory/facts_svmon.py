"""Checks of the facts stored beside the corpus samples of svmon reports."""

from __future__ import annotations

from tests.parsers.formats.told_rows import notes, rows_of

CHECKERS = {
    "figures": rows_of("meminfo", "name", "value", "unit"),
    "processes": rows_of("ps", "pid", "comm", "rss_kb", "vsz_kb"),
    "segments": rows_of("pmap", "pid", "mapping", "pgsz_kb", "kbytes", "rss_kb", "locked_kb", "region"),
    "notes": notes,
}
WAIVED: dict[str, str] = {}
