r"""perf trace of Linux 4 to 6: system calls with their duration, page faults, summary tables (-s).

Manual: perf-trace(1). Capture: `perf trace -p PID -o FILE`, `perf trace -s -a sleep 10`. Understood: -p -a -T --comm -s -S -F, -o.

         ? (         ): ls/31362  ... [continued]: execve())                                           = 0
     0.636 ( 0.018 ms): ls/31362 access(filename: 0x38ef02a0, mode: R)                                 = -1 ENOENT (No such file or directory)

Fills syscalls, open_calls (calls whose line another thread's output interrupted: ` ...`), syscall_totals (-s).

Traps. The first number is milliseconds from the first event to the START of the call (on a continued line too); the number in parentheses
is the duration of the call in milliseconds. `?` is a call that had begun before the trace. The number after the comm is a thread. Strings
are printed as pointers unless the kernel supplied their text. With -T the stamps are the host's clock since boot.
Known gaps: tracepoints among the calls (`sched:...`) and faults (-F) are notes; columns min, avg and stddev of -s have no column in the table.
"""

from __future__ import annotations

import re
from typing import Any

import polars as pl

from parsers.declarations import Claim, Format
from parsers.formats.tracing.shared import syscall_args as arg
from parsers.formats.tracing.shared.c_results import results
from parsers.formats.tracing.shared.flat_trace import FlatTrace
from parsers.formats.tracing.shared.syscall_args import ARGS, RET_TEXT
from parsers.tables.rows import State, Tables
from parsers.text.source import Head, Source

FORMAT = Format(
    kind="perf",
    variant="trace",
    version="1",
    systems=("linux",),
    tables=("syscalls", "open_calls", "syscall_totals"),
    man="perf-trace(1)",
    example="perf trace -p PID -o FILE",
    split="none",
    clocks=("trace-relative", "boot-relative", "none"),
    own=(
        r"^ *(?:[0-9]+\.[0-9]{3}|\?) \( *(?:[0-9]+\.[0-9]{3} ms)? *\): .*\(.*$"
        r"|^ .+ \([0-9]+\), [0-9]+ events, [0-9.]+%$|^ +syscall +calls +(?:errors +)?total +min +avg +max +stddev$"
        r"|^ +[a-z_0-9]+ +[0-9]+ +(?:[0-9]+ +)?[0-9]+\.[0-9]{3} +[0-9.]+ +[0-9.]+ +[0-9.]+ +[0-9.]+%$"
    ),
)

HEAD = r"^ *([0-9]+\.[0-9]{3}|\?) \( *(?:([0-9]+\.[0-9]{3}) ms)? *\): (?:(.*)/)?([0-9]+)?(?: +(\.\.\. \[continued\]: ))? *([a-z_][a-z0-9_]*)$"
FIELDS = ["start", "length", "comm", "tid", "continued", "name"]
THREAD = r"^ (.+) \(([0-9]+)\), [0-9]+ events, ([0-9.]+)%$"
TITLES = r"^ +syscall +calls +(errors +)?total +min +avg +max +stddev$"
TOTAL = r"^ +([a-z_][a-z_0-9]*) +([0-9]+) +(?:([0-9]+) +)?([0-9]+\.[0-9]+) +[0-9.]+ +[0-9.]+ +([0-9.]+) +[0-9.]+%$"
WORDS = r"^ Summary of events:$|^ +\(msec\) +\(msec\)|^ +-{5,}(?: +-{3,})+$"
_CALL = re.compile(r" *(?:[0-9]+\.[0-9]{3}|\?) \( *(?:[0-9]+\.[0-9]{3} ms)? *\): \S.*\(")
_TABLE = re.compile(f"{TITLES}|{TOTAL}|{THREAD}|{WORDS}")
BOOT_S = 3600.0
"""Seconds beyond which a first stamp is the host's clock since boot (-T), not the time since the first event."""


def claim(head: Head) -> Claim | None:
    """Claim by lines `ms ( ms): comm/tid call(`, or by the titles of -s."""
    if " ms): " not in head.text and not re.search(r"\( +\): ", head.text) and "stddev" not in head.text:
        return None
    found = sum(1 for x in head.lines if _CALL.match(x))
    if not found and not re.search(TITLES, head.text, re.M):
        return None
    table = sum(1 for x in head.lines if _TABLE.match(x))
    share = min(1.0, 1.5 * (found + table) / sum(1 for x in head.lines if x.strip()))
    return Claim(round(0.97 * share, 2), f"{found} calls and {table} rows as perf trace prints them", "trace")


def _named(names: str) -> pl.Expr:
    return ARGS.str.extract(rf"(?:^|, )(?:{names}): ([0-9]+)", 1).str.to_integer(base=10, strict=False)


def _arg_addr(names: arg.Names) -> pl.Expr:
    printed = arg.address(ARGS.str.extract(r"(?:uaddr|start|addr|shmaddr): (0x[0-9a-f]+)", 1))
    return pl.coalesce(printed, names.choose((("shmat",), arg.address(RET_TEXT))))


_TEXT = ARGS.str.extract(r'(?:filename|pathname|path|name|oldname): "([^"]*)"', 1)
_ID = _named("semid|shmid|msqid|upid|pid")
_SOME = {
    "fd": arg.Column(arg.WITH_FD, pl.Int64, lambda names: _named("fd|dfd|sockfd|epfd")),
    "path": arg.Column(None, pl.String, lambda names: _TEXT, lambda names: ARGS.str.contains('name: "', literal=True)),
    "arg_id": arg.Column(arg.WITH_ID, pl.Int64, lambda names: pl.coalesce(_ID, arg.arg_id(names))),
    "sem_num": arg.Column(arg.SEM_CALLS, pl.Int64, lambda names: _named("semnum")),
    "arg_addr": arg.Column(arg.WITH_ADDR, pl.UInt64, _arg_addr),
}


def fill(calls: pl.DataFrame) -> pl.DataFrame:
    """Add the columns that come from one line; arguments carry their names."""
    names = arg.Names(calls["name"].unique())
    calls = arg.add_columns(calls.with_columns_seq(arg.number(pl.col("val")).alias("ret")), names, _SOME)
    return calls.with_columns(
        ret2=pl.lit(None, pl.Int64), fd2=pl.lit(None, pl.Int64), bytes=arg.transferred(names), data=pl.lit(None, pl.String),
        child_pid=pl.when(~ARGS.str.contains("THREAD", literal=True)).then(arg.child_pid(names)), peer=pl.lit(None, pl.String),
    )  # fmt: skip


def parse(source: Source, out: Tables, state: State) -> State:
    """Read one run of blocks; state: what `FlatTrace` carries, calls that continue later, the thread of an open table."""
    trace = FlatTrace(out, state.get("trace", {}), fill)
    waiting: dict[str, list[Any]] = state.get("waiting", {})
    kind = state.get("clock")
    for frame in source.frames():
        parts = frame.with_columns(
            pl.col("line").str.splitn("(", 3).struct.rename_fields(["a", "b", "rest"]).alias("p")
        ).unnest("p")
        parts = parts.with_columns(pl.concat_str("a", pl.lit("("), "b").alias("front"))
        parts = parts.with_columns(
            pl.col("front").str.extract_groups(HEAD).struct.rename_fields(FIELDS).alias("g")
        ).unnest("g")
        parts = results(parts)
        head, ended = pl.col("name").is_not_null(), pl.col("tail").is_not_null()
        opened = head & pl.col("rest").str.ends_with(" ...").fill_null(False)
        calls = parts.filter(head & ended)
        later = parts.filter(opened & ~ended.fill_null(False))
        start = pl.when(pl.col("start") != "?").then(pl.col("start").cast(pl.Float64, strict=False) / 1000).round(9)
        if kind is None and len(calls):
            first = calls.select(start).to_series().drop_nulls()
            kind = "boot-relative" if len(first) and float(first[0]) > BOOT_S else "trace-relative"
        tid = pl.col("tid").str.to_integer(base=10, strict=False)
        events = calls.select(
            "line_no", tid.alias("pid"), tid.alias("lwp"), "comm", "name", "ret_text", "val", "err",
            # `[continued]: execve())` shows no arguments: they stood on the interrupted line.
            pl.when(pl.col("continued").is_not_null()).then(None).otherwise(pl.col("rest").str.strip_suffix(pl.col("tail"))).alias("args"),
            start.alias("t"), (pl.col("length").cast(pl.Float64) / 1000).round(9).alias("elapsed"),
        )  # fmt: skip
        _waits(later, calls.filter(pl.col("continued").is_not_null()), waiting, out)
        done = trace.add(frame, events, stamp=pl.lit("start"))
        trace.domain(done, kind or "none")
        rest = parts.filter(~(head & ended).fill_null(False) & ~opened.fill_null(False)).select("line_no", "line")
        state["thread"] = _tables(rest, out, state.get("thread"))
    if source.last and waiting:
        _add_open(out, [[*row, None] for row in waiting.values()])
        waiting = {}
    out.fact("stamp", "start")
    return {
        "variant": "trace",
        "clock": kind,
        "waiting": waiting,
        "thread": state.get("thread"),
        "trace": trace.state(last=source.last),
    }


def _waits(later: pl.DataFrame, continued: pl.DataFrame, waiting: dict[str, list[Any]], out: Tables) -> None:
    """Match calls whose line was interrupted with the line that continues them: the next of the same thread and name."""
    begun = later.select(
        "line_no",
        "tid",
        "name",
        pl.col("rest").str.replace(r"\)? *\.\.\.$", "").alias("args"),
        pl.lit(True).alias("open"),
    )
    ended = continued.select(
        "line_no", "tid", "name", pl.lit(None, pl.String).alias("args"), pl.lit(False).alias("open")
    )
    done: list[list[Any]] = []
    for line_no, tid, name, args, opened in pl.concat([begun, ended]).sort("line_no").iter_rows():
        before = waiting.pop(str(tid), None)
        if before is not None:
            done.append([*before, None if opened or before[2] != name else line_no])
        if opened:
            waiting[str(tid)] = [line_no, tid and int(tid), name, args]
    out.read([int(row[0]) for row in waiting.values()])
    _add_open(out, done)


def _add_open(out: Tables, rows: list[list[Any]]) -> None:
    schema = {"line_no": pl.Int64, "lwp": pl.Int64, "name": pl.String, "args": pl.String, "done_line": pl.Int64}
    frame = pl.DataFrame(rows, schema=schema, orient="row").sort("line_no")
    out.add("open_calls", frame.with_columns(pl.col("lwp").alias("pid"), state=pl.lit("unfinished")))


def _tables(rest: pl.DataFrame, out: Tables, thread: list[Any] | None) -> list[Any] | None:
    """Read the tables of -s: each stands under a line with comm, thread and share."""
    rows = []
    for line_no, line in rest.filter(pl.col("line").str.contains(f"{THREAD}|{TITLES}|{TOTAL}|{WORDS}")).iter_rows():
        if found := re.match(THREAD, line):
            thread = [found[1], int(found[2])]
            out.read([line_no])
        elif re.match(f"{TITLES}|{WORDS}", line):
            out.read([line_no])
        elif (found := re.match(TOTAL, line)) and thread is not None:
            total, longest = float(found[4]) / 1000, float(found[5]) / 1000
            row = {
                "line_no": line_no,
                "comm": thread[0],
                "pid": thread[1],
                "section": "call",
                "name": found[1],
                "n": int(found[2]),
            }
            errors = int(found[3]) if found[3] else None
            rows.append(
                {**row, "errors": errors, "total_s": round(total, 9), "max_s": round(longest, 9), "total_kind": "wall"}
            )
    if rows:
        out.add("syscall_totals", pl.DataFrame(rows, infer_schema_length=None))
    return thread
