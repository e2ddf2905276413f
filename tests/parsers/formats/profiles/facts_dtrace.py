"""Checks of the facts stored beside the corpus samples of dtrace: aggregations, histograms, stacks, tool kit tables."""

from __future__ import annotations

import re
from typing import Any

import polars as pl

from tests.parsers.formats.evidence import Reading

Facts = dict[str, Any]


def _stacks(reading: Reading) -> pl.DataFrame:
    return reading.table("profile_stacks")


def _counters(reading: Reading) -> pl.DataFrame:
    return reading.table("counters")


def _groups(reading: Reading) -> list[pl.DataFrame]:
    """Return the buckets of each histogram: lines without a gap."""
    rows = reading.table("hist")
    return rows.with_columns(g=(pl.col("line_end").diff().fill_null(1) != 1).cum_sum()).partition_by("g")


def histograms(reading: Reading, value: list[Facts]) -> None:
    groups = _groups(reading)
    assert len(groups) == len(value)
    for rows, expected in zip(groups, value, strict=True):
        key = " ".join(x for x in (rows["key1"][0], rows["key2"][0]) if x)
        assert key == expected["key"]
        assert rows["line_end"][0] == expected["line"] + 1  # the fact has the line of the heading
        assert (rows["n"].sum(), len(rows)) == (expected["total"], expected["rows"])
        filled = rows.filter(pl.col("n") > 0)
        assert {f"{lo:.0f}": n for lo, n in filled.select("lo", "n").iter_rows()} == expected["nonzero"]
        assert rows["complete"].all()


def histogram_count(reading: Reading, value: int) -> None:
    assert len(_groups(reading)) == value


def keys(reading: Reading, value: list[list[Any]]) -> None:
    assert [[g["key1"][0], int(g["key2"][0])] for g in _groups(reading)] == value


def aggregations(reading: Reading, value: list[str]) -> None:
    assert [g["agg"][0] for g in _groups(reading)] == value


def buckets_of(name: str) -> Any:
    def check(reading: Reading, value: dict[str, int]) -> None:
        rows = reading.table("hist").filter(pl.col("key1") == name, pl.col("n") > 0)
        assert {f"{lo:.0f}": n for lo, n in rows.select("lo", "n").iter_rows()} == value

    return check


def stacks(reading: Reading, value: int) -> None:
    assert len(_stacks(reading)) == value


def samples(reading: Reading, value: int) -> None:
    assert _stacks(reading)["weight"].sum() == value


def max_count(reading: Reading, value: int) -> None:
    assert _stacks(reading)["weight"].max() == value


def last_stack_open(reading: Reading, value: bool) -> None:
    assert _stacks(reading)["weight"].is_null()[-1] is value


def frames(reading: Reading, value: int) -> None:
    assert _stacks(reading)["frames"].list.len().to_list() == [value]


def stack_value(reading: Reading, value: int | None) -> None:
    assert _stacks(reading)["weight"].to_list() == [value]
    assert _stacks(reading)["complete"].to_list() == [False]


def count(reading: Reading, value: int) -> None:
    assert _stacks(reading)["weight"].to_list() == [value]


def leaf(reading: Reading, value: str) -> None:
    assert _stacks(reading)["leaf"].to_list() == [value]


def root(reading: Reading, value: str) -> None:
    assert _stacks(reading)["frames"][0][-1] == value


def modules_in_order(reading: Reading, value: list[str]) -> None:
    found = [x.split("`")[0] for x in _stacks(reading)["frames"][0]]
    assert [x for i, x in enumerate(found) if i == 0 or found[i - 1] != x] == value


def nss_cluster_frames(reading: Reading, value: int) -> None:
    assert sum(x.startswith("nss_cluster.so.1`") for x in _stacks(reading)["frames"][0]) == value


def rows(reading: Reading, value: int) -> None:
    assert len(_counters(reading) if "counters" in reading.tables else reading.table("logs")) == value


def top(reading: Reading, value: list[Any]) -> None:
    row = _counters(reading).sort("value").row(-1, named=True)
    assert [row["item"].split()[0], row["value"]] == value


def probes_matched(reading: Reading, value: list[int]) -> None:
    found = [re.search(r"matched ([0-9]+) probe", x) for x in reading.table("logs")["text"]]
    assert [int(m[1]) for m in found if m] == value


def intervals(reading: Reading, value: int) -> None:
    assert _counters(reading)["sample"].unique().sort().to_list() == list(range(1, value + 1))
    assert _counters(reading)["t_local"].n_unique() == value


def first(reading: Reading, value: dict[str, int]) -> None:
    assert dict(_counters(reading).filter(sample=1).select("item", "value").iter_rows()) == value


def unit(reading: Reading, value: str) -> None:
    assert _counters(reading)["unit"].unique().to_list() == [value]


def _of(title: str) -> Any:
    def check(reading: Reading, value: dict[str, int]) -> None:
        rows = _counters(reading).filter(pl.col("grp").str.starts_with(title))
        assert dict(rows.select("item", "value").iter_rows()) == value
        assert rows["unit"].unique().to_list() == ["ns"]

    return check


def delta(reading: Reading, value: list[float]) -> None:
    rows = _counters(reading).filter(pl.col("item") == "dofuncs`delta")
    assert rows.sort("name")["value"].to_list() == value


def total(reading: Reading, value: int) -> None:
    assert _counters(reading).filter(name="count")["value"].sum() == value


def pid(reading: Reading, value: int) -> None:
    assert reading.table("logs")["pid"].unique().to_list() == [value]


def first_time_ns(reading: Reading, value: int) -> None:
    assert round(reading.table("logs")["t_local"][0] * 1e9, -3) == round(value, -3)


def last_time_ns(reading: Reading, value: int) -> None:
    assert round(reading.table("logs")["t_local"][-1] * 1e9, -3) == round(value, -3)


def header_is_last_line(reading: Reading, value: bool) -> None:
    assert (reading.table("logs")["line_no"].max() < reading.account.lines) is value
    assert reading.account.account.unknown == 0


def longest_us(reading: Reading, value: int) -> None:
    rows = _counters(reading).filter(name="delta")
    assert (rows["value"].max(), rows["unit"].unique().to_list()) == (value, ["us"])


def escape_sequences(reading: Reading, value: bool) -> None:
    """Check that no escape sequence is left in the rows."""
    texts = [*reading.table("counters")["item"], *reading.table("logs")["text"]]
    assert (not any("\x1b" in x for x in texts)) is value


def header_line(reading: Reading, value: str) -> None:
    """Check that the firing of the probe opens the sample and counts as read."""
    assert reading.table("hist")["line_no"].min() == 2
    assert not any(value in n.text for n in reading.account.notes)


def weights(reading: Reading, value: dict[str, float]) -> None:
    assert dict(_stacks(reading).select("leaf", "weight").iter_rows()) == value


def comms(reading: Reading, value: list[str]) -> None:
    assert _stacks(reading)["comm"].to_list() == value


def values(reading: Reading, value: dict[str, float]) -> None:
    assert (
        dict(
            _counters(reading)
            .select(pl.concat_str("item", "name", separator=" ", ignore_nulls=True), "value")
            .iter_rows()
        )
        == value
    )


def edges(reading: Reading, value: list[list[float | None]]) -> None:
    assert reading.table("hist").select("lo", "hi", "n").rows() == [tuple(x) for x in value]


def damaged(reading: Reading, value: int) -> None:
    assert reading.account.account.damaged == value


def repaired(reading: Reading, value: int) -> None:
    assert sum(n.kind == "repaired" for n in reading.account.notes) == value


def data_lost(reading: Reading, value: int) -> None:
    assert sum(n.text.startswith("data lost") for n in reading.account.notes) == value


CHECKERS = {
    "histograms": histograms,
    "histogram_count": histogram_count,
    "keys": keys,
    "aggregations": aggregations,
    "oracle": buckets_of("oracle"),
    "sched": buckets_of("sched"),
    "stacks": stacks,
    "samples": samples,
    "max_count": max_count,
    "last_stack_open": last_stack_open,
    "frames": frames,
    "value": stack_value,
    "count": count,
    "leaf": leaf,
    "root": root,
    "modules_in_order": modules_in_order,
    "nss_cluster_frames": nss_cluster_frames,
    "rows": rows,
    "top": top,
    "probes_matched": probes_matched,
    "intervals": intervals,
    "first": first,
    "unit": unit,
    "elapsed_ns": _of("Elapsed"),
    "cpu_ns": _of("CPU"),
    "dofuncs`delta": delta,
    "total": total,
    "pid": pid,
    "first_time_ns": first_time_ns,
    "last_time_ns": last_time_ns,
    "header_is_last_line": header_is_last_line,
    "longest_us": longest_us,
    "escape_sequences": escape_sequences,
    "header_line": header_line,
    "weights": weights,
    "comms": comms,
    "values": values,
    "edges": edges,
    "damaged": damaged,
    "repaired": repaired,
    "data_lost": data_lost,
}
WAIVED: dict[str, str] = {}
AHEAD = ("complete", "hi")
"""Columns that later lines decide: the upper edge of a bucket is the next label; a histogram is complete with its last bucket."""
