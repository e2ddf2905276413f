"""Parts of the longest requests that waited for an answer from another trace, with the server's own parts in place of
the client's waits.

Inputs: `request_parts`, `requests`, `answered_by`, `syscalls`, `proc_tree`, `pipe_pairs`. Only requests of
`request_parts` with a followed wait have rows here, and then all of their parts: the rows that are not `followed` add
up to `requests.wall_s` exactly.
Columns as in `request_parts`; artifact_id, host, phase, clock and request are always the client's. `in_artifact`,
`in_clock`, `in_host`: where the part took place and its lines are; `to_artifact`, `to_clock`, `to_host`: the side
waited for. A part of kind socket, name service or poll that names to_artifact but is not `followed` is the rest of a
followed wait: both ways through the network, the time unread, and what the server's trace does not show; it is an upper
bound for each of them.
Worked example: a client of 0.200 s waits 0.130 s for an answer that the server had 0.120 s, 0.110 s of them in fsync: own code 0.070,
on the server sync 0.110 and own code 0.010, and 0.010 of everything else.
Cost: reading the rows of those requests and of the answers. Source: as `request_parts` and `answered_by`.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE, CaseTables, DerivedTable, Scope, nanoseconds
from rules.derived.request_parts import TABLE as REQUEST_PARTS
from rules.walking.request_walk import ASKED, Answer, Line, Walker, Window, measured

TABLE = DerivedTable(
    "answer_parts",
    {
        **REQUEST_PARTS.columns,
        "in_artifact": pl.Int64(),
        "in_clock": pl.String(),
        "in_host": pl.String(),
        "to_artifact": pl.Int64(),
        "to_clock": pl.String(),
        "to_host": pl.String(),
    },
)
NEEDS = ("request_parts", "requests", "answered_by", "syscalls", "proc_tree", "pipe_pairs")
SCOPE: Scope = "room"
VERSION = "1"


def answers_of(rows: pl.DataFrame) -> dict[Line, Answer]:
    """Return the answers that can be followed, by the line of the wait; `rows` are of `answered_by`."""
    return {
        (r["artifact_id"], r["clock"], r["line_no"]): Answer(
            r["asked_ns"], r["got_ns"], r["peer"],
            Window(r["to_artifact"], r["to_clock"], r["to_pid"], r["to_lwp"], r["to_asked_ns"], r["to_answered_ns"],
                   r["to_asked"], r["to_until_ns"]),
        )
        for r in rows.filter(pl.col("state") == "followed").iter_rows(named=True)
    }  # fmt: skip


def build(case: CaseTables) -> pl.DataFrame:
    """Return `answer_parts` for the case."""
    answered = case.derived("answered_by").filter(pl.col("state") == "followed")
    if answered.is_empty():
        return TABLE.rows([])
    place = ["artifact_id", "clock", "pid"]
    waits = case.derived("request_parts").filter(~pl.col("followed") & pl.col("kind").is_in(ASKED))
    held = waits.select(*place, "request", "line_no", "line_end").join(
        answered.select(*place, pl.col("line_no").alias("wait")), on=place, nulls_equal=True
    )
    meant = held.filter(pl.col("wait").is_between(pl.col("line_no"), pl.col("line_end")))
    meant = meant.select("artifact_id", "request").unique()
    requests = case.scan("requests").join(meant.lazy(), on=["artifact_id", "request"], how="semi")
    asked = requests.collect(engine="streaming").sort("artifact_id", "request")
    hosts = {(a, clock): host for a, clock, host in answered.select("to_artifact", "to_clock", "to_host").iter_rows()}
    near = case.only({*asked["artifact_id"], *answered["artifact_id"], *answered["to_artifact"]})
    walker = Walker(near, answers_of(answered))
    found: list[dict[str, Any]] = []
    for r in asked.with_columns(
        nanoseconds(pl.col("t_from")).alias("from_ns"), nanoseconds(pl.col("t_to")).alias("to_ns")
    ).iter_rows(named=True):  # fmt: skip
        window = Window(r["artifact_id"], r["clock"], r["pid"], r["lwp"], r["from_ns"], r["to_ns"], r["line_from"])
        own = {k: r[k] for k in (*PLACE, "request")}
        at = hosts | {(r["artifact_id"], r["clock"]): r["host"]}
        for part in walker.parts(window):
            where = {f"{w}_host": at.get((part[f"{w}_artifact"], part[f"{w}_clock"])) for w in ("in", "to")}
            found.append({**own, **part, **where, "whole": r["to_ns"] - r["from_ns"]})
    return TABLE.shape(measured(found)) if found else TABLE.rows([])
