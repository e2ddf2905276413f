"""Checks of the facts stored beside the corpus samples of ss."""

from __future__ import annotations

from typing import Any

import polars as pl

from tests.parsers.formats.evidence import Reading


def sockets(reading: Reading, value: int) -> None:
    assert len(reading.table("sockets")) == value


def states(reading: Reading, value: dict[str, int]) -> None:
    assert dict(reading.table("sockets")["state"].value_counts().iter_rows()) == value


def listener(reading: Reading, value: list[Any]) -> None:
    rows = reading.table("sockets").filter(pl.col("state") == "LISTEN")
    assert rows.select("recvq", "sendq", "local_port", "pid", "comm").rows() == [tuple(value)]


def protos(reading: Reading, value: list[str]) -> None:
    assert reading.table("sockets")["proto"].to_list() == value


def details(reading: Reading, value: dict[str, float]) -> None:
    rows = reading.table("counters").filter(pl.col("grp") == "ss_tcp")
    assert {k: v for k, v in rows.select("name", "value").iter_rows() if k in value} == value


def summary(reading: Reading, value: dict[str, float]) -> None:
    rows = reading.table("counters")
    found = {f"{i} {n}": v for i, n, v in rows.select("item", "name", "value").iter_rows()}
    assert {k: found.get(k) for k in value} == value


CHECKERS = {
    "sockets": sockets,
    "states": states,
    "listener": listener,
    "protos": protos,
    "details": details,
    "summary": summary,
}
WAIVED: dict[str, str] = {}
