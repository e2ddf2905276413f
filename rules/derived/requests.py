"""One row per traced request: a piece of work that a system call trace shows from beginning to end.

Inputs: `syscalls`, `proc_tree`, `listener_cycles`. Kinds: `command` (a program from its exec to its exit; only the
topmost of a family, its children are followed inside it), `service` (a server's request: from the read that brought it
to the last write of the answer on the same descriptor), `exchange` (a client's question: from the last write to the
read that ends the answer), `cycle` (a listener's complete cycle), `thread` (from the first to the last completion of a
thread; only of a process that existed before the trace and shows none of the other kinds: it includes idle time).
Columns: request (number in the artifact, by beginning), kind, pid, lwp, `fd`, `peer` (the other side of the
conversation, NULL if unknown), `line_from`, `line_to`, `t_from`, `t_to` (s, completions in the artifact's clock),
`wall_s`, `idle` (true if it may include waiting for work, so that its waits blame nobody).
Worked example: 7 reads of fd 5 bring a question at 1.0, 1.1; the answer is written at 1.4: one service of 0.3 s (1.1 to 1.4). The time
until the next read on that descriptor belongs to no request.
Cost: n log n in the reads and writes on sockets. Source: response time as residence, Millsap and Holt, Optimizing Oracle Performance.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from rules.derived.derived_table import (
    PLACE,
    PLACE_COLUMNS,
    CaseTables,
    DerivedTable,
    Scope,
    nanoseconds,
    number,
    seconds,
)
from rules.derived.spill import Spill
from rules.walking.targets import CALL, makers, with_targets
from rules.walking.threads import DONE_S, EXEC_NAMES, EXIT_NAMES, READ_NAMES, SUCCEEDED, WRITE_NAMES, batches

TABLE = DerivedTable(
    "requests",
    {
        **PLACE,
        "request": pl.Int64(),
        "kind": pl.String(),
        "pid": pl.Int64(),
        "lwp": pl.Int64(),
        "fd": pl.Int64(),
        "peer": pl.String(),
        "line_from": pl.Int64(),
        "line_to": pl.Int64(),
        "t_from": pl.Float64(),
        "t_to": pl.Float64(),
        "wall_s": pl.Float64(),
        "idle": pl.Boolean(),
    },
)
NEEDS = ("syscalls", "proc_tree", "listener_cycles")
SCOPE: Scope = "artifact"
VERSION = "1"

READS = [*READ_NAMES, "recvmmsg"]
WRITES = [*WRITE_NAMES, "sendmmsg"]
STANDARD = (0, 1, 2)
"""Descriptors of a terminal or a log; data on them is no conversation."""

PROCESS = [*PLACE_COLUMNS, "pid"]
OF_THREAD = [*PROCESS, "lwp"]
STAMPS = ["line_no", "t_local", "stamp", "dur_hi_s", "state"]
STAMPED = pl.col("t_local").is_not_null() & (pl.col("state").fill_null("done") != "child_start")
ENDED = nanoseconds(DONE_S).alias("done_ns")
BATCH_ROWS = 400_000
PIECE_ROWS = 200_000

SPILLED = {
    **{c: t for c, t in TABLE.columns.items() if c not in ("request", "t_from", "t_to", "wall_s", "idle")},
    "from_ns": pl.Int64(),
    "to_ns": pl.Int64(),
}


def conversing_calls(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the targeted reads and writes that may belong to a conversation, with the columns that identify it."""
    inward = pl.col("name").is_in(READS)
    return rows.filter(
        (inward | pl.col("name").is_in(WRITES))
        & (pl.col("bytes").fill_null(pl.col("ret")) > 0)
        & (
            pl.col("kind").is_in(["socket", "name service"])
            | ((pl.col("kind") == "other") & ~pl.col("fd").is_in(STANDARD))
        )
        & pl.col("fd").is_not_null()
    ).select(*PROCESS, "fd", "conv", inward.alias("in"), "side", "target", "kind", "lwp", "line_no", "done_ns")


def conversations(calls: pl.DataFrame) -> pl.DataFrame:
    """Return `service` and `exchange` rows from the `conversing_calls` of whole processes.

    A conversation is the use of one descriptor between two openings of it; turns are runs of reads and of writes in it,
    by whichever thread.
    """
    calls = number(calls, PLACE_COLUMNS, "place")
    places = calls.select("place", *PLACE_COLUMNS).unique("place")
    talk = ["place", "pid", "fd", "conv"]
    calls = calls.drop(PLACE_COLUMNS).sort(*talk, "done_ns", "line_no")
    # Whole numbers that rise with each conversation and each turn group faster than the columns that they replace.
    calls = calls.with_columns(_changes(talk).cum_sum().alias("talk"))
    begins = (pl.col("in") != pl.col("in").shift(1)).fill_null(value=True) | _changes(["talk"])
    calls = calls.with_columns(begins.cum_sum().alias("turn"))
    turns = calls.group_by("turn", maintain_order=True).agg(
        pl.col("talk", "place", "pid", "fd").first(), pl.col("in").first(), pl.col("side").first(), pl.col("target").first().alias("peer"),
        pl.col("kind").first().alias("about"), pl.col("lwp").first(),
        ((pl.col("lwp").min() == pl.col("lwp").max()) & (pl.col("lwp").null_count() == 0)).alias("one_lwp"),
        pl.col("line_no").first().alias("line_from"), pl.col("line_no").last().alias("line_to"),
        pl.col("done_ns").first().alias("first_ns"), pl.col("done_ns").last().alias("last_ns"),
    )  # fmt: skip
    same = ~_changes(["talk"])
    known = pl.col("side").is_not_null()
    opener = pl.when(pl.col("in")).then(pl.lit("server")).otherwise(pl.lit("client"))
    side = pl.when(known).then("side").otherwise(opener.first().over("talk"))
    turns = turns.with_columns(
        side.alias("side"),
        pl.when(same).then(pl.col("in").shift(1)).alias("asked_in"),
        pl.when(same).then(pl.col("last_ns").shift(1)).alias("from_ns"),
        pl.when(same).then(pl.col("line_to").shift(1)).alias("asked_line"),
        pl.when(same).then(pl.col("lwp").shift(1)).alias("asked_lwp"),
        pl.len().over("talk").alias("turns"),
    )
    # A descriptor whose opening was not seen must at least alternate, or a file that is read and then written would be
    # a request.
    sure = (pl.col("about") != "other") | (pl.col("turns") >= 4)
    service = (pl.col("side") == "server") & ~pl.col("in")
    exchange = (pl.col("side") == "client") & pl.col("in")
    one_thread = pl.col("one_lwp") & (pl.col("lwp") == pl.col("asked_lwp"))
    return (
        turns.filter(pl.col("asked_in").is_not_null() & (service | exchange) & sure & (pl.col("last_ns") > pl.col("from_ns")) & one_thread)
        .join(places, on="place", how="left", maintain_order="left")
        .select(
            *PLACE_COLUMNS, "pid", "fd", "peer", pl.when(service).then(pl.lit("service")).otherwise(pl.lit("exchange")).alias("kind"), "lwp",
            pl.col("asked_line").alias("line_from"), "line_to", "from_ns", pl.col("last_ns").alias("to_ns"),
        )
    )  # fmt: skip


def _changes(columns: list[str]) -> pl.Expr:
    """Return true where any of the columns differs from the row above (NULL equals NULL), and on the first row."""
    return pl.any_horizontal([pl.col(c).ne_missing(pl.col(c).shift(1)) for c in columns]) | (
        pl.int_range(pl.len()) == 0
    )


def commands(marks: pl.DataFrame, births: pl.DataFrame) -> pl.DataFrame:
    """Return `command` rows: processes whose exec and exit were both seen, without those whose parent is such a
    process.
    """
    runs = marks.sort("done_ns", "line_no").group_by(PROCESS, maintain_order=True).agg(
        pl.col("line_no").filter(pl.col("name").is_in(EXEC_NAMES)).first().alias("line_from"),
        pl.col("done_ns").filter(pl.col("name").is_in(EXEC_NAMES)).first().alias("from_ns"),
        pl.col("lwp").filter(pl.col("name").is_in(EXEC_NAMES)).first(),
        pl.col("line_no").filter(pl.col("name").is_in(EXIT_NAMES)).last().alias("line_to"),
        pl.col("done_ns").filter(pl.col("name").is_in(EXIT_NAMES)).last().alias("to_ns"),
    ).filter(pl.col("from_ns") < pl.col("to_ns"))  # fmt: skip
    inner = births.select(*PLACE_COLUMNS, "pid", "ppid")
    held = runs.select(*PLACE_COLUMNS, pl.col("pid").alias("ppid"))
    below = inner.join(held, on=[*PLACE_COLUMNS, "ppid"], how="semi", nulls_equal=True)
    return runs.join(below, on=PROCESS, how="anti", nulls_equal=True).with_columns(pl.lit("command").alias("kind"))


def threads(case: CaseTables, busy: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Yield a `thread` row for every thread of a process that is not `busy`: from its first to its last completion.

    Makes two passes over the rows, neither of which holds them: first when each thread begins and ends, then on which
    lines.
    """
    others = case.scan("syscalls", [*OF_THREAD, *STAMPS], STAMPED).join(
        busy.lazy(), on=PROCESS, how="anti", nulls_equal=True
    )
    done = others.with_columns(ENDED)
    spans = done.group_by(OF_THREAD).agg(
        pl.col("done_ns").min().alias("from_ns"), pl.col("done_ns").max().alias("to_ns")
    )
    held = spans.collect(engine="streaming").filter(pl.col("to_ns") > pl.col("from_ns"))
    first, last = (pl.col("done_ns") == pl.col(c) for c in ("from_ns", "to_ns"))
    lines = done.join(held.lazy(), on=OF_THREAD, nulls_equal=True).filter(first | last)
    yield (
        lines.group_by([*OF_THREAD, "from_ns", "to_ns"])
        .agg(
            pl.col("line_no").filter(first).min().alias("line_from"),
            pl.col("line_no").filter(last).max().alias("line_to"),
        )
        .collect(engine="streaming")
        .with_columns(pl.lit("thread").alias("kind"))
    )


def turns(case: CaseTables, births: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Yield `service` and `exchange` rows, a batch of processes (of one very talkative process a batch of descriptors)
    at a time.
    """
    made = makers(case)
    talking = STAMPED & pl.col("name").is_in([*READS, *WRITES]) & pl.col("fd").is_not_null()
    for where in batches(case, talking, BATCH_ROWS, split="fd"):
        found = case.scan("syscalls", [*CALL, "bytes"], where & talking).with_columns(
            ENDED,
            # Of the arguments only the path of a socket matters here; numbers in them do not.
            pl.when(pl.col("args").str.contains("sun_path|AF_UNIX")).then("args").alias("args"),
            pl.lit(None, pl.Int64).alias("arg_id"),
            pl.lit(None, pl.UInt64).alias("arg_addr"),
        )
        rows = found.collect(engine="streaming")
        # One descriptor may have millions of rows: their targets are found for one piece at a time.
        pieces = (rows.slice(at, PIECE_ROWS) for at in range(0, rows.height, PIECE_ROWS))
        conversing = [conversing_calls(with_targets(piece, made, births)) for piece in pieces]
        del rows
        if conversing:
            yield conversations(pl.concat(conversing, how="vertical_relaxed"))


def stream(case: CaseTables) -> Iterator[pl.DataFrame]:
    """Yield `requests` for all system call traces of the case, in order, with only a part of them in memory at a time."""
    births = case.derived("proc_tree")
    cycles = case.derived("listener_cycles").filter(pl.col("complete")).select(
        *PLACE_COLUMNS, "pid", "lwp", pl.lit("cycle").alias("kind"), pl.col("line_accept").alias("line_from"), pl.col("line_end").alias("line_to"),
        nanoseconds(pl.col("t_accept")).alias("from_ns"), nanoseconds(pl.col("t_end")).alias("to_ns"),
    )  # fmt: skip
    cycled = cycles.select(PROCESS).unique()
    ending = pl.col("name").is_in([*EXEC_NAMES, *EXIT_NAMES]) & (SUCCEEDED | (pl.col("state") == "no_return"))
    marks = case.scan("syscalls", [*PROCESS, "lwp", "name", *STAMPS], STAMPED & ending).with_columns(ENDED)
    runs = commands(marks.collect(engine="streaming"), births)
    better = [births.select(PROCESS).unique(), cycled, runs.select(PROCESS).unique()]
    with Spill(pl.DataFrame(schema=SPILLED)) as spill:
        spill.add(cycles)
        spill.add(runs)
        for talk in turns(case, births):
            # A listener's conversation with one client is inside its cycle.
            served = pl.col("kind") == "service"
            outside_cycles = talk.filter(served).join(cycled, on=PROCESS, how="anti", nulls_equal=True)
            better.append(talk.filter(served).select(PROCESS).unique())
            spill.add(pl.concat([talk.filter(~served), outside_cycles]))
        # A thread gets a row only if its process has no other kind of request.
        for spans in threads(case, pl.concat(better).unique()):
            spill.add(spans)
        numbers: dict[int, int] = {}
        for rows in spill.sorted(["artifact_id", "clock"], "from_ns", ["to_ns", "line_from"]):
            artifact = rows["artifact_id"][0]
            before = numbers.get(artifact, 0)
            numbers[artifact] = before + rows.height
            yield TABLE.shape(rows.with_columns(
                seconds(pl.col("from_ns")).alias("t_from"), seconds(pl.col("to_ns")).alias("t_to"),
                seconds(pl.col("to_ns") - pl.col("from_ns")).alias("wall_s"), (pl.col("kind") == "thread").alias("idle"),
                (pl.int_range(pl.len()) + 1 + before).alias("request"),
            ))  # fmt: skip


def build(case: CaseTables) -> pl.DataFrame:
    """Return `requests` for all system call traces of the case."""
    return pl.concat([TABLE.rows(()), *stream(case)])
