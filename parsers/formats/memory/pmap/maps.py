r"""Address maps of single processes from other sources: /proc/PID/maps and smaps of Linux, procmap of AIX.

Files and tools: /proc/PID/maps, /proc/PID/smaps, smaps_rollup (proc(5)); AIX procmap(1). Capture: `cat /proc/PID/smaps`, `procmap PID`.

Samples::

    7f2c40000000-7f2c80000000 rw-s 00000000 00:04 32769                      /SYSV00000000 (deleted)
    Rss:               81920 kB
    184468 : /usr/sbin/syslogd
    10000000 27K read/exec syslogd

Tables: pmap (a row for each mapping; kbytes of maps is the difference of the addresses; dirty_kb = shared and private), ps (rss_kb of
smaps_rollup, vsz_kb of procmap's total). Clock: none. Traps: in maps the inode of a System V segment is its shmid and the
name contains the key; for maps and smaps only the command at the prompt names the process. Known gaps: offsets, devices, VmFlags;
procmap -X.
"""

from __future__ import annotations

import re

import polars as pl

from parsers.columns.small_texts import share
from parsers.declarations import Claim, Format
from parsers.formats.memory.pmap.mappings import named
from parsers.tables.rows import State, Tables
from parsers.text.source import Head, Source

MAP = r"^[ \t]*([0-9a-f]{4,16})-([0-9a-f]{4,16}) +([r-][w-][x-][ps]) +[0-9a-f]{8,16} +[0-9a-f]{2,4}:[0-9a-f]{2,8} +([0-9]{1,18})(?:[ \t]+(\S.*))?$"
DETAIL = r"^([A-Z][A-Za-z]+(?:_[A-Z][A-Za-z]+)*): +([0-9]{1,15}) kB$"
FLAGS = r"^(?:VmFlags:(?: [a-z]{2})*|THPeligible: +[01]|ProtectionKey: +[0-9]+)$"
PROCMAP = (
    r"^[ \t]*([0-9a-f]{8,16})[ \t]+([0-9]{1,15})K[ \t]+((?:read|write|exec|none)(?:/(?:write|exec))*)(?:[ \t]+(\S.*))?$"
)
PROCESS = r"^([0-9]{1,10}) : (\S.*)$"
TOTAL = r"^[ \t]*Total[ \t]+([0-9]{1,15})K$"
FORMATS = (
    Format(
        kind="pmap",
        variant="maps",
        version="1",
        systems=("linux",),
        tables=("pmap", "ps"),
        man="proc(5)",
        example="cat /proc/PID/smaps",
        own=rf"{MAP}|^(?:Size|Rss|Pss|Shared_(?:Clean|Dirty|Hugetlb)|Private_(?:Clean|Dirty|Hugetlb)|Referenced|Anonymous|LazyFree|AnonHugePages|ShmemPmdMapped"
        r"|FilePmdMapped|Swap|SwapPss|KernelPageSize|MMUPageSize|Locked|Pss_[A-Z][a-z]+): +[0-9]+ kB$|^VmFlags: ",
    ),
    Format(
        kind="pmap",
        variant="procmap",
        version="1",
        systems=("aix",),
        tables=("pmap", "ps"),
        man="procmap(1)",
        example="procmap PID",
        own=rf"{PROCMAP}|{TOTAL}",
    ),
)

_MAPS, _PROCMAP = (re.compile(f.own) for f in FORMATS)
HELD_LINES = 100
"""Maximum number of lines of one mapping."""

_DETAILS = {
    "rss_kb": "Rss",
    "pss_kb": "Pss",
    "anon_kb": "Anonymous",
    "swap_kb": "Swap",
    "locked_kb": "Locked",
    "pgsz_kb": "KernelPageSize",
}


def claim(head: Head) -> Claim | None:
    """Claim by rows of address ranges, or of an address with permissions in words."""
    lines = head.lines[:40]
    if any(re.match(MAP, x) for x in lines):
        count, fraction = share(head, _MAPS)
        if fraction >= 0.5:
            return Claim(0.5 + 0.45 * fraction, f"{count} lines of /proc/PID/maps or smaps", "maps")
    if any(re.match(PROCMAP, x) for x in lines):
        count, fraction = share(head, _PROCMAP)
        if fraction >= 0.5:
            return Claim(0.5 + 0.45 * fraction, f"{count} lines of procmap", "procmap")
    return None


def parse(source: Source, out: Tables, state: State) -> State:
    """Read a run of blocks; `state` keeps the lines of the mapping that may continue, or procmap's process."""
    match = re.search(r"/proc/([0-9]{1,10})/|procmap +([0-9]{1,10})", source.hints.command or "")
    if match:
        state.setdefault("pid", int(match[1] or match[2]))
    for block in source.blocks():
        if state["variant"] == "maps":
            _maps(block.frame, out, state)
        else:
            _procmap(block.frame, out, state)
    if state["variant"] == "maps" and source.last:
        _write(_frame(state.pop("held", [])), out, state)
    return state


def _frame(lines: list[tuple[int, str]]) -> pl.DataFrame:
    return pl.DataFrame(lines, schema={"line_no": pl.Int64, "line": pl.String}, orient="row")


def _maps(frame: pl.DataFrame, out: Tables, state: State) -> None:
    """Write all mappings but the last one, whose details may stand in the next block."""
    line = pl.col("line")
    mine = frame.filter(line.str.contains(MAP) | line.str.contains(DETAIL) | line.str.contains(FLAGS))
    lines = pl.concat([_frame(state.pop("held", [])), mine])
    heads = lines.select(line.str.contains(MAP).arg_true()).to_series()
    if not len(heads):
        return
    last = int(heads[-1])
    held = lines[last:][:HELD_LINES]
    out.read(held["line_no"])
    state["held"] = [list(row) for row in held.iter_rows()]
    _write(lines[int(heads[0]) : last], out, state)


def _write(lines: pl.DataFrame, out: Tables, state: State) -> None:
    if lines.is_empty():
        return
    line = pl.col("line")
    lines = lines.with_columns(
        line.str.extract_groups(MAP).struct.rename_fields(["from", "to", "mode", "inode", "mapping"]).alias("m"),
        line.str.extract_groups(DETAIL).struct.rename_fields(["detail", "kb"]).alias("d"),
    ).unnest("m", "d")
    lines = lines.with_columns(pl.col("kb").cast(pl.Float64), group=pl.col("from").is_not_null().cum_sum())

    def detail_kb(name: str) -> pl.Expr:
        return pl.col("kb").filter(pl.col("detail") == name).first()

    first = [pl.col(n).first() for n in ("line_no", "from", "to", "mode", "inode", "mapping")]
    dirty = detail_kb("Shared_Dirty") + detail_kb("Private_Dirty")
    details = {column: detail_kb(name) for column, name in _DETAILS.items()}
    rows = lines.group_by("group", maintain_order=True).agg(
        *first, line_end=pl.col("line_no").last(), dirty_kb=dirty, **details
    )
    address = {n: pl.col(n).str.to_integer(base=16, dtype=pl.UInt64, strict=False) for n in ("from", "to")}
    rows = rows.with_columns(addr=address["from"], behind=address["to"])
    rollup = rows.filter(pl.col("mapping") == "[rollup]")
    out.add("ps", rollup.select("line_no", "line_end", "rss_kb", pid=pl.lit(state.get("pid"), pl.Int64)))
    rows = rows.filter(pl.col("mapping").ne_missing("[rollup]"))
    size = pl.when(pl.col("behind") >= pl.col("addr")).then((pl.col("behind") - pl.col("addr")).cast(pl.Float64) / 1024)
    out.add(
        "pmap",
        rows.select(
            "line_no",
            "line_end",
            "addr",
            "mode",
            "mapping",
            "dirty_kb",
            *_DETAILS,
            *named(),
            pid=pl.lit(state.get("pid"), pl.Int64),
            kbytes=size,
        ),
    )


def _procmap(frame: pl.DataFrame, out: Tables, state: State) -> None:
    line = pl.col("line")
    is_process = line.str.contains(PROCESS)
    out.read(frame.filter(is_process)["line_no"])
    located = frame.with_columns(
        pid=line.str.extract(PROCESS, 1)
        .cast(pl.Int64, strict=False)
        .forward_fill()
        .fill_null(pl.lit(state.get("pid"), pl.Int64)),
        command=line.str.extract(PROCESS, 2).forward_fill().fill_null(pl.lit(state.get("command"), pl.String)),
    )
    if len(located):
        state |= {"pid": located["pid"][-1], "command": located["command"][-1]}
    groups = line.str.extract_groups(PROCMAP).struct.rename_fields(["from", "kb", "mode", "mapping"])
    rows = (
        located.with_columns(g=groups, inode=pl.lit(None, pl.String)).unnest("g").filter(pl.col("from").is_not_null())
    )
    address = pl.col("from").str.to_integer(base=16, dtype=pl.UInt64, strict=False)
    kb = pl.col("kb").cast(pl.Float64)
    out.add("pmap", rows.select("line_no", "pid", "command", "mode", "mapping", *named(), addr=address, kbytes=kb))
    totals = located.filter(line.str.contains(TOTAL))
    out.add("ps", totals.select("line_no", "pid", comm="command", vsz_kb=line.str.extract(TOTAL, 1).cast(pl.Float64)))
