"""Checks of the facts stored beside the corpus samples of perf: profiles, counters and scheduling.

Checks for `perf trace` are in `facts_perf_trace.py`, if that module exists.
"""

from __future__ import annotations

import importlib.util
from typing import Any

import polars as pl
import pytest

from tests.parsers.formats.evidence import Reading
from tests.parsers.formats.told_rows import rows_of

Facts = dict[str, Any]


def _symbols(reading: Reading) -> pl.DataFrame:
    return reading.table("profile_symbols")


def _stacks(reading: Reading) -> pl.DataFrame:
    return reading.table("profile_stacks")


def _stat(reading: Reading) -> pl.DataFrame:
    """Return the counters, without derived values and the times at the end."""
    rows = reading.table("counters")
    return rows.filter((pl.col("grp") == "perf_stat") & (pl.col("unit").is_null() | (pl.col("unit") != "s")))


def rows(reading: Reading, value: int) -> None:
    assert len(_symbols(reading) if "profile_symbols" in reading.tables else _stat(reading)) == value


def stat_rows(reading: Reading, value: list[list[Any]]) -> None:
    """Check the counters and the times at the end: line, name, unit, value."""
    rows = reading.table("counters").filter(pl.col("grp") == "perf_stat")
    assert [list(row) for row in rows.select("line_no", "name", "unit", "value").iter_rows()] == value


def metrics(reading: Reading, value: dict[str, float]) -> None:
    """Check derived values that have a name."""
    rows = reading.table("counters").filter((pl.col("grp") == "perf_stat_metric") & pl.col("name").is_in(list(value)))
    assert dict(rows.select("name", "value").iter_rows()) == value


def top_row(reading: Reading, value: Facts) -> None:
    row = _symbols(reading).row(0, named=True)
    assert (row["pct"], row["line_no"]) == (value["pct"], value["line"])
    assert value["text"].split()[-1] == row["symbol"]
    mark = "[k]" if row["kernel"] else "[.]"
    assert value["text"].split() == [x for x in (row["comm"], row["dso"], mark, row["symbol"]) if x]


def top(reading: Reading, value: list[Any]) -> None:
    row = _symbols(reading).row(0, named=True)
    found = [row["symbol"], row["pct"]] if len(value) == 2 else [row["symbol"], row["samples"], row["pct"]]
    assert found == value


def pct_sum(reading: Reading, value: float) -> None:
    assert _symbols(reading)["pct"].sum() == pytest.approx(value)


def samples_sum(reading: Reading, value: int) -> None:
    assert _symbols(reading)["samples"].sum() == value


def event_count(reading: Reading, value: int) -> None:
    assert reading.table("counters").filter(name="event_count")["value"].to_list() == [value]


def samples_header(reading: Reading, value: str) -> None:
    """Check that a rounded count (`1K`) is not stored as a number of samples."""
    expected = float(value) if value.isdecimal() else None
    assert reading.table("profile_meta")["total_samples"].to_list() == [expected]


def irqs_per_sec(reading: Reading, value: int) -> None:
    assert reading.table("profile_meta")["irqs_ps"].to_list() == [value]


def kernel_pct(reading: Reading, value: float) -> None:
    assert reading.table("profile_meta")["kernel_pct"].to_list() == [value]


def cpus(reading: Reading, value: int) -> None:
    assert reading.table("profile_meta")["ncpu"].to_list() == [value]


def frames(reading: Reading, value: int) -> None:
    """Check the number of screens of perf top; an excerpt of one screen may lack its header."""
    assert _symbols(reading)["frame"].n_unique() == value


def overhead_pct(reading: Reading, value: float) -> None:
    assert _symbols(reading)["pct"].to_list() == [value]


def command(reading: Reading, value: str) -> None:
    assert _symbols(reading)["comm"].to_list() == [value]


def root_symbol(reading: Reading, value: str) -> None:
    assert _symbols(reading)["symbol"].to_list() == [value]
    assert _stacks(reading)["leaf"].unique().to_list() == [value]


def chain_has(reading: Reading, value: list[str]) -> None:
    chain = _stacks(reading)["frames"][0].to_list()
    places = [chain.index(x) for x in value]
    assert places == sorted(places)


def semctl_share(reading: Reading, value: float) -> None:
    """Check that a stored share is of the total; the printed one was of the parent."""
    row = _stacks(reading).row(0, named=True)
    shares = dict(zip(row["frames"], row["pcts"], strict=True))
    assert shares["semctl_main"] / shares["ipc_lock"] * 100 == pytest.approx(value)


def root_row_present(reading: Reading, value: bool) -> None:
    assert ("profile_symbols" in reading.tables) is value
    assert _stacks(reading)["weight"].is_null().all() is not value


def nodes(reading: Reading, value: int) -> None:
    """Check the number of branches: prefixes of the printed chains, each with its share."""
    chains = [tuple(zip(r["frames"], r["pcts"], strict=True)) for r in _stacks(reading).iter_rows(named=True)]
    repeated = 0  # up_write and others stand alone; equal prefixes of different branches do not occur here
    assert len({c[: i + 1] for c in chains for i in range(len(c))}) + repeated == value


def chain_lines_follow_row(reading: Reading, value: bool) -> None:
    owners = set(_symbols(reading)["line_no"])
    assert set(_stacks(reading)["line_no"]) <= owners
    assert value


def first_chain_pct(reading: Reading, value: float) -> None:
    assert _stacks(reading)["weight"][0] == value


def samples(reading: Reading, value: int) -> None:
    assert len(_stacks(reading)) == value


def events(reading: Reading, value: dict[str, int]) -> None:
    assert dict(_stacks(reading).group_by("event").len().iter_rows()) == value


def first_time(reading: Reading, value: float) -> None:
    assert _timed(reading)["t_local"].min() == value


def last_time(reading: Reading, value: float) -> None:
    assert _timed(reading)["t_local"].max() == value


def _timed(reading: Reading) -> pl.DataFrame:
    return _stacks(reading) if "profile_stacks" in reading.tables else reading.table("counters")


def _counter(name: str) -> Any:
    def check(reading: Reading, value: float) -> None:
        assert _stat(reading).filter(name=name)["value"].to_list() == [value]

    return check


def _seconds(name: str) -> Any:
    def check(reading: Reading, value: float) -> None:
        row = reading.table("counters").filter(name=name, unit="s")
        assert row["value"].to_list() == [value]

    return check


def not_supported(reading: Reading, value: list[str]) -> None:
    assert _stat(reading).filter(pl.col("value").is_null())["name"].to_list() == value


def intervals(reading: Reading, value: int) -> None:
    assert _stat(reading)["sample"].unique().sort().to_list() == list(range(1, value + 1))


def first_interval_page_faults(reading: Reading, value: int) -> None:
    assert _stat(reading).filter(name="page-faults", sample=1)["delta"].to_list() == [value]


def null_values(reading: Reading, value: int) -> None:
    assert _stat(reading)["value"].null_count() == value


def context_switches_by_cpu(reading: Reading, value: dict[str, int]) -> None:
    assert dict(_stat(reading).filter(name="context-switches").select("item", "value").iter_rows()) == value


def tasks(reading: Reading, value: int) -> None:
    assert len(reading.table("counters").filter(pl.col("name") == "run_ms", pl.col("item") != "TOTAL")) == value


def total_run_ms(reading: Reading, value: float) -> None:
    assert reading.table("counters").filter(name="run_ms", item="TOTAL")["value"].to_list() == [value]


def total_switches(reading: Reading, value: int) -> None:
    assert reading.table("counters").filter(name="switches", item="TOTAL")["value"].to_list() == [value]


def sleep_run_ms(reading: Reading, value: float) -> None:
    rows = reading.table("counters").filter(pl.col("item").str.starts_with("sleep:"), pl.col("name") == "run_ms")
    assert rows["value"].to_list() == [value]


def runs(reading: Reading, value: int) -> None:
    assert len(reading.table("counters").filter(name="run_ms")) == value


def mean_us(reading: Reading, value: dict[str, float]) -> None:
    locks = reading.table("locks")
    found = {r["lock"] or r["caller"]: r["mean_ns"] / 1000 for r in locks.iter_rows(named=True)}
    assert found == pytest.approx(value)


def kept_rows(reading: Reading, value: int) -> None:
    assert len(_stacks(reading).drop_nulls("weight")) == value


def fragments(reading: Reading, value: int) -> None:
    assert _stacks(reading)["weight"].null_count() == value


def comms(reading: Reading, value: list[str]) -> None:
    assert _stacks(reading)["comm"].drop_nulls().to_list() == value


def leaves(reading: Reading, value: list[str]) -> None:
    assert _stacks(reading)["leaf"].to_list() == value


def repaired(reading: Reading, value: int) -> None:
    assert sum(n.kind == "repaired" for n in reading.account.notes) == value


def tracepoints(reading: Reading, value: list[list[Any]]) -> None:
    rows = reading.table("logs").select("line_no", "op", "pid", "program", "text").rows()
    assert [row for row in map(tuple, value) if row not in rows] == []


def tracepoint_rows(reading: Reading, value: int) -> None:
    assert reading.table("logs").select("source", "t_local").drop_nulls().height == value


CHECKERS = {
    "tracepoints": tracepoints,
    "tracepoint_rows": tracepoint_rows,
    "rows": rows,
    "stat_rows": stat_rows,
    "metrics": metrics,
    "lock_rows": rows_of("locks", "line_no", "n", "mean_ns", "event", "lock", "caller"),
    "top_row": top_row,
    "top": top,
    "pct_sum": pct_sum,
    "samples_sum": samples_sum,
    "event_count": event_count,
    "samples_header": samples_header,
    "irqs_per_sec": irqs_per_sec,
    "kernel_pct": kernel_pct,
    "cpus": cpus,
    "frames": frames,
    "overhead_pct": overhead_pct,
    "command": command,
    "root_symbol": root_symbol,
    "chain_has": chain_has,
    "semctl_share": semctl_share,
    "root_row_present": root_row_present,
    "nodes": nodes,
    "chain_lines_follow_row": chain_lines_follow_row,
    "first_chain_pct": first_chain_pct,
    "samples": samples,
    "events": events,
    "first_time": first_time,
    "last_time": last_time,
    "cycles": _counter("cycles"),
    "task_clock_msec": _counter("task-clock"),
    "context_switches": _counter("context-switches"),
    "page_faults": _counter("page-faults"),
    "elapsed_seconds": _seconds("time elapsed"),
    "user_seconds": _seconds("user"),
    "sys_seconds": _seconds("sys"),
    "not_supported": not_supported,
    "intervals": intervals,
    "first_interval_page_faults": first_interval_page_faults,
    "null_values": null_values,
    "context_switches_by_cpu": context_switches_by_cpu,
    "tasks": tasks,
    "total_run_ms": total_run_ms,
    "total_switches": total_switches,
    "sleep_run_ms": sleep_run_ms,
    "runs": runs,
    "mean_us": mean_us,
    "kept_rows": kept_rows,
    "fragments": fragments,
    "comms": comms,
    "leaves": leaves,
    "repaired": repaired,
}
WAIVED: dict[str, str] = {}
AHEAD = ("complete",)
"""Columns that a later line decides: a stack is complete if the next line shows it."""

if importlib.util.find_spec("tests.parsers.formats.tracing.facts_perf_trace"):
    CHECKERS |= importlib.import_module("tests.parsers.formats.tracing.facts_perf_trace").CHECKERS
