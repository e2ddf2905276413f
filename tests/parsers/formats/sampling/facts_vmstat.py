"""Checks of the facts stored beside the corpus samples of vmstat."""

from __future__ import annotations

from typing import Any

import polars as pl

from tests.parsers.formats.evidence import Reading
from tests.parsers.formats.told_rows import rows_of

PAGES = {"avm": "avm_kb", "fre": "free_kb", "pi": "pi_kbps", "po": "po_kbps", "fr": "fr_kbps"}
NAMES = {
    "syscalls": "scall",
    "cpu_sy": "sys",
    "cpu_id": "idle",
    "id": "idle",
    "us": "usr",
    "sy": "sys",
    "intr": "intr",
    "free": "free_kb",
    "swpd": "swap_used_kb",
    "so": "so_kbps",
    "si": "si_kbps",
    "bi": "bi_kbps",
    "bo": "bo_kbps",
    "buff": "buff_kb",
    "cache": "cache_kb",
    "de": "de_kb",
    "flt": "mf",
}


def _rows(reading: Reading) -> pl.DataFrame:
    return reading.table("vmstat")


def _disk(reading: Reading, name: str) -> bool:
    return "iostat" in reading.tables and name in reading.table("iostat")["device"].to_list()


def _values(reading: Reading, name: str) -> tuple[pl.DataFrame, str, float]:
    """Return where a printed column went: rows, their column, and the factor from print to column."""
    variant = reading.account.parts[0].variant
    if name in PAGES and variant == "aix":
        return _rows(reading), PAGES[name], 4.0
    if variant == "bsd" and name in ("avm", "fre"):
        return _rows(reading), PAGES[name], 1.0
    if variant == "solaris" and name in ("pi", "po", "fr"):
        return _rows(reading), PAGES[name], 1.0
    if _disk(reading, name):
        rows = reading.table("iostat")
        # Above the first header a disk has no name, only its place.
        place = rows["device"].unique(maintain_order=True).to_list()
        first = [d for d in place if d.isdigit()][: 1 if name == "m0" else 0]
        return rows.filter(pl.col("device").is_in([name, *first])), "io_ps", 1.0
    return _rows(reading), NAMES.get(name, name), 1.0


def peak(reading: Reading, name: str, expected: dict[str, Any]) -> None:
    rows, column, factor = _values(reading, name)
    best = rows.filter(pl.col(column) == rows[column].max())
    assert best[column][0] == expected["value"] * factor, name
    assert best["line_no"][0] == expected["line"], name


def peaks(reading: Reading, value: dict[str, Any]) -> None:
    for name, expected in value.items():
        peak(reading, name, expected)


def minimum(reading: Reading, name: str, expected: dict[str, Any]) -> None:
    rows, column, factor = _values(reading, name)
    worst = rows.filter(pl.col(column) == rows[column].min())
    assert (worst[column][0], worst["line_no"][0]) == (expected["value"] * factor, expected["line"])


def samples(reading: Reading, value: int) -> None:
    assert _rows(reading)["sample"].to_list() == list(range(1, value + 1))


def columns(reading: Reading, value: list[str]) -> None:
    """Check that every printed column has its value in one of the tables."""
    printed = [c for c in value if c not in ("hr:mi:se", "time", "date", "PDT", "UTC") and not c.isupper()]
    filled = [c for c in _rows(reading).columns if _rows(reading)[c].null_count() < len(_rows(reading))]
    common = {"part", "line_no", "line_end", "t_local", "sample", "first", "interval_s"}
    line = int(_rows(reading)["line_no"][-1])
    count = len(set(filled) - common)
    for name in ("iostat", "counters"):
        if name in reading.tables:
            count += len(reading.table(name).filter(pl.col("line_no") == line))
    assert count == len(printed)


def since_boot_rows(reading: Reading, value: int) -> None:
    assert _rows(reading)["first"].sum() == value


def lines_of(reading: Reading, first: int, last: int) -> None:
    assert (_rows(reading)["line_no"].min(), _rows(reading)["line_no"].max()) == (first, last)


def truncated(reading: Reading, value: int) -> None:
    assert (value, value, "damaged") in [(n.line_from, n.line_to, n.kind) for n in reading.account.notes]
    assert value not in _rows(reading)["line_no"].to_list()


def clock(reading: Reading) -> list[str]:
    seconds = _rows(reading)["t_local"].to_list()
    return [f"{int(s) // 3600 % 24:02}:{int(s) // 60 % 60:02}:{int(s) % 60:02}" for s in seconds]


def stamp(reading: Reading, place: int) -> str:
    at = pl.Series([_rows(reading)["t_local"][place]]).cast(pl.Float64) * 1e6
    return str(at.cast(pl.Int64).cast(pl.Datetime("us")).dt.strftime("%Y-%m-%d %H:%M:%S")[0])


def hosts(reading: Reading, column: str, value: Any) -> None:
    assert reading.table("hosts")[column].to_list() == [value]


def interval_s(reading: Reading, value: float) -> None:
    found = _rows(reading)["interval_s"].drop_nulls()
    if _rows(reading)["t_local"].null_count() == 0:
        assert found.unique().to_list() == [value]
    else:
        assert len(found) == 0  # A person entered it: nothing in the text shows it.


def negative_zero_cells(reading: Reading, value: list[dict[str, Any]]) -> None:
    for expected in value:
        at = reading.table("iostat").filter(pl.col("line_no") == expected["line"])
        assert at.filter(pl.col("device") == expected["column"])["io_ps"].to_list() == [None]
        assert any(n.line_from == expected["line"] and expected["column"] in n.text for n in reading.account.notes)


def disk_names(reading: Reading, value: list[str]) -> None:
    names = reading.table("iostat")["device"].unique(maintain_order=True).to_list()
    assert names == [n if n != "--" else str(i) for i, n in enumerate(value, start=1)]


def sda(reading: Reading, value: dict[str, float]) -> None:
    names = {"read_sectors": "reads_sectors"}
    rows = reading.table("counters").filter((pl.col("item") == "sda") & (pl.col("sample") == 1))
    found = dict(zip(rows["name"], rows["value"], strict=True))
    assert {k: found[names.get(k, k)] for k in value} == value


def devices(reading: Reading, value: list[str]) -> None:
    assert reading.table("iostat")["device"].to_list() == value


def _date(reading: Reading, value: str) -> None:
    month, day, year = value.split()[0].split("/")
    assert stamp(reading, 0).startswith(f"{year}-{month}-{day}")
    assert any("month/day/year" in n.text for n in reading.account.notes)


def _series(reading: Reading, column: str, value: list[float]) -> None:
    assert _rows(reading)[column].to_list() == value


def _epochs(reading: Reading, place: int, value: int) -> None:
    assert _rows(reading)["t_local"][place] == value
    assert [d.kind for d in reading.account.parts[0].domains] == ["wall-utc"]


def _zone(reading: Reading, value: str) -> None:
    assert [d.zone for d in reading.account.parts[0].domains] == [value]


def _read(reading: Reading, lines: list[int]) -> None:
    """Check that these lines were understood without becoming rows."""
    assert not set(lines) & set(_rows(reading)["line_no"])
    assert not [
        n for n in reading.account.notes if n.kind == "unknown" and set(range(n.line_from, n.line_to + 1)) & set(lines)
    ]


def negative_cells(reading: Reading, value: dict[str, int]) -> None:
    cells = [{"line": 3, "column": name} for name in value]
    negative_zero_cells(reading, cells)


def rows(reading: Reading, value: dict[str, dict[str, Any]]) -> None:
    for line, expected in value.items():
        row = _rows(reading).filter(pl.col("line_no") == int(line)).row(0, named=True)
        at = clock(reading)[_rows(reading)["line_no"].to_list().index(int(line))]
        for name, number in expected.items():
            assert number == (at if name == "time" else row[NAMES.get(name, name)])


def _annotations(reading: Reading, value: list[str]) -> None:
    remarks = [n.text for n in reading.account.notes if n.kind == "remark"]
    assert [text for text in remarks if not text.startswith("the clock goes back")] == value


def backwards(reading: Reading, value: bool) -> None:
    """Check that a step back is not a new day."""
    assert (not _rows(reading)["t_local"].is_sorted()) is value
    assert _rows(reading)["t_local"].max() < 86400
    assert len(reading.account.parts[0].domains) == 2


def zzz(reading: Reading, value: list[str]) -> None:
    printed = pl.Series(value).str.replace(" CET", "").str.to_datetime("%a %b %e %H:%M:%S %Y")
    expected = (printed.dt.epoch("s")).to_list()
    assert _rows(reading)["t_local"].unique(maintain_order=True).to_list() == expected
    _zone(reading, "CET")


def timestamp(reading: Reading, value: str) -> None:
    expected = pl.Series([value]).str.to_datetime("%Y-%m-%d %H:%M:%S").dt.epoch("s")[0]
    assert reading.table("iostat")["t_local"].unique().to_list() == [expected]


CHECKERS = {
    "figures": rows_of("counters", "grp", "name", "value", "unit"),
    "memory": rows_of("vmstat", "line_no", "line_end", "avm_kb", "free_kb", "cs", "r", "b", "w"),
    "shares": rows_of("vmstat", "line_no", "usr", "sys", "wa", "idle", "pc", "ec"),
    "cpu_shares": rows_of("mpstat", "line_no", "sample", "cpu", "usr", "sys", "idle"),
    "samples": samples,
    "complete_samples": samples,
    "columns": columns,
    "peaks": peaks,
    "peak_syscalls": lambda r, v: peak(r, "syscalls", v),
    "peak_sr": lambda r, v: peak(r, "sr", v),
    "min_free": lambda r, v: minimum(r, "free", v),
    "first_sample_line": lambda r, v: lines_of(r, v, int(_rows(r)["line_no"].to_numpy().max())),
    "last_sample_line": lambda r, v: lines_of(r, int(_rows(r)["line_no"].to_numpy().min()), v),
    "since_boot_rows": since_boot_rows,
    "truncated_last_line": truncated,
    "lcpu": lambda r, v: hosts(r, "ncpu", v),
    "mem_MB": lambda r, v: hosts(r, "mem_kb", v * 1024),
    "ent": lambda r, v: hosts(r, "ent", v),
    "pc": lambda r, v: _series(r, "pc", v),
    "ec": lambda r, v: _series(r, "ec", v),
    "times": lambda r, v: _same(clock(r), v),
    "first_time": lambda r, v: _same(clock(r)[0], v),
    "last_time": lambda r, v: _same(clock(r)[-1], v),
    "timestamp_first": lambda r, v: _same(stamp(r, 0), v),
    "timestamp_last": lambda r, v: _same(stamp(r, -1), v),
    "timezone_label": _zone,
    "epoch_first": lambda r, v: _epochs(r, 0, v),
    "epoch_last": lambda r, v: _epochs(r, -1, v),
    "epoch_lines": _read,
    "header_lines": _read,
    "comment_lines": lambda r, v: _read(r, list(range(1, v + 1))),
    "date": _date,
    "interval_s": interval_s,
    "negative_zero_cells": negative_zero_cells,
    "disk_names": disk_names,
    "devices": lambda r, v: devices(r, v) if isinstance(v, list) else _same(len(r.table("iostat")), v),
    "negative_cells": negative_cells,
    "rows": rows,
    "annotations": _annotations,
    "time_goes_backwards": backwards,
    "zzz": zzz,
    "timestamp": timestamp,
    "pagesize": lambda r, v: hosts(r, "page_kb", v // 1024),
    "sda": sda,
}
_REFUSED = "Tru64 is recognised and refused: what its K and M mean is unknown"
WAIVED = {
    "tru64-K-M-suffixes:samples": _REFUSED,
    "tru64-K-M-suffixes:unit": _REFUSED,
    "tru64-K-M-suffixes:fault": _REFUSED,
    "tru64-K-M-suffixes:free": _REFUSED,
    "tru64-K-M-suffixes:cpu_id": _REFUSED,
    "decimal": "the sign is seen in the values of pc and ec",
    "line_ends": "a property of the bytes; the rows prove that it does not matter",
    "mode": "words about the tool, no value",
    "note_columns": "words about the columns; `columns` and the rows show them",
    "group_line_has": "words about a title line that names no column",
    "group_line_starts_with": "words about a title line that names no column",
}


def _same(got: object, expected: object) -> None:
    assert got == expected
