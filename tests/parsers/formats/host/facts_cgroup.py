"""Checks of the facts stored beside the corpus samples of control groups."""

from __future__ import annotations

from typing import Any

import polars as pl

from tests.parsers.formats.evidence import Reading


def counters(reading: Reading, value: int) -> None:
    assert len(reading.table("counters")) == value


def params(reading: Reading, value: dict[str, Any]) -> None:
    assert dict(reading.table("params").select("name", "num").iter_rows()) == value


def entity(reading: Reading, value: str) -> None:
    assert reading.table("params")["entity"].unique().to_list() == [value]


def values(reading: Reading, value: dict[str, float]) -> None:
    found = dict(reading.table("counters").select("name", "value").iter_rows())
    assert {k: found.get(k) for k in value} == value


def units(reading: Reading, value: dict[str, Any]) -> None:
    found = dict(reading.table("counters").select("name", "unit").iter_rows())
    assert {k: found[k] for k in value} == value


def deltas(reading: Reading, value: dict[str, float]) -> None:
    rows = reading.table("counters").filter(pl.col("sample") == 2)
    found = dict(rows.select("name", "delta").iter_rows())
    assert {k: found.get(k) for k in value} == value


CHECKERS = {
    "counters": counters,
    "params": params,
    "entity": entity,
    "values": values,
    "units": units,
    "deltas": deltas,
}
WAIVED: dict[str, str] = {}
