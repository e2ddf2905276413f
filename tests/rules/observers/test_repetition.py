"""Repetition: like calls that take time together, byte-wise reads, files opened again and again."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from rules.case.case import Case
from rules.observers.observer import Sighting
from rules.observers.repetition import BYTEWISE, EXCERPT, LEAST_EXCERPT, MANY, OPENED, bounded, observe


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


def test_files_one_after_the_other_are_one_group_with_the_time_of_all() -> None:
    rows = [
        {"line_no": n, "seq": n, "pid": 7, "lwp": 7, "t_local": float(n), "name": "stat", "path": f"/spool/job{n}", "dur_hi_s": 0.002,
         "dur_kind": "elapsed", "stamp": "start", "state": "done", "ret": 0}
        for n in range(1, 101)
    ]  # fmt: skip
    (made,) = [s for s in observe(Case.of_tables({"syscalls": rows})) if not s.normal]
    assert made.subject == "stat on 100 targets in /spool"
    assert made.seconds == pytest.approx(0.2)


def test_a_loop_of_one_call_stands_out_whatever_its_time() -> None:
    (made,) = calls(BYTEWISE, "stat", 1e-7, path="/a")
    assert made.n == BYTEWISE


@pytest.mark.parametrize(("n", "normal"), [(MANY, False), (MANY - 1, True)])
def test_a_series_of_connects(n: int, normal: bool) -> None:
    rows = [{"line_no": i, "series": "connect", "elapsed_s": 0.01 * (1 + (i == 2))} for i in range(1, n + 1)]
    (made,) = observe(Case.of_tables({"conn_times": rows}))
    assert made.normal is normal
    assert made.headline.endswith("10 ms each (median), 20 ms at most, 10 ms at least")
    assert [(c.line_from, c.role) for c in made.lines] == [(2, "longest"), (1, "first")]


def test_a_batch_keeps_its_largest_groups_and_the_rest_as_one() -> None:
    rows = [
        {"artifact_id": 1, "host": None, "phase": None, "clock": None, "name": "openat", "kind": "file", "target": f"/f{n}", "pid": 1, "lwp": 1, "n": n,
         "sum": 0.1, "timed": True, "bytes": None, "first": n, "last": n, "worst": n, "worst_end": n, "firsts": [n], "most": 0.1, "least": 0.1, "each": 0.1}
        for n in range(1, 101)
    ]  # fmt: skip
    threads = pl.DataFrame(rows, schema_overrides={"bytes": pl.Float64})
    assert bounded(threads, 100).equals(threads)
    held = bounded(threads, 20)
    assert held.height <= 21
    assert held["n"].sum() == threads["n"].sum()
    assert "/f100" in held["target"].to_list()
    assert "further ones" in held["target"].to_list()


def test_a_list_of_files_gone_through_twice_says_where_the_second_time_begins() -> None:
    rows = [
        {"line_no": n, "seq": n, "pid": 7, "lwp": 7, "t_local": float(n), "name": "stat", "path": f"/spool/job{n % 50}",
         "dur_hi_s": 0.002, "dur_kind": "elapsed", "stamp": "start", "state": "done", "ret": 0}
        for n in range(1, 101)
    ]  # fmt: skip
    (made,) = [s for s in observe(Case.of_tables({"syscalls": rows})) if not s.normal]
    assert made.headline.startswith("stat on 50 targets in /spool: 100 calls, 2 on each")
    assert [c.line_from for c in made.lines if c.role == "the second time begins"] == [51]
    (once,) = [s for s in observe(Case.of_tables({"syscalls": rows[:99]})) if not s.normal]
    assert "on each" not in once.headline, "one file was looked at once only"


def test_the_longest_call_is_cited_where_it_ends_too() -> None:
    rows = [
        {"pid": 7, "lwp": 7, "line_no": n, "line_end": n + (40 if n == 9 else 0), "seq": n, "t_local": float(n),
         "stamp": "start", "state": "done", "name": "stat", "path": "/a", "dur_hi_s": s, "contiguous": "proven"}
        for n, s in enumerate([0.01] * 8 + [0.5] + [0.01] * MANY, 1)
    ]  # fmt: skip
    (made,) = observe(Case.of_tables({"syscalls": rows}))
    assert [(c.line_from, c.role) for c in made.lines[:2]] == [(9, "longest"), (49, "longest ends")]


@pytest.mark.parametrize(
    ("args", "names"),
    [
        ("CLOCK_THREAD_CPUTIME_ID, {tv_sec=3, tv_nsec=500}", {"event": "processor-time-read"}),
        ("0xffffffffffe7a1b6 /* CLOCK_??? */, {tv_sec=3, tv_nsec=500}", {"event": "processor-time-read"}),
        ("CLOCK_MONOTONIC, {tv_sec=3, tv_nsec=500}", {"call": "clock_gettime"}),
    ],
)
def test_a_clock_of_processor_time_says_nothing_about_the_clock_source(args: str, names: dict[str, str]) -> None:
    (made,) = calls(MANY, "clock_gettime", 0.01, args=args)
    assert made.seen == (names,)


def excerpt(n: int, name: str, others: int = 0, **more: Any) -> list[Sighting]:
    rows = [{"line_no": i, "seq": i, "name": name, **more} for i in range(1, n + 1)]
    rows += [{"line_no": n + i, "seq": n + i, "name": "getpid"} for i in range(1, others + 1)]
    return [s for s in observe(Case.of_tables({"syscalls": rows})) if not s.normal]


@pytest.mark.parametrize(
    ("n", "others", "stands"),
    [(LEAST_EXCERPT, 0, True), (LEAST_EXCERPT - 1, 0, False), (9, 1, True), (9, 2, False), (EXCERPT + 1, 0, False)],
)
def test_an_excerpt_without_times_of_nothing_but_one_call_stands_out(n: int, others: int, stands: bool) -> None:
    made = excerpt(n, "sched_yield", others)
    assert [(s.n, s.share, s.seen[0]) for s in made] == [(n, n / (n + others), {"event": "only-yields"})] * stands


def test_what_an_excerpt_repeats_is_known_by_what_it_moves() -> None:
    (one,) = excerpt(12, "read", bytes=1, fd=3)
    assert one.headline == "read: 12 calls of 1 bytes (median), 12 of the 12 in the excerpt"
    assert one.seen[0] == {"event": "moves-few-bytes"}
    (other,) = excerpt(12, "read", bytes=4096, fd=3)
    assert {"event": "moves-few-bytes"} not in other.seen
    assert excerpt(12, "accept", ret=5) == []  # a server at rest


def test_many_byte_wise_reads_of_a_file_are_known_and_of_a_pipe_not() -> None:
    (one,) = calls(BYTEWISE, "read", 1e-6, path="/a", bytes=1)
    assert one.seen[0] == {"event": "moves-few-bytes"}
    (other, *_) = calls(BYTEWISE, "read", 1e-6, path="pipe:[77]", bytes=8)
    assert {"event": "moves-few-bytes"} not in other.seen


@pytest.mark.parametrize(("s", "path", "size", "late"), [
    (0.025, "/data/a.dbf", 8192, True), (0.015, "/data/a.dbf", 8192, False), (0.025, "/dev/st0", 8192, False),
    (0.025, "/data/a.dbf", 4 << 20, False),
])  # fmt: skip
def test_reads_of_a_stored_file_that_take_20_ms_are_late(s: float, path: str, size: int, late: bool) -> None:
    (one,) = calls(MANY, "pread", s, path=path, bytes=size)
    assert ({"event": "file-read-late"} in one.seen) is late


def test_the_wait_of_a_single_thread_for_its_caller_is_no_part_of_the_whole() -> None:
    asked = {"pid": 7, "lwp": 7, "line_no": 0, "seq": 0, "t_local": -30.0, "stamp": "start", "state": "done",
             "name": "accept", "dur_hi_s": 30.0, "elapsed_s": 30.0, "contiguous": "proven"}  # fmt: skip
    work = [{**asked, "name": "fsync", "path": "/data/a", "line_no": n, "seq": n, "t_local": float(n - 1), "dur_hi_s": 1.0,
             "elapsed_s": 1.0} for n in range(1, 11)]  # fmt: skip
    (one,) = observe(Case.of_tables({"syscalls": [asked, *work]}))
    assert one.of_s == pytest.approx(10.0)
    (one,) = observe(Case.of_tables({"syscalls": [{**asked, "lwp": 8}, *work]}))
    assert one.of_s == pytest.approx(40.0)
