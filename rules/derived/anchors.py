"""One row per event that two clocks recorded, tied by an identifier that both printed.

Inputs: `syscalls`, `pipe_pairs`, `sqlnet`, `logs`.
Columns: clock_a, clock_b; t_a, t_b (s, readings of the two clocks, see `rules.clocks.readings`); `direction`
a_before_b: the event of clock a cannot be later than that of clock b; `method`: pipe payload (both ends on one clock:
it
gives a latency, no offset), pid (a new process's hello in a trace and in an Oracle Net trace), address (an accepted
peer in a trace and in an Oracle Net trace), log address (the same in a listener log, which is written whole cycles
later: good for zones only); `token` the identifier; `p_accident` expected number of other events with the same
identifier in the two artifacts' overlap of identifiers: n of clock b over the space they are drawn from, or the
repetitions seen, whichever is larger. Only rows of at most 0.01 may carry an alignment; all are listed. Worked
example: truss reads "NTP0 3731" at 12.0252 and the listener's trace prints "result string is NTP0 3731" at 41.3590:
row (truss, trace, 12.0252, 41.3590, a_before_b, pid, "3731", 1 / 30000).
Cost: hash joins on the identifiers. Source: identifiers as Oracle Net traces and logs print them.
"""

from __future__ import annotations

import polars as pl

from rules.clocks.readings import bases
from rules.derived.derived_table import PLACE, CaseTables, DerivedTable, Scope
from rules.walking.threads import DONE_S, READ_NAMES, SUCCEEDED

TABLE = DerivedTable(
    "anchors",
    {
        **PLACE,
        "clock_a": pl.String(),
        "clock_b": pl.String(),
        "t_a": pl.Float64(),
        "t_b": pl.Float64(),
        "direction": pl.String(),
        "method": pl.String(),
        "token": pl.String(),
        "p_accident": pl.Float64(),
        "line_a": pl.Int64(),
        "line_b": pl.Int64(),
    },
)
NEEDS = ("syscalls", "pipe_pairs", "sqlnet", "logs")
SCOPE: Scope = "room"
VERSION = "1"

PID_SPACE = 30_000  # maximum of Solaris and AIX by default; Linux 32,768
PORT_SPACE = 28_232  # ephemeral ports 32768 to 60999; Solaris has more
HELLO = r"^NTP\d ?(\d+)\s*$"

EVENT = ["artifact_id", "host", "phase", "clock", "line_no", "t_local"]
KNOWN = pl.col("peer_ip").is_not_null() & pl.col("peer_port").is_not_null()
STARTED = pl.col("child_pid").is_not_null()
ACCEPTED = pl.col("name").is_in(["accept", "accept4"])
IS_HELLO = pl.col("name").is_in(READ_NAMES) & pl.col("data").str.contains(HELLO)


def _events(rows: pl.DataFrame, at: pl.Expr, token: pl.Expr) -> pl.DataFrame:
    return rows.filter(pl.col("t_local").is_not_null() & pl.col("clock").is_not_null()).select(
        "artifact_id", "host", "phase", "clock", "line_no", at.alias("at"), token.cast(pl.String).alias("token")
    ).drop_nulls(["token", "at"])  # fmt: skip


def match(first: pl.DataFrame, second: pl.DataFrame, method: str, space: int) -> pl.DataFrame:
    """Join events of different clocks by token; `first` happens before `second`."""
    joined = first.join(second.select("clock", "token", "at", "line_no"), on="token", suffix="_b").filter(
        pl.col("clock") != pl.col("clock_b")
    )
    size = second.group_by("clock").agg((pl.len() / space).alias("chance")).rename({"clock": "clock_b"})
    return joined.join(size, on="clock_b", how="left").select(
        "artifact_id",
        "host",
        "phase",
        "clock",
        pl.col("clock").alias("clock_a"),
        "clock_b",
        pl.col("at").alias("t_a"),
        pl.col("at_b").alias("t_b"),
        pl.lit("a_before_b").alias("direction"),
        pl.lit(method).alias("method"),
        "token",
        pl.max_horizontal(pl.col("chance"), (pl.len() - 1).over("clock", "clock_b", "token").cast(pl.Float64)).alias(
            "p_accident"
        ),
        pl.col("line_no").alias("line_a"),
        pl.col("line_no_b").alias("line_b"),
    )


def build(case: CaseTables) -> pl.DataFrame:
    """Return `anchors` for all clocks of the case."""
    base = bases(case)
    zero = pl.col("clock").replace_strict(base, default=0.0, return_dtype=pl.Float64) if base else pl.lit(0.0)
    stamp = pl.col("t_local") + zero
    pipes = case.derived("pipe_pairs")

    started = _events(case.table("sqlnet", [*EVENT, "child_pid"], STARTED), stamp, pl.col("child_pid"))
    peer = pl.format("{}:{}", "peer_ip", "peer_port")
    address = [*EVENT, "peer_ip", "peer_port"]
    # Use only the first line that prints an address: every later row of a connection repeats its peer.
    traced = (
        _events(case.table("sqlnet", address, KNOWN & (pl.col("side") != "client")), stamp, peer)
        .sort("at", maintain_order=True)
        .unique(["clock", "token"], keep="first", maintain_order=True)
    )
    logged = _events(case.table("logs", address, KNOWN & (pl.col("source") == "listener")), stamp, peer)
    # Traces are large: they are searched only if something could match.
    found = []
    if started.height:
        hello_calls = case.table("syscalls", [*EVENT, "stamp", "dur_hi_s", "data"], IS_HELLO)
        found += [
            match(_events(hello_calls, DONE_S + zero, pl.col("data").str.extract(HELLO)), started, "pid", PID_SPACE)
        ]
    if traced.height or logged.height:
        calls = case.table("syscalls", [*address, "stamp", "dur_hi_s"], KNOWN & ACCEPTED & SUCCEEDED)
        accepted = _events(calls, DONE_S + zero, peer)
        found += [
            match(accepted, traced, "address", PORT_SPACE),
            match(accepted, logged, "log address", PORT_SPACE),
        ]

    within = pipes.select(
        "artifact_id",
        "host",
        "phase",
        "clock",
        pl.col("clock").alias("clock_a"),
        pl.col("clock").alias("clock_b"),
        (pl.col("t_write") + zero).alias("t_a"),
        (pl.col("t_read") + zero).alias("t_b"),
        pl.lit("a_before_b").alias("direction"),
        pl.lit("pipe payload").alias("method"),
        "token",
        "p_accident",
        pl.col("line_write").alias("line_a"),
        pl.col("line_read").alias("line_b"),
    )
    return TABLE.shape(
        pl.concat([TABLE.shape(f) for f in [within, *found]]).sort("clock_a", "clock_b", "t_a", "line_a", "line_b")
    )
