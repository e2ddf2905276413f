"""Tests of a server's own counters: hit ratios, use of limits, and counters that stay at 0."""

from __future__ import annotations

import math

import pytest

from rules.case.case import Case
from rules.observers.observer import Sighting
from rules.observers.server_counters import observe
from rules.signatures.signatures import recognise


def counters(**values: float | None) -> list[Sighting]:
    rows = [{"line_no": n, "name": name, "value": value} for n, (name, value) in enumerate(values.items(), 1)]
    return list(observe(Case.of_tables({"counters": rows})))


@pytest.mark.parametrize(("misses", "normal"), [(100, True), (112, False)])
def test_hit_ratio(misses: float, normal: bool) -> None:
    (made,) = counters(keyspace_hits=1000.0, keyspace_misses=misses)
    assert (made.normal, [c.line_from for c in made.lines]) == (normal, [1, 2])


def test_the_requests_of_innodb_count_the_reads_too() -> None:
    (made,) = counters(Innodb_buffer_pool_read_requests=2000.0, Innodb_buffer_pool_reads=1500.0)
    assert made.headline == "25 % of 2,000 looks-up were hits, 1,500 were not (Innodb_buffer_pool_reads)"


def test_a_cache_that_has_just_begun() -> None:
    assert counters(get_hits=1.0, get_misses=998.0) == []


@pytest.mark.parametrize(("used", "normal"), [(79.0, True), (80.0, False)])
def test_use_of_a_limit(used: float, normal: bool) -> None:
    (made,) = counters(connected_clients=used, maxclients=100.0)
    assert made.headline == f"connected_clients is {used:.0f} of 100 (maxclients), {used:.0f} %"
    assert made.normal is normal


def test_no_limit_is_none() -> None:
    assert counters(used_memory=5.0, maxmemory=0.0) == []


def test_what_stays_at_0() -> None:
    assert counters(evicted_keys=0.0, deadlocks=0.0) == []
    assert [s.headline for s in counters(evicted_keys=1200.0)] == [
        "1,200 keys were evicted for want of memory (evicted_keys)"
    ]


@pytest.mark.parametrize(("asked", "normal"), [(5.0, True), (6.0, False)])
def test_checkpoints_on_demand(asked: float, normal: bool) -> None:
    (made,) = counters(checkpoints_req=asked, checkpoints_timed=5.0)
    assert made.normal is normal


def test_sessions_that_write_by_themselves() -> None:
    (made,) = counters(buffers_backend=60.0, buffers_checkpoint=30.0, buffers_clean=10.0)
    assert made.headline == "Sessions wrote 60 of 100 pages by themselves, 60 %"
    assert counters(buffers_backend=0.0, buffers_checkpoint=0.0, buffers_clean=0.0) == []


def test_odd_values() -> None:
    assert (
        counters(evicted_keys=math.nan, deadlocks=-1.0, evictions=None, keyspace_hits=1e300, keyspace_misses=5.0) == []
    )


def test_what_went_to_disk_is_a_measure() -> None:
    (made,) = counters(xact_commit=250.0, temp_files=12.0, temp_bytes=5_242_880.0)
    assert made.headline == "12 temporary files were written, 5,120 kB in all, beside 250 transactions (temp_files)"
    assert (made.normal, [c.line_from for c in made.lines]) == (True, [2, 3, 1])
    (made,) = counters(Created_tmp_tables=80.0, Created_tmp_disk_tables=60.0)
    assert (
        made.headline == "60 temporary tables went to disk beside 80 temporary tables in all (Created_tmp_disk_tables)"
    )
    assert counters(xact_commit=250.0, temp_files=0.0, temp_bytes=0.0) == []


@pytest.mark.parametrize(
    ("name", "used", "full"),
    [("Threads_connected", 99.0, True), ("Threads_connected", 98.0, False), ("Max_used_connections", 100.0, False)],
)
def test_a_server_that_takes_no_more_connections(name: str, used: float, full: bool) -> None:
    (made,) = counters(**{name: used, "max_connections": 100.0})
    assert made.seen == (({"event": "connections-at-limit"},) if full else ())


@pytest.mark.parametrize(("waited", "normal"), [(100.0, False), (99.0, True)])
def test_locks_on_tables_that_wait(waited: float, normal: bool) -> None:
    (made,) = counters(Table_locks_waited=waited, Table_locks_immediate=1000.0 - waited)
    assert (made.normal, bool(made.seen)) == (normal, not normal)


def test_locks_of_a_server_that_has_just_begun() -> None:
    assert counters(Table_locks_waited=99.0, Table_locks_immediate=900.0) == []


@pytest.mark.parametrize(("usec", "told"), [(500_000.0, True), (499_000.0, False)])
def test_a_copy_of_the_server_during_which_nobody_is_answered(usec: float, told: bool) -> None:
    made = counters(latest_fork_usec=usec)
    assert [s.headline for s in made] == (
        ["The server stood still for 0.500 s while it made the last copy of itself (latest_fork_usec)"] if told else []
    )
    assert not told or recognise(**made[0].seen[0])[0].mechanism == "fork-cost"


def test_names_and_values_that_a_client_wrote_with_tabs() -> None:
    rows = [
        {"line_no": 2, "grp": "csv", "item": "Innodb_row_lock_current_waits", "name": "Value", "value": 5.0},
        {"line_no": 3, "grp": "csv", "item": "Innodb_row_lock_time_avg", "name": "Value", "value": 1000.0},
    ]
    (made,) = observe(Case.of_tables({"counters": rows}))
    assert made.headline == (
        "5 row locks are waited for now (Innodb_row_lock_current_waits); a wait took 1.000 s on average"
    )
    assert made.seen == ({"event": "rows-wait-now"},)
    for n, value in ((0, 4.0), (1, 999.0)):
        other = [{**row, "value": value} if at == n else row for at, row in enumerate(rows)]
        assert [s.seen for s in observe(Case.of_tables({"counters": other}))] == [()]


def test_a_view_that_is_printed_as_one_row() -> None:
    heading = ["checkpoints_timed", "checkpoints_req", "buffers_checkpoint", "buffers_clean", "buffers_backend"]
    row = {"line_no": 3, "table_no": 1, "row_no": 1, "heading": heading, "cells": ["20", "80", "900", "50", "50"]}
    made = list(observe(Case.of_tables({"rows": [row]})))
    assert made[0].headline == "80 of 100 checkpoints were requested, not by time, 80 %"
    twice = [row, {**row, "line_no": 4, "row_no": 2}]
    assert list(observe(Case.of_tables({"rows": twice}))) == []


@pytest.mark.parametrize(("asked", "forced"), [(9000.0, True), (90.0, False)])
def test_checkpoints_that_the_amount_of_log_forces(asked: float, forced: bool) -> None:
    (made,) = counters(checkpoints_req=asked, checkpoints_timed=5.0)
    assert made.seen == (({"event": "checkpoints-forced"},) if forced else ())


@pytest.mark.parametrize(("n", "named"), [(9000.0, True), (9.0, False)])
def test_a_pool_without_a_free_page(n: float, named: bool) -> None:
    (made,) = counters(innodb_buffer_pool_wait_free=n)
    assert made.seen == (({"event": "buffer-pool-without-free-page"},) if named else ())
