r"""truss of FreeBSD 7 to 14: system calls, signals, exits, summary tables (-c).

Manual: truss(1) of FreeBSD. Capture: `truss -f -H -d -D -o FILE -p PID`. Understood: -f (pid), -H (thread), -d -D (stamps), -c, -a -e.

     2021: write(26803,"C",1)			 = 1 (0x1)
    49212: __acl_get_file(0x802d59600,0x2,0x802e96000,0x0,0x1000,0xffffffff) ERR#45 'Operation not supported'
    SIGNAL 20 (SIGCHLD) code=CLD_EXITED pid=812 uid=0 status=0

Fills syscalls, signals, syscall_totals, logs (processes and threads that start and end).

Traps. -d is taken when the call RETURNS, since the start of the trace. -D is, in the source code, end minus begin of the call itself (the
manual states otherwise), so it is `elapsed_s`. A single stamp that rises over all its lines is -d, else -D; with fewer than three stamps
it stays undecided, with a note. Errors are printed as number and text: the name is that of FreeBSD's numbers. Seconds of -c are CPU time
in the kernel.
Known gaps: calls of old versions that a thread switch cuts (`...`). The layout of -c is taken from the source code, because no sample was
available.
"""

from __future__ import annotations

import re

import polars as pl

from parsers.declarations import Claim, Format
from parsers.formats.tracing.shared.c_arguments import fill as fill_c
from parsers.formats.tracing.shared.flat_trace import FlatTrace
from parsers.formats.tracing.shared.syscall_args import ARGS, FD_CALLS, Names
from parsers.formats.tracing.truss.errno_names import FREEBSD
from parsers.repair.rewrap import rejoin
from parsers.tables.rows import State, Tables
from parsers.text.source import Head, Source

FORMAT = Format(
    kind="truss",
    variant="freebsd",
    version="2",
    systems=("freebsd",),
    tables=("syscalls", "signals", "syscall_totals", "logs"),
    man="truss(1) of FreeBSD",
    example="truss -f -H -d -D -o FILE -p PID",
    split="none",
    clocks=("trace-relative", "none"),
    own=(
        r"^[\t ]*(?:[0-9]+(?:[\t ]+[0-9]+)?:[\t ]+)?(?:[0-9]+\.[0-9]{9}[\t ]+){0,2}[A-Za-z_][A-Za-z0-9_.]*\(.*\)[\t ]*(?:= -?[0-9]+ \(0x[0-9a-f]+\)|ERR#.*)$"
        r"|^[\t ]*[0-9]*:? *SIGNAL [0-9]+(?: \(SIG.*)?$|^[a-z_0-9]+ +[0-9]+\.[0-9]{9} +[0-9]+ +[0-9]+$"
    ),
)

_PREFIX = r"^[\t ]*(?:([0-9]+)(?:[\t ]+([0-9]+))?:[\t ]+)?(?:([0-9]+\.[0-9]{9})[\t ]+)?(?:([0-9]+\.[0-9]{9})[\t ]+)?"
HEAD = rf"{_PREFIX}([A-Za-z_][A-Za-z0-9_.]*)$"
TAIL = r"\)[\t ]*(?:= ((-?[0-9]+) \(0x[0-9a-f]+\))|(ERR#(-?[0-9]+) '[^']*'))$"
SIGNAL = rf"{_PREFIX}SIGNAL ([0-9]+)(?: \((SIG[A-Z0-9+]+)\)(.*))?$"
STOPPED = rf"{_PREFIX}Process stopped because of: +[0-9]+$"
"""A remark of FreeBSD 5 that names no signal."""
ENDED = rf"{_PREFIX}process (exit, rval = ([0-9]+)|killed, signal = ([0-9]+).*)$"
PASSED = rf"{_PREFIX}<(?:new process|new thread [0-9]+|thread [0-9]+ exited|detached)>$"
TOTAL = r"^([A-Za-z_][A-Za-z0-9_.]*)[\t ]+([0-9]+\.[0-9]{9})[\t ]+([0-9]+)[\t ]+([0-9]+)$"
SUM = r"^[\t ]*([0-9]+\.[0-9]{9})[\t ]+([0-9]+)[\t ]+([0-9]+)$"
HEADER = r"^[\t ]*syscall[\t ]+seconds[\t ]+calls[\t ]+errors$"
BEGINS = rf"{_PREFIX}(?:[A-Za-z_][A-Za-z0-9_.]*\(|SIGNAL [0-9]|process (?:exit|killed)|<(?:new |thread |detached))|{TOTAL}|{SUM}|{HEADER}|^[\t ]*-+[\t ]"
"""The beginning of a line of truss, whole or broken."""
FRONTS = ["pid", "tid", "s1", "s2"]
_SIGNAL_NAMES = (
    "HUP INT QUIT ILL TRAP ABRT EMT FPE KILL BUS SEGV SYS PIPE ALRM TERM URG STOP TSTP CONT CHLD TTIN TTOU IO XCPU "
    "XFSZ VTALRM PROF WINCH INFO USR1 USR2"
)
SIGNAL_NAMES = {str(number): f"SIG{name}" for number, name in enumerate(_SIGNAL_NAMES.split(), start=1)}
"""Signal names by number: FreeBSD 5 prints only the number."""

_SIGNS = re.compile(r"\)[\t ]*(?:= -?[0-9]+ \(0x[0-9a-f]+\)|ERR#-?[0-9]+ '[^']*')$")
_CALL = re.compile(HEAD.removesuffix("$") + r"\(")
SAMPLE = 60


def claim(head: Head) -> Claim | None:
    """Claim by results with their hexadecimal value and errors with a text, or by rows with nine decimals under a header of -c."""
    if "(0x" not in head.text and "ERR#" not in head.text:
        if (
            "seconds" in head.text
            and re.search(HEADER, head.text, re.M)
            and (rows := re.findall(TOTAL, head.text, re.M))
        ):
            return Claim(0.95, f"a table of truss -c with nine decimals: {len(rows)} rows", "freebsd")
        return None
    calls = [line for line in head.lines if _CALL.match(line)][:SAMPLE]
    signs = sum(1 for line in calls if _SIGNS.search(line))
    if not signs or signs * 2 < len(calls):
        return None
    filled = sum(1 for line in head.lines if line)
    share = min(1.0, 2 * len(calls) / min(filled, 2 * SAMPLE))
    return Claim(round(0.97 * share, 2), f"{signs} of {len(calls)} calls end as truss of FreeBSD ends them", "freebsd")


_PEER = r"\{ AF_INET6? \[?([0-9A-Fa-f.:]+?)\]?:([0-9]+) \}"


def fill(calls: pl.DataFrame) -> pl.DataFrame:
    """Add the columns that come from one line; calls unknown to truss print all arguments, descriptors too, in hexadecimal."""
    calls = fill_c(calls)
    hexadecimal = ARGS.str.extract(r"^0x([0-9a-f]{1,6})(?:,|$)", 1).str.to_integer(base=16, strict=False)
    known = Names(calls["name"].unique()).among(FD_CALLS)
    calls = calls.with_columns_seq(fd=pl.coalesce("fd", pl.when(known).then(hexadecimal)))
    if not calls.select_seq(ARGS.str.contains("{ AF_INET", literal=True).any()).item():
        return calls
    parts = ARGS.str.extract_groups(_PEER).struct
    return calls.with_columns_seq(
        peer=pl.coalesce("peer", pl.format("AF_INET name = {} port = {}", parts.field("1"), parts.field("2")))
    )


def _groups(column: str, pattern: str, fields: list[str]) -> pl.Expr:
    return pl.col(column).str.extract_groups(pattern).struct.rename_fields(fields).alias("groups")


def parse(source: Source, out: Tables, state: State) -> State:
    """Read one run of blocks; state: the meaning of a single stamp, what `FlatTrace` carries, whether a table is open."""
    trace = FlatTrace(out, state.get("trace", {}), fill)
    single: str | None = state.get("single")
    table = bool(state.get("table"))
    for lines in source.frames():
        frame = rejoin(lines, source, out, BEGINS, TAIL)
        parts = frame.with_columns(
            pl.col("line").str.splitn("(", 2).struct.rename_fields(["front", "rest"]).alias("p")
        ).unnest("p")
        calls = parts.with_columns(
            _groups("front", HEAD, [*FRONTS, "name"]),
            pl.col("rest").str.extract(TAIL, 0).alias("tail"),
        ).unnest("groups")
        calls = calls.with_columns(_groups("rest", TAIL, ["result", "val", "failed", "number"])).unnest("groups")
        silent = (
            pl.col("name").is_in(("exit", "_exit", "thr_exit"))
            & pl.col("tail").is_null()
            & pl.col("rest").str.ends_with(")")
        )
        good = pl.col("name").is_not_null() & (pl.col("tail").is_not_null() | silent)
        rest = calls.filter(~good.fill_null(False)).select("line_no", "line_end", "line")
        calls = calls.filter(good).with_columns(silent.alias("silent"))
        single = single or _single(calls, out)
        number = pl.col("number").str.to_integer(base=10, strict=False)
        last = pl.coalesce("s2", "s1").cast(pl.Float64)
        first = pl.col("s1").cast(pl.Float64)
        both = pl.col("s2").is_not_null()
        events = calls.select(
            "line_no", "line_end", pl.col("pid").cast(pl.Int64, strict=False), pl.col("tid").cast(pl.Int64, strict=False).alias("lwp"), "name", "val",
            pl.when(both | pl.lit(single == "d")).then(first).alias("t"),
            pl.when(both | pl.lit(single == "D")).then(last).alias("elapsed"),
            pl.when("silent").then(pl.col("rest").str.head(-1)).otherwise(pl.col("rest").str.strip_suffix(pl.col("tail"))).alias("args"),
            pl.coalesce("result", "failed").alias("ret_text"),
            # A number without a name, such as -2 (return unchanged), stays a number in ret_text.
            number.replace_strict(FREEBSD, default=None, return_dtype=pl.String).alias("err"),
            pl.when("silent").then(pl.lit("no_return")).otherwise(pl.lit("done")).alias("state"),
        )  # fmt: skip
        done = trace.add(frame, events, stamp=pl.lit("end"), traced_f=pl.col("pid").is_not_null())
        trace.domain(done, "trace-relative")
        table = _others(rest, out, single, table=table)
        if len(calls):
            shown = {"-f": calls["pid"], "-H": calls["tid"], "-d": done["t"], "-D": done["elapsed"]}
            out.fact("tool_opts", [o for o, values in shown.items() if values.null_count() < len(values)])
            out.fact("stamp", "end")
    return {"variant": "freebsd", "single": single, "table": table, "trace": trace.state(last=source.last)}


def _single(calls: pl.DataFrame, out: Tables) -> str | None:
    """Decide what a single stamp is: -d if it rises over three lines or more, else -D; None while there are fewer."""
    stamped = calls.filter(pl.col("s1").is_not_null() & pl.col("s2").is_null())
    if stamped.is_empty():
        return None
    times = stamped["s1"].cast(pl.Float64).head(400)
    if len(times) < 3:
        line = int(stamped["line_no"][0])
        out.note(line, line, "remark", "one stamp in too few lines to tell -d from -D: not read as a time")
        return None
    return "d" if times.is_sorted() else "D"


def _others(rest: pl.DataFrame, out: Tables, single: str | None, *, table: bool) -> bool:
    """Read signals, exits and table rows among lines that are not calls; return whether a table is still open."""
    if rest.is_empty():
        return table
    signals = rest.with_columns(_groups("line", SIGNAL, [*FRONTS, "number", "signal", "more"])).unnest("groups")
    signals = signals.filter(pl.col("number").is_not_null())
    name = pl.coalesce("signal", pl.col("number").replace_strict(SIGNAL_NAMES, default=None, return_dtype=pl.String))
    out.read(rest.filter(pl.col("line").str.contains(STOPPED))["line_no"])
    time = pl.col("s1").cast(pl.Float64) if single != "D" else pl.lit(None, pl.Float64)
    who = [
        pl.col("pid").cast(pl.Int64, strict=False),
        pl.col("tid").cast(pl.Int64, strict=False).alias("lwp"),
        time.alias("t_local"),
    ]
    out.add(
        "signals",
        signals.select(
            "line_no", *who, pl.lit("received").alias("event"), name.alias("signal"),
            pl.col("more").str.extract(r"code=([A-Z]+_[A-Z]+)", 1).alias("code"),
            pl.col("more").str.extract(r" pid=([0-9]+)", 1).cast(pl.Int64, strict=False).alias("sender_pid"),
            pl.col("more").str.extract(r" status=([0-9]+)", 1).cast(pl.Int64, strict=False).alias("status"),
        ),
    )  # fmt: skip
    ends = rest.with_columns(_groups("line", ENDED, [*FRONTS, "how", "status", "signal"])).unnest("groups")
    ends = ends.filter(pl.col("how").is_not_null())
    event = pl.when(pl.col("status").is_null()).then(pl.lit("killed")).otherwise(pl.lit("exited")).alias("event")
    out.add("signals", ends.select("line_no", *who, event, pl.col("status").cast(pl.Int64, strict=False)))
    passed = rest.filter(pl.col("line").str.contains(PASSED))
    text = pl.col("line").str.extract(r"(<.*>)$", 1).alias("text")
    pid = pl.col("line").str.extract(r"^[\t ]*([0-9]+)", 1).cast(pl.Int64, strict=False).alias("pid")
    out.add("logs", passed.select("line_no", pid, text, pl.lit("tool").alias("source")))
    for line_no, line in rest.select("line_no", "line").iter_rows():
        if re.match(HEADER, line):
            table = True
            out.read([line_no])
        elif table and re.match(r"^[\t ]*-+[\t ]+-+[\t ]+-+$", line):
            out.read([line_no])
        elif table and (found := re.match(SUM, line)):
            out.fact("counts_sys_s", float(found[1]))
            out.fact("counts_calls", int(found[2]))
            out.fact("counts_errors", int(found[3]))
            out.read([line_no])
            table = False
        elif table and (found := re.match(TOTAL, line)):
            row = {
                "line_no": line_no,
                "section": "call",
                "name": found[1],
                "total_s": float(found[2]),
                "n": int(found[3]),
            }
            out.add("syscall_totals", pl.DataFrame([{**row, "errors": int(found[4]), "total_kind": "cpu"}]))
    return table
