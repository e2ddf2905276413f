"""Checks of the facts stored beside the corpus samples of ipcs listings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl

from parsers.text.times import wall_text
from tests.parsers.formats.evidence import Reading


def _shm(reading: Reading) -> pl.DataFrame:
    return reading.table("ipcs_shm")


def _sem(reading: Reading) -> pl.DataFrame:
    return reading.table("ipcs_sem")


def _rows(table: str) -> Callable[[Reading, int], None]:
    def check(reading: Reading, value: int) -> None:
        assert len(reading.table(table)) == value

    return check


def _absent_or(table: str) -> Callable[[Reading, int], None]:
    def check(reading: Reading, value: int) -> None:
        assert len(reading.tables.get(table, pl.DataFrame())) == value

    return check


def _sum(table: str, column: str) -> Callable[[Reading, int], None]:
    def check(reading: Reading, value: int) -> None:
        assert reading.table(table)[column].sum() == value

    return check


def by_owner(reading: Reading, value: dict[str, dict[str, int]]) -> None:
    named = {"segments": pl.len(), "bytes": pl.col("bytes").sum(), "max_nattch": pl.col("nattch").max()}
    found = _shm(reading).group_by("owner").agg(**named)
    assert {owner: {k: row[k] for k in named} for owner, row in ((r["owner"], r) for r in found.to_dicts())} == value


def largest(reading: Reading, value: dict[str, int]) -> None:
    assert _shm(reading).sort("bytes")[-1].select("bytes", "shmid", "line_no").row(0) == (
        value["bytes"],
        value["id"],
        value["line"],
    )


def private_keys(reading: Reading, value: int) -> None:
    assert sum(int(k, 16) == 0 for k in _shm(reading)["key"]) == value


def cpid(reading: Reading, value: dict[str, int]) -> None:
    assert {str(i): p for i, p in _shm(reading).select("shmid", "cpid").iter_rows()} == value


def status_blank(reading: Reading, value: bool) -> None:
    assert (_shm(reading)["status"].null_count() == len(_shm(reading))) is value


def max_nsems(reading: Reading, value: int) -> None:
    assert _sem(reading)["nsems"].max() == value


def owners(reading: Reading, value: dict[str, int]) -> None:
    assert dict(_sem(reading).group_by("owner").len().iter_rows()) == value


def nsems_each(reading: Reading, value: list[int]) -> None:
    assert sorted(set(_sem(reading)["nsems"])) == value


def elided(reading: Reading, value: bool) -> None:
    assert any(n.kind == "elided" for n in reading.account.notes) is value


def semid(reading: Reading, value: int) -> None:
    assert _sem(reading)["semid"].to_list() == [value]
    assert all(item.startswith(f"{value}/") for item in reading.table("counters")["item"])


def waiting(reading: Reading, value: int) -> None:
    assert reading.table("counters").filter(pl.col("name") == "ncount")["value"].sum() == value


def orphans(reading: Reading, value: int) -> None:
    rows = _shm(reading)
    assert len(rows.filter((pl.col("nattch") == 0) & (pl.col("status").fill_null("") != "dest"))) == value


def project(reading: Reading, value: str) -> None:
    assert _shm(reading)["project"].unique().to_list() == [value]


def sizes_known(reading: Reading, value: bool) -> None:
    assert (_shm(reading)["bytes"].null_count() == 0) is value


def _list_of(table: str, column: str) -> Callable[[Reading, list[Any]], None]:
    def check(reading: Reading, value: list[Any]) -> None:
        assert reading.table(table)[column].to_list() == value

    return check


def named(table: str, column: str) -> Callable[[Reading, dict[str, float]], None]:
    def check(reading: Reading, value: dict[str, float]) -> None:
        rows = reading.table(table)
        assert rows["scope"].unique().to_list() == ["ipc"]
        assert dict(rows.select("name", column).iter_rows()) == value

    return check


def notes(reading: Reading, value: list[list[Any]]) -> None:
    assert [[n.line_from, n.line_to, n.kind] for n in reading.account.notes] == value


def taken_at(reading: Reading, value: str) -> None:
    assert {wall_text(t) for t in _shm(reading)["t_local"]} == {value}


CHECKERS = {
    "queues": _absent_or("ipcs_msg"),
    "semid": semid,
    "nsems": _sum("ipcs_sem", "nsems"),
    "waiting_ncount_total": waiting,
    "orphan_nattch0": orphans,
    "project": project,
    "sizes_known": sizes_known,
    "shmids": _list_of("ipcs_shm", "shmid"),
    "bytes": _list_of("ipcs_shm", "bytes"),
    "owners_in_order": _list_of("ipcs_shm", "owner"),
    "cpids": _list_of("ipcs_shm", "cpid"),
    "limits": named("params", "num"),
    "used": named("resource_use", "used"),
    "notes": notes,
    "taken_at": taken_at,
    "segments": _rows("ipcs_shm"),
    "total_bytes": _sum("ipcs_shm", "bytes"),
    "total_nattch": _sum("ipcs_shm", "nattch"),
    "by_owner": by_owner,
    "largest": largest,
    "private_keys": private_keys,
    "cpid": cpid,
    "status_column_blank": status_blank,
    "arrays": _rows("ipcs_sem"),
    "sets": _rows("ipcs_sem"),
    "semaphore_sets": _absent_or("ipcs_sem"),
    "total_nsems": _sum("ipcs_sem", "nsems"),
    "max_nsems": max_nsems,
    "owners": owners,
    "nsems_each": nsems_each,
    "elided": elided,
}
WAIVED: dict[str, Any] = {
    "dtime": "the table ipcs_shm has no column for the time of the last detach",
    "pids": "the table counters has no column for the last process of a semaphore",
}
REPAIRED = True  # a wrapped row is joined only within its run
