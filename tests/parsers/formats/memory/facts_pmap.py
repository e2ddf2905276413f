"""Checks of the facts stored beside the corpus samples of address maps."""

from __future__ import annotations

from typing import Any

import polars as pl

from tests.parsers.formats.evidence import Reading
from tests.parsers.formats.told_rows import notes


def _rows(reading: Reading) -> pl.DataFrame:
    return reading.table("pmap")


def pid(reading: Reading, value: int) -> None:
    assert _rows(reading)["pid"].unique().to_list() == [value]


def command(reading: Reading, value: str) -> None:
    assert _rows(reading)["command"].unique().to_list() == [value]


def mappings(reading: Reading, value: int) -> None:
    assert len(_rows(reading)) == value


def shm_segments(reading: Reading, value: int) -> None:
    assert _rows(reading)["shmid"].drop_nulls().n_unique() == value


def shmids(reading: Reading, value: list[str] | dict[str, dict[str, Any]]) -> None:
    rows = _rows(reading)
    if isinstance(value, list):
        assert rows["shmid"].drop_nulls().unique(maintain_order=True).to_list() == [int(x, 16) for x in value]
        return
    for shmid, told in value.items():
        mine = rows.filter(pl.col("shmid") == int(shmid, 16))
        kind = {"plain shm": "sysv"}.get(told["kind"], told["kind"])
        assert mine["shm_kind"].unique().to_list() == [kind]
        for key, kb in told.items():
            if key == "kb":
                assert mine["kbytes"].sum() == kb
            elif key.startswith("kb_lgrp"):
                assert mine.filter(pl.col("lgrp") == int(key.removeprefix("kb_lgrp")))["kbytes"].sum() == kb
            else:
                assert key == "kind"


def sum_kb(reading: Reading, value: int) -> None:
    assert _rows(reading)["kbytes"].sum() == value


def sum_rss_kb(reading: Reading, value: int) -> None:
    assert _rows(reading)["rss_kb"].sum() == value


def unbacked_kb(reading: Reading, value: int) -> None:
    assert _rows(reading).filter(pl.col("rss_kb").is_null())["kbytes"].sum() == value


def kind(reading: Reading, value: str) -> None:
    assert _rows(reading)["shm_kind"].unique().to_list() == [value]


def largest_unbacked(reading: Reading, value: dict[str, Any]) -> None:
    rows = _rows(reading).filter(pl.col("rss_kb").is_null()).sort("kbytes")
    assert rows["addr"][-1] == int(value["address"], 16)
    assert rows["kbytes"][-1] == value["kb"]


def total_line_kb(reading: Reading, value: int) -> None:
    assert reading.table("ps")["vsz_kb"].to_list() == [value]


def total_rss_kb(reading: Reading, value: int) -> None:
    assert reading.table("ps")["rss_kb"].to_list() == [value]


def _misfits(reading: Reading) -> int:
    return sum("rows add up to" in n.text for n in reading.account.notes)


def rows_do_not_add_up(reading: Reading, value: bool) -> None:
    assert (_misfits(reading) == 1) is value


def total_matches_sum(reading: Reading, value: bool) -> None:
    assert (_misfits(reading) == 0) is value


def pid_line(reading: Reading, value: bool) -> None:
    assert (_rows(reading)["pid"].null_count() == 0) is value


def ism(reading: Reading, value: dict[str, Any]) -> None:
    rows = _rows(reading).filter(pl.col("shm_kind") == "ism")
    pgsz = {"256M": 262144.0}[value["pgsz"]]
    expected = (int(value["shmid"], 16), float(value["kb"]), pgsz, value["lgrp"])
    assert rows.select("shmid", "kbytes", "pgsz_kb", "lgrp").rows() == [expected]


def mode_width(reading: Reading, value: int) -> None:
    assert _rows(reading)["mode"].str.len_chars().unique().to_list() == [value]


def truncated_last_line(reading: Reading, value: int) -> None:
    assert [(n.line_from, n.kind) for n in reading.account.notes] == [(value, "damaged")]


def columns(reading: Reading, value: int) -> None:
    filled = [c for c in _rows(reading).columns if _rows(reading)[c].null_count() < len(_rows(reading))]
    # Eighteen were printed; perm, offset, device, inode and those about huge pages have no column in the table.
    assert value == 18
    assert {"kbytes", "rss_kb", "pss_kb", "anon_kb", "swap_kb", "locked_kb", "mapping"} <= set(filled)


def processes(reading: Reading, value: dict[str, int]) -> None:
    counts = _rows(reading).group_by("pid", maintain_order=True).len()
    assert {str(p): n for p, n in counts.iter_rows()} == value


def regions(reading: Reading, value: dict[str, int]) -> None:
    assert dict(_rows(reading).group_by("region").len().iter_rows()) == value


def dirty_kb(reading: Reading, value: int) -> None:
    assert _rows(reading)["dirty_kb"].sum() == value


def shm_rows(reading: Reading, value: list[list[Any]]) -> None:
    rows = _rows(reading).filter(pl.col("region") == "shm")
    found = rows.select("shmid", "shm_kind", "kbytes", "pgsz_kb", "dirty_kb")
    assert [list(row) for row in found.iter_rows()] == value


CHECKERS = {
    "shm_rows": shm_rows,
    "notes": notes,
    "pid": pid,
    "command": command,
    "mappings": mappings,
    "complete_mappings": mappings,
    "shm_segments": shm_segments,
    "shmids": shmids,
    "total_kb": sum_kb,
    "sum_kb": sum_kb,
    "sum_of_rows_kb": sum_kb,
    "rss_kb": sum_rss_kb,
    "sum_rss_kb": sum_rss_kb,
    "unlocked_or_untouched_kb": unbacked_kb,
    "kind": kind,
    "largest_unbacked": largest_unbacked,
    "total_line_kb": total_line_kb,
    "total_rss_kb": total_rss_kb,
    "rows_do_not_add_up_to_total": rows_do_not_add_up,
    "total_matches_sum": total_matches_sum,
    "pid_line": pid_line,
    "ism": ism,
    "mode_width": mode_width,
    "truncated_last_line": truncated_last_line,
    "columns": columns,
    "processes": processes,
    "regions": regions,
    "dirty_kb": dirty_kb,
}
WAIVED = {
    "total_dirty_kb": "the table ps has no column for dirty memory",
}
