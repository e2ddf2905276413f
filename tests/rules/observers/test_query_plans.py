"""Tests of plans: the node with most time, wrong estimates, discarded rows; quick plans give only measures."""

from __future__ import annotations

import pytest

from rules.case.case import Case
from rules.observers.observer import Sighting
from rules.observers.query_plans import observe


def plan(text: str, **settings: str) -> list[Sighting]:
    rows = [
        {"line_no": n, "line_end": n, "table_no": 0, "row_no": n, "heading": ["query plan"], "cells": [line]}
        for n, line in enumerate(text.splitlines(), 1)
        if line.strip()
    ]
    params = [{"line_no": 90 + n, "name": name, "value": value} for n, (name, value) in enumerate(settings.items())]
    return list(observe(Case.of_tables({"rows": rows, "params": params})))


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


SORTED = """\
 Sort  (cost=1.0..2.0 rows=900 width=4) (actual time=800.0..900.0 rows=900.00 loops=1)
   Sort Key: day
   Sort Method: {method}
   Buffers: shared hit=400, temp read=700 written=710
   ->  Seq Scan on visit  (cost=0.0..1.0 rows=900 width=4) (actual time=0.1..{scan} rows=900.00 loops=1)
         Buffers: shared hit={hit} read=40
 Execution Time: 1000.0 ms
"""


def test_a_node_is_told_with_what_is_below_it_and_with_the_next() -> None:
    made = plan(SORTED.format(method="quicksort  Memory: 25kB", scan="50.0", hit=360))[0]
    assert (
        made.headline
        == "Sort took 0.850 s by itself (0.900 s with the nodes below it), 85 % of the 1.000 s of the plan"
    )
    assert made.beside == "next is Seq Scan on visit with 50 ms", "the pages of a node with others below are theirs too"
    assert [line.line_from for line in made.lines] == [1, 5]
    quick = plan(SORTED.format(method="quicksort  Memory: 25kB", scan="49.0", hit=360))[0]
    assert quick.headline.startswith("Sort took 0.851 s by itself, 85.1 %"), "what is below takes next to nothing"
    assert quick.beside is None


@pytest.mark.parametrize(("hit", "told"), [(60, True), (59, False)])
def test_the_pages_of_a_scan(hit: int, told: bool) -> None:
    made = plan(SORTED.format(method="quicksort  Memory: 25kB", scan="700.0", hit=hit))[0]
    pages = "it read 100 pages for 900 rows; " if told else ""
    assert made.beside == f"{pages}next is Sort with 0.200 s"


def test_the_memory_of_a_sort_stands_beside_it() -> None:
    text = SORTED.format(method="external merge  Disk: 9000kB", scan="50.0", hit=360)
    sort = next(s for s in plan(text, work_mem="2MB") if s.name == "sort_disk_kb")
    assert (sort.beside, sort.lines[-1].line_from) == ("work_mem is 2MB", 90)
    assert next(s for s in plan(text, shared_buffers="2MB") if s.name == "sort_disk_kb").beside is None
    hashed = plan(
        "Hash  (cost=1.0..2.0 rows=1 width=4)\n  Buckets: 1024  Batches: 8  Memory Usage: 4097kB\n", work_mem="4MB"
    )
    assert [s.beside for s in hashed] == ["work_mem is 4MB"]


def test_pages_of_temporary_files_are_no_pages_of_tables() -> None:
    names = [s.name for s in plan(SORTED.format(method="external merge  Disk: 9000kB", scan="50.0", hit=360))]
    assert "pages_read_count" not in names
    assert "pages_written_count" not in names, "the sort says what it wrote"
    made = plan(SORTED.format(method="quicksort  Memory: 25kB", scan="50.0", hit=360))
    assert [s.headline for s in made if s.name == "pages_written_count"] == [
        "710 pages were written to temporary files"
    ]


@pytest.mark.parametrize(("ms", "normal"), [("99.9", True), ("100.0", False)])
def test_the_time_of_a_plan(ms: str, normal: bool) -> None:
    made = plan(
        f"Result  (cost=0.0..1.0 rows=1 width=4) (actual time=0.1..9.0 rows=1 loops=1)\nExecution Time: {ms} ms"
    )
    assert [s.normal for s in made if s.name == "plan_s"] == [normal]


TEMPORARY = """\
-> Sort: t.total  (actual time=9000.1..9000.2 rows=7 loops=1)
    -> Table scan on <temporary>  (actual time=0.01..0.02 rows=7 loops=1)
        -> Aggregate using temporary table  (actual time=9000.0..9000.0 rows=7 loops=1)
            -> Filter: (t.code = 'a')  (cost=90.1 rows=900) (actual time=1.0..8900.0 rows={kept} loops=1)
                -> {scan}  (cost=90.1 rows=900000) (actual time=0.1..1200.0 rows=900000 loops=1)
"""


def test_a_scan_of_a_temporary_table_does_not_hide_what_filled_it() -> None:
    made = plan(TEMPORARY.format(scan="Table scan on t", kept=900))
    assert made[0].headline.startswith(
        "Filter: (t.code = 'a') took 7.700 s by itself (8.900 s with the nodes below it)"
    )
    assert [s.headline for s in made if s.name == "plan_s"] == ["The plan took 9.000 s and gave 7 rows"]


def test_workers_side_by_side_take_nothing_from_the_nodes_above() -> None:
    made = plan(
        "Sort  (cost=1.0..2.0 rows=90 width=4) (actual time=1.0..900.0 rows=90 loops=1)\n"
        "  ->  Gather  (cost=1.0..2.0 rows=90 width=4) (actual time=1.0..300.0 rows=90 loops=1)\n"
        "        ->  Parallel Seq Scan on t  (cost=1.0..2.0 rows=30 width=4) (actual time=1.0..290.0 rows=30 loops=3)\n"
    )
    assert "next is Sort with 0.600 s" in (made[0].beside or "") or made[0].headline.startswith("Sort took 0.600 s")


@pytest.mark.parametrize(
    ("scan", "kept", "told", "blamed"),
    [
        ("Table scan on t", 900, True, True),
        ("Covering index scan on t using code", 900, True, True),
        ("Table scan on t", 50000, True, False),
        ("Table scan on t", 90000, False, False),
        ("Index lookup on t using code", 900, False, False),
        ("Table scan on <temporary>", 900, False, False),
    ],
)
def test_a_filter_above_a_scan_of_a_whole_table(scan: str, kept: int, told: bool, blamed: bool) -> None:
    made = [s for s in plan(TEMPORARY.format(scan=scan, kept=kept)) if s.name == "rows_removed_count"]
    assert [bool(s.seen) for s in made] == ([blamed] if told else [])
    if blamed:
        assert made[0].headline.endswith("read 900,000 rows in 1.200 s; the filter above it kept 900")
        assert [line.line_from for line in made[0].lines] == [5, 4]


OF_WORKERS = """\
Limit  (cost=700.0..700.1 rows=1 width=8) (actual time=395.0..400.0 rows=1 loops=1)
  ->  Gather Merge  (cost=700.0..990.0 rows=90000 width=8) (actual time=395.0..399.9 rows=1 loops=1)
        Workers Planned: 2
        Workers Launched: 2
        ->  Sort  (cost=700.0..790.0 rows=45000 width=8) (actual time=381.0..381.1 rows=1 loops=3)
              Sort Key: period DESC
              ->  Parallel Seq Scan on shelves  (cost=0.0..600.0 rows={expected} width=8) (actual time=9.0..380.0 rows=20000 loops=3)
"""


def test_workers_run_side_by_side_and_a_limit_ends_what_is_below_it() -> None:
    made = plan(OF_WORKERS.format(expected=45000))
    assert made[0].headline == "Parallel Seq Scan on shelves took 0.380 s by itself, 95 % of the 0.400 s of the plan"
    assert made[1].headline == "The plan took 0.400 s and gave 1 row"
    assert [s for s in made if s.kind == "estimate"] == []


def test_what_is_below_a_sort_is_read_whole_whatever_the_limit() -> None:
    made = [s for s in plan(OF_WORKERS.format(expected=400000)) if s.kind == "estimate"]
    assert [s.headline for s in made] == [
        "Parallel Seq Scan on shelves gave 20,000 rows, 400,000 were expected: 20 times fewer"
    ]


def read_whole(cost: float, rows: int, *, measured: bool) -> list[Sighting]:
    took = f" (actual time=1.0..{{}} rows={rows} loops=1)" if measured else ""
    text = (
        f"Sort  (cost={cost}..{cost + 9} rows={rows} width=4){took.format('5001.0')}\n"
        f"  ->  Seq Scan on orders  (cost=0.00..{cost} rows={rows} width=4){took.format('5000.0')}\n"
        "        Filter: (state = 'open'::text)\n"
    )
    return [s for s in plan(text) if s.name == "pages_count"]


@pytest.mark.parametrize(
    ("cost", "rows", "measured", "told"),
    [
        (100_000.0, 1000, True, True),
        (99_999.0, 1000, True, False),
        (100_000.0, 1001, True, False),
        (1_000_000.0, 1000, False, True),
        (999_999.0, 1000, False, False),
    ],
)
def test_a_plan_that_is_cut_behind_the_filter_of_a_large_table(
    cost: float, rows: int, measured: bool, told: bool
) -> None:
    made = read_whole(cost, rows, measured=measured)
    assert [s.seen for s in made] == ([({"log": "reads a large table to keep few rows"},)] if told else [])
    assert [[c.line_from for c in s.lines] for s in made] == ([[2, 3]] if told else [])


def test_what_the_filter_removed_says_more_than_the_cost() -> None:
    text = (
        "Seq Scan on t  (cost=0.00..900000.00 rows=9 width=4) (actual time=1.0..5000.0 rows=9 loops=1)\n"
        "  Filter: (a = 1)\n  Rows Removed by Filter: 5000000\n"
    )
    assert [s.name for s in plan(text) if s.kind == "plan"] == ["rows_removed_count"]


LOOP = """\
Nested Loop  (cost=0.4..9.0 rows=1 width=4) (actual time=0.1..{whole} rows=9 loops=1)
  ->  Index Scan using a_i on a  (cost=0.4..8.0 rows=10 width=4) (actual time=0.1..90.0 rows={rows} loops=1)
  ->  Index Scan using b_i on b  (cost=0.4..8.0 rows=1 width=4) (actual time=0.5..1.0 rows=1 loops={rows})
"""


@pytest.mark.parametrize(("rows", "whole", "told"), [(1000, 1090, True), (999, 1090, False), (1000, 2500, False)])
def test_a_loop_that_runs_far_more_often_than_was_expected(rows: int, whole: int, told: bool) -> None:
    made = [s for s in plan(LOOP.format(rows=rows, whole=whole)) if s.kind == "plan" and s.seen]
    assert [s.headline for s in made] == (
        [
            "Index Scan using b_i on b ran 1,000 times, once for each row of Index Scan using a_i on a, of which 10 were expected"
        ]
        if told
        else []
    )


JSON = """\
      "Node Type": "Sort",
      "Total Cost": 900.03,
      "Plan Rows": 8,
      "Actual Total Time": 5001.5,
      "Actual Rows": 8,
      "Actual Loops": 1,
      "Plans": [
          "Node Type": "Seq Scan",
          "Relation Name": "orders",
          "Plan Rows": 8,
          "Actual Total Time": 5000.0,
          "Actual Rows": 8,
          "Actual Loops": 1,
          "Filter": "(state = 'open'::text)",
          "Rows Removed by Filter": 900000,
"""


def test_a_plan_as_json_that_is_cut() -> None:
    made = plan(JSON)
    assert made[0].headline == "Seq Scan on orders took 5.000 s by itself, 100.0 % of the 5.002 s of the plan"
    removed = next(s for s in made if s.name == "rows_removed_count")
    assert (removed.value, removed.seen) == (900000.0, ({"log": "Rows Removed by Filter: 900000"},))
    assert [c.line_from for c in removed.lines] == [15, 8]


def test_a_plan_that_is_cut_at_a_join_says_nothing_of_the_time_of_that_node_alone() -> None:
    made = plan("Nested Loop  (cost=0.4..9.0 rows=1 width=4) (actual time=0.1..5000.0 rows=1 loops=1)")
    assert [s for s in made if s.kind == "split"] == []


@pytest.mark.parametrize(
    ("whole", "part", "name", "slow"),
    [
        (1000.0, 500.0, "Seq Scan on orders o", True),
        (999.0, 990.0, "Seq Scan on orders o", False),
        (1000.0, 480.0, "Seq Scan on orders o", False),
        (9000.0, 8900.0, "Foreign Scan on orders o", False),
        (9000.0, 8900.0, "Function Scan on pg_sleep o", False),
    ],
)
def test_the_step_that_holds_half_of_a_long_plan_is_what_is_slow(
    whole: float, part: float, name: str, slow: bool
) -> None:
    made = plan(
        f"Aggregate  (cost=0.4..9.0 rows=1 width=4) (actual time=0.1..{whole} rows=1 loops=1)\n"
        f"  ->  {name}  (cost=0.0..1.0 rows=9 width=4) (actual time=0.01..{part} rows=9 loops=1)\n"
        "  ->  Hash  (cost=0.0..1.0 rows=9 width=4) (actual time=0.01..300.0 rows=9 loops=1)\n"
        f" Execution Time: {whole} ms\n"
    )
    assert (made[0].seen == ({"event": "plan-step"},)) is slow


def test_a_plan_that_mostly_reads_is_not_slow_by_a_step() -> None:
    text = (
        "Seq Scan on t  (cost=0.0..1.0 rows=9 width=4) (actual time=0.01..5000.0 rows=9 loops=1)\n"
        "  I/O Timings: shared read=4500.0\n Execution Time: 5000.0 ms\n"
    )
    assert plan(text)[0].seen == ()


@pytest.mark.parametrize(("cost", "told"), [(1_000_000.0, True), (999_999.0, False)])
def test_a_plan_without_measures_tells_the_large_table_that_it_reads(cost: float, told: bool) -> None:
    text = f"Limit  (cost=0.00..41.20 rows=70 width=8)\n  ->  Seq Scan on t  (cost=0.00..{cost:.2f} rows=7000000 width=8)\n"
    made = [s for s in plan(text) if s.name == "rows_count"]
    assert [(s.value, s.seen, s.lines[0].line_from) for s in made] == ([(7_000_000.0, (), 2)] if told else [])
    filtered = [s for s in plan(text + "        Filter: (state = 'gone'::text)\n") if s.name == "rows_count"]
    assert [bool(s.seen) for s in filtered] == ([True] if told else [])
