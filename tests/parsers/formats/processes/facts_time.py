"""Checks of the facts stored beside the corpus samples of timings of commands."""

from __future__ import annotations

from typing import Any

from tests.parsers.formats.evidence import Reading


def column(name: str) -> Any:
    def check(reading: Reading, value: list[Any]) -> None:
        assert reading.table("conn_times")[name].to_list() == value

    return check


def series(reading: Reading, value: list[str]) -> None:
    assert reading.table("conn_times")["series"].unique(maintain_order=True).to_list() == value


def unknown(reading: Reading, value: int) -> None:
    assert reading.account.account.unknown == value


CHECKERS = {name: column(name) for name in ("elapsed_s", "cpu_s", "contiguous", "ok", "err", "seq")} | {
    "series": series,
    "unknown": unknown,
}
WAIVED: dict[str, str] = {}
AHEAD = ("cpu_s", "ok", "err")
"""Columns that later lines decide: user and system time and exit status follow the elapsed time, which alone is a timing already."""
REPAIRED = False
