"""Checks of the facts stored beside the corpus samples of open descriptors."""

from __future__ import annotations

from typing import Any

import polars as pl

from tests.parsers.formats.evidence import Reading
from tests.parsers.formats.told_rows import rows_of


def descriptors(reading: Reading, value: int) -> None:
    assert len(reading.table("fdmap")) == value


def types(reading: Reading, value: dict[str, int]) -> None:
    assert dict(reading.table("fdmap")["type"].value_counts().iter_rows()) == value


def _same(column: str) -> Any:
    def check(reading: Reading, value: Any) -> None:
        assert reading.table("fdmap")[column].unique().to_list() == [value]

    return check


def _fd(number: int) -> Any:
    def check(reading: Reading, value: dict[str, Any]) -> None:
        (row,) = reading.table("fdmap").filter(pl.col("fd") == number).to_dicts()
        assert {k: row[k] for k in value} == value

    return check


CHECKERS = {
    "rows": rows_of(
        "fdmap",
        "line_no",
        "pid",
        "comm",
        "fd",
        "type",
        "path",
        "local_ip",
        "local_port",
        "peer_ip",
        "peer_port",
        "offset",
    ),
    "descriptors": descriptors,
    "types": types,
    "pid": _same("pid"),
    "comm": _same("comm"),
    **{f"fd{n}": _fd(n) for n in (2, 3, 13, 14, 15)},
}
WAIVED: dict[str, str] = {}
