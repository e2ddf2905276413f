"""One row per wait of a traced request that was followed to whoever was waited for: the edges of the wait-for graph.

Inputs: `request_parts` (waits for children, pipes and locks inside one trace), `wait_cover` (a client's read and the server's wait that
covers it). Columns: from_host, from_pid, from_lwp waits for to_host, to_pid, to_lwp (pids NULL where the evidence is no trace of calls);
kind (child, pipe, futex, socket), line_from, line_to (the wait, in the waiting artifact), `wait_s`, `share` (of its request, for
`socket` of the client's wait). `artifact_id` is the waiting side's. Shares of different requests must not be multiplied.
Worked example: a listener's cycle of 0.2962 s reads 0.1298 s from a pipe that 8197 writes: (15697 -> 8197, pipe, 0.1298, share 0.438).
Cost: that of its inputs. Source: wait-for graphs, correlation by residence (see `wait_cover`).
"""

from __future__ import annotations

import polars as pl

from rules.derived_table import PLACE, PLACE_COLUMNS, CaseTables, DerivedTable, Scope

TABLE = DerivedTable(
    "wait_edges",
    {
        **PLACE,
        "from_host": pl.String(),
        "from_pid": pl.Int64(),
        "from_lwp": pl.Int64(),
        "to_host": pl.String(),
        "to_pid": pl.Int64(),
        "to_lwp": pl.Int64(),
        "kind": pl.String(),
        "line_from": pl.Int64(),
        "line_to": pl.Int64(),
        "wait_s": pl.Float64(),
        "share": pl.Float64(),
        "request": pl.Int64(),
    },
)
NEEDS = ("request_parts", "wait_cover")
SCOPE: Scope = "room"
VERSION = "1"


def build(case: CaseTables) -> pl.DataFrame:
    """Return `wait_edges` for the case, longest first within an artifact."""
    inside = case.derived("request_parts").filter("followed").select(
        *PLACE_COLUMNS, pl.col("host").alias("from_host"), pl.col("pid").alias("from_pid"), pl.col("lwp").alias("from_lwp"),
        pl.col("host").alias("to_host"), "to_pid", "to_lwp", pl.col("kind").replace({"lock": "futex"}),
        pl.col("line_no").alias("line_from"), pl.col("line_end").alias("line_to"), pl.col("dur_s").alias("wait_s"), "share", "request",
    )  # fmt: skip
    between = case.derived("wait_cover").filter(pl.col("residence") != "none").select(
        pl.col("client_artifact").alias("artifact_id"), pl.col("client_host").alias("host"), pl.col("client_host").alias("from_host"),
        pl.col("server_host").alias("to_host"), pl.lit("socket").alias("kind"), pl.col("client_from").alias("line_from"),
        pl.col("client_to").alias("line_to"), pl.col("server_s").alias("wait_s"), pl.col("cover").alias("share"),
    )  # fmt: skip
    rows = pl.concat([inside, between], how="diagonal_relaxed")
    return TABLE.shape(rows.sort("artifact_id", "wait_s", "line_from", descending=[False, True, False]))
