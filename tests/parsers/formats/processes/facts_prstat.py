"""Checks of the facts stored beside the corpus samples of prstat, top and topas."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from parsers.text.times import wall_seconds
from tests.parsers.formats.evidence import Reading
from tests.parsers.formats.told_rows import rows_of


def _rows(reading: Reading) -> pl.DataFrame:
    return reading.table("ps")


def has_banner(reading: Reading, value: bool) -> None:
    assert (_rows(reading)["t_local"].null_count() == 0) is value


def first_process(reading: Reading, value: dict[str, Any]) -> None:
    row = _rows(reading).row(0, named=True)
    for key, expected in value.items():
        if key == "VIRT":
            assert expected.endswith("m")
            assert row["vsz_kb"] == pytest.approx(float(expected[:-1]) * 1024)
        elif key == "wcpu":
            assert row["cpu_pct"] == float(expected.rstrip("%"))
        else:
            assert row[{"pid": "pid", "command": "comm", "cpu": "cpu_pct"}[key]] == expected


def top_banner(reading: Reading, value: str) -> None:
    hours, minutes, seconds = map(int, value.split(":"))
    assert _rows(reading)["t_local"][0] == hours * 3600 + minutes * 60 + seconds


def cpu_sy(reading: Reading, value: float) -> None:
    assert reading.table("vmstat")["sys"].drop_nulls()[0] == value


def mem_unit(reading: Reading, value: str) -> None:
    free = reading.table("vmstat")["free_kb"].drop_nulls()[0]
    assert free == 3446476 if value == "KiB" else free < 16 * 1024 * 1024
    assert free > 1024


def second_banner_line(reading: Reading, value: int) -> None:
    assert reading.table("vmstat").filter(pl.col("sample") == 2)["line_no"][0] == value


def sizes_have_suffix(reading: Reading, value: bool) -> None:
    assert (_rows(reading)["vsz_kb"] > 4096).any() is value


def process_rows(reading: Reading, value: int) -> None:
    assert len(_rows(reading)) == value


def zone_rows(reading: Reading, value: int) -> None:
    zones = reading.table("counters").filter(pl.col("grp") == "prstat_zone")
    assert zones["line_no"].n_unique() == value


def total(reading: Reading, value: dict[str, Any]) -> None:
    assert reading.table("vmstat")["load1"].to_list() == [value["load"][0]]


def cut_names(reading: Reading, value: str) -> None:
    assert any(x.endswith(value) for x in reading.table("counters")["item"])


def lwp_rows(reading: Reading, value: int) -> None:
    rows = reading.table("microstates")
    assert len(rows) == value
    assert rows["lwp"].null_count() == 0


def pid(reading: Reading, value: int) -> None:
    assert _rows(reading)["pid"].unique().to_list() == [value]


def max_lck_pct(reading: Reading, value: float) -> None:
    assert reading.table("microstates")["lck"].max() == value


def total_line_belongs_to(reading: Reading, value: str) -> None:
    assert value == "the report before"
    assert reading.table("vmstat")["sample"].to_list() == [1]
    assert _rows(reading)["sample"].unique().to_list() == [2]


def dash_nice(reading: Reading, value: dict[str, int]) -> None:
    assert _rows(reading).filter(pl.col("nice").is_null())["pid"].to_list() == [value["pid"]]


def max_cpu(reading: Reading, value: dict[str, Any]) -> None:
    row = _rows(reading).sort("cpu_pct", descending=True).row(0, named=True)
    assert (row["pid"], row["cpu_pct"], row["line_no"]) == (value["pid"], value["cpu"], value["line"])


def sum_cpu_pct(reading: Reading, value: float) -> None:
    assert _rows(reading)["cpu_pct"].sum() == pytest.approx(value)


def total_line(reading: Reading, value: bool) -> None:
    assert ("vmstat" in reading.tables) is value


def samples(reading: Reading, value: int) -> None:
    assert _rows(reading)["sample"].max() == value


def _of(reading: Reading, table: str, cells: dict[str, Any]) -> pl.DataFrame:
    """Return the rows of one screen joined into one: each line of the screen gives a separate row."""
    return reading.table(table).select(pl.col(list(cells)).drop_nulls().last())


def host(reading: Reading, value: dict[str, float]) -> None:
    assert _of(reading, "vmstat", value).row(0, named=True) == pytest.approx(value)
    assert reading.table("vmstat")["sample"].unique().to_list() == [1]


def disk(reading: Reading, value: dict[str, Any]) -> None:
    rows = reading.table("iostat").filter(pl.col("device") == value["device"]).select(list(value))
    assert rows.to_dicts() == [value]


def figures(reading: Reading, value: dict[str, float]) -> None:
    rows = reading.table("counters").select("grp", pl.col("item").fill_null(""), "name", "value").rows()
    found = {f"{g}|{i}|{n}": v for g, i, n, v in rows}
    assert {k: found.get(k) for k in value} == value


def mem_kb(reading: Reading, value: int) -> None:
    assert reading.table("hosts").select("os", "mem_kb").rows() == [("aix", value)]


def t_local(reading: Reading, value: str) -> None:
    at = wall_seconds(*map(int, value[:10].split("-")), *map(int, value[11:].split(":")))
    assert reading.table("vmstat")["t_local"].drop_nulls().unique().to_list() == [at]


def owner(reading: Reading, value: dict[str, Any]) -> None:
    rows = reading.table("ps").filter(pl.col("pid") == value["pid"]).select(list(value))
    assert rows.to_dicts() == [value]


def each_cpu(reading: Reading, value: list[list[float]]) -> None:
    rows = reading.table("mpstat").select("cpu", "usr", "sys", "idle", "wa").rows()
    assert [list(row) for row in rows] == value


CHECKERS = {
    "rows": rows_of("ps", "line_no", "pid", "lwp", "nlwp", "cpu_pct", "rss_kb", "cpu_time_s", "comm"),
    "host_rows": rows_of("vmstat", "line_no", "sample", "load1", "usr", "sys", "idle", "free_kb", "swap_free_kb"),
    "each_cpu": each_cpu,
    "host": host,
    "disk": disk,
    "figures": figures,
    "mem_kb": mem_kb,
    "t_local": t_local,
    "owner": owner,
    "has_banner": has_banner,
    "first_process": first_process,
    "top_banner": top_banner,
    "cpu_sy": cpu_sy,
    "mem_unit": mem_unit,
    "second_banner_line": second_banner_line,
    "sizes_have_suffix": sizes_have_suffix,
    "process_rows": process_rows,
    "zone_rows": zone_rows,
    "total": total,
    "cut_names_end_with": cut_names,
    "lwp_rows": lwp_rows,
    "pid": pid,
    "max_lck_pct": max_lck_pct,
    "total_line_belongs_to": total_line_belongs_to,
    "dash_nice": dash_nice,
    "max_cpu": max_cpu,
    "sum_cpu_pct": sum_cpu_pct,
    "total_line": total_line,
    "samples": samples,
}
WAIVED = {"tasks_total": "no table counts the tasks of a state"}
