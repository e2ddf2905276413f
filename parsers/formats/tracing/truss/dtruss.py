r"""dtruss of macOS and of the DTraceToolkit: system calls, counts (-c).

Manual: dtruss(1m). Capture: `sudo dtruss -f -d -e -o -p PID` (-a is all of it). Understood: -a -d -e -o -f -l -p -n -b -c. Number columns
are recognised by the header, without a header by their count.

        PID/THRD  RELATIVE  ELAPSD    CPU SYSCALL(args) 		 = return
    20001/0x128f0:      2562     128     67 open("/dev/dtracehelper\0", 0x2, 0xFFFFFFFFEA6F5AB0)		 = 3 0
     3911/1:  1001579     43 read(0x0, "s\0", 0x1)           = 1 0

Fills syscalls, syscall_totals (-c), logs (messages of dtrace).

Traps. RELATIVE (start of the call since the start of the trace), ELAPSD and CPU are MICROseconds. After the result stands the error number
(0: none), or `Err#N` on newer systems; its name depends on the system (PID/THRD: macOS; PID/LWP: Solaris, or where calls have
names such as `compat_50__x`, `_lwp_x` or `__x50` NetBSD, or `freebsd11_x` FreeBSD). Descriptors are hexadecimal. Strings end
with `\0`. The header may stand after the first calls. A single number before a call is not read without a header.
Known gaps: stacks of -s; the lines stand in the order of the per-CPU buffers.
"""

from __future__ import annotations

import re
from itertools import islice

import polars as pl

from parsers.declarations import Claim, Format
from parsers.formats.tracing.shared import syscall_args as arg
from parsers.formats.tracing.shared.c_arguments import fill as fill_c
from parsers.formats.tracing.shared.flat_trace import FlatTrace
from parsers.formats.tracing.truss.errno_names import FREEBSD, MACOS, NETBSD, SOLARIS
from parsers.tables.rows import State, Tables
from parsers.text.source import Head, Source

FORMAT = Format(
    kind="truss",
    variant="dtruss",
    version="2",
    systems=("macos", "solaris", "freebsd", "netbsd"),
    tables=("syscalls", "open_calls", "syscall_totals", "logs"),
    man="dtruss(1m)",
    example="sudo dtruss -a -f -p PID",
    split="none",
    clocks=("trace-relative", "none"),
    own=(
        r"^[\t ]*(?:[0-9]+/(?:0x[0-9a-f]+|[0-9]+):[\t ]+)?(?:[0-9]+[\t ]+){0,3}[A-Za-z_][A-Za-z0-9_]*\(.*\)[\t ]+= -?[0-9A-Fa-fx]+ (?:Err#)?-?[0-9]+$"
        r"|SYSCALL\(args\)|^dtrace: "
    ),
)

HEADER = r"^[\t ]*(?:PID/(LWP|THRD)[\t ]+)?(RELATIVE[\t ]+)?(ELAPSD[\t ]+)?(CPU[\t ]+)?SYSCALL\(args\)"
HEAD = r"^[\t ]*(?:([0-9]+)/(0x[0-9a-f]+|[0-9]+):[\t ]+)?(?:([0-9]+)[\t ]+)?(?:([0-9]+)[\t ]+)?(?:([0-9]+)[\t ]+)?([A-Za-z_][A-Za-z0-9_]*)$"
TAIL = r"\)[\t ]*= ((-?[0-9]+|0x[0-9A-Fa-f]+) (?:Err#)?(-?[0-9]+))$"
COUNTED = r"^([a-z_][A-Za-z0-9_]*)[\t ]+([0-9]+)$"
COUNTS = r"^[\t ]*CALL[\t ]+COUNT$"
CUT = r"^[\t ]*([0-9]+)/(0x[0-9a-f]+|[0-9]+):[\t ]+(?:[0-9]+[\t ]+){0,3}([A-Za-z_][A-Za-z0-9_]*)\((.*)$"
_SIGNS = re.compile(r"\)[\t ]*= (?:-?[0-9]+|0x[0-9A-Fa-f]+) (?:Err#)?-?[0-9]+$")
OF_NETBSD = r"^(?:compat_[0-9]+_|_lwp_|_{2,3}[a-z][a-z0-9_]*[a-z_](?:13|14|30|40|50|60|90|100)$)"
OF_FREEBSD = r"^(?:freebsd[0-9]+_|compat[0-9]+\.freebsd)"
"""Names of calls that only one of the BSDs has: those of old versions and their successors (NetBSD sys/kern/syscalls.master,
FreeBSD sys/kern/syscalls.master)."""
ERRORS = {"solaris": SOLARIS, "netbsd": NETBSD, "freebsd": FREEBSD}
_NUMBERS = ["relative", "elapsed", "cpu"]


_CALL = re.compile(r"^[\t ]*(?:[0-9]+/\S+:[\t ]+)?(?:[0-9]+[\t ]+){0,3}[A-Za-z_]\w*\(").match


def claim(head: Head) -> Claim | None:
    """Claim by the header, or by results that an error number follows."""
    titles = [line for line in head.lines if "SYSCALL(args)" in line] if "SYSCALL(args)" in head.text else []
    if header := next((found for line in titles if (found := re.search(HEADER.replace("^", ""), line))), None):
        return Claim(0.97, "the header of dtruss: " + " ".join(header[0].split()), "dtruss")
    if not _SIGNS.search(head.text.partition("\n")[0]) and "Err#" not in head.text and '\\0"' not in head.text:
        return None
    calls = list(islice((line for line in head.lines if "(" in line and _CALL(line)), 60))
    signs = sum(1 for line in calls if _SIGNS.search(line))
    if not signs or signs * 3 < 2 * len(calls):
        return None
    return Claim(0.85, f"{signs} of {len(calls)} calls end with result and error number", "dtruss")


def fill(calls: pl.DataFrame) -> pl.DataFrame:
    """Add the columns as for strace; descriptors and ids may be hexadecimal, strings end with `\\0`."""
    calls = fill_c(calls)
    first = pl.col("args").str.extract(r"^(0x[0-9A-Fa-f]+)(?:,|$)", 1)
    value = arg.number(first)
    with_fd, with_id = pl.col("name").is_in(arg.FD_CALLS), pl.col("name").is_in(arg.ID_CALLS)
    return calls.with_columns(
        pl.coalesce("fd", pl.when(with_fd).then(value)).alias("fd"),
        pl.coalesce("arg_id", pl.when(with_id).then(value)).alias("arg_id"),
        pl.col("data").str.strip_suffix("\\x00"),
        pl.col("path").str.strip_suffix("\\x00"),
    )


def parse(source: Source, out: Tables, state: State) -> State:
    """Read one run of blocks; state: columns of the header, system, what `FlatTrace` carries, whether a table of counts is open."""
    trace = FlatTrace(out, state.get("trace", {}), fill)
    columns: list[str] | None = state.get("columns")
    system = state.get("system")
    for frame in source.frames():
        headers = frame.filter(pl.col("line").str.contains(r"SYSCALL\(args\)"))
        out.read(headers["line_no"])
        for line in headers["line"].head(1).to_list():
            if columns is None and (found := re.match(HEADER, line)):
                columns = [name for name, there in zip(_NUMBERS, found.groups()[1:], strict=True) if there]
                system = {"LWP": "solaris", "THRD": "macos"}.get(found[1] or "", system)
        fields = ["pid", "lwp", "n1", "n2", "n3", "name"]
        parts = frame.with_columns(
            pl.col("line").str.splitn("(", 2).struct.rename_fields(["front", "rest"]).alias("p")
        ).unnest("p")
        parts = parts.with_columns(
            pl.col("front").str.extract_groups(HEAD).struct.rename_fields(fields).alias("g"),
            pl.col("rest").str.extract_groups(TAIL).struct.rename_fields(["ret_text", "val", "number"]).alias("h"),
            pl.col("rest").str.extract(TAIL, 0).alias("tail"),
        ).unnest("g", "h")
        good = (pl.col("name").is_not_null() & pl.col("tail").is_not_null()).fill_null(False)
        calls = parts.filter(good)
        if columns is None and len(calls):
            columns = _columns(calls, out)
        if system is None and calls["lwp"].str.starts_with("0x").any():
            system = "macos"
        if system not in ("macos", "netbsd", "freebsd"):
            if calls["name"].str.contains(OF_NETBSD).any():
                system = "netbsd"
            elif calls["name"].str.contains(OF_FREEBSD).any():
                system = "freebsd"
        names = columns or []
        present = pl.concat_list(pl.col(f"n{i}").cast(pl.Float64) for i in (1, 2, 3)).list.drop_nulls()
        fits = pl.col("numbers").list.len() == len(names)
        calls = calls.with_columns(present.alias("numbers"))
        value = {
            n: (
                pl.when(fits).then(pl.col("numbers").list.get(names.index(n), null_on_oob=True) / 1e6)
                if n in names
                else pl.lit(None, pl.Float64)
            )
            for n in _NUMBERS
        }
        table = ERRORS.get(system or "", MACOS)
        number = pl.col("number").str.to_integer(base=10, strict=False)
        hexed = pl.col("lwp").str.starts_with("0x")
        lwp = pl.when(hexed).then(pl.col("lwp").str.strip_prefix("0x").str.to_integer(base=16, strict=False))
        events = calls.select(
            "line_no", pl.col("pid").cast(pl.Int64, strict=False), lwp.otherwise(pl.col("lwp").str.to_integer(base=10, strict=False)).alias("lwp"), "name",
            pl.col("rest").str.strip_suffix(pl.col("tail")).alias("args"), "ret_text", "val",
            number.replace_strict(table, default=None, return_dtype=pl.String).alias("err"),
            value["relative"].round(9).alias("t"), value["elapsed"].round(9).alias("elapsed"), value["cpu"].round(9).alias("cpu"),
        )  # fmt: skip
        done = trace.add(frame, events, stamp=pl.lit("start"), traced_f=pl.col("pid").is_not_null())
        trace.domain(done, "trace-relative")
        rest = parts.filter(~good).select("line_no", "line")
        messages = rest.filter(pl.col("line").str.contains(r"^dtrace: "))
        out.add("logs", messages.select("line_no", pl.col("line").alias("text"), pl.lit("tool").alias("source")))
        state["counting"] = _counts(rest, out, counting=bool(state.get("counting")))
        if source.last and source.next_line > int(frame["line_no"][-1]):
            _cut_call(rest, int(frame["line_no"][-1]), out)
        if len(calls):
            out.fact("tool_opts", [o for o, c in zip(("-d", "-e", "-o"), _NUMBERS, strict=True) if c in names])
            out.fact("stamp", "start")
            if system:
                out.fact("os", system)
    return {
        "variant": "dtruss",
        "columns": columns,
        "system": system,
        "counting": state.get("counting"),
        "trace": trace.state(last=source.last),
    }


def _columns(calls: pl.DataFrame, out: Tables) -> list[str]:
    """Name the numbers before the calls without a header: three can only be all columns; one or two are ambiguous."""
    counts = calls.head(50).select(pl.sum_horizontal(pl.col(f"n{i}").is_not_null() for i in (1, 2, 3))).to_series()
    most = int(counts.mode()[0])
    if most == 3:
        return list(_NUMBERS)
    if most:
        line = int(calls["line_no"][0])
        out.note(
            line, line, "remark", f"{most} number(s) in front of the calls and no header that names them: not read"
        )
    return []


def _counts(rest: pl.DataFrame, out: Tables, *, counting: bool) -> bool:
    """Read the table of -c; return whether it is still open."""
    begins = rest.filter(pl.col("line").str.contains(COUNTS))
    if not counting and begins.is_empty():
        return False
    out.read(begins["line_no"])
    first = 0 if counting else int(begins["line_no"][0])
    rows = (
        rest.filter(pl.col("line_no") > first)
        .with_columns(pl.col("line").str.extract_groups(COUNTED).struct.rename_fields(["name", "n"]).alias("g"))
        .unnest("g")
        .filter(pl.col("name").is_not_null())
    )
    kind = {"section": pl.lit("call"), "total_kind": pl.lit("unknown")}
    out.add("syscall_totals", rows.select("line_no", "name", pl.col("n").cast(pl.Int64, strict=False), **kind))
    return True


def _cut_call(rest: pl.DataFrame, last: int, out: Tables) -> None:
    """Report the last line of the file as an open call: it has no end."""
    fields = ["pid", "lwp", "name", "args"]
    cut = rest.filter(pl.col("line_no") == last)
    cut = cut.with_columns(pl.col("line").str.extract_groups(CUT).struct.rename_fields(fields).alias("g")).unnest("g")
    cut = cut.filter(pl.col("name").is_not_null())
    hexed = pl.col("lwp").str.starts_with("0x")
    lwp = pl.when(hexed).then(pl.col("lwp").str.strip_prefix("0x").str.to_integer(base=16, strict=False))
    out.add(
        "open_calls",
        cut.select(
            "line_no", pl.col("pid").cast(pl.Int64, strict=False), lwp.otherwise(pl.col("lwp").str.to_integer(base=10, strict=False)).alias("lwp"),
            "name", "args", pl.lit("truncated").alias("state"),
        ),
    )  # fmt: skip
