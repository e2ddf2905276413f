r"""Stacks of the threads of a process: pstack and procstack of Solaris, illumos and AIX, gstack of Linux.

Tools: Solaris 8 to 11 and illumos pstack(1), AIX procstack(1), Linux gstack/pstack (gdb, also `thread apply all bt`), eu-stack and
coredumpctl (`Stack trace of thread N:`). Capture: `pstack PID`, several
times for samples.

Samples::

    1964:    IMB-MPI1.trunk barrier
    -----------------  lwp# 1 / thread# 1  --------------------
    fe6c060c lwp_yield (0, 1, fe25d134, fe25ce58, 4, 0) + 8
    Thread 2 (Thread 0x7f1c (LWP 4711)):
    #0  0x00007f1c2b in poll () from /lib64/libc.so.6
    0x0900000000026a1c  nsleep(??, ??) + 0xfc

Tables: profile_stacks (one row for each thread, weight 1, unit samples). Clock: none.
Traps: a stack shows where a thread is, not for how long; only repeated stacks of one process are samples. The offset after `+` is
hexadecimal without 0x and left out of the stored frame, as are arguments. The first frame of a blocked thread is its system call. An
excerpt may begin inside a thread: such a stack is not complete. Frames wrapped by a page are joined at their parentheses.
Source lines and locals of gdb are read but not stored. `info threads` of gdb gives each thread its innermost frame.
Known gaps: Java frames of `pstack -F` cores, jstack, dbx.
"""

from __future__ import annotations

import re

import polars as pl

from parsers.columns.stack_rows import nested, records
from parsers.declarations import Claim, Format
from parsers.formats.processes.shared.process_columns import program
from parsers.tables.rows import State, Tables
from parsers.text.notes import ELISION
from parsers.text.source import Head, Source

PROCESS = r"^(?:core '[^']*' of )?([0-9]{1,10})[ \t]?:[ \t]+(\S.*)$"
LWP = (
    r"^[ \t]*-{3,}[ \t]*(?:lwp#[ \t]*([0-9]+)(?:[ \t]*/[ \t]*thread#[ \t]*[0-9]+)?|thread#[ \t]*[0-9]+[ \t]*/[ \t]*lwp#[ \t]*([0-9]+)"
    r"|tid#[ \t]*([0-9]+)[^-]*|thread#[ \t]*[0-9]+)(?:[ \t]*[\[(][^\])]*[\])])?[ \t]*-*[ \t]*$"
)
GDB_THREAD = (
    r"^Thread[ \t]+[0-9]+[ \t]+\(.*?(?:LWP[ \t]+([0-9]+))?\)+(?: .*)?:$|^(?:TID|Stack trace of thread) ([0-9]+):$"
)
SUN_FRAME = r"^[ \t]*([0-9a-f]{8,16})[ \t]+(\S.*?)[ \t]*\((.*?)\)?(?:[ \t]*\+[ \t]*([0-9a-f]+))?$"
BARE_SUN_FRAME = r"^[ \t]*[0-9a-f]{8,16}[ \t]+(?:\?{8}|\S+)(?:[ \t]+\(.*)?"
AIX_FRAME = r"^[ \t]*0x([0-9a-f]{8,16})[ \t]+(\S[^(]*?)\(.*\)(?:[ \t]+\+[ \t]+0x([0-9a-f]+))?$"
CURRENT = r"^0x[0-9a-f]+ in \S"
MORE_OF_GDB = (
    r"^[ \t]+(?:at|from) \S|^[ \t]{4,}[A-Za-z_][\w.$]* = |^ {4}[A-Za-z_][\w.$]*=|^[ \t]+\(.*\) (?:from|at) \S"
    r"|^No locals\.$|^No symbol table info available\.$|^Backtrace stopped: |^\(More stack frames|^[ \t]*\(gdb\)[ \t]"
)
"""Further lines of gdb: where a frame is, arguments on separate lines, locals, messages of gdb, typed commands."""
GDB_INFO = (
    r"^[* \t][ \t]*[0-9]+[ \t]+(?:Thread 0x[0-9a-f]+ \(LWP ([0-9]+)\)|(?:LWP|Thread|process) ([0-9]+)(?: thread 0x[0-9a-f]+)?)"
    r"(?: \"([^\"]*)\")?[ \t]{1,40}(?:0x[0-9a-f]+ in )?([^ \t(][^(]*)(?:\(|$)"
)
GDB_INFO_HEAD = r"^[ \t]*Id[ \t]+Target Id[ \t]+Frame$"
"""Heading of `info threads`, which lists the innermost frame of each thread."""
OUTERMOST = r"^[ \t]*[0-9a-f]{8,16}[ \t]+_(?:start|lwp_start|thread_start)[ \t]*\("
"""Stack frames in which a process or a thread of Solaris begins."""
MUTEX = r"\((?:__)?(?:mutex|futex|rwlock|lock)=(?:0x)?([0-9a-f]{4,16})\b"
"""Lock in the arguments of a frame of gdb."""
GDB_FRAME = r"^#([0-9]+)[ \t]+(?:0x[0-9a-f]+ (?:in )?)?(\S[^(]*?)(?:[ \t]*\(.*)?$"

FORMAT = Format(
    kind="pstack",
    variant="pstack",
    version="1",
    systems=("solaris", "illumos", "aix", "linux"),
    tables=("profile_stacks",),
    man="pstack(1)",
    example="pstack PID",
    own=rf"{LWP}|{GDB_THREAD}|^[ \t]*[0-9a-f]{{8,16}} +[A-Za-z_?.~][^ (]* *\([^)]*\)?(?: \+ [0-9a-f]+)?$|^#[0-9]+ +0x[0-9a-f]+ in \S|{AIX_FRAME}|{GDB_INFO}",
)


_SUN_FRAME = re.compile(SUN_FRAME)
_COPIED = re.compile(r"[ \t]*[0-9]+ bytes ")
"""Last line of dd; its number of bytes looks like the address of a frame."""


def claim(head: Head) -> Claim | None:
    """Claim by lines of threads with stack frames, or by a `pid:` line over frames with arguments."""
    text = head.text
    if "(" not in text:
        return None
    first = head.lines[:400]
    frames, more = sum(1 for x in first if "(" in x and _SUN_FRAME.match(x) and not _COPIED.match(x)), 0
    if "lwp#" in text or "thread#" in text or "tid#" in text:
        threads = sum(1 for x in first if re.match(LWP, x))
        frames += sum(1 for x in first if re.match(AIX_FRAME, x))
        # truss has lwp numbers too, but no rule of dashes around them.
        if threads and frames:
            return Claim(0.95, f"{threads} threads and {frames} frames of pstack", "pstack")
    if "#0 " in text or ("#" in text and head.shows(r"(?m)^#[0-9]+ +0x[0-9a-f]+ in ")):
        gdb = sum(1 for x in first if re.match(GDB_FRAME, x))
        more = sum(1 for x in first if re.match(MORE_OF_GDB, x))
        threads = sum(1 for x in first if re.match(GDB_THREAD, x))
        if gdb * 2 > _filled(first) - more and (threads or gdb >= 2):
            return Claim(0.9 if threads else 0.8, f"{gdb} frames of gstack, {threads} threads", "pstack")
    if re.search(r"LWP |Thread |process ", text) and (standing := sum(1 for x in first if re.match(GDB_INFO, x))) >= 2:
        return Claim(0.9, f"{standing} threads of gdb's info threads", "pstack")
    process = any(re.match(PROCESS, x) for x in head.lines[:50])
    if process and "0x" in text:
        # A process with one thread has no line of it in procstack.
        single = sum(1 for x in first if re.match(AIX_FRAME, x) and not re.match(CURRENT, x))
        if single >= 2 and single * 2 > _filled(first):
            return Claim(0.9, f"{single} frames of procstack", "pstack")
    if (
        frames >= 2
        and frames * 2 > _filled(first) - more
        and not any(re.search(r"\(/\S+\)$|\(\[\S+\]\)$", x) for x in head.lines[:20])
    ):
        return Claim(0.9 if process else 0.7, f"{frames} frames with arguments", "pstack")
    return None


def _filled(lines: list[str]) -> int:
    return sum(1 for x in lines if x and not re.match(ELISION, x))


def parse(source: Source, out: Tables, state: State) -> State:
    """Read a run of blocks; `state` holds the open thread and its process."""
    text = pl.col("line")
    process, thread = text.str.contains(PROCESS), text.str.contains(LWP) | text.str.contains(GDB_THREAD)
    aix = text.str.contains(AIX_FRAME) & ~text.str.contains(CURRENT)
    frame = text.str.contains(BARE_SUN_FRAME) | aix | text.str.contains(GDB_FRAME)
    more_of = text.str.contains(MORE_OF_GDB)
    begins = process | thread | text.str.contains(r"^#0[ \t]")
    info, head = text.str.contains(GDB_INFO), text.str.contains(GDB_INFO_HEAD)
    for lines, more in records(source, out, state, process | thread | info, begins | frame | more_of | info | head):
        out.read(lines.filter(more_of | head)["line_no"])
        shaped = _joined(
            lines.filter(~more_of & ~info).with_columns(process=process, thread=thread, frame=frame & ~process), out
        )
        of = pl.when(process).then(text.str.extract(PROCESS, 1).cast(pl.Int64, strict=False)).forward_fill()
        above = lines.with_columns(pid=of.fill_null(pl.lit(state.get("pid"), pl.Int64)))
        rows = [_stacks(shaped, out, state, more), _standing(above.filter(info))]
        out.add("profile_stacks", pl.concat(rows, how="diagonal_relaxed").sort("line_no"), span="ends")
    return state


def _standing(lines: pl.DataFrame) -> pl.DataFrame:
    """Return a row for each line of `info threads`: the innermost frame only."""
    if lines.is_empty():
        return _NONE
    fields = pl.col("line").str.extract_groups(GDB_INFO).struct.rename_fields(["thread", "process", "comm", "leaf"])
    return (
        lines.with_columns(fields.alias("g"))
        .unnest("g")
        .with_columns(pl.coalesce("thread", "process").alias("lwp"), pl.col("leaf").str.strip_chars_end(" \t"))
        .select(
            "line_no",
            pl.col("line_no").alias("line_end"),
            "pid",
            "comm",
            pl.concat_list("leaf").alias("frames"),
            weight=pl.lit(1.0),
            unit=pl.lit("samples"),
            lwp=pl.col("lwp").cast(pl.Int64, strict=False),
            leaf="leaf",
            kernel=pl.lit(False),
            complete=pl.lit(False),
        )
    )


_NONE = pl.DataFrame(schema={"line_no": pl.Int64})


def _joined(lines: pl.DataFrame, out: Tables) -> pl.DataFrame:
    """Join stack frames that were wrapped: the parentheses of a frame's arguments close on its next line."""
    text = pl.col("line")
    open_ = pl.col("frame") & (text.str.count_matches(r"\(") > text.str.count_matches(r"\)"))
    tail = open_.shift(1).fill_null(False) & ~pl.col("frame") & ~pl.col("thread") & text.str.contains(r"^[^(]*\)")
    marked = lines.with_columns(tail=tail)
    if not marked["tail"].any():
        return lines
    following = pl.concat_str([text, pl.lit(" "), text.shift(-1).str.strip_chars_start(" \t")])
    marked = marked.with_columns(line=pl.when(pl.col("tail").shift(-1)).then(following).otherwise(text))
    tails = marked.filter("tail")["line_no"]
    out.read(tails)
    for line in tails.head(200):
        out.note(
            line - 1,
            line,
            "repaired",
            "a frame wrapped to two lines was put together: its bracket closes on the second",
        )
    return marked.filter(~pl.col("tail")).drop("tail")


def _stacks(lines: pl.DataFrame, out: Tables, state: State, more: bool) -> pl.DataFrame:
    text = pl.col("line")
    pid = pl.when("process").then(text.str.extract(PROCESS, 1).cast(pl.Int64, strict=False)).forward_fill()
    comm = pl.when("process").then(program(text.str.extract(PROCESS, 2))).forward_fill()
    lwps = pl.coalesce(
        *[text.str.extract(LWP, i) for i in (1, 2, 3)], *[text.str.extract(GDB_THREAD, i) for i in (1, 2)]
    )
    fresh = pl.col("process") | pl.col("thread")
    zero = text.str.contains(r"^#0[ \t]") & ~pl.col("thread").shift(1).fill_null(False)
    # After the outermost frame and a blank line another stack begins, even where its head was not pasted.
    below = (pl.col("frame") & (text.shift(1) == "") & text.shift(2).str.contains(OUTERMOST)).fill_null(False)
    taken = (pl.col("frame").cum_sum() - pl.col("frame").cast(pl.UInt32, strict=False)).over(fresh.cum_sum()) > 0
    marked = lines.with_columns(
        pid=pid.fill_null(pl.lit(state.get("pid"), pl.Int64)),
        comm=comm.fill_null(pl.lit(state.get("comm"), pl.String)),
        # A stack without a head does not belong to the thread above it.
        lwp=pl.when(fresh)
        .then(lwps.cast(pl.Int64, strict=False).fill_null(-1))
        .when((zero & taken) | below)
        .then(-1)
        .forward_fill(),
        # gdb numbers the frames, so #0 begins a stack also where threads are not printed.
        group=(fresh | zero | below).cum_sum(),
        headed=pl.when(fresh).then(True).forward_fill().fill_null(False),
        ended=(fresh | (text == "")).shift(-1, fill_value=more or None),
    )
    out.read(marked.filter(fresh | pl.col("frame"))["line_no"])
    if len(marked):
        state["pid"], state["comm"] = marked["pid"].item(-1), marked["comm"].item(-1)
    symbol = pl.coalesce(
        text.str.extract(AIX_FRAME, 2),
        text.str.extract(GDB_FRAME, 2),
        text.str.extract(SUN_FRAME, 2),
        text.str.extract(r"^[ \t]*[0-9a-f]{8,16}[ \t]+(\S+)", 1),
    )
    frames = marked.filter("frame").with_columns(symbol=symbol.str.strip_chars())
    if frames.is_empty():
        return _NONE
    number = frames["line"].str.extract(GDB_FRAME, 1).cast(pl.Int64, strict=False)
    rows = (
        frames.with_columns(number=number)
        .group_by("group", maintain_order=True)
        .agg(
            pl.col("line_no").first(),
            pl.col("line_no").last().alias("line_end"),
            *[pl.col(c).first() for c in ("pid", "comm", "lwp", "headed")],
            pl.col("number").first(),
            pl.col("ended").last(),
            pl.col("line").first().alias("first"),
            pl.col("line").head(4).str.extract(MUTEX, 1).drop_nulls().first().alias("lock"),
        )
    )
    owner = rows["group"].search_sorted(frames["group"])
    names = rows.with_columns(
        frames=nested(frames["symbol"], owner, len(rows)), frame_lines=nested(frames["line_no"], owner, len(rows))
    )
    # A leaf without `+` is a system call; whether it runs in the kernel is not printed.
    begun = pl.col("headed") | pl.col("number").eq(0).fill_null(False)
    return names.select(
        "line_no",
        "line_end",
        "pid",
        "comm",
        "frames",
        "frame_lines",
        weight=pl.lit(1.0),
        unit=pl.lit("samples"),
        waits_for=pl.concat_str(pl.lit("0x"), "lock"),
        lwp=pl.when(pl.col("lwp") >= 0).then("lwp"),
        leaf=pl.col("frames").list.first(),
        kernel=pl.lit(False),
        complete=pl.when(begun).then(pl.col("ended")).otherwise(False),
    )
