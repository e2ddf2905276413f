"""What a measured plan that is printed as a table shows: a large table read for few rows, a loop that ran far too often.

Plans of Oracle (DBMS_XPLAN with A-Rows, row sources of tkprof) and of SQL Server (SET STATISTICS PROFILE). Standing out: a
full scan that takes half of the plan's time or more and gives a row for ten blocks or fewer; a step that ran once for each
row of another that gave a hundred times the rows that were expected, and takes half of the time; else the read that has half of
the time of a plan of a second or more; a scan that gives millions of rows of which a plan without a sum returns next to none.
Normal: less.
Worked example: `TABLE ACCESS FULL T (cr=242867 pr=242528 pw=0 time=34391020 us)` with 4,411 rows below a root of 34.4 s: 242,867
blocks for 4,411 rows, 100 % of the time.
Cost: the first 20,000 rows of listings with these columns. Source: Oracle Database SQL Tuning Guide, Displaying execution plans, Using
SQL Trace and TKPROF (cr, pr, time in microseconds); SQL Server documentation, SET STATISTICS PROFILE.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import FELT_S, Lines, Observer, Sighting, figure, place

OBSERVER = Observer(
    "table-plans",
    "Which step of a plan reads far more than it gives?",
    ("rows",),
    {
        "*": "the plan with its measures (dbms_xplan 'ALLSTATS LAST', actual plan) and the indexes of the tables it reads in full"
    },
    alone=True,
)

MOST_ROWS = 20_000

BLOCKS = 10_000.0
"""Minimum number of blocks (80 MB) of a full scan that is felt."""

GIVEN = 0.1
"""Rows for each block, at most, if an index would have read much less."""

OFTEN = 100.0
"""Minimum factor between the rows that came and those that were expected."""

LOOPS = 1000.0
HALF = 0.5

LONG_S = 1.0
"""Minimum seconds of a plan from which the step that holds half of it is what is slow."""

_ACCESS = re.compile(r"(?:TABLE ACCESS|MAT_VIEW ACCESS|INDEX|BITMAP INDEX|PARTITION)\b")
"""Steps that read rows themselves, and so have none of the time of others below them but a read of an index."""

MILLIONS = 1e6
RETURNED = 1e-4
"""Part of the rows of a scan that a plan without a sum returns, at most, if it reads them for nothing."""

_OPERATION, _SOURCE, _STATEMENT = "operation", "row source operation", "stmttext"
_FULL = re.compile(r"(?:TABLE|MAT_VIEW) ACCESS (?:STORAGE )?FULL\b")
_LOOP = re.compile(r"NESTED LOOPS\b")
_MEASURES = re.compile(r"\(cr=(\d{1,15}) [^)]*?\btime=(\d{1,15}) us")
_SCAN = re.compile(r"\|--(?:Clustered Index|Table|Index) Scan\(OBJECT:\((?P<what>[^)]{1,200})\)")
_SUM = re.compile(
    r"(?i)\b(?:count|sum|avg|min|max|stdev|var|string_agg)(?:_big)?\(|Aggregate|\b(?:insert|update|delete|merge)\b"
)
_SIZES = {"K": 1e3, "M": 1e6, "G": 1e9}


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield what stands out in each plan."""
    columns = [*PLACE_COLUMNS, "part", "line_no", "table_no", "heading", "cells"]
    names = pl.col("heading").list.eval(pl.element().str.to_lowercase())
    plans = pl.any_horizontal(*(names.list.contains(name) for name in (_OPERATION, _SOURCE, _STATEMENT)))
    rows = case.scan("rows", columns).filter(plans).head(MOST_ROWS).collect(engine="streaming")
    for _, listing in rows.sort("line_no").group_by("artifact_id", "part", "table_no", maintain_order=True):
        steps = [made for row in listing.iter_rows(named=True) if (made := _step(row))]
        for one_plan in _plans(steps):
            told = [*_full_scans(one_plan), *_loops(one_plan)]
            yield from told or _holders(one_plan)
            yield from _wide_scans(one_plan)


def _step(row: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return one step with its figures; None for a row without an operation."""
    of = {
        str(n or "").strip().lower(): str(c or "").strip() for n, c in zip(row["heading"], row["cells"], strict=False)
    }
    text = of.get(_OPERATION) or of.get(_SOURCE) or of.get(_STATEMENT) or ""
    if not text or row["line_no"] is None:
        return None
    measured = _MEASURES.search(text)
    return {
        "row": row,
        "text": text,
        "name": f"{text.split(' (cr=')[0]} {of.get('name', '')}".strip()[:120],
        "root": of.get("id", "").strip("* ") == "0" or not text.startswith("|--"),
        "rows": _figure(of.get("a-rows") if _OPERATION in of else of.get("rows")),
        "expected": _figure(of.get("e-rows")),
        "starts": _figure(of.get("starts")) or 1.0,
        "blocks": float(measured[1]) if measured else _figure(of.get("buffers")),
        "seconds": float(measured[2]) / 1e6 if measured else _clock(of.get("a-time")),
    }


def _plans(steps: Sequence[dict[str, Any]]) -> Iterator[Sequence[dict[str, Any]]]:
    """Yield the steps of each plan: one of SQL Server begins with its statement, the others are a table each."""
    begins = [n for n, step in enumerate(steps) if _STATEMENT in _names(step) and not step["text"].startswith("|--")]
    for first, after in zip([0, *begins], [*begins, len(steps)], strict=True):
        if after > first:
            yield steps[first:after]


def _names(step: Mapping[str, Any]) -> list[str]:
    return [str(n or "").strip().lower() for n in step["row"]["heading"]]


def _figure(text: str | None) -> float | None:
    """Parse a figure as a plan prints it.

    >>> _figure("2210K"), _figure("41220331"), _figure("")
    (2210000.0, 41220331.0, None)
    """
    found = re.fullmatch(r"(\d{1,15})([KMG]?)", text or "")
    return float(found[1]) * _SIZES.get(found[2], 1.0) if found else None


def _clock(text: str | None) -> float | None:
    found = re.fullmatch(r"(\d{1,4}):(\d\d):(\d\d(?:\.\d{1,6})?)", text or "")
    return int(found[1]) * 3600 + int(found[2]) * 60 + float(found[3]) if found else None


def _full_scans(steps: Sequence[dict[str, Any]]) -> Iterator[Sighting]:
    whole = max((s["seconds"] or 0.0 for s in steps), default=0.0)
    for step in steps:
        rows, blocks, seconds = step["rows"], step["blocks"], step["seconds"]
        if not _FULL.search(step["text"]) or rows is None or blocks is None or not seconds or whole < FELT_S:
            continue
        if blocks < BLOCKS or rows > GIVEN * blocks or seconds < HALF * whole:
            continue
        yield _sighting(
            step,
            f"{step['name']} read {blocks:,.0f} blocks for {rows:,.0f} row{'' if rows == 1 else 's'} in {figure(seconds, 's')},"
            f" {figure(100 * min(1.0, seconds / whole), '%')} of the plan's time",
            ("blocks_count", blocks),
            seconds / whole,
            "reads a large table to keep few rows",
        )


def _holders(steps: Sequence[dict[str, Any]]) -> Iterator[Sighting]:
    """Yield the step that reads from a table or an index and has half of the time of a plan of `LONG_S` or more."""
    whole = max((s["seconds"] or 0.0 for s in steps), default=0.0)
    reads = [s for s in steps if s["seconds"] and _ACCESS.match(s["text"])]
    if whole < LONG_S or not reads:
        return
    step = max(reads, key=lambda s: s["seconds"])
    if step["seconds"] < HALF * whole:
        return
    gave = f" and gave {step['rows']:,.0f} row{'' if step['rows'] == 1 else 's'}" if step["rows"] is not None else ""
    made = _sighting(
        step,
        f"{step['name']} took {figure(step['seconds'], 's')}{gave}, {figure(100 * min(1.0, step['seconds'] / whole), '%')}"
        f" of the {figure(whole, 's')} of the plan",
        ("node_s", step["seconds"]),
        step["seconds"] / whole,
        "",
    )
    yield replace(made, unit="s", seen=({"event": "plan-step"},))


def _loops(steps: Sequence[dict[str, Any]]) -> Iterator[Sighting]:
    whole = max((s["seconds"] or 0.0 for s in steps), default=0.0)
    if whole < FELT_S or not any(_LOOP.search(s["text"]) for s in steps):
        return
    for outer in steps:
        rows, expected = outer["rows"], outer["expected"]
        if rows is None or expected is None or rows < LOOPS or rows < OFTEN * max(expected * outer["starts"], 1.0):
            continue
        inner = [s for s in steps if s["starts"] == rows and (s["seconds"] or 0.0) >= HALF * whole]
        for step in inner[:1]:
            yield _sighting(
                step,
                f"{step['name']} ran {step['starts']:,.0f} times, once for each row of {outer['name']}, of which"
                f" {expected:,.0f} {'was' if expected == 1 else 'were'} expected",
                ("loops_count", step["starts"]),
                step["seconds"] / whole,
                "a loop ran far more often than was expected",
                Lines(
                    int(outer["row"]["artifact_id"]), int(outer["row"]["line_no"]), int(outer["row"]["line_no"]), "rows"
                ),
            )
            return


def _wide_scans(steps: Sequence[dict[str, Any]]) -> Iterator[Sighting]:
    root = steps[0]
    if _STATEMENT not in _names(root) or root["rows"] is None or any(_SUM.search(s["text"]) for s in steps):
        return
    scans = [(s["rows"], m["what"], s) for s in steps if s["rows"] is not None and (m := _SCAN.search(s["text"]))]
    for rows, what, step in sorted(scans, key=lambda x: -x[0])[:1]:
        if rows >= MILLIONS and root["rows"] <= RETURNED * rows:
            yield _sighting(
                step,
                f"The scan of {what} gave {rows:,.0f} rows, the statement returned {root['rows']:,.0f}",
                ("rows_count", rows),
                0.6,
                "the plan reads a table of millions of rows in full",
                Lines(
                    int(root["row"]["artifact_id"]),
                    int(root["row"]["line_no"]),
                    int(root["row"]["line_no"]),
                    "rows returned",
                ),
            )


def _sighting(
    step: Mapping[str, Any], text: str, quantity: tuple[str, float], share: float, log: str, *more: Lines
) -> Sighting:
    row = step["row"]
    own = Lines(int(row["artifact_id"]), int(row["line_no"]), int(row["line_no"]), step["name"])
    return Sighting(
        "plan",
        step["name"],
        text,
        quantity[0],
        quantity[1],
        "count",
        (own, *more),
        **place(row),
        share=min(1.0, share),
        seen=({"log": log},),
    )
