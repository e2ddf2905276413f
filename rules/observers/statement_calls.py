"""Where the time of a statement went that tkprof sums up by its calls: on a processor, in reads, or in something else.

Standing out: a statement whose calls took a second or more together. Of its time it is told how much was on a processor and how
many blocks were read from disk meanwhile. Half of it on a processor: it computes. Half of it waiting: with reads that took `SLOW_S`
each or more, the disk is slow; with more, quicker reads, there are too many of them; with hardly a read (none would take `NO_READ_S`) a
change waits for something else, mostly for a lock. Of a query without reads nobody knows what it waits for.
Normal: statements below a second.
Worked example: `Execute 1 0.62 19.62 22 526 12 7`: 19.0 s of 19.62 s were waiting, with 22 blocks from disk that would have to take
0.86 s each: it waited for something else.
Cost: the first 20,000 rows of tables with these headings. Source: Oracle Database SQL Tuning Guide, Using SQL Trace and TKPROF.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import Lines, Observer, Sighting, figure, place
from rules.signatures.signatures import Seen

OBSERVER = Observer(
    "statement-calls",
    "Where did the time of a statement's calls go?",
    ("rows",),
    {"*": "the waits of the statement: tkprof of a trace with waits (10046 at level 8), its plan with row sources"},
    alone=True,
)

HEADING = ("call", "count", "cpu", "elapsed", "disk", "query", "current", "rows")
MOST_ROWS = 20_000
LONG_S = 1.0
HALF = 0.5

SLOW_S = 0.01
"""Minimum time in seconds of a read that a disk answers slowly."""

NO_READ_S = 0.2
"""Time in seconds that no read takes on average: who waited so long for each did not wait for reads."""

MANY = 100.0
"""Minimum number of reads whose mean says something."""


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield the call of each statement that took longest."""
    columns = [*PLACE_COLUMNS, "table_no", "line_no", "heading", "cells"]
    of_tkprof = pl.col("heading").list.eval(pl.element().str.to_lowercase()) == list(HEADING)
    rows = case.scan("rows", columns).filter(of_tkprof).head(MOST_ROWS).collect(engine="streaming")
    for _, table in rows.sort("line_no").group_by("artifact_id", "table_no", maintain_order=True):
        calls = [made for row in table.iter_rows(named=True) if (made := _call(row))]
        if calls:
            yield _sighting(max(calls, key=lambda c: c["elapsed"]))


def _call(row: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return one call with its figures; the sum of all is none, nor is a row that is cut."""
    name, *figures = (str(cell or "").strip().replace(",", "") for cell in row["cells"])
    try:
        count, cpu, elapsed, disk, query, current, rows = map(float, figures)
    except ValueError:
        return None
    if name.lower() not in ("parse", "execute", "fetch") or not 0 <= elapsed < 1e9:
        return None
    return {
        "row": row, "name": name, "count": count, "cpu": cpu, "elapsed": elapsed, "disk": disk,
        "changed": current, "blocks": query + current, "rows": rows,
    }  # fmt: skip


def _sighting(call: Mapping[str, Any]) -> Sighting:
    row, elapsed, cpu = call["row"], call["elapsed"], min(call["cpu"], call["elapsed"])
    waited, reads = elapsed - cpu, call["disk"]
    computing = cpu >= HALF * elapsed
    held = cpu if computing else waited
    text = f"{call['name']} took {figure(elapsed, 's')}, of which {figure(cpu, 's')} was on a processor"
    if not computing:
        text += f" and {figure(waited, 's')} waiting"
        text += f"; {reads:,.0f} block{' was' if reads == 1 else 's were'} read from disk meanwhile"
    text += f"; it used {call['blocks']:,.0f} block{'' if call['blocks'] == 1 else 's'} for {call['rows']:,.0f} row"
    text += "" if call["rows"] == 1 else "s"
    return Sighting(
        "split",
        f"the call {call['name']}",
        text,
        "elapsed_s",
        elapsed,
        "s",
        (Lines(int(row["artifact_id"]), int(row["line_no"]), int(row["line_no"]), call["name"]),),
        **place(row),
        against="what is felt of a statement",
        against_value=LONG_S,
        seconds=held,
        share=held / elapsed if elapsed > 0 else 0.0,
        of_s=elapsed,
        n=int(min(call["count"], 1e15)),
        seen=() if elapsed < LONG_S else _seen(call, waited, computing),
        normal=elapsed < LONG_S,
    )


def _seen(call: Mapping[str, Any], waited: float, computing: bool) -> tuple[Seen, ...]:
    reads = call["disk"]
    if computing:
        return ({"event": "statement-on-cpu"},)
    if reads >= MANY and waited <= NO_READ_S * reads:
        return ({"event": "statement-reads-slowly" if waited >= SLOW_S * reads else "statement-reads-much"},)
    # A block of PL/SQL that sleeps touches nothing itself.
    changes = call["name"].lower() == "execute" and call["changed"] > 0 and waited > NO_READ_S * max(reads, 1.0)
    return ({"event": "change-waits"},) if changes else ()
