"""Checks of the facts stored beside the corpus samples of mpstat."""

from __future__ import annotations

import re
from typing import Any

import polars as pl

from tests.parsers.formats.evidence import Reading
from tests.parsers.formats.told_rows import rows_of

NAMES = {"syscl": "scall", "sys": "sys", "idl": "idle", "iowait": "wa"}


def _rows(reading: Reading) -> pl.DataFrame:
    return reading.table("mpstat")


def _all(reading: Reading) -> pl.DataFrame:
    return reading.table("vmstat")


def samples(reading: Reading, value: float) -> None:
    table = _rows(reading) if "mpstat" in reading.tables else _all(reading)
    assert table["sample"].unique().sort().to_list() == list(range(1, int(value) + 1))


def rows(reading: Reading, value: int) -> None:
    assert len(_rows(reading)) == value


def cpus(reading: Reading, value: int) -> None:
    assert _rows(reading)["cpu"].n_unique() == value


def cpu_ids_min_max(reading: Reading, value: list[int]) -> None:
    assert [_rows(reading)["cpu"].min(), _rows(reading)["cpu"].max()] == value


def columns(reading: Reading, value: list[str]) -> None:
    filled = [c for c in _rows(reading).columns if _rows(reading)[c].null_count() == 0]
    common = {"part", "line_no", "line_end", "t_local", "sample", "first", "interval_s"}
    assert len(set(filled) - common) == len(value)


def peaks(reading: Reading, value: dict[str, dict[str, Any]]) -> None:
    for name, expected in value.items():
        column = NAMES.get(name, name)
        best = _rows(reading).filter(pl.col(column) == _rows(reading)[column].max()).row(0, named=True)
        assert best[column] == expected["value"], name
        assert best["cpu"] == expected["cpu"], name
        assert best["line_no"] == expected.get("line", best["line_no"]), name


def min_idl(reading: Reading, value: dict[str, Any]) -> None:
    worst = _rows(reading).filter(pl.col("idle") == _rows(reading)["idle"].min()).row(0, named=True)
    assert (worst["idle"], worst["line_no"]) == (value["value"], value["line"])


def since_boot_rows(reading: Reading, value: int) -> None:
    """Check the rows since boot; the facts count rows as printed, including the row of all CPUs."""
    assert sum(int(reading.table(t)["first"].sum()) for t in ("mpstat", "vmstat") if t in reading.tables) == value


def interval_s(reading: Reading, value: float) -> None:
    """Check the interval that a person entered, because nothing in the text shows it."""
    assert _rows(reading)["interval_s"].null_count() == len(_rows(reading))


def times(reading: Reading) -> list[str]:
    table = _rows(reading) if "mpstat" in reading.tables else _all(reading)
    seconds = table.group_by("sample", maintain_order=True).first()["t_local"] * 1e6
    return seconds.cast(pl.Int64).cast(pl.Datetime("us")).dt.strftime("%a %b %e %H:%M:%S %Y").to_list()


def stamp(reading: Reading, place: int, value: str) -> None:
    assert times(reading)[place] == re.sub(r" [A-Z]+ ", " ", value)
    assert [d.zone for d in reading.account.parts[0].domains] == ["EST"]


def of_all(reading: Reading, value: dict[str, float]) -> None:
    row = _all(reading).row(0, named=True)
    assert {k: row[NAMES.get(k, k)] for k in value} == value


def clock(reading: Reading, value: str) -> None:
    """Check a clock such as `12:53:20` or `03:14:20 PM`."""
    hour, minute, second = (int(x) for x in re.findall(r"[0-9]+", value))
    hour = hour % 12 + 12 * ("PM" in value) if "M" in value else hour
    assert f" {hour:02}:{minute:02}:{second:02} " in times(reading)[0]


def date(reading: Reading, value: str) -> None:
    month, day, year = (int(x) for x in re.findall(r"[0-9]+", value)[:3])
    year += 0 if year > 99 else 2000
    names = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
    printed = times(reading)[0].split()
    assert (printed[1], int(printed[2]), int(printed[4])) == (names[month - 1], day, year)
    # Only the locale decides which of the two is the month, so a question is asked.
    assert any("day/month/year" in n.text for n in reading.account.notes) is (day <= 12)


def averages(reading: Reading, value: int) -> None:
    """Check the averages; the facts count every line that begins with the word, including a header above each run of averages."""
    notes = [n for n in reading.account.notes if "average of the whole run" in n.text]
    assert sum(n.line_to - n.line_from + 2 for n in notes) == value


def _no_row_is(reading: Reading, value: float) -> None:
    """Check that the average of the run is no sample."""
    assert value not in _all(reading)["idle"].to_list()
    assert any("average of the whole run" in n.text for n in reading.account.notes)


def blank_lines(reading: Reading, value: int) -> None:
    assert reading.account.account.blank == value


def ncpu(reading: Reading, value: int) -> None:
    assert reading.table("hosts")["ncpu"].to_list() == [value]


def cpu3(reading: Reading, value: dict[str, float]) -> None:
    row = _rows(reading).filter((pl.col("cpu") == 3) & (pl.col("sample") == 1)).row(0, named=True)
    assert (row["line_no"], row["nice"], row["idle"]) == (value["line"], value["nice"], value["idle"])


def has_node_table(reading: Reading, value: bool) -> None:
    assert ("node" in reading.table("counters")["grp"].to_list()) is value


def topology(reading: Reading, value: Any) -> None:
    """Check that CORE, SOCK and NODE shift no column: the shares of each row add up to 100."""
    shares = ["usr", "nice", "sys", "wa", "irq", "soft", "st", "gu", "gnice", "idle"]
    for table in (_rows(reading), _all(reading)):
        total = table.select(pl.sum_horizontal(shares))[shares[0]]
        assert total.is_between(99.5, 100.5).all()


def interrupts(reading: Reading, value: float) -> None:
    counted = reading.table("counters").filter((pl.col("grp") == "sum") & (pl.col("item") == "all"))
    assert counted["value"][0] == value


def _all_of_aix(reading: Reading, value: dict[str, float]) -> None:
    counted = reading.table("counters").filter(pl.col("item") == "ALL")
    assert dict(counted.select("name", "value").iter_rows()) == value


def sum_check(reading: Reading, value: float) -> None:
    counted = reading.table("counters").filter((pl.col("name") == "ilcs") & (pl.col("item") != "ALL"))
    assert counted["value"].sum() == value


def _epoch(reading: Reading, place: int, value: float) -> None:
    assert _all(reading)["t_local"][place] == value
    assert [d.kind for d in reading.account.parts[0].domains] == ["wall-utc"]


def _series(table: pl.DataFrame, column: str, value: list[float]) -> None:
    assert table[column].to_list() == value


def first_interval(reading: Reading, value: str) -> None:
    begin, end = value.split(" to ")
    clock(reading, end)
    seconds = [
        sum(int(x) * f for x, f in zip(t.split()[0].split(":"), (3600, 60, 1), strict=True)) for t in (begin, end)
    ]
    assert _all(reading)["interval_s"][0] == seconds[1] - seconds[0]


def _read(reading: Reading, lines: list[int]) -> None:
    assert not set(lines) & set(_rows(reading)["line_no"])
    assert not [n for n in reading.account.notes if n.kind == "unknown"]


def _sys_per_cpu(reading: Reading, value: list[float]) -> None:
    _series(_rows(reading), "sys", value)


def node_idle(reading: Reading, value: list[list[Any]]) -> None:
    rows = reading.table("counters").filter((pl.col("grp") == "node") & (pl.col("name") == "%idle"))
    assert [list(row) for row in rows.select("item", "value").iter_rows()] == value


CHECKERS = {
    "cpu_shares": rows_of("mpstat", "line_no", "sample", "cpu", "usr", "sys", "idle"),
    "node_idle": node_idle,
    "samples": samples,
    "rows": rows,
    "cpus": cpus,
    "cpu_ids": lambda r, v: _series(_rows(r), "cpu", v),
    "cpu_ids_min_max": cpu_ids_min_max,
    "columns": columns,
    "peaks": peaks,
    "min_idl": min_idl,
    "since_boot_rows": since_boot_rows,
    "interval_s": interval_s,
    "timestamp_first": lambda r, v: stamp(r, 0, v),
    "timestamp_last": lambda r, v: stamp(r, -1, v),
    "timestamp_lines": _read,
    "all": of_all,
    "all_idle": lambda r, v: of_all(r, {"idle": v}),
    "all_sys": lambda r, v: of_all(r, {"sys": v}),
    "first_all_idle": lambda r, v: of_all(r, {"idle": v}),
    "idle": lambda r, v: _series(_all(r), "idle", v),
    "average_idle": _no_row_is,
    "time": clock,
    "first_timestamp": clock,
    "first_interval": first_interval,
    "date": date,
    "average_rows": averages,
    "blank_lines": blank_lines,
    "cpu_count_banner": ncpu,
    "number_of_cpus": ncpu,
    "lcpu": ncpu,
    "cpu3_first_sample": cpu3,
    "has_node_table": has_node_table,
    "extra_columns": topology,
    "all_row_has_blank_topology": topology,
    "epoch_first": lambda r, v: _epoch(r, 0, v),
    "epoch_last": lambda r, v: _epoch(r, -1, v),
    "intr_all": interrupts,
    "ALL": _all_of_aix,
    "sum_check_ilcs": sum_check,
    "sys_per_cpu": _sys_per_cpu,
    "mean_sys": lambda r, v: _same(round(float(_rows(r)["sys"].to_numpy().mean()), 2), v),
    "cpus_sys_over_60": lambda r, v: _same((_rows(r)["sys"] >= 60).sum(), v),
}
WAIVED = {
    "sections": "counts headers of the text; the tables that they head are checked",
    "quote": "the dress of the paste, taken off before a format sees it",
    "offline_id_gaps": "words; `cpus` and `cpu_ids_min_max` show the gaps",
    "clock": "words; the times show it",
    "decimals": "how many digits were printed, no value",
    "valid_json": "a property of the bytes",
    "hosts": "counts of the JSON's own lists",
    "statistics": "counts of the JSON's own lists",
    "dropped_columns": "words; `columns` shows what is left",
}


def _same(got: object, expected: object) -> None:
    assert got == expected
