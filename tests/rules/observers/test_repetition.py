"""Repetition: like calls that take time together, byte-wise reads, files opened again and again."""

from __future__ import annotations

from typing import Any

import polars as pl

from rules.case.case import Case
from rules.observers.observer import Sighting
from rules.observers.repetition import BYTEWISE, MANY, OPENED, bounded, observe


def calls(n: int, name: str, s: float, **more: Any) -> list[Sighting]:
    made = [
        {"pid": 7, "lwp": 7, "line_no": i, "seq": i, "t_local": float(i), "stamp": "start", "state": "done", "name": name,
         "dur_hi_s": s, "elapsed_s": s, "contiguous": "proven", **more}
        for i in range(1, n + 1)
    ]  # fmt: skip
    return list(observe(Case.of_tables({"syscalls": made})))


def test_many_like_calls_that_take_time_stand_out() -> None:
    (one,) = calls(MANY, "stat", 0.01, path="/a")
    assert (one.subject, one.n, round(one.seconds or 0, 6)) == ("stat on /a", MANY, 0.2)
    assert calls(MANY - 1, "stat", 0.01, path="/a") == []


def test_byte_wise_reads_stand_out_whatever_their_time() -> None:
    (one,) = calls(BYTEWISE, "read", 1e-6, path="/a", bytes=1)
    assert one.n == BYTEWISE
    assert calls(BYTEWISE, "read", 1e-6, path="/a", bytes=4096) == []


def test_a_file_opened_again_and_again_stands_out() -> None:
    assert len(calls(OPENED, "open", 1e-6, path="/a")) == 1
    assert calls(OPENED - 1, "open", 1e-6, path="/a") == []


def test_waits_for_work_and_nothing_are_no_repetition() -> None:
    assert calls(100, "accept", 0.5, ret=5) == []
    assert list(observe(Case.of_tables({}))) == []


def test_a_batch_keeps_its_largest_groups_and_the_rest_as_one() -> None:
    rows = [
        {"artifact_id": 1, "host": None, "phase": None, "clock": None, "name": "openat", "kind": "file", "target": f"/f{n}", "pid": 1, "lwp": 1, "n": n,
         "sum": 0.1, "timed": True, "bytes": None, "first": n, "last": n, "worst": n, "firsts": [n], "most": 0.1, "each": 0.1}
        for n in range(1, 101)
    ]  # fmt: skip
    threads = pl.DataFrame(rows, schema_overrides={"bytes": pl.Float64})
    assert bounded(threads, 100).equals(threads)
    held = bounded(threads, 20)
    assert held.height <= 21
    assert held["n"].sum() == threads["n"].sum()
    assert "/f100" in held["target"].to_list()
    assert "further ones" in held["target"].to_list()
