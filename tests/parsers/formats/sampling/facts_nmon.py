"""Checks of the facts stored beside the corpus samples of nmon."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import polars as pl

from parsers.text.times import wall_text
from tests.parsers.formats.evidence import Reading


def host(reading: Reading, value: str) -> None:
    assert reading.account.parts[0].facts["host"] == value


def _rows(reading: Reading) -> pl.DataFrame:
    return pl.concat([t for n, t in reading.tables.items() if n in ("vmstat", "iostat", "mpstat")], how="diagonal")


def zzzz(reading: Reading, value: int) -> None:
    """Check the number of snapshots with a stamp, or the span of the domain where the file has no other records."""
    if "vmstat" not in reading.tables:
        domain = reading.account.parts[0].domains[0]
        assert domain.t_begin is not None
        assert domain.t_end is not None
        step = reading.account.parts[0].facts["interval_s"]
        assert (domain.t_end - domain.t_begin) / step == value - 1
        return
    guessed = [n.line_from for n in reading.account.notes if "no ZZZZ record" in n.text]
    rows = reading.table("vmstat")
    assert len(rows.filter(pl.col("line_no") < min(guessed, default=10**9))) == value


def _stamp(text: str) -> str:
    _, _, time, day = text.split(",")
    return datetime.strptime(f"{day} {time}", "%d-%b-%Y %H:%M:%S").isoformat()


def first(reading: Reading, value: str) -> None:
    assert wall_text(reading.table("vmstat")["t_local"][0]) == _stamp(value)
    assert reading.table("vmstat")["sample"][0] == 1


def last(reading: Reading, value: str) -> None:
    assert wall_text(reading.table("vmstat")["t_local"][-1]) == _stamp(value)
    assert reading.table("vmstat")["sample"][-1] == int(value.split(",")[1][1:])


def snapshots_declared(reading: Reading, value: int) -> None:
    command = reading.account.parts[0].facts["tool_opts"]
    assert command[command.index("-c") + 1] == str(value)


def max_sys_pct(reading: Reading, value: dict[str, Any]) -> None:
    row = reading.table("vmstat").sort("sys", nulls_last=False).row(-1, named=True)
    assert (row["sys"], row["sample"]) == (value["value"], int(value["snapshot"][1:]))


def records(reading: Reading, value: dict[str, int]) -> None:
    """Check the records: CPU_ALL gives rows of vmstat, VM and adapters give counters, disks give rows of iostat."""
    for tag, count in value.items():
        if tag == "CPU_ALL":
            assert reading.table("vmstat")["usr"].count() == count
        elif tag.startswith("DISKBUSY"):
            lines = reading.table("iostat").filter(pl.col("busy_pct").is_not_null())
            assert lines["sample"].n_unique() == count
        else:
            assert reading.table("counters").filter(pl.col("grp") == tag)["line_no"].n_unique() == count


def clock_note(reading: Reading, value: str) -> None:
    assert value.startswith("T0120 is 125 s after T0001")
    rows = reading.table("vmstat")
    assert rows["t_local"][-1] - rows["t_local"][0] == 125
    assert rows["interval_s"][1:].sum() == 125


def interval_s(reading: Reading, value: float) -> None:
    assert reading.account.parts[0].facts["interval_s"] == value


def busiest(reading: Reading, value: dict[str, Any]) -> None:
    row = reading.table("iostat").sort("busy_pct").row(-1, named=True)
    assert {key: row[key] for key in value} == value


def top(reading: Reading, value: dict[str, Any]) -> None:
    rows = reading.table("ps").filter(pl.col("cpu_pct").is_not_null())
    assert rows["cpu_pct"].to_list() == value["cpu_pct"]
    assert rows["pid"].unique().to_list() == [value["pid"]]
    assert rows["rss_kb"].unique().to_list() == [value["rss_kb"]]


def ppid(reading: Reading, value: int) -> None:
    assert reading.table("ps")["ppid"].drop_nulls().to_list() == [value]


def free_mb(reading: Reading, value: list[float]) -> None:
    assert (reading.table("vmstat")["free_kb"] / 1024).to_list() == value


def pc(reading: Reading, value: list[float]) -> None:
    assert reading.table("vmstat")["pc"].to_list() == value


def unknown_lines(reading: Reading, value: list[int]) -> None:
    assert [n.line_from for n in reading.account.notes if n.kind == "unknown"] == value
    assert reading.account.account.unknown == len(value)


def guessed_time(reading: Reading, value: dict[str, Any]) -> None:
    rows = reading.table("vmstat").filter(pl.col("line_no") == value["line"])
    assert rows["t_local"][0] - reading.table("vmstat")["t_local"][0] == value["after_first_s"]
    assert [n.line_from for n in reading.account.notes if "no ZZZZ record" in n.text] == [value["line"]]


def busy(reading: Reading, value: list[list[Any]]) -> None:
    assert reading.table("iostat").select("device", "busy_pct").rows() == [tuple(x) for x in value]


CHECKERS = {
    f.__name__: f
    for f in (
        host,
        zzzz,
        first,
        last,
        snapshots_declared,
        max_sys_pct,
        records,
        clock_note,
        interval_s,
        busiest,
        top,
        ppid,
        free_mb,
        pc,
        unknown_lines,
        guessed_time,
        busy,
    )
}
WAIVED: dict[str, str] = {}
