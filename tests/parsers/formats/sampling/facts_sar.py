"""Checks of the facts stored beside the corpus samples of sar, sadf and pidstat."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import polars as pl

from parsers.text.times import wall_text
from tests.parsers.formats.evidence import Reading
from tests.parsers.formats.told_rows import rows_of


def _time(t: float) -> str:
    return wall_text(t)[11:19]


def _host(reading: Reading) -> dict[str, Any]:
    return reading.table("hosts").row(0, named=True)


def banner(reading: Reading, value: str) -> None:
    facts = reading.account.parts[0].facts
    assert value.split()[:2] == [facts["os"].upper(), facts["host"]]
    _date(reading, value.split()[-1])


def _date(reading: Reading, value: str) -> None:
    """Check the day of the first sample, or of the first logged event."""
    form = "%m/%d/%Y" if len(value.split("/")[2]) == 4 else "%m/%d/%y"
    assert wall_text(_first(reading))[:10] == datetime.strptime(value, form).date().isoformat()


def _first(reading: Reading) -> float:
    times = [t["t_local"].drop_nulls() for n, t in reading.tables.items() if n not in ("notes", "hosts")]
    return min(float(str(t.min())) for t in times if len(t))


def date(reading: Reading, value: str) -> None:
    _date(reading, value.split()[0])


def lcpu(reading: Reading, value: int) -> None:
    assert value in reading.table("hosts")["ncpu"].to_list()


def sections_in_excerpt(reading: Reading, value: int) -> None:
    """Check the sections iget, bread, device and CPU: three groups of counters and the shares of CPU."""
    groups = reading.table("counters")["grp"].unique().to_list()
    assert len(groups) + 1 == value
    assert reading.table("vmstat")["usr"].count() > 0


def iget_first(reading: Reading, value: dict[str, Any]) -> None:
    rows = reading.table("counters").filter(pl.col("grp") == "iget/s")
    first = rows.filter(pl.col("line_no") == rows["line_no"][0])
    assert _time(first["t_local"][0]) == value["time"]
    assert {n: v for n, v in first.select("name", "value").rows() if n in value} == {
        k: v for k, v in value.items() if k != "time"
    }


def _most(reading: Reading, column: str, value: dict[str, Any]) -> None:
    row = reading.table("vmstat").sort(column, "line_no", nulls_last=False).row(-1, named=True)
    assert (row[column], _time(row["t_local"])) == (value["value"], value["time"])
    assert row["line_no"] == value.get("line", row["line_no"])


def max_usr(reading: Reading, value: dict[str, Any]) -> None:
    _most(reading, "usr", value)


def max_sys(reading: Reading, value: dict[str, Any]) -> None:
    _most(reading, "sys", value)


def cpu_rows(reading: Reading, value: int) -> None:
    assert reading.table("vmstat")["usr"].count() == value


def average_idle(reading: Reading, value: int) -> None:
    """Check that the printed average is that of the rows."""
    mean = reading.table("vmstat")["idle"].mean()
    assert isinstance(mean, float)
    assert abs(mean - value) < 1


def device_table_starts_line(reading: Reading, value: int) -> None:
    """Check the line of the header; its rows follow after a blank line."""
    assert reading.table("iostat")["line_no"].min() == value + 2


def interval(reading: Reading, value: str) -> None:
    assert value == "20 min, with jitter"
    spans = reading.table("vmstat")["interval_s"]
    assert spans.null_count() == 0
    assert ((spans - 1200).abs() < 15).all()
    assert spans.n_unique() > 1


def has_ansi_escapes(reading: Reading, value: bool) -> None:
    assert value is True
    assert reading.account.account.unknown == 0
    assert reading.table("vmstat")["idle"].null_count() == 0


def first_idle(reading: Reading, value: float) -> None:
    assert reading.table("vmstat")["idle"][0] == value


def comment_line(reading: Reading, value: int) -> None:
    logs = reading.table("logs").filter(pl.col("op") == "comment")
    assert logs["line_no"].to_list() == [value]


def data_rows(reading: Reading, value: int) -> None:
    tables = {n: len(t) for n, t in reading.tables.items() if n not in ("notes", "hosts", "logs")}
    assert sum(tables.values()) == value


def comment_time(reading: Reading, value: str) -> None:
    assert [_time(t) for t in reading.table("logs")["t_local"]] == [value]


def tool(reading: Reading, value: str) -> None:
    assert value == "pidstat -u -t"
    assert reading.account.parts[0].variant == "pidstat"


def average_word(reading: Reading, value: str) -> None:
    assert value == "Durchschn.:"
    assert any("averages without the samples" in n.text for n in reading.account.notes)


def decimal(reading: Reading, value: str) -> None:
    assert value == ","
    assert (reading.table("ps")["cpu_pct"] % 1 > 0).any()


def process_cpu_pct(reading: Reading, value: float) -> None:
    assert reading.table("ps").filter(pl.col("lwp").is_null())["cpu_pct"].to_list() == [value]


def max_thread(reading: Reading, value: dict[str, Any]) -> None:
    row = reading.table("ps").filter(pl.col("lwp").is_not_null()).sort("cpu_pct").row(-1, named=True)
    assert (row["lwp"], row["cpu_pct"], row["line_no"]) == (value["tid"], value["cpu_pct"], value["line"])


def header(reading: Reading, value: bool) -> None:
    assert any("no header" in n.text for n in reading.account.notes) is not value


def separator(reading: Reading, value: str) -> None:
    assert value == ";"
    assert reading.account.parts[0].variant == "sadf"


def timezone(reading: Reading, value: str) -> None:
    assert [(d.kind, d.zone) for d in reading.account.parts[0].domains] == [("wall-utc", value)]


def all_cpu_id(reading: Reading, value: int) -> None:
    """Check that the row of all CPUs belongs to the host."""
    assert value == -1
    assert reading.table("vmstat")["usr"].count() > 0
    assert (reading.table("mpstat")["cpu"] >= 0).all()


def linux_restart_rows(reading: Reading, value: int) -> None:
    assert len(reading.table("logs").filter(pl.col("op") == "restart")) == value


def banner_cpus(reading: Reading, value: int) -> None:
    assert _host(reading)["ncpu"] == value


def restart(reading: Reading, value: dict[str, Any]) -> None:
    logs = reading.table("logs").filter(pl.col("op") == "restart").row(0, named=True)
    assert (logs["line_no"], _time(logs["t_local"])) == (value["line"], value["time"])


def percent_signs(reading: Reading, value: bool) -> None:
    assert value is True
    assert reading.account.account.unknown == 0


def first_all_idle(reading: Reading, value: str) -> None:
    assert reading.table("vmstat")["idle"][0] == float(value.rstrip("%"))


def header_lines(reading: Reading, value: list[int]) -> None:
    """Check that headers are read and give no rows."""
    assert not set(value) & set(reading.table("vmstat")["line_no"])
    assert reading.account.account.unknown == 0


def samples_before_restart(reading: Reading, value: int) -> None:
    restart_at = reading.table("logs").filter(pl.col("op") == "restart")["line_no"][0]
    assert len(reading.table("vmstat").filter(pl.col("line_no") < restart_at)) == value


def restart_line(reading: Reading, value: int) -> None:
    assert reading.table("logs").filter(pl.col("op") == "restart")["line_no"].to_list() == [value]


def restart_time(reading: Reading, value: str) -> None:
    logs = reading.table("logs").filter(pl.col("op") == "restart")
    assert [_time(t) for t in logs["t_local"]] == [value]


def iso_date(reading: Reading, value: str) -> None:
    if value.endswith("(ISO)"):
        assert wall_text(_first(reading))[:10] == value.split()[0]
    else:
        date(reading, value)


def samples(reading: Reading, value: int) -> None:
    assert reading.table("counters")["sample"].unique(maintain_order=True).to_list() == list(range(1, value + 1))


def max_iget(reading: Reading, value: dict[str, Any]) -> None:
    rows = reading.table("counters").filter(pl.col("name") == "iget/s").sort("value")
    assert rows.select("value", "line_no").row(-1) == (value["value"], value["line"])


def average(reading: Reading, value: dict[str, int]) -> None:
    """Check that the printed averages are those of the rows."""
    rows = reading.table("counters")
    for name, printed in value.items():
        mean = rows.filter(pl.col("name") == f"{name}/s")["value"].mean()
        assert isinstance(mean, float)
        assert abs(mean - printed) < 1


def variant(reading: Reading, value: str) -> None:
    assert reading.account.parts[0].variant == value


def times(reading: Reading, value: dict[str, list[str]]) -> None:
    for table, stamps in value.items():
        found = reading.table(table)["t_local"].drop_nulls().unique(maintain_order=True)
        assert [wall_text(t) for t in found] == stamps


def cpu_pct(reading: Reading, value: dict[str, list[float]]) -> None:
    rows = reading.table("ps").filter(pl.col("cpu_pct").is_not_null())
    for pid, numbers in value.items():
        assert rows.filter(pl.col("pid") == int(pid))["cpu_pct"].to_list() == numbers


def rss_kb(reading: Reading, value: list[float]) -> None:
    assert reading.table("ps")["rss_kb"].drop_nulls().to_list() == value


def vcx(reading: Reading, value: list[float]) -> None:
    assert reading.table("microstates")["vcx"].drop_nulls().to_list() == value


def spans(reading: Reading, value: list[float]) -> None:
    table = "mpstat" if "mpstat" in reading.tables else "counters"
    assert reading.table(table)["interval_s"].unique().to_list() == value


def busiest(reading: Reading, value: dict[str, Any]) -> None:
    row = reading.table("iostat").sort("busy_pct").row(-1, named=True)
    assert {k: row[k] for k in value} == value


def sadf_counters(reading: Reading, value: dict[str, float]) -> None:
    """Check the first value of each name."""
    rows = reading.table("counters").filter(pl.col("sample") == 1).unique("name", keep="first", maintain_order=True)
    found = dict(rows.select("name", "value").iter_rows())
    assert {k: found.get(k) for k in value} == value


def restart_text(reading: Reading, value: str) -> None:
    assert reading.table("logs").select("text", "op").rows() == [(value, "restart")]


def cs(reading: Reading, value: list[float]) -> None:
    assert reading.table("vmstat")["cs"].drop_nulls().to_list() == value


def cpus_seen(reading: Reading, value: list[int]) -> None:
    assert reading.table("mpstat")["cpu"].to_list() == value


def pc(reading: Reading, value: list[float]) -> None:
    assert reading.table("vmstat")["pc"].to_list() == value


def damaged_lines(reading: Reading, value: list[int]) -> None:
    assert [n.line_from for n in reading.account.notes if n.kind == "damaged"] == value


CHECKERS = {
    "disk_rows": rows_of("iostat", "line_no", "device", "busy_pct", "io_ps", "asvc_ms", "interval_s"),
    "host_rows": rows_of("vmstat", "line_no", "usr", "sys", "wa", "idle", "pc", "cs"),
    "cpu_cells": rows_of("mpstat", "line_no", "cpu", "usr", "sys", "wa", "idle", "pc"),
    "sadf_counters": sadf_counters,
    "restart_text": restart_text,
    "variant": variant,
    "times": times,
    "cpu_pct": cpu_pct,
    "rss_kb": rss_kb,
    "vcx": vcx,
    "spans": spans,
    "busiest": busiest,
    "cs": cs,
    "cpus_seen": cpus_seen,
    "pc": pc,
    "damaged_lines": damaged_lines,
    "values_have_percent_sign": percent_signs,
    "first_all_idle": first_all_idle,
    "header_lines": header_lines,
    "samples_before_restart": samples_before_restart,
    "restart_line": restart_line,
    "restart_time": restart_time,
    "cpus": banner_cpus,
    "samples": samples,
    "max_iget": max_iget,
    "average": average,
    "banner": banner,
    "date": iso_date,
    "lcpu": lcpu,
    "sections_in_excerpt": sections_in_excerpt,
    "iget_first": iget_first,
    "max_usr": max_usr,
    "max_sys": max_sys,
    "cpu_max_sys": max_sys,
    "cpu_rows": cpu_rows,
    "average_idle": average_idle,
    "device_table_starts_line": device_table_starts_line,
    "interval": interval,
    "has_ansi_escapes": has_ansi_escapes,
    "first_idle_after_strip": first_idle,
    "first_row_idle": first_idle,
    "comment_line": comment_line,
    "data_rows": data_rows,
    "comment_time": comment_time,
    "tool": tool,
    "average_word": average_word,
    "decimal": decimal,
    "process_cpu_pct": process_cpu_pct,
    "max_thread": max_thread,
    "header": header,
    "separator": separator,
    "timezone": timezone,
    "all_cpu_id": all_cpu_id,
    "linux_restart_rows": linux_restart_rows,
    "banner_cpus": banner_cpus,
    "restart": restart,
}
WAIVED: dict[str, str] = {
    "linux-repeated-header:average_idle": "sysstat weighs by ticks of a CPU count that changed: not the mean of the rows",
    "tables": "headers of the text, not kept: their columns are groups of counters",
}
