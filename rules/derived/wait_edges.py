"""One row per wait of a traced request that was followed to the process waited for: the edges of the wait-for graph.

Inputs: `request_parts` (waits for children, pipes and locks inside one trace), `answer_parts` and `answered_by` (waits
for an answer on a connection whose other end is traced too), `wait_cover` (a client's read and the server's wait that
covers it).
Columns: from_host, from_pid, from_lwp waits for to_host, to_pid, to_lwp (pids are NULL if the evidence is not a trace
of calls); kind (child, pipe, futex, socket), line_from, line_to (the wait, in the waiting artifact), `wait_s`, `share`
(of its request, NULL if that is in another artifact; for `wait_cover` of the client's wait). `artifact_id` is that of
the waiting side, `to_artifact`, `to_clock` those of the other side (NULL for `wait_cover`); `to_t0`, `to_t1`: when the
other side held the question (s, in to_clock; NULL inside one trace, where both have one clock). Shares of different
requests
must not be multiplied.
Worked example: a listener's cycle of 0.2962 s reads 0.1298 s from a pipe that 8197 writes: (15697 -> 8197, pipe, 0.1298, share 0.438).
Cost: that of its inputs. Source: wait-for graphs, correlation by residence (see `wait_cover`, `answered_by`).
"""

from __future__ import annotations

import polars as pl

from rules.derived.derived_table import PLACE, PLACE_COLUMNS, CaseTables, DerivedTable, Scope, seconds
from rules.walking.request_walk import ASKED

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
        "to_artifact": pl.Int64(),
        "to_clock": pl.String(),
        "to_t0": pl.Float64(),
        "to_t1": pl.Float64(),
    },
)
NEEDS = ("request_parts", "answer_parts", "answered_by", "wait_cover")
SCOPE: Scope = "room"
VERSION = "2"


KIND = pl.col("kind").replace({"lock": "futex", **dict.fromkeys(ASKED, "socket")})


def build(case: CaseTables) -> pl.DataFrame:
    """Return `wait_edges` for the case, longest first within an artifact."""
    inside = case.derived("request_parts").filter("followed").select(
        *PLACE_COLUMNS, pl.col("host").alias("from_host"), pl.col("pid").alias("from_pid"), pl.col("lwp").alias("from_lwp"),
        pl.col("host").alias("to_host"), "to_pid", "to_lwp", KIND, pl.col("line_no").alias("line_from"), pl.col("line_end").alias("line_to"),
        pl.col("dur_s").alias("wait_s"), "share", "request", pl.col("artifact_id").alias("to_artifact"), pl.col("clock").alias("to_clock"),
    )  # fmt: skip
    between = case.derived("wait_cover").filter(pl.col("residence") != "none").select(
        pl.col("client_artifact").alias("artifact_id"), pl.col("client_host").alias("host"), pl.col("client_host").alias("from_host"),
        pl.col("server_host").alias("to_host"), pl.lit("socket").alias("kind"), pl.col("client_from").alias("line_from"),
        pl.col("client_to").alias("line_to"), pl.col("server_s").alias("wait_s"), pl.col("cover").alias("share"),
    )  # fmt: skip
    rows = pl.concat([inside, _answered(case), between], how="diagonal_relaxed")
    return TABLE.shape(rows.sort("artifact_id", "wait_s", "line_from", descending=[False, True, False]))


def _answered(case: CaseTables) -> pl.DataFrame:
    """Return waits that were followed into another trace, and waits of the server met on the way."""
    own = (pl.col("in_artifact") == pl.col("artifact_id")) & pl.col("in_clock").eq_missing(pl.col("clock"))
    met = case.derived("answer_parts").filter(pl.col("followed") & (pl.col("kind").is_in(ASKED) | ~own))
    at = ["in_artifact", "in_clock", "line_no"]
    times = case.derived("answered_by").filter(pl.col("state") == "followed").select(
        pl.col("artifact_id").alias("in_artifact"), pl.col("clock").alias("in_clock"), "line_no",
        seconds(pl.col("to_asked_ns")).alias("to_t0"), seconds(pl.col("to_answered_ns")).alias("to_t1"),
    )  # fmt: skip
    return met.join(times, on=at, how="left", nulls_equal=True, maintain_order="left").select(
        pl.col("in_artifact").alias("artifact_id"), pl.col("in_host").alias("host"), pl.when(own).then("phase").alias("phase"),
        pl.col("in_clock").alias("clock"), pl.col("in_host").alias("from_host"), pl.col("pid").alias("from_pid"), pl.col("lwp").alias("from_lwp"),
        "to_host", "to_pid", "to_lwp", KIND, pl.col("line_no").alias("line_from"), pl.col("line_end").alias("line_to"),
        pl.col("dur_s").alias("wait_s"), pl.when(own).then("share").alias("share"), pl.when(own).then("request").alias("request"),
        "to_artifact", "to_clock", "to_t0", "to_t1",
    )  # fmt: skip
