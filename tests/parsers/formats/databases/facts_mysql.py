"""Checks of the facts stored beside the corpus samples of MySQL and MariaDB."""

from __future__ import annotations

from typing import Any

import polars as pl

from tests.parsers.formats.evidence import Reading
from tests.parsers.formats.told_rows import asks, clock, notes, rows_of


def statements(reading: Reading, value: list[list[Any]]) -> None:
    """Check the statements of a slow query log; each has a row of its figures, and one for each line about its plan."""
    rows = reading.table("logs").filter(pl.col("op") == "slow_query")
    columns = ("line_no", "t_local", "op", "elapsed_s", "ok", "peer_ip", "service", "text")
    assert [list(row) for row in rows.select(columns).iter_rows()] == value
    details = reading.table("logs").filter(pl.col("severity") == "DETAIL")["text"]
    figures = details.str.starts_with("Lock_time: ")
    assert figures.sum() == sum(row[3] is not None for row in value)
    assert details.filter(~figures).str.contains(r"^(?:QC_[Hh]it: \S+ +)?Full_scan: |^explain: ").all()


CHECKERS = {
    "statements": statements,
    "rows": rows_of(
        "logs", "line_no", "t_local", "severity", "code", "op", "peer_ip", "client_host", "service", "text"
    ),
    "sessions": rows_of(
        "sessions", "line_no", "line_end", "sid", "db_user", "machine", "state", "event", "last_call_s"
    ),
    "asks": asks,
    "clock": clock,
    "notes": notes,
}
WAIVED: dict[str, str] = {}
