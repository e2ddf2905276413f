"""Where the time of the longest requests went: one row per part, adding up to 100 %, with waits followed into the
process waited for.

Inputs: `requests`, `syscalls`, `proc_tree`, `pipe_pairs`. The five longest requests of each kind and clock are
analysed.
Columns: request (as in `requests`), `level` (0: the request's own thread; one more for each wait followed), pid, lwp, kind (of
`rules/walking/targets.py`, or own code, not traced, idle), name (the call with the longest time), `target`, n, `dur_s` (upper bound), `share`
of the request, `mean_s`, `max_s`, `cpu_s` (NULL if not printed), `timeouts` and `errors` (calls that ended with one),
line_no, line_end, `line_max` (line of the longest call), contiguous (the worst in the group), `followed` (true: a wait
whose parts have rows of the next level; do not add it to them), `to_pid`, `to_lwp` (the process waited for). The rows
that are not followed add up to `requests.wall_s` exactly.
Worked example: a command of 1.0 s that computes 0.2 s, asks sssd 44 times for 0.7 s and waits 0.1 s for a child that sleeps 0.09 s:
own code 0.2, name service 0.7 (n 44), child 0.1 (followed), and at level 1 sleep 0.09, and child 0.01 not covered by it.
Cost: the rows of five requests a kind. Source: Method R (Millsap, Holt); wait-for graphs as in deadlock detection.
"""

from __future__ import annotations

import polars as pl

from rules.derived.derived_table import PLACE, CaseTables, DerivedTable, Scope, nanoseconds
from rules.derived.requests import TABLE as REQUESTS
from rules.walking.request_walk import Walker, Window, measured

TABLE = DerivedTable(
    "request_parts",
    {
        **PLACE,
        "request": pl.Int64(),
        "level": pl.Int64(),
        "pid": pl.Int64(),
        "lwp": pl.Int64(),
        "kind": pl.String(),
        "name": pl.String(),
        "target": pl.String(),
        "n": pl.Int64(),
        "dur_s": pl.Float64(),
        "share": pl.Float64(),
        "mean_s": pl.Float64(),
        "max_s": pl.Float64(),
        "cpu_s": pl.Float64(),
        "timeouts": pl.Int64(),
        "errors": pl.Int64(),
        "line_no": pl.Int64(),
        "line_end": pl.Int64(),
        "line_max": pl.Int64(),
        "contiguous": pl.String(),
        "followed": pl.Boolean(),
        "to_pid": pl.Int64(),
        "to_lwp": pl.Int64(),
    },
)
NEEDS = ("requests", "syscalls", "proc_tree", "pipe_pairs")
SCOPE: Scope = "artifact"
VERSION = "1"

LONGEST = 5


def _longest(requests: pl.LazyFrame) -> pl.DataFrame:
    """Return the LONGEST requests of each kind and clock, the first ones among equals.

    Thousands may be equally long, so they are not all held in memory.
    """
    alike = ["artifact_id", "clock", "kind"]
    wall, line = pl.col("wall_s"), pl.col("line_from")
    least = requests.group_by(alike).agg(wall.top_k(LONGEST).min().alias("least")).collect(engine="streaming").lazy()
    known = requests.join(least, on=alike, nulls_equal=True)
    equal = known.filter(wall == pl.col("least")).group_by(alike).agg(line.bottom_k(LONGEST).max().alias("last"))
    among = known.join(equal.collect(engine="streaming").lazy(), on=alike, nulls_equal=True)
    longest = among.filter((wall > pl.col("least")) | ((wall == pl.col("least")) & (line <= pl.col("last"))))
    return (
        longest.select(list(REQUESTS.columns)).collect(engine="streaming")
        .sort("wall_s", "line_from", "request", descending=[True, False, False])
        .group_by(alike, maintain_order=True).head(LONGEST)
    )  # fmt: skip


def build(case: CaseTables) -> pl.DataFrame:
    """Return `request_parts` for the longest requests of the case."""
    longest = _longest(case.scan("requests"))
    if longest.is_empty():
        return TABLE.rows([])
    walker = Walker(case)
    found = []
    for r in longest.sort("artifact_id", "request").with_columns(
        nanoseconds(pl.col("t_from")).alias("from_ns"), nanoseconds(pl.col("t_to")).alias("to_ns")
    ).iter_rows(named=True):  # fmt: skip
        window = Window(r["artifact_id"], r["clock"], r["pid"], r["lwp"], r["from_ns"], r["to_ns"], r["line_from"])
        place = {k: r[k] for k in (*PLACE, "request")}
        found += [{**place, **part, "whole": r["to_ns"] - r["from_ns"]} for part in walker.parts(window)]
    return TABLE.shape(measured(found)) if found else TABLE.rows([])
