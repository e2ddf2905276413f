"""One row per connection that a listener's thread served, from its accept to the line in the listener's log.

Inputs: `syscalls` of a process that accepts, `proc_tree`. State machine per thread: poll returns -> accept on the
listen fd returns fd n -> reads on n -> pipes, fork, wait, pipe reads -> close of n -> write to the log -> next poll. A
poll inside the cycle (on n) does not end it: only a poll after the close of n ends it, or one whose printed fds include
the listen fd and not n.
Columns: pid, lwp, cycle (1.. per artifact and pid); `kind` dedicated (it forked) or handoff; line_poll (the poll that
reported the connection), line_accept, line_end; t_accept, t_end (s, own clock); `cycle_s` accept's return -> end of
the log write, else -> close of n; to_close_s, from_poll_s variants; `wait_child_s` = fork + wait calls + pipe reads
that begin an answer (a read right after another pipe read continues one and counts only from 1 % of the cycle on);
fork_s, fork_cpu_s the listener's own forks; exec_s exec of its descendants; adapter_s probes for libraries; log_s
seek and write of the log; child_pid of its first fork; `complete`: close of n was seen and no line is missing before
it. Without it cycle_s is NULL. All durations are upper bounds, s.
Worked example: accept returns 1.5463, close(13) 1.8400, log write 1.8425: cycle 0.2962, to close 0.2937; poll
returned at 1.5426: 0.2999. Fork 0.0300 + waitid 0.0542 + reads 0.0666 and 0.1298 = wait_child 0.2806 of it, 94.7 %; a
third read of 0.0020 continues the second.
Cost: n log n in the rows of accepting threads, no loop over rows; of a long trace one slice is in memory at a time.
Source:
truss of a dedicated-server Oracle listener.
"""

from __future__ import annotations

import polars as pl

from rules.derived.derived_table import PLACE, PLACE_COLUMNS, CaseTables, DerivedTable, Scope, nanoseconds, seconds
from rules.derived.proc_tree import ancestry
from rules.walking.accept_slices import THREAD, accepts_of, calls_of, slices
from rules.walking.threads import EXEC_NAMES, FORK_NAME, OWN_S, READ_NAMES, SUCCEEDED, TIMED, WRITE_NAMES, by_thread

TABLE = DerivedTable(
    "listener_cycles",
    {
        **PLACE,
        "pid": pl.Int64(),
        "lwp": pl.Int64(),
        "cycle": pl.Int64(),
        "kind": pl.String(),
        "line_poll": pl.Int64(),
        "line_accept": pl.Int64(),
        "line_end": pl.Int64(),
        "t_accept": pl.Float64(),
        "t_end": pl.Float64(),
        "cycle_s": pl.Float64(),
        "to_close_s": pl.Float64(),
        "from_poll_s": pl.Float64(),
        "wait_child_s": pl.Float64(),
        "fork_s": pl.Float64(),
        "fork_cpu_s": pl.Float64(),
        "exec_s": pl.Float64(),
        "adapter_s": pl.Float64(),
        "log_s": pl.Float64(),
        "child_pid": pl.Int64(),
        "complete": pl.Boolean(),
    },
)
NEEDS = ("syscalls", "proc_tree")
SCOPE: Scope = "artifact"
VERSION = "1"

ACCEPT = ["accept", "accept4"]
POLL = [
    "poll",
    "pollsys",
    "ppoll",
    "select",
    "pselect",
    "pselect6",
    "_newselect",
    "epoll_wait",
    "epoll_pwait",
    "port_getn",
    "port_get",
]
WAIT = ["waitid", "waitpid", "wait4", "wait3", "wait", "waitsys", "kwaitpid"]
PIPE = ["pipe", "pipe2", "socketpair", "so_socketpair"]
SEEK_AND_SYNC = ["lseek", "llseek", "_llseek", "fsync", "fdatasync", "fdsync"]
PROBE = [
    "access",
    "faccessat",
    "faccessat2",
    "open",
    "openat",
    "stat",
    "lstat",
    "xstat",
    "fstatat",
    "newfstatat",
    "stat64",
]
LIBRARY = r"/[^/]+\.(so|sl|a|dylib|dll)(\.[0-9.]+)?$"
CONTINUES = 0.01  # share of the cycle from which a further read of the same answer counts as a wait of its own

NAME, ROW, FD = pl.col("name"), pl.col("row"), pl.col("fd")
FORK = pl.col("child_pid").is_not_null() & NAME.str.contains(FORK_NAME)
ACCEPTED = NAME.is_in(ACCEPT) & SUCCEEDED & (pl.col("ret") >= 0)
EXEC = NAME.is_in(EXEC_NAMES) & pl.col("err").is_null()
SLICE_ROWS = 250_000  # maximum rows in memory at a time, some 2 kB each
CALL = ["name", "args", "fd", "fd2", "path", "peer_ip", "ret", "err", "state", "cpu_s", "child_pid"]


def segments(syscalls: pl.DataFrame) -> pl.DataFrame:
    """Return the calls of accepting threads with `segment` (row of the accept they follow), its fds and the last poll's
    row.
    """
    rows = by_thread(syscalls, CALL).with_row_index("row")
    last_poll = pl.when(NAME.is_in(POLL)).then(ROW).forward_fill().over("thread")
    return rows.with_columns(
        last_poll.alias("poll_row"),
        pl.when(ACCEPTED).then(ROW).forward_fill().over("thread").alias("segment"),
        pl.when(ACCEPTED).then(FD).forward_fill().over("thread").alias("listen_fd"),
        pl.when(ACCEPTED).then(pl.col("ret")).forward_fill().over("thread").alias("conn_fd"),
    )


def cycles(syscalls: pl.DataFrame, heard: pl.DataFrame, execs: pl.DataFrame) -> pl.DataFrame:
    """Return `listener_cycles` without numbers for calls of accepting threads.

    `heard` holds the descriptors that each of these threads ever reads (THREAD and fd), `execs` the `exec_times` of all
    processes.
    """
    rows = segments(syscalls)
    inside = rows.filter(pl.col("segment").is_not_null())
    after = pl.col("segment") < ROW

    # Find where n is closed, and the poll that ends the cycle.
    closed = (
        inside.filter(after & (NAME == "close") & (pl.col("conn_fd") == FD) & pl.col("err").is_null())
        .group_by("segment")
        .agg(ROW.min().alias("close_row"))
    )
    fds = pl.col("args").str.extract_all(r"\bfd=\d+")
    elsewhere = fds.list.contains(pl.format("fd={}", "listen_fd")) & ~fds.list.contains(pl.format("fd={}", "conn_fd"))
    inside = inside.join(closed, on="segment", how="left", maintain_order="left")
    idle = (
        inside.filter(
            after & NAME.is_in(POLL) & ((pl.col("close_row") < ROW).fill_null(False) | elsewhere.fill_null(False))
        )
        .group_by("segment")
        .agg(ROW.min().alias("idle_row"))
    )
    # A close after that poll does not belong to this cycle, which then has no end.
    seen = pl.when((pl.col("close_row") < pl.col("idle_row")).fill_null(True)).then(pl.col("close_row"))
    inside = (
        inside.join(idle, on="segment", how="left", maintain_order="left")
        .with_columns(seen.alias("close_row"))
        .filter((pl.col("idle_row") > ROW).fill_null(True))
    )

    # Descriptors: pipes made in the cycle, and the log, which is written, never read, and neither pipe nor socket.
    made = inside.filter(NAME.is_in(PIPE) & pl.col("err").is_null())
    pipes = (
        pl.concat([made.select("segment", "fd"), made.select("segment", pl.col("fd2").alias("fd"))])
        .unique()
        .with_columns(on_pipe=True)
    )
    inside = (
        inside.join(pipes, on=["segment", "fd"], how="left", maintain_order="left")
        .join(heard.with_columns(heard=True), on=[*THREAD, "fd"], how="left", nulls_equal=True, maintain_order="left")
        .with_columns(pl.col("on_pipe", "heard").fill_null(False))
    )
    plain = (
        ~pl.col("on_pipe")
        & ~pl.col("heard")
        & (pl.col("conn_fd") != FD)
        & (pl.col("listen_fd") != FD)
        & pl.col("peer_ip").is_null()
    )
    log = (
        inside.filter(after & NAME.is_in(WRITE_NAMES) & plain)
        .group_by("segment")
        .agg(FD.sort_by("row").last().alias("log_fd"), ROW.max().alias("log_row"))
    )
    inside = inside.join(log, on="segment", how="left", maintain_order="left")

    # The cycle ends at the log write if that follows the close of n.
    end_row = pl.when(pl.col("close_row").is_not_null()).then(pl.max_horizontal("close_row", "log_row"))
    cycle = inside.with_columns(end_row.alias("end_row")).filter((pl.col("end_row") >= ROW).fill_null(True))
    answer = NAME.is_in(READ_NAMES) & pl.col("on_pipe")
    talk = pl.col("on_pipe") & NAME.is_in([*READ_NAMES, *WRITE_NAMES])
    previous = pl.when(talk).then(answer).forward_fill().shift(1).over("segment").fill_null(False)
    cycle = cycle.with_columns((answer & previous).alias("continues"))

    at_end = pl.col("end_row") == ROW
    own = pl.col("own_ns").fill_null(0)
    totals = cycle.group_by("segment", maintain_order=True).agg(
        *(
            pl.col(c).first()
            for c in [*PLACE_COLUMNS, "pid", "lwp", "domain", "thread", "conn_fd", "close_row", "poll_row"]
        ),
        pl.col("line_no").first().alias("line_accept"),
        pl.col("done_ns").first().alias("accept_ns"),
        pl.col("done_ns").filter(at_end).first().alias("end_ns"),
        pl.col("done_ns").filter(pl.col("close_row") == ROW).first().alias("close_ns"),
        pl.col("line_no").filter(at_end).first().alias("line_end"),
        pl.col("line_no").last().alias("line_last"),
        pl.col("broken").filter(after).any().alias("gaps"),
        (FORK | (pl.col("conn_fd") == FD).fill_null(False)).filter(after).any().alias("served"),
        pl.col("child_pid").filter(FORK).first(),
        pl.col("line_no").filter(FORK).alias("line_fork"),
        own.filter(FORK & after).sum().alias("fork_ns"),
        pl.col("cpu_s").filter(FORK & after).sum().alias("fork_cpu_s"),
        (FORK & pl.col("cpu_s").is_not_null()).any().alias("cpu_known"),
        own.filter(NAME.is_in(WAIT)).sum().alias("wait_ns"),
        own.filter(answer & ~pl.col("continues")).sum().alias("answer_ns"),
        own.filter(answer & pl.col("continues")).alias("continued_ns"),
        own.filter(NAME.is_in(PROBE) & pl.col("path").str.contains(LIBRARY)).sum().alias("adapter_ns"),
        own.filter((pl.col("log_fd") == FD) & NAME.is_in([*WRITE_NAMES, *SEEK_AND_SYNC])).sum().alias("log_ns"),
    )
    totals = totals.filter(pl.col("served"))
    return TABLE.shape(_finish(totals, rows, execs))


def exec_times(syscalls: pl.DataFrame, processes: pl.DataFrame) -> pl.DataFrame:
    """Return the own time of the exec calls of every descendant, summed per fork line of the ancestor."""
    execs = syscalls.filter(EXEC).select(
        "artifact_id", "clock", "pid", pl.col("line_no").alias("line_exec"), nanoseconds(OWN_S).alias("exec_ns")
    )
    births = processes.filter(pl.col("line_exec").is_not_null()).select(
        "artifact_id", "clock", "pid", "line_exec", "t_fork"
    )
    return (
        ancestry(processes)
        .join(births.rename({"t_fork": "t_birth"}), on=["artifact_id", "clock", "pid", "t_birth"], nulls_equal=True)
        .join(execs, on=["artifact_id", "clock", "pid", "line_exec"], nulls_equal=True)
        .group_by("artifact_id", "line_fork")
        .agg(pl.col("exec_ns").sum())
    )


def _finish(totals: pl.DataFrame, rows: pl.DataFrame, execs: pl.DataFrame) -> pl.DataFrame:
    polls = rows.select(
        pl.col("row").alias("poll_row"), pl.col("line_no").alias("line_poll"), pl.col("done_ns").alias("poll_ns")
    )
    child = totals.select("segment", "artifact_id", "line_fork").explode(
        "line_fork", keep_nulls=False, empty_as_null=False
    )
    exec_ns = (
        child.join(execs, on=["artifact_id", "line_fork"], nulls_equal=True)
        .group_by("segment")
        .agg(pl.col("exec_ns").sum())
    )
    forked = pl.col("child_pid").is_not_null()
    length = pl.col("end_ns") - pl.col("accept_ns")
    # A poll before the close of the previously served connection belongs to that one.
    before = pl.col("close_row").shift(1).over("thread", order_by="segment")
    continued = pl.col("continued_ns").list.eval(pl.element().filter(pl.element() > 0))
    found = totals.with_columns(
        pl.when((pl.col("poll_row") > before).fill_null(True)).then(pl.col("poll_row")).alias("poll_row"),
        length.alias("length_ns"),
        (pl.col("close_row").is_not_null() & ~pl.col("gaps")).alias("complete"),
        pl.when(forked).then(pl.lit("dedicated")).otherwise(pl.lit("handoff")).alias("kind"),
        continued.alias("continued_ns"),
    )
    long = (
        found.select("segment", "length_ns", "continued_ns")
        .explode("continued_ns", keep_nulls=False, empty_as_null=False)
        .filter(pl.col("continued_ns") >= CONTINUES * pl.col("length_ns"))
        .group_by("segment")
        .agg(pl.col("continued_ns").sum().alias("further_ns"))
    )
    found = (
        found.join(polls, on="poll_row", how="left")
        .join(exec_ns, on="segment", how="left")
        .join(long, on="segment", how="left")
    )
    timed = pl.col("complete")
    return found.with_columns(
        pl.col("line_end").fill_null(pl.col("line_last")),
        seconds(pl.col("accept_ns")).alias("t_accept"),
        seconds(pl.col("end_ns")).alias("t_end"),
        pl.when(timed).then(seconds(pl.col("length_ns"))).alias("cycle_s"),
        pl.when(timed).then(seconds(pl.col("close_ns") - pl.col("accept_ns"))).alias("to_close_s"),
        pl.when(timed).then(seconds(pl.col("end_ns") - pl.col("poll_ns"))).alias("from_poll_s"),
        seconds(pl.col("fork_ns") + pl.col("wait_ns") + pl.col("answer_ns") + pl.col("further_ns").fill_null(0)).alias(
            "wait_child_s"
        ),
        pl.when(forked).then(seconds(pl.col("fork_ns"))).alias("fork_s"),
        pl.when(pl.col("cpu_known")).then(pl.col("fork_cpu_s")).alias("fork_cpu_s"),
        seconds(pl.col("exec_ns")).alias("exec_s"),
        seconds(pl.col("adapter_ns")).alias("adapter_s"),
        seconds(pl.col("log_ns")).alias("log_s"),
    ).sort("artifact_id", "accept_ns", "line_accept")


def build(case: CaseTables) -> pl.DataFrame:
    """Return `listener_cycles` for all system call traces of the case."""
    accepts = accepts_of(case, ACCEPTED)
    execs = exec_times(case.table("syscalls", [*TIMED, "name", "err"], EXEC), case.derived("proc_tree"))
    calls = calls_of(case, accepts, [*THREAD, "name", "fd"])
    rows = calls.select(pl.len()).collect(engine="streaming").item()
    reads = calls.filter(NAME.is_in(READ_NAMES) & FD.is_not_null())
    heard = reads.select(*THREAD, "fd").unique().collect(engine="streaming")
    found = [TABLE.rows([])]
    for part, held in slices(case, accepts, rows, SLICE_ROWS, list(dict.fromkeys([*TIMED, *CALL]))):
        own = part.select("artifact_id", pl.col("line_no").alias("line_accept"))
        found.append(cycles(held, heard, execs).join(own, on=["artifact_id", "line_accept"], how="semi"))
    number = pl.col("line_accept").rank("ordinal").over("artifact_id", "pid").cast(pl.Int64)
    return pl.concat(found).with_columns(number.alias("cycle")).sort("artifact_id", "t_accept", "line_accept")
