"""Where the estimates of a plan that is printed as a table are far from the rows it really had.

Standing out: a step with `TIMES` times the rows that were estimated for all its executions, and `LEAST` rows or more. Normal: less. Plans are known by
columns of estimated and real rows (SET STATISTICS PROFILE of SQL Server, and alike). Text plans are read by `query-plans`, those of Oracle by
`table-plans`.
Worked example: `Rows 900000, Executes 1, EstimateRows 1`: 900,000 rows where 1 was expected.
Cost: one pass over listings with these columns. Source: Microsoft Learn, SET STATISTICS PROFILE (Rows, Executes, EstimateRows).
"""

from __future__ import annotations

from collections.abc import Iterable

from rules.derived.derived_table import CaseTables
from rules.observers.database_lists import figure_of, listings
from rules.observers.observer import Observer, Sighting, place

OBSERVER = Observer(
    "estimated-rows",
    "Where are the estimates of a plan far off?",
    ("rows",),
    {"*": "when the statistics of these tables were last made; the plan with them made anew"},
    like="table-plans",
)

TIMES, LEAST = 100.0, 10_000.0
REAL = ("rows", "actual_rows", "actualrows", "rows_actual")
ESTIMATED = ("estimaterows", "estimated_rows", "estimate_rows", "est_rows", "plan_rows", "rows_estimated")
EXECUTED = ("executes", "actual_executions", "executions", "loops", "starts")
STEP = ("stmttext", "step", "operation", "operator", "physicalop", "node")


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield the step of each plan whose estimate is furthest off."""
    for names, listing in listings(case):
        real = next((n for n in REAL if n in names), None)
        guess = next((n for n in ESTIMATED if n in names), None)
        times = next((n for n in EXECUTED if n in names), None)
        if real is None or guess is None or not names & {*EXECUTED, *STEP}:
            continue
        worst = None
        for one in listing:
            rows, expected = figure_of(one.of[real]), figure_of(one.of[guess])
            n = figure_of(one.of[times]) if times else 1.0
            if rows is None or expected is None or rows < LEAST:
                continue
            off = rows / max(1.0, expected * max(1.0, n or 1.0))
            if off >= TIMES and (worst is None or off > worst[0]):
                worst = (off, rows, expected, one)
        if worst is not None:
            off, rows, expected, one = worst
            step = (one.first(STEP) or ("", "a step"))[1].strip(" |-")[:80]
            yield Sighting(
                "plan",
                step,
                f"{step} had {rows:,.0f} rows where {expected:,.6g} were expected, {off:,.0f} times as many",
                "rows_off_times",
                off,
                "times",
                (one.line("estimate and rows"),),
                **place(one.row),
                against="the estimate",
                against_value=expected,
                share=0.6,
                seen=({"event": "estimates-far-off"},),
            )
