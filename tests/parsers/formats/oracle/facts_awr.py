"""Checks of the facts stored beside the corpus samples of workload reports and listings of dynamic views."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from tests.parsers.formats.evidence import Reading

# Headings are recognised by the dashes below them. No report is as long as a run; where a run ends between them (runs made small), the
# account counts the headings without knowing the dashes, rows are the same (`test_runs_and_blocks_cut_nothing_of_a_report`).
REPAIRED = True


def _counter(reading: Reading, group: str, name: str, item: str | None = None) -> float:
    rows = reading.table("counters").filter((pl.col("grp") == group) & (pl.col("name") == name))
    rows = rows.filter(pl.col("item").eq_missing(pl.lit(item))) if item or group == "snapshot" else rows
    return float(rows["value"][0])


def _waits(reading: Reading) -> pl.DataFrame:
    return reading.table("db_waits")


def _event(reading: Reading, name: str) -> dict[str, Any]:
    return _waits(reading).filter(pl.col("event") == name).row(0, named=True)


def elapsed_min(reading: Reading, value: float) -> None:
    assert _counter(reading, "snapshot", "elapsed") == pytest.approx(value * 60)


def db_time_min(reading: Reading, value: float) -> None:
    assert _counter(reading, "snapshot", "db_time") == pytest.approx(value * 60)


def active_sessions(reading: Reading, value: float) -> None:
    assert round(_counter(reading, "snapshot", "db_time") / _counter(reading, "snapshot", "elapsed"), 2) == value


def snap_times(reading: Reading, value: float) -> None:
    domain = reading.account.parts[0].domains[0]
    assert domain.t_begin is not None
    assert domain.t_end is not None
    assert domain.t_end - domain.t_begin == value


def _top(reading: Reading) -> dict[str, Any]:
    return _waits(reading).row(0, named=True)


def top_event(reading: Reading, value: str) -> None:
    assert _top(reading)["event"] == value


def top_event_waits(reading: Reading, value: int) -> None:
    assert _top(reading)["n"] == value


def top_event_time(reading: Reading, value: float) -> None:
    assert _top(reading)["total_s"] == value


def top_event_avg(reading: Reading, value: float) -> None:
    assert round(_top(reading)["total_s"] / _top(reading)["n"] * 1000, 1) == value == _top(reading)["avg_ms"]


def logons(reading: Reading, value: float) -> None:
    assert _counter(reading, "load_profile", "Logons", "per second") == value


def thread_startup(reading: Reading, value: float) -> None:
    assert _event(reading, "os thread startup")["avg_ms"] == value


def names_cut(reading: Reading, value: list[str]) -> None:
    assert set(value) <= set(_waits(reading)["event"])
    assert {len(v) for v in value} == {26}


def _cpu(reading: Reading, name: str) -> float:
    return _counter(reading, "host_cpu", name)


def cpu_sum(reading: Reading, value: float) -> None:
    assert sum(_cpu(reading, n) for n in ("%user", "%system", "%wio", "%idle")) == pytest.approx(value)


def wio_in_idle(reading: Reading, value: bool) -> None:
    assert (_cpu(reading, "%user") + _cpu(reading, "%system") + _cpu(reading, "%idle") < 101) is value


def foreign_text(reading: Reading, value: str) -> None:
    assert any(n.kind == "remark" and value in n.text for n in reading.account.notes)
    assert not reading.table("counters")["name"].str.contains(value, literal=True).any()


def rows(reading: Reading, value: int) -> None:
    assert len(reading.table("sessions" if "sessions" in reading.tables else "db_waits")) == value


def stale_slaves(reading: Reading, value: int) -> None:
    found = reading.table("sessions").filter(
        pl.col("event").str.starts_with("PX Deq: Slave Session Stats") & (pl.col("state") == "INACTIVE")
    )
    assert len(found) == value


def inactive(reading: Reading, value: int) -> None:
    assert (reading.table("sessions")["state"] == "INACTIVE").sum() == value


def header_missing(reading: Reading, value: bool) -> None:
    assert any("no headings" in n.text for n in reading.account.notes) is value


def mixed_units(reading: Reading, value: list[str]) -> None:
    # Totals are printed in hours and minutes, averages in milli- and microseconds; columns are in seconds and milliseconds.
    assert value == ["h", "m", "ms", "us"]
    worst = (_waits(reading)["total_s"] / _waits(reading)["n"] * 1000 / _waits(reading)["avg_ms"] - 1).abs().max()
    assert isinstance(worst, float)
    assert worst < 0.01


def px_stats(reading: Reading, value: dict[str, Any]) -> None:
    row = _event(reading, "PX Deq: Slave Session Stats")
    assert row["n"] == value["waits"]
    assert row["total_s"] == pytest.approx(float(value["time"][:-1]) * 60)
    assert row["avg_ms"] == pytest.approx(float(value["avg"][:-2]) / 1000)
    assert round(row["n"] * row["avg_ms"] / 60000, 2) == value["waits_times_avg_min"]


def unit(reading: Reading, value: str) -> None:
    assert "microseconds is our reading" in value
    assert any("microseconds" in n.text for n in reading.account.notes)


def largest(reading: Reading, value: str) -> None:
    assert _waits(reading).sort("total_s", descending=True)["event"][0] == value


def resources(reading: Reading, value: dict[str, list[float | None]]) -> None:
    found = {
        n: list(rest) for n, *rest in reading.table("resource_use").select("name", "used", "peak", "limit_num").rows()
    }
    assert found == value


def sessions(reading: Reading, value: list[dict[str, Any]]) -> None:
    found = reading.table("sessions").to_dicts()
    assert len(found) == len(value)
    for row, told in zip(found, value, strict=True):
        assert {k: row[k] for k in told} == told


def host(reading: Reading, value: dict[str, Any]) -> None:
    row = reading.table("hosts").row(0, named=True)
    assert {k: row[k] for k in value} == value


def events(reading: Reading, value: dict[str, list[float | None]]) -> None:
    for name, (n, total) in value.items():
        assert (_event(reading, name)["n"], _event(reading, name)["total_s"]) == (n, total)


def unknown_lines(reading: Reading, value: int) -> None:
    assert reading.account.account.unknown == value


def params(reading: Reading, value: dict[str, str]) -> None:
    told = dict(reading.table("params").select("name", "value").rows())
    assert {n: told[n] for n in value} == value


def figures(reading: Reading, value: list[list[Any]]) -> None:
    found = set(reading.table("counters").select("grp", "item", "name", "value", "unit").rows())
    assert [row for row in map(tuple, value) if row not in found] == []


def figures_of(reading: Reading, value: dict[str, int]) -> None:
    groups = reading.table("counters").group_by("grp").len()
    assert {g: n for g, n in groups.rows() if g in value} == value


def shares(reading: Reading, value: dict[str, list[Any]]) -> None:
    for name, told in value.items():
        row = _event(reading, name)
        assert [row["wait_class"], row["pct"]] == told
        assert row["n"] is None
        assert row["total_s"] is None


def timed(reading: Reading, value: dict[str, list[Any]]) -> None:
    for name, told in value.items():
        row = _event(reading, name)
        assert [row["wait_class"], row["n"], row["pct"]] == told


def masked(reading: Reading, value: list[str]) -> None:
    everything = str([t.to_dicts() for t in reading.tables.values()])
    for word in value:
        assert word not in everything


def waits_between(reading: Reading, value: dict[str, list[Any]]) -> None:
    """Check a bucket of a histogram's detail: [edges, share, printed waits, share of the printed waits].

    The number of waits in the bucket is its share of all waits, which follow from the printed waits and their share.
    """
    for name, (edges, share, shown, inner) in value.items():
        rows = reading.table("hist").filter((pl.col("key1") == name) & (pl.col("lo") == edges[0]))
        assert rows["hi"][0] == edges[1]
        assert rows["n"][0] == pytest.approx(shown * share / inner, abs=0.001)


def averages(reading: Reading, value: dict[str, float]) -> None:
    assert {name: _event(reading, name)["avg_ms"] for name in value} == pytest.approx(value)


CHECKERS = {
    "figures": figures,
    "figures_of": figures_of,
    "shares": shares,
    "timed_events": timed,
    "masked": masked,
    "elapsed_min": elapsed_min,
    "db_time_min": db_time_min,
    "average_active_sessions": active_sessions,
    "elapsed_from_snap_times_s": snap_times,
    "top_event": top_event,
    "top_event_waits": top_event_waits,
    "top_event_time_s": top_event_time,
    "top_event_avg_ms_recomputed": top_event_avg,
    "logons_per_s": logons,
    "os_thread_startup_avg_ms": thread_startup,
    "event_names_cut_at_26": names_cut,
    "user_plus_system_plus_wio_plus_idle": cpu_sum,
    "wio_is_part_of_idle": wio_in_idle,
    "foreign_text_at_line_end": foreign_text,
    "rows": rows,
    "px_slaves_with_a_stale_event": stale_slaves,
    "inactive_rows": inactive,
    "header_missing": header_missing,
    "mixed_units": mixed_units,
    "px_slave_session_stats": px_stats,
    "unit": unit,
    "largest": largest,
    "resources": resources,
    "sessions": sessions,
    "host": host,
    "events": events,
    "unknown_lines": unknown_lines,
    "params": params,
    "waits_between": waits_between,
    "averages_ms": averages,
}
WAIVED = {
    "empty_histogram_cells_are_blanks": "without headings the cells' edges are unknown: the histogram is not read, a note says so"
}
