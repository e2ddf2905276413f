"""Checks of the facts stored beside the corpus samples of PostgreSQL."""

from __future__ import annotations

from tests.parsers.formats.evidence import Reading
from tests.parsers.formats.told_rows import asks, clock, notes, rows_of


def ops(reading: Reading, value: dict[str, int]) -> None:
    """Check how often each operation stands in the log."""
    found = reading.table("logs")["op"].drop_nulls().value_counts(name="n")
    assert dict(found.iter_rows()) == value


def levels(reading: Reading, value: dict[str, int]) -> None:
    found = reading.table("logs")["severity"].value_counts(name="n")
    assert dict(found.iter_rows()) == value


CHECKERS = {
    "rows": rows_of("logs", "line_no", "t_local", "pid", "severity", "code", "op", "elapsed_s", "text"),
    "callers": rows_of("logs", "line_no", "service", "program", "peer_ip", "peer_port", "client_host"),
    "sessions": rows_of(
        "sessions",
        "line_no",
        "line_end",
        "sid",
        "spid",
        "db_user",
        "program",
        "machine",
        "state",
        "event",
        "logon_text",
    ),
    "ops": ops,
    "levels": levels,
    "asks": asks,
    "clock": clock,
    "notes": notes,
}
WAIVED: dict[str, str] = {}
