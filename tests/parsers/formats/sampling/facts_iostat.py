"""Checks of the facts stored beside the corpus samples of iostat."""

from __future__ import annotations

from typing import Any

import polars as pl

from parsers.text.times import wall_text
from tests.parsers.formats.evidence import Reading
from tests.parsers.formats.told_rows import rows_of

_PLACES = {
    "r/s": "r_ps",
    "r_await": "r_resp_ms",
    "%util": "busy_pct",
    "await": "resp_ms",
    "w/s": "w_ps",
    "kr/s": "r_kbps",
    "kw/s": "w_kbps",
}


def _rows(reading: Reading) -> pl.DataFrame:
    return reading.table("iostat")


def devices(reading: Reading, value: int | list[str]) -> None:
    found = _rows(reading)["device"].unique(maintain_order=True).to_list()
    assert found == value if isinstance(value, list) else len(found) == value


def blocks_per_device(reading: Reading, value: int) -> None:
    """Check the blocks: header and values alternate, and each block of a device gives a row."""
    assert len(_rows(reading)) == value * _rows(reading)["device"].n_unique()


def mode(reading: Reading, value: str) -> None:
    assert value == "totals since boot (-I)"
    assert reading.table("counters").filter(pl.col("name").str.ends_with("/i"))["mode"].unique().to_list() == ["total"]


def kr_total(reading: Reading, value: float) -> None:
    assert reading.table("counters").filter(pl.col("name") == "kr/i")["value"].to_list() == [value]


def fits_int32(reading: Reading, value: bool) -> None:
    most = reading.table("counters")["value"].max()
    assert isinstance(most, float)
    assert (most < 2**31) is value


def device_column(reading: Reading, value: str) -> None:
    assert value in ("last", "first")
    assert not _rows(reading)["device"].str.contains("^[0-9.]+[kMG]?$").any()


def first_device(reading: Reading, value: str) -> None:
    assert _rows(reading)["device"][0] == value


def _kb(text: str) -> float:
    return float(text[:-1]) * {"k": 1, "M": 1024, "G": 1048576}[text[-1]]


def sda_read_per_s(reading: Reading, value: str) -> None:
    assert _rows(reading).filter(pl.col("device") == "sda")["r_kbps"][0] == _kb(value)


def sda_read(reading: Reading, value: str) -> None:
    rows = reading.table("counters").filter((pl.col("item") == "sda") & (pl.col("name") == "kB_read"))
    assert rows.select("value", "mode").rows() == [(_kb(value), "total")]


def columns(reading: Reading, value: int) -> None:
    """Check the number of columns besides the device: those of the table, and the counters."""
    first = _rows(reading).head(1)
    device = first["device"][0]
    line = reading.table("counters").filter((pl.col("line_no") == first["line_no"][0]) & (pl.col("item") == device))
    placed = [
        c
        for c in first.columns[4:]
        if first[c][0] is not None and c not in ("sample", "first", "interval_s", "device", "part_of")
    ]
    assert len(placed) + len(line) == value


def _device(name: str) -> Any:
    def check(reading: Reading, value: dict[str, float]) -> None:
        row = _rows(reading).filter(pl.col("device") == name).row(0, named=True)
        for printed, number in value.items():
            if printed == "rMB/s":
                assert row["r_kbps"] == number * 1024
            else:
                assert row[_PLACES[printed]] == number

    return check


def unit(reading: Reading, value: str) -> None:
    """Check that MB are converted to kB: the smallest step is a hundredth of a MB."""
    assert value == "MB/s"
    steps = (_rows(reading)["r_kbps"] / 10.24).to_list()
    assert all(abs(x - round(x)) < 1e-9 for x in steps)


def columns_last(reading: Reading, value: list[str]) -> None:
    assert value == ["svctm", "%util"]
    assert "svctm" in reading.table("counters")["name"].to_list()
    assert _rows(reading)["busy_pct"].null_count() == 0


def separator(reading: Reading, value: str) -> None:
    assert value == ","
    assert not _rows(reading)["device"].str.contains(",").any()


def cmdk0_svc_t(reading: Reading, value: float) -> None:
    assert _rows(reading).filter(pl.col("device") == "cmdk0")["resp_ms"].to_list() == [value]


def header_has_trailing_comma(reading: Reading, value: bool) -> None:
    assert value is True
    assert reading.account.account.unknown == 0


def _most(reading: Reading, column: str, value: dict[str, Any]) -> None:
    row = _rows(reading).sort(column, "line_no", nulls_last=False).row(-1, named=True)
    assert (row[column], row["device"], row["line_no"]) == (value["value"], value["device"], value["line"])


def max_wait(reading: Reading, value: dict[str, Any]) -> None:
    _most(reading, "wait", value)


def max_await_ms(reading: Reading, value: dict[str, Any]) -> None:
    _most(reading, "resp_ms", value)


def max_util(reading: Reading, value: dict[str, Any]) -> None:
    _most(reading, "busy_pct", value)


def since_boot(reading: Reading, value: bool) -> None:
    assert _rows(reading)["first"].unique().to_list() == [value]


def statistics(reading: Reading, value: int) -> None:
    assert _rows(reading)["sample"].unique().to_list() == list(range(1, value + 1))


def disks_in_first(reading: Reading, value: int) -> None:
    assert len(_rows(reading).filter(pl.col("sample") == 1)) == value


def first_util(reading: Reading, value: float) -> None:
    assert _rows(reading)["busy_pct"][0] == value


def has_timestamp(reading: Reading, value: bool) -> None:
    assert (_rows(reading)["t_local"].null_count() == 0) is value


def zzz_line(reading: Reading, value: int) -> None:
    assert value not in [n.line_from for n in reading.account.notes]
    assert reading.account.account.unknown == 0


def reports(reading: Reading, value: int) -> None:
    samples = pl.concat([t.select("sample") for n, t in reading.tables.items() if n in ("iostat", "vmstat")])
    assert samples["sample"].max() == value


def times(reading: Reading, value: list[str]) -> None:
    table = "vmstat" if "iostat" not in reading.tables else "iostat"
    stamps = reading.table(table)["t_local"].unique(maintain_order=True)
    assert [wall_text(t)[11:19] for t in stamps] == value


def device_rows(reading: Reading, value: int) -> None:
    assert len(_rows(reading)) == value


def interval_s(reading: Reading, value: float) -> None:
    assert reading.table("vmstat")["interval_s"].drop_nulls().unique().to_list() == [value]


def first_report(reading: Reading, value: str) -> None:
    assert value == "average since boot"
    assert _rows(reading)["first"].to_list() == [s == 1 for s in _rows(reading)["sample"]]


def lcpu(reading: Reading, value: int) -> None:
    assert reading.table("hosts")["ncpu"].to_list() == [value]


def ent(reading: Reading, value: float) -> None:
    assert reading.table("hosts")["ent"].to_list() == [value]


def idle(reading: Reading, value: float) -> None:
    assert reading.table("vmstat")["idle"].to_list() == [value]


def entc(reading: Reading, value: float) -> None:
    assert reading.table("vmstat")["ec"].to_list() == [value]


def timestamps(reading: Reading, value: list[str]) -> None:
    stamps = [wall_text(t) for t in reading.table("vmstat")["t_local"]]
    assert [f"{t[5:7]}/{t[8:10]}/{t[2:4]} {t[11:19]}" for t in stamps] == value


def cpu_idle(reading: Reading, value: list[float]) -> None:
    assert reading.table("vmstat")["idle"].to_list() == value


def no_devices(reading: Reading, value: int | list[str]) -> None:
    if "iostat" in reading.tables:
        devices(reading, value)
    else:
        assert value == 0


def first_row_read(reading: Reading, value: float) -> None:
    assert _rows(reading)["r_kbps"][0] == value


def some_columns(reading: Reading, value: int | list[str]) -> None:
    if isinstance(value, int):
        columns(reading, value)
        return
    assert value == ["f_await", "aqu-sz", "%util", "Device"]
    assert "f_await" in reading.table("counters")["name"].to_list()
    assert _rows(reading).select("queue", "busy_pct", "device").null_count().row(0) == (0, 0, 0)


def extra_columns(reading: Reading, value: list[str]) -> None:
    assert reading.table("counters")["name"].unique(maintain_order=True).to_list() == value


def max_asvc_t(reading: Reading, value: dict[str, Any]) -> None:
    _most(reading, "asvc_ms", value)


def repaired(reading: Reading, value: list[list[int]]) -> None:
    assert [[n.line_from, n.line_to] for n in reading.account.notes if n.kind == "repaired"] == value


def tty(reading: Reading, value: dict[str, list[float]]) -> None:
    rows = reading.table("counters")
    for name, numbers in value.items():
        assert rows.filter(pl.col("name") == name)["value"].to_list() == numbers


def served(reading: Reading, value: dict[str, list[float]]) -> None:
    for device, numbers in value.items():
        assert _rows(reading).filter(pl.col("device") == device)["resp_ms"].to_list() == numbers


def bps(reading: Reading, value: list[float]) -> None:
    assert reading.table("counters").filter(pl.col("name") == "bps")["value"].to_list() == value


def samples(reading: Reading, value: list[int]) -> None:
    assert reading.table("counters").filter(pl.col("name") == "bps")["sample"].to_list() == value


def sums(reading: Reading, value: list[list[Any]]) -> None:
    rows = reading.table("counters").select("line_no", "sample", "item", "name", "value").rows()
    assert [row for row in map(tuple, value) if row not in rows] == []


def disk_samples(reading: Reading, value: list[list[Any]]) -> None:
    rows = reading.table("iostat").select("device", "sample", "io_ps").rows()
    assert [list(row) for row in rows] == value


def _same(got: object, expected: object) -> None:
    assert got == expected


CHECKERS = {
    "rates": rows_of("iostat", "line_no", "r_kbps", "w_kbps", "r_resp_ms", "w_resp_ms"),
    "disk_rows": rows_of("iostat", "line_no", "device", "r_ps", "w_ps", "io_ps", "busy_pct"),
    "spans": lambda r, v: _same([[d.t_begin, d.t_end] for d in r.account.parts[0].domains], v),
    "sums": sums,
    "disk_samples": disk_samples,
    "repaired": repaired,
    "tty": tty,
    "served": served,
    "bps": bps,
    "samples": samples,
    "lcpu": lcpu,
    "ent": ent,
    "idle": idle,
    "entc": entc,
    "timestamps": timestamps,
    "cpu_idle": cpu_idle,
    "first_row_rkB/s": first_row_read,
    "extra_columns": extra_columns,
    "max_asvc_t": max_asvc_t,
    "devices": no_devices,
    "blocks_per_device": blocks_per_device,
    "mode": mode,
    "kr_total": kr_total,
    "fits_int32": fits_int32,
    "device_column": device_column,
    "first_device": first_device,
    "sda_kB_read_per_s": sda_read_per_s,
    "sda_kB_read": sda_read,
    "columns": some_columns,
    "dm-0": _device("dm-0"),
    "sda": _device("sda"),
    "unit": unit,
    "columns_last": columns_last,
    "separator": separator,
    "cmdk0_svc_t": cmdk0_svc_t,
    "header_has_trailing_comma": header_has_trailing_comma,
    "max_wait": max_wait,
    "max_await_ms": max_await_ms,
    "max_util": max_util,
    "since_boot": since_boot,
    "statistics": statistics,
    "disks_in_first": disks_in_first,
    "first_disk": first_device,
    "first_util": first_util,
    "has_timestamp": has_timestamp,
    "zzz_line": zzz_line,
    "reports": reports,
    "times": times,
    "device_rows": device_rows,
    "interval_s": interval_s,
    "first_report": first_report,
}
WAIVED: dict[str, str] = {}

# A small paste with lost or added line ends is repaired if it is read in one run.
REPAIRED = True
