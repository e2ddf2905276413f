"""Plans that are printed as tables: full scans for few rows, loops that ran too often, scans of millions for nothing."""

from __future__ import annotations

import pytest

from rules.case.case import Case
from rules.observers.observer import Sighting
from rules.observers.table_plans import observe


def plan(heading: str, *rows: str) -> list[Sighting]:
    return [s for s in read(heading, *rows) if s.name != "node_s"]


def read(heading: str, *rows: str) -> list[Sighting]:
    names = heading.split("|")
    made = [
        {"line_no": n, "line_end": n, "table_no": 1, "row_no": n, "heading": names, "cells": row.split("|")}
        for n, row in enumerate(rows, 2)
    ]
    return list(observe(Case.of_tables({"rows": made})))


SOURCES = "Rows|Row Source Operation"


@pytest.mark.parametrize(
    ("rows", "blocks", "us", "told"),
    [
        (1000, 10_000, 5_000_000, True),
        (1001, 10_000, 5_000_000, False),
        (999, 9_999, 5_000_000, False),
        (1000, 10_000, 4_999_999, False),
    ],
)
def test_row_sources_of_tkprof(rows: int, blocks: int, us: int, told: bool) -> None:
    made = plan(
        SOURCES,
        "1|SORT AGGREGATE (cr=10000 pr=9000 pw=0 time=10000000 us)",
        f"{rows}|TABLE ACCESS FULL ORDERS (cr={blocks} pr=9000 pw=0 time={us} us)",
    )
    assert [(s.headline, s.lines[0].line_from) for s in made] == (
        [("TABLE ACCESS FULL ORDERS read 10,000 blocks for 1,000 rows in 5.000 s, 50 % of the plan's time", 3)]
        if told
        else []
    )


def test_a_quick_plan_is_normal() -> None:
    assert plan(SOURCES, "9|TABLE ACCESS FULL ORDERS (cr=20000 pr=0 pw=0 time=99999 us)") == []


XPLAN = "Id|Operation|Name|Starts|E-Rows|A-Rows|A-Time|Buffers"


@pytest.mark.parametrize(
    ("expected", "came", "took", "told"),
    [(10, "1000", "00:00:30.00", True), (11, "1000", "00:00:30.00", False), (10, "1000", "00:00:29.00", False)],
)
def test_a_loop_of_oracle_that_ran_far_more_often_than_was_expected(
    expected: int, came: str, took: str, told: bool
) -> None:
    made = plan(
        XPLAN,
        "0|SELECT STATEMENT||1||5|00:01:00.00|90K",
        "1|NESTED LOOPS||1|1|5|00:01:00.00|90K",
        f"* 2|INDEX RANGE SCAN|A_IX|1|{expected}|{came}|00:00:01.00|40",
        f"* 3|INDEX RANGE SCAN|B_IX|{came}|1|5|{took}|80K",
    )
    assert [s.headline for s in made] == (
        ["INDEX RANGE SCAN B_IX ran 1,000 times, once for each row of INDEX RANGE SCAN A_IX, of which 10 were expected"]
        if told
        else []
    )


def test_a_full_scan_of_oracle_with_its_name_in_a_cell() -> None:
    made = plan(XPLAN, "0|SELECT STATEMENT||1||7|00:00:09.00|50K", "* 1|TABLE ACCESS FULL|ORDERS|1|9|7|00:00:09.00|50K")
    assert [(s.subject, s.value, s.share) for s in made] == [("TABLE ACCESS FULL ORDERS", 50_000.0, 1.0)]
    unmeasured = plan(
        "Id|Operation|Name|Rows|Cost", "0|SELECT STATEMENT||7|50000", "1|TABLE ACCESS FULL|ORDERS|7|50000"
    )
    assert unmeasured == []


PROFILE = "Rows|Executes|StmtText"
SCAN = "|--Clustered Index Scan(OBJECT:([shop].[dbo].[items].[pk]))"


@pytest.mark.parametrize(
    ("statement", "rows", "told"),
    [
        ("select top 100 id from items", 1_000_000, True),
        ("select top 100 id from items", 999_999, False),
        ("select count(*) from items", 1_000_000, False),
    ],
)
def test_a_scan_of_sql_server_that_gives_millions_for_nothing(statement: str, rows: int, told: bool) -> None:
    made = [
        {"line_no": n, "line_end": n, "table_no": 1, "row_no": n, "heading": PROFILE.split("|"), "cells": cells}
        for n, cells in enumerate((["100", "1", statement], ["100", "1", "|--Top(100)"], [str(rows), "1", SCAN]), 2)
    ]
    found = list(observe(Case.of_tables({"rows": made})))
    assert [s.seen for s in found] == (
        [({"log": "the plan reads a table of millions of rows in full"},)] if told else []
    )


def test_rows_that_have_no_operation_are_no_steps() -> None:
    assert plan(XPLAN, "0|||1||7|x|y") == []


@pytest.mark.parametrize(
    ("whole", "took", "step", "told"),
    [
        ("00:00:01.00", "00:00:00.50", "TABLE ACCESS FULL", True),
        ("00:00:00.99", "00:00:00.98", "TABLE ACCESS FULL", False),
        ("00:00:10.00", "00:00:04.99", "INDEX RANGE SCAN", False),
        ("00:00:10.00", "00:00:09.99", "SORT ORDER BY", False),
    ],
)
def test_the_read_that_holds_half_of_a_long_plan(whole: str, took: str, step: str, told: bool) -> None:
    made = read(XPLAN, f"0|SELECT STATEMENT||1||70|{whole}|90", f"1|{step}|PARTS|1|70|70|{took}|90")
    assert [s.seen for s in made] == ([({"event": "plan-step"},)] if told else [])
    if told:
        assert (
            made[0].headline == "TABLE ACCESS FULL PARTS took 0.500 s and gave 70 rows, 50 % of the 1.000 s of the plan"
        )
        assert (made[0].unit, made[0].value, made[0].lines[0].line_from) == ("s", 0.5, 3)
