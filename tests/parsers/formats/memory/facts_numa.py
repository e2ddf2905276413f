"""Checks of the facts stored beside the corpus samples of NUMA nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl

from tests.parsers.formats.evidence import Reading


def _rows(reading: Reading, metric: str) -> pl.DataFrame:
    return reading.table("numa").filter(pl.col("metric") == metric)


def nodes(reading: Reading, value: int) -> None:
    rows = reading.table("numa")
    assert rows["node"].drop_nulls().n_unique() == value


def _one_or_all(metric: str) -> Callable[[Reading, Any], None]:
    """Check a size in MB: a number if there is one node, else a list or an object by node."""

    def check(reading: Reading, value: Any) -> None:
        found = {str(n): v / 1024 for n, v in _rows(reading, metric).select("node", "value").iter_rows()}
        if isinstance(value, dict):
            assert found == value
        else:
            assert list(found.values()) == (value if isinstance(value, list) else [value])

    return check


def lgroups(reading: Reading, value: int) -> None:
    assert len(_rows(reading, "latency")) == value


def root(reading: Reading, value: int) -> None:
    """Check that the rows of the root group, which is not a node, have no node."""
    assert value == 0
    assert reading.table("numa").filter(pl.col("node").is_null())["metric"].to_list()[:1] == ["cpus"]


def leaf_cpus(reading: Reading, value: dict[str, list[int]]) -> None:
    rows = _rows(reading, "cpus").filter(pl.col("node").is_not_null())
    assert {str(n): v for n, v in rows.select("node", "value").iter_rows()} == {k: len(v) for k, v in value.items()}


def latency(reading: Reading, value: dict[str, int]) -> None:
    rows = _rows(reading, "latency").select(pl.col("node").fill_null(0), "value")
    assert {str(n): v for n, v in rows.iter_rows()} == value


def node0_cpus(reading: Reading, value: int) -> None:
    assert _rows(reading, "cpus").filter(pl.col("node") == 0)["value"].to_list() == [value]


def distance_0_1(reading: Reading, value: int) -> None:
    rows = _rows(reading, "distance").filter((pl.col("node") == 0) & (pl.col("node2") == 1))
    assert rows["value"].to_list() == [value]


def max_distance(reading: Reading, value: int) -> None:
    assert _rows(reading, "distance")["value"].max() == value


def matrix_symmetric(reading: Reading, value: bool) -> None:
    found = {(a, b): v for a, b, v in _rows(reading, "distance").select("node", "node2", "value").iter_rows()}
    assert all(found[b, a] == v for (a, b), v in found.items()) is value


def sizes_known(reading: Reading, value: bool) -> None:
    assert bool(len(_rows(reading, "mem_kb"))) is value


def rows(reading: Reading, value: list[list[Any]]) -> None:
    """Check rows as [sample, node, metric, value]."""
    found = reading.table("numa").select("sample", "node", "metric", "value")
    assert [list(row) for row in found.iter_rows()] == value


def processes(reading: Reading, value: list[list[Any]]) -> None:
    found = reading.table("counters").select("item", "name", "value", "unit")
    assert [list(row) for row in found.iter_rows()] == value


def notes(reading: Reading, value: list[list[Any]]) -> None:
    assert [[n.line_from, n.line_to, n.kind] for n in reading.account.notes] == value


CHECKERS = {
    "node0_cpus": node0_cpus,
    "distance_0_1": distance_0_1,
    "max_distance": max_distance,
    "matrix_symmetric": matrix_symmetric,
    "sizes_known": sizes_known,
    "sizes_MB": _one_or_all("mem_kb"),
    "rows": rows,
    "processes": processes,
    "notes": notes,
    "nodes": nodes,
    "size_MB": _one_or_all("mem_kb"),
    "free_MB": _one_or_all("free_kb"),
    "lgroups": lgroups,
    "leaves": nodes,
    "root": root,
    "leaf_cpus": leaf_cpus,
    "latency": latency,
}
WAIVED: dict[str, str] = {}
