"""One row per piece of work that a system call trace shows from its beginning to its end.

Inputs: `syscalls`, `proc_tree`, `listener_cycles`. Kinds: `command` (a program from its exec to its exit; only the topmost of a family, what
it starts is followed inside it), `service` (a server's request: from the read that brought it to the last write of the answer on the
same descriptor), `exchange` (a client's question: from the last write to the read that ends the answer), `cycle` (a listener's complete
cycle), `thread` (from the first to the last completion of a thread, only of a process that was there before the trace and
shows none of the others: idle time is in it).
Columns: request (number in the artifact, by beginning), kind, pid, lwp, `fd`, `peer` (who asked or was asked, NULL if unknown),
`line_from`, `line_to`, `t_from`, `t_to` (s, completions in the artifact's clock), `wall_s`, `idle` (true where waiting for work may be in
it, so that its waits blame nobody).
Worked example: 7 reads of fd 5 bring a question at 1.0, 1.1; the answer is written at 1.4: one service of 0.3 s (1.1 to 1.4). The time
until the next read on that descriptor belongs to nobody.
Cost: n log n in the reads and writes on sockets. Source: response time as residence, Millsap and Holt, Optimizing Oracle Performance.
"""

from __future__ import annotations

import polars as pl

from rules.derived_table import PLACE, PLACE_COLUMNS, CaseTables, DerivedTable, Scope, nanoseconds, seconds
from rules.targets import CALL, makers, with_targets
from rules.threads import DONE_S, EXEC_NAMES, EXIT_NAMES, READ_NAMES, SUCCEEDED, WRITE_NAMES, batches

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
"""Descriptors of a terminal or a log: what passes there is no conversation."""

PROCESS = [*PLACE_COLUMNS, "pid"]


def conversations(rows: pl.DataFrame) -> pl.DataFrame:
    """Return `service` and `exchange` rows from targeted reads and writes of whole processes.

    A conversation is one descriptor between two makings of it; turns are runs of reads and of writes in it, whatever thread does them.
    """
    inward = pl.col("name").is_in(READS)
    spoken = rows.filter(
        (inward | pl.col("name").is_in(WRITES))
        & (pl.col("bytes").fill_null(pl.col("ret")) > 0)
        & (
            pl.col("kind").is_in(["socket", "name service"])
            | ((pl.col("kind") == "other") & ~pl.col("fd").is_in(STANDARD))
        )
        & pl.col("fd").is_not_null()
    ).with_columns(inward.alias("in"))
    talk = [*PROCESS, "fd", "conv"]
    spoken = spoken.sort(*talk, "done_ns", "line_no")
    begins = (pl.col("in") != pl.col("in").shift(1)).fill_null(value=True) | _changes(talk)
    spoken = spoken.with_columns(begins.cum_sum().alias("turn"))
    turns = spoken.group_by("turn", maintain_order=True).agg(
        pl.col(*talk).first(), pl.col("in").first(), pl.col("side").first(), pl.col("target").first().alias("peer"), pl.col("kind").first().alias("about"),
        pl.col("lwp").first(), pl.col("lwp").n_unique().alias("lwps"), pl.col("line_no").first().alias("line_from"), pl.col("line_no").last().alias("line_to"),
        pl.col("done_ns").first().alias("first_ns"), pl.col("done_ns").last().alias("last_ns"),
    )  # fmt: skip
    same = ~_changes(talk)
    known = pl.col("side").is_not_null()
    opener = pl.when(pl.col("in")).then(pl.lit("server")).otherwise(pl.lit("client"))
    side = pl.when(known).then("side").otherwise(opener.first().over(talk, mapping_strategy="group_to_rows"))
    turns = turns.with_columns(
        side.alias("side"),
        pl.when(same).then(pl.col("in").shift(1)).alias("asked_in"),
        pl.when(same).then(pl.col("last_ns").shift(1)).alias("from_ns"),
        pl.when(same).then(pl.col("line_to").shift(1)).alias("asked_line"),
        pl.when(same).then(pl.col("lwp").shift(1)).alias("asked_lwp"),
        pl.col("turn").count().over(talk).alias("turns"),
    )
    # A descriptor nobody saw made must at least alternate, or a file that is read and then written would be a request.
    sure = (pl.col("about") != "other") | (pl.col("turns") >= 4)
    service = (pl.col("side") == "server") & ~pl.col("in")
    exchange = (pl.col("side") == "client") & pl.col("in")
    return (
        turns.filter(pl.col("asked_in").is_not_null() & (service | exchange) & sure & (pl.col("last_ns") > pl.col("from_ns")))
        .select(
            *PLACE_COLUMNS, "pid", "fd", "peer", pl.when(service).then(pl.lit("service")).otherwise(pl.lit("exchange")).alias("kind"),
            pl.when((pl.col("lwps") == 1) & (pl.col("lwp") == pl.col("asked_lwp"))).then("lwp").alias("lwp"),
            pl.col("asked_line").alias("line_from"), "line_to", "from_ns", pl.col("last_ns").alias("to_ns"),
        )
        .filter(pl.col("lwp").is_not_null())
    )  # fmt: skip


def _changes(columns: list[str]) -> pl.Expr:
    """True where any of the columns differs from the row above (NULL equals NULL), and on the first row."""
    return pl.any_horizontal([pl.col(c).ne_missing(pl.col(c).shift(1)) for c in columns]) | (
        pl.int_range(pl.len()) == 0
    )


def commands(marks: pl.DataFrame, births: pl.DataFrame) -> pl.DataFrame:
    """Return `command` rows: processes whose exec and exit were both seen and whose parent is no such process."""
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


def threads(rows: pl.DataFrame) -> pl.DataFrame:
    """Return a `thread` row for every thread: its first to its last completion."""
    spans = rows.sort("done_ns", "line_no").group_by([*PROCESS, "lwp"], maintain_order=True).agg(
        pl.col("line_no").first().alias("line_from"), pl.col("line_no").last().alias("line_to"),
        pl.col("done_ns").first().alias("from_ns"), pl.col("done_ns").last().alias("to_ns"),
    )  # fmt: skip
    return spans.filter(pl.col("to_ns") > pl.col("from_ns")).with_columns(pl.lit("thread").alias("kind"))


def build(case: CaseTables) -> pl.DataFrame:
    """Return `requests` for all system call traces of the case."""
    made, births = makers(case), case.derived("proc_tree")
    stamped = pl.col("t_local").is_not_null() & (pl.col("state").fill_null("done") != "child_start")
    ends = nanoseconds(DONE_S).alias("done_ns")
    found: list[pl.DataFrame] = []
    for where in batches(case, stamped):
        rows = case.table("syscalls", [*CALL, "bytes"], where & stamped).with_columns(ends)
        talking = pl.col("name").is_in([*READS, *WRITES])
        marks = pl.col("name").is_in([*EXEC_NAMES, *EXIT_NAMES]) & (SUCCEEDED | (pl.col("state") == "no_return"))
        found.append(conversations(with_targets(rows.filter(talking), made, births)))
        found.append(commands(rows.filter(marks), births))
        found.append(threads(rows))
    cycles = case.derived("listener_cycles").filter(pl.col("complete")).select(
        *PLACE_COLUMNS, "pid", "lwp", pl.lit("cycle").alias("kind"), pl.col("line_accept").alias("line_from"), pl.col("line_end").alias("line_to"),
        nanoseconds(pl.col("t_accept")).alias("from_ns"), nanoseconds(pl.col("t_end")).alias("to_ns"),
    )  # fmt: skip
    if not found:
        return TABLE.rows([])
    whole = pl.concat([f for f in [*found, cycles] if f.height] or [cycles], how="diagonal_relaxed")
    if "kind" not in whole.columns or whole.is_empty():
        return TABLE.rows([])
    # A listener's conversation with one client is inside its cycle; a thread is shown only if its process shows nothing better.
    cycled = whole.filter(pl.col("kind") == "cycle").select(PROCESS).unique()
    better = whole.filter(~pl.col("kind").is_in(["thread", "exchange"])).select(PROCESS).unique()
    whole = pl.concat([
        whole.filter(pl.col("kind").is_in(["cycle", "command", "exchange"])),
        whole.filter(pl.col("kind") == "service").join(cycled, on=PROCESS, how="anti", nulls_equal=True),
        whole.filter(pl.col("kind") == "thread").join(better, on=PROCESS, how="anti", nulls_equal=True)
        .join(births, on=PROCESS, how="anti", nulls_equal=True),
    ])  # fmt: skip
    whole = whole.with_columns(
        seconds(pl.col("from_ns")).alias("t_from"), seconds(pl.col("to_ns")).alias("t_to"),
        seconds(pl.col("to_ns") - pl.col("from_ns")).alias("wall_s"), (pl.col("kind") == "thread").alias("idle"),
    ).sort("artifact_id", "clock", "from_ns", "to_ns", "line_from", nulls_last=True)  # fmt: skip
    return TABLE.shape(whole.with_columns((pl.int_range(pl.len()).over("artifact_id") + 1).alias("request")))
