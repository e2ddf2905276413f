r"""Stacks of bcc's profile and offcputime on Linux.

Tools: profile and offcputime of bcc (Python) and of libbpf-tools. Manual: profile(8), offcputime(8). Capture: `profile 30`,
`offcputime -p PID 10` (also -U, -K, -d, -v; folded output, -f, is read by the kind flamegraph).

Samples::

    Sampling at 49 Hertz of all threads by user + kernel stack... Hit Ctrl-C to end.
        ffffffff813d0af8 __clear_user
        read
        -                dd (25036)
            4

Tables: profile_stacks (one row for each stack; event on-CPU in samples, or off-CPU in nanoseconds, where the first line states which; else
the weight is a bare count). Clock: none.
Traps: a stack comes before its program and its number. Time off the CPU is not CPU time: never add it to samples. `--` separates
kernel and user frames (-d). A frame of Python may be written `b'read'`. Without addresses it is unknown which frames are of the kernel.
Known gaps: offwaketime, wakeuptime, pages that lost the blanks before the stack frames.
"""

from __future__ import annotations

import re

import polars as pl

from parsers.columns.stack_rows import nested, records
from parsers.declarations import Claim, Format
from parsers.tables.rows import State, Tables
from parsers.text.source import Head, Source

BANNER = r"^[ \t]*(?:Tracing off-CPU time \(us\) of |Sampling (?:at [0-9]+ Hertz|every ))"
BLOCKED = r"^[ \t]*Tracing off-CPU"
WHO = r"^[ \t]+-[ \t]+(\S.*?)[ \t]\(([0-9]+)\)$"
NUMBER = r"^[ \t]+([0-9]+)$"
FRAME = r"^(?: {2,8}|\t)(?:[0-9a-f]{16} )?(?:b'(.+)'|([^ \t0-9'^-]\S*(?: \S+)*))$"
DELIMITER = r"^[ \t]+--$"
BREAK = r"^[ \t]*\^C$"

_ENDED = re.compile(rf"(?m){WHO[:-1]}\n{NUMBER[1:]}")

FORMAT = Format(
    kind="dtrace",
    variant="bcc_stacks",
    version="1",
    systems=("linux",),
    tables=("profile_stacks",),
    man="profile(8)",
    example="profile 30",
    own=rf"{BANNER}|{WHO}",
)


def claim(head: Head) -> Claim | None:
    """Claim by the name and number that end a stack, one below the other."""
    text = head.text
    if ")\n" not in text or " - " not in text.replace("\t-", " -"):
        return None
    found = len(_ENDED.findall(text))
    if not found:
        return None
    return Claim(0.95 if re.search(rf"(?m){BANNER}", text) else 0.85, f"{found} stacks of bcc", "bcc_stacks")


def parse(source: Source, out: Tables, state: State) -> State:
    """Read a run of blocks; `state` holds the measured quantity and the open stack."""
    text = pl.col("line")
    begins = (text == "") | text.str.contains(BANNER) | text.str.contains(BREAK)
    who = text.str.contains(WHO)
    number = text.str.contains(NUMBER) & who.shift(1).fill_null(False)
    inside = text.str.contains(FRAME) | who | number | text.str.contains(DELIMITER)
    for lines, more in records(source, out, state, begins, (begins & (text != "")) | inside):
        banner = text.str.contains(BANNER)
        out.read(lines.filter(banner | text.str.contains(BREAK))["line_no"])
        event = pl.when(banner).then(
            pl.when(text.str.contains(BLOCKED)).then(pl.lit("off-CPU")).otherwise(pl.lit("on-CPU"))
        )
        shaped = lines.with_columns(event=event.forward_fill().fill_null(pl.lit(state.get("event"), pl.String)))
        if len(shaped):
            state["event"] = shaped["event"].item(-1)
        _stacks(shaped, out, last=not more)
    return state


def _stacks(lines: pl.DataFrame, out: Tables, *, last: bool) -> None:
    """Write the stacks that have their program and number, and the stack that the end cuts; other stack frames stay unread."""
    text = pl.col("line")
    who, number = text.str.contains(WHO), text.str.contains(NUMBER)
    frame = (text.str.contains(FRAME) & ~who & ~text.str.contains(BANNER)) | text.str.contains(DELIMITER)
    ended = number & who.shift(1).fill_null(False)
    # A stack is a run of stack frames; any line that is neither a frame nor the end of a stack separates two stacks.
    marked = lines.with_columns(who=who, ended=ended, frame=frame).with_columns(
        group=(pl.col("frame") & ~pl.col("frame").shift(1).fill_null(False)).cum_sum()
    )
    ends = marked.filter("ended").select("group", "line_no", "event", value=text.str.extract(NUMBER, 1))
    programs = marked.filter("who").with_columns(
        comm=text.str.extract(WHO, 1), pid=text.str.extract(WHO, 2), head=pl.col("line_no")
    )
    rows = ends.rename({"line_no": "line_end"}).join(
        programs.select("group", "head", "comm", "pid"), on="group", how="inner", maintain_order="left"
    )
    rows = rows.filter(pl.col("line_end") == pl.col("head") + 1).unique("group", keep="first", maintain_order=True)
    if last and len(marked) and (marked["frame"].item(-1) or marked["who"].item(-1)):
        cut = marked.tail(1).select(
            "line_no", "event", "group", comm=text.str.extract(WHO, 1), pid=text.str.extract(WHO, 2)
        )
        rows = pl.concat([rows, cut.rename({"line_no": "line_end"})], how="diagonal_relaxed")
    frames = marked.filter("frame").join(rows.select("group"), on="group", how="inner", maintain_order="left")
    first = frames.group_by("group", maintain_order=True).agg(
        pl.col("line_no").first(), n=pl.len(), leaf_line=text.first()
    )
    rows = rows.join(first, on="group", how="inner", maintain_order="left")
    if rows.is_empty():
        return
    named = frames.filter(~text.str.contains(DELIMITER))
    symbol = pl.coalesce(text.str.extract(FRAME, 1), text.str.extract(FRAME, 2))
    names = named.select("group", symbol=symbol)
    rows = rows.with_columns(frames=nested(names["symbol"], rows["group"].search_sorted(names["group"]), len(rows)))
    address = pl.col("leaf_line").str.extract(r"^[ \t]+([0-9a-f]{16})[ \t]", 1)
    blocked = pl.col("event").eq("off-CPU").fill_null(False)
    weight = pl.col("value").cast(pl.Float64)
    out.add(
        "profile_stacks",
        rows.select(
            "line_no",
            "line_end",
            "event",
            "comm",
            "frames",
            weight=pl.when(blocked).then(weight * 1000).otherwise(weight),
            unit=pl.when(blocked)
            .then(pl.lit("ns"))
            .when(pl.col("event").is_null())
            .then(pl.lit("count"))
            .otherwise(pl.lit("samples")),
            pid=pl.col("pid").cast(pl.Int64, strict=False),
            leaf=pl.col("frames").list.first(),
            kernel=address.str.starts_with("ffff"),
            complete=pl.col("value").is_not_null(),
        ),
    )
