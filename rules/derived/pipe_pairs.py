"""One row per message that one traced process wrote and another read: equal payloads on both ends, close in time.

Inputs: `syscalls` (writes and reads with `data` and their byte counts), `proc_tree`.
Columns: `token` (payload without blanks at its ends), writer_pid, reader_pid, `latency_s` (read's completion minus
write's, s; may be slightly negative), `line_write`, `line_read`; `line_fork` and `spawn_s` (s from the reader's own
fork, through which the writer descends, to its read) on the *first* message from that writer only: later ones do not
mark a start; `p_accident` (expected number of other writes of the same payload in that time; at most 0.01, and 0 if the
payload names the writer's pid).
Worked example: listener 22626 forks 3728 at 8.6926, which forks 3731 at 8.7229; 3731 writes "NTP0 3731" at 12.0249
and 22626 reads it at 12.0252: latency 0.0003 s, spawn 12.0252 - 8.6926 = 3.3326 s. One clock domain at a time: both
ends stand on one clock, so a pair is no clock evidence. Both stamps are completions.
Cost: n log n in the reads and writes that show a payload. Source: shape of a bequeathed Oracle connection in truss.
"""

from __future__ import annotations

import polars as pl

from rules.derived.derived_table import PLACE, PLACE_COLUMNS, CaseTables, DerivedTable, Scope, nanoseconds, seconds
from rules.derived.proc_tree import ancestry
from rules.walking.threads import DONE_S, READ_NAMES, WRITE_NAMES

TABLE = DerivedTable(
    "pipe_pairs",
    {
        **PLACE,
        "token": pl.String(),
        "writer_pid": pl.Int64(),
        "reader_pid": pl.Int64(),
        "latency_s": pl.Float64(),
        "line_fork": pl.Int64(),
        "line_write": pl.Int64(),
        "line_read": pl.Int64(),
        "spawn_s": pl.Float64(),
        "t_write": pl.Float64(),
        "t_read": pl.Float64(),
        "p_accident": pl.Float64(),
    },
)
NEEDS = ("syscalls", "proc_tree")
SCOPE: Scope = "artifact"
VERSION = "1"

SLACK_NS = 1_000_000  # the reader may be stamped before the writer's call returns
MOST_ACCIDENTS = 0.01


HAS_PAYLOAD = (
    pl.col("name").is_in([*WRITE_NAMES, *READ_NAMES])
    & (pl.col("data").str.len_bytes() > 0)
    & (pl.col("bytes") > 0)
    & pl.col("t_local").is_not_null()
)
CLOCK = ["artifact_id", "clock"]
PAYLOAD = [*CLOCK, "data", "bytes"]


def exchanged(messages: pl.LazyFrame) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Return the payloads that were both written and read, their reads, and their writes; both refer to payloads by
    number.

    Only rows that may become a pair are held: most reads of a trace are of files and match no write.
    """
    written = messages.filter(pl.col("name").is_in(WRITE_NAMES))
    heard = messages.filter(pl.col("name").is_in(READ_NAMES))
    payloads = written.select(PAYLOAD).unique().collect(engine="streaming").with_row_index("payload")
    reads = _of(heard, payloads, "host", "phase", reader_pid="pid", line_read="line_no", read_ns="at_ns")
    payloads = payloads.filter(pl.col("payload").is_in(reads["payload"].unique().implode()))
    writes = _of(written, payloads, writer_pid="pid", line_write="line_no", write_ns="at_ns")
    length = messages.group_by(CLOCK).agg((pl.col("at_ns").max() - pl.col("at_ns").min()).alias("length_ns"))
    repeats = writes.group_by("payload").agg(
        (pl.len() - 1).alias("others"),
        pl.col("writer_pid").min().alias("first"),
        pl.col("writer_pid").max().alias("last"),
    )
    readers = reads.group_by("payload").agg(pl.col("reader_pid").min(), pl.col("reader_pid").max().alias("reader_last"))
    payloads = (
        payloads.join(repeats, on="payload")
        .join(readers, on="payload")
        .join(length.collect(engine="streaming"), on=CLOCK, nulls_equal=True)
        .filter(
            (pl.min_horizontal("first", "reader_pid") != pl.max_horizontal("last", "reader_last"))
            & ((_accidents(SLACK_NS) <= MOST_ACCIDENTS) | pl.col("data").str.contains(r"\d"))
        )
        .select("payload", *PAYLOAD, "others", "length_ns")
    )
    paired = pl.col("payload").is_in(payloads["payload"].implode())
    return payloads, reads.filter(paired), writes.filter(paired)


def _of(rows: pl.LazyFrame, payloads: pl.DataFrame, *columns: str, **named: str) -> pl.DataFrame:
    found = rows.join(payloads.lazy(), on=PAYLOAD, nulls_equal=True)
    return found.select("payload", *columns, **{name: pl.col(c) for name, c in named.items()}).collect(
        engine="streaming"
    )


def _accidents(apart_ns: pl.Expr | int) -> pl.Expr:
    """Return the expected number of other writes of the payload in that time."""
    return pl.col("others") * apart_ns / pl.max_horizontal(pl.col("length_ns"), pl.lit(SLACK_NS))


def pair(syscalls: pl.LazyFrame, processes: pl.DataFrame) -> pl.DataFrame:
    """Return `pipe_pairs` for system calls and a data frame of `proc_tree`."""
    payloads, reads, writes = exchanged(
        syscalls.filter(HAS_PAYLOAD).select(
            *PLACE_COLUMNS, "pid", "name", "data", "bytes", "line_no", nanoseconds(DONE_S).alias("at_ns")
        )
    )
    pairs = (
        reads.with_columns((pl.col("read_ns") + SLACK_NS).alias("at_ns"))
        .sort("at_ns", "line_read")
        .join_asof(
            writes.with_columns(pl.col("write_ns").alias("at_ns")).sort("at_ns", "line_write"),
            on="at_ns",
            by="payload",
            strategy="backward",
            check_sortedness=False,
        )
        .filter(pl.col("writer_pid").is_not_null() & (pl.col("writer_pid") != pl.col("reader_pid")))
        .sort("read_ns", "line_read")
        .unique(["payload", "line_write"], keep="first", maintain_order=True)
        .join(payloads, on="payload", how="left", maintain_order="left")
        .with_columns(
            pl.when(pl.col("data").str.contains(pl.col("writer_pid").cast(pl.String), literal=True))
            .then(0.0)
            .otherwise(_accidents((pl.col("read_ns") - pl.col("write_ns")).abs() + SLACK_NS))
            .alias("p_accident")
        )
        .filter(pl.col("p_accident") <= MOST_ACCIDENTS)
    )
    forks = ancestry(processes).rename({"pid": "writer_pid", "ancestor": "reader_pid"})
    hello = (
        pairs.unique(["artifact_id", "clock", "writer_pid", "reader_pid"], keep="first", maintain_order=True)
        .join(forks, on=["artifact_id", "clock", "writer_pid", "reader_pid"], nulls_equal=True)
        .filter(pl.col("t_fork") <= seconds(pl.col("read_ns")) + SLACK_NS / 1e9)
        .sort("t_birth")
        .unique(["artifact_id", "clock", "line_read"], keep="last", maintain_order=True)
        .select("artifact_id", "clock", "line_read", "line_fork", nanoseconds(pl.col("t_fork")).alias("fork_ns"))
    )
    found = (
        pairs.join(hello, on=["artifact_id", "clock", "line_read"], how="left", nulls_equal=True)
        .with_columns(
            pl.col("data").str.strip_chars(" \t\r\n").alias("token"),
            seconds(pl.col("read_ns") - pl.col("write_ns")).alias("latency_s"),
            seconds(pl.col("read_ns") - pl.col("fork_ns")).alias("spawn_s"),
            seconds(pl.col("write_ns")).alias("t_write"),
            seconds(pl.col("read_ns")).alias("t_read"),
        )
        .sort("artifact_id", "read_ns", "line_read")
    )
    return TABLE.shape(found)


def build(case: CaseTables) -> pl.DataFrame:
    """Return `pipe_pairs` for all system call traces of the case."""
    return pair(case.scan("syscalls"), case.derived("proc_tree"))
