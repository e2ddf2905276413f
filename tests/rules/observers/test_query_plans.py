"""The node that holds a plan's time, estimates that are far off, rows thrown away; quick plans say nothing aloud."""

from __future__ import annotations

import pytest

from rules.case.case import Case
from rules.observers.observer import Sighting
from rules.observers.query_plans import observe


def plan(text: str) -> list[Sighting]:
    rows = [
        {"line_no": n, "line_end": n, "table_no": 0, "row_no": n, "heading": ["query plan"], "cells": [line]}
        for n, line in enumerate(text.splitlines(), 1)
        if line.strip()
    ]
    return list(observe(Case.of_tables({"rows": rows})))


SLOW = """\
 Nested Loop  (cost=0.4..9.0 rows=10 width=4) (actual time=0.1..5000.0 rows=90 loops=1)
   ->  Seq Scan on orders o  (cost=0.0..1.0 rows=100 width=4) (actual time=0.01..{scan} rows=90 loops=1)
         Filter: (state = 'open'::text)
         Rows Removed by Filter: {removed}
   ->  Index Scan using items_pkey on items i  (cost=0.4..8.0 rows=1 width=4) (actual time=0.5..1.0 rows=1 loops=90)
 Planning Time: 0.2 ms
 Execution Time: 5000.0 ms
"""


def test_the_node_with_most_time_of_its_own() -> None:
    made = plan(SLOW.format(scan="4800.0", removed=900000))
    assert made[0].headline == "Seq Scan on orders o took 4.800 s by itself, 96 % of the 5.000 s of the plan"
    assert (made[0].seconds, made[0].of_s, made[0].lines[0].line_from, made[0].normal) == (4.8, 5.0, 2, False)
    removed = next(s for s in made if s.name == "rows_removed_count")
    assert removed.headline == "Seq Scan on orders o removed 900,000 rows by its filter and kept 90"
    assert removed.seen == ({"log": "Rows Removed by Filter: 900000"},)


@pytest.mark.parametrize(("removed", "told", "blamed"), [(899, False, False), (900, True, False), (9000, True, True)])
def test_rows_thrown_away(removed: int, told: bool, blamed: bool) -> None:
    made = [s for s in plan(SLOW.format(scan="4800.0", removed=removed)) if s.name == "rows_removed_count"]
    assert [bool(s.seen) for s in made] == ([blamed] if told else [])


@pytest.mark.parametrize(("rows", "told"), [(1000, True), (999, False)])
def test_an_estimate_that_is_ten_times_off(rows: int, told: bool) -> None:
    made = plan(f"Seq Scan on t  (cost=0.0..1.0 rows=100 width=4) (actual time=0.1..9.0 rows={rows} loops=1)")
    assert bool([s for s in made if s.name == "rows_count"]) is told


def test_a_quick_plan_is_within_bounds() -> None:
    made = plan("Seq Scan on t  (cost=0.0..1.0 rows=1 width=4) (actual time=0.1..9.0 rows=1 loops=1)")
    assert [(s.name, s.normal) for s in made] == [("node_s", True)]
    assert plan("Seq Scan on t  (cost=0.0..1.0 rows=1 width=4)") == [], "an estimate alone says nothing of time"


def test_loops_sorts_pages_and_reads() -> None:
    made = plan(
        "Sort  (cost=1.0..2.0 rows=90 width=4) (actual time=1.0..2000.0 rows=90 loops=1)\n"
        "  Sort Method: external merge  Disk: 20480kB\n"
        "  Buffers: shared hit=5 read=12000\n"
        "  I/O Timings: shared read=1500.0\n"
        "  ->  Hash  (cost=1.0..2.0 rows=1 width=4) (actual time=0.1..0.2 rows=1 loops=1000)\n"
        "        Buckets: 1024  Batches: 8  Memory Usage: 4097kB\n"
    )
    assert {s.name: s.value for s in made if s.kind == "plan"} == {
        "loops_count": 1000.0, "sort_disk_kb": 20480.0, "hash_batches_count": 8.0, "pages_read_count": 12000.0, "read_s": 1.5,
    }  # fmt: skip


def test_odd_lines() -> None:
    huge = "x" * 300
    assert (
        plan(f"-> {huge}  (actual time=1e300..1e300 rows=1 loops=999999999999999)\n(cost=\nRows Removed by Filter: 5")
        is not None
    )
    assert plan("Filter: (a = 1)") == []
