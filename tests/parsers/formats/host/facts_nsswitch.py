"""Checks of the facts stored beside the corpus samples of nsswitch.conf and netsvc.conf."""

from __future__ import annotations

from typing import Any

import polars as pl

from tests.parsers.formats.evidence import Reading


def _active(reading: Reading) -> dict[str, list[str]]:
    rows = reading.table("params")
    assert rows["scope"].unique().to_list() == ["nsswitch"]
    return dict(rows.filter("active").select("name", "list").iter_rows())


def databases(reading: Reading, value: list[str] | int) -> None:
    found = _active(reading)
    assert (len(found) if isinstance(value, int) else list(found)) == value


def valid(reading: Reading, value: dict[str, list[str]]) -> None:
    assert _active(reading) == value


def hosts(reading: Reading, value: list[str]) -> None:
    assert _active(reading)["hosts"] == value


def netmasks(reading: Reading, value: list[str]) -> None:
    assert _active(reading)["netmasks"] == value


def cluster(reading: Reading, value: bool) -> None:
    assert any("cluster" in sources for sources in _active(reading).values()) is value


def cluster_line(reading: Reading, value: int) -> None:
    rows = reading.table("params").filter(pl.col("list").list.contains("cluster"))
    assert rows["line_no"].to_list() == [value]


def invalid_lines(reading: Reading, value: list[int]) -> None:
    assert [n.line_from for n in reading.account.notes if n.kind == "unknown"] == value


def case(reading: Reading, value: str) -> None:
    assert value == "upper-case names are accepted by lower-casing in that peer"
    rows = reading.table("params")
    assert rows["name"].to_list() == rows["name"].str.to_lowercase().to_list()


def inactive(reading: Reading, value: list[list[Any]]) -> None:
    rows = reading.table("params").filter(~pl.col("active"))
    assert [list(row) for row in rows.select("line_no", "name").iter_rows()] == value


def settings(reading: Reading, value: dict[str, list[str]]) -> None:
    assert _active(reading) == value


CHECKERS = {
    "databases": databases,
    "valid": valid,
    "hosts": hosts,
    "netmasks": netmasks,
    "cluster": cluster,
    "cluster_line": cluster_line,
    "invalid_lines": invalid_lines,
    "case": case,
    "inactive": inactive,
    "settings": settings,
}
WAIVED: dict[str, str] = {}
AHEAD = ("active",)  # a later line for the same database overrides an earlier one
REPAIRED = True  # overriding is decided within a run
