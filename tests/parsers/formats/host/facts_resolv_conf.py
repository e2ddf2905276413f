"""Checks of the facts stored beside the corpus samples of resolv.conf."""

from __future__ import annotations

from typing import Any

import polars as pl

from tests.parsers.formats.evidence import Reading


def _active(reading: Reading) -> pl.DataFrame:
    rows = reading.table("params")
    assert rows["scope"].unique().to_list() == ["resolv"]
    return rows.filter("active")


def nameservers(reading: Reading, value: list[str]) -> None:
    assert _active(reading).filter(pl.col("name") == "nameserver")["value"].to_list() == value


def search(reading: Reading, value: list[str]) -> None:
    assert _active(reading).filter(pl.col("name") == "search")["list"].to_list() == [value]


def options(reading: Reading, value: dict[str, float | None]) -> None:
    rows = _active(reading).filter(pl.col("name").is_in(list(value)))
    assert dict(rows.select("name", "num").iter_rows()) == value


def inactive(reading: Reading, value: list[list[Any]]) -> None:
    rows = reading.table("params").filter(~pl.col("active"))
    assert [list(row) for row in rows.select("line_no", "name").iter_rows()] == value


def notes(reading: Reading, value: list[list[Any]]) -> None:
    assert [[n.line_from, n.line_to, n.kind] for n in reading.account.notes] == value


CHECKERS = {"nameservers": nameservers, "search": search, "options": options, "inactive": inactive, "notes": notes}
WAIVED: dict[str, str] = {}
AHEAD = ("active",)  # a later line for the same setting overrides an earlier one
REPAIRED = True  # overriding is decided within a run
