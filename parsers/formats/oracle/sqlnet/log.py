"""sqlnet.log: blocks that an Oracle client or server writes when a connect fails or a connection dies; 10g to 19c, all systems.
Source: Net Services Administrator's Guide, "Using Log Files"; written by default, in the directory `log_directory_client`.

    ***********************************************************************
    Fatal NI connect error 12514, connecting to:
     (DESCRIPTION=(ADDRESS=(PROTOCOL=TCP)(HOST=db1)(PORT=1521))(CONNECT_DATA=(SERVICE_NAME=js03)(CID=(PROGRAM=sqlplus)(HOST=app1)(USER=u))))
      Time: 15-NOV-2014 16:12:05
      Tns error struct:
        ns main err code: 12564

Tables: logs, one row for each block: `code` is the headline, `secondary` ns secondary, nt main, nt secondary, nt OS in this order.
Clock: wall-local. Traps: headline and `ns main err code` differ; headline 12170 means either a dead connection or an unfinished login;
nt OS and nt secondary are errno values of the host that wrote the file; `Client address` is the peer of a server, the descriptor names
the peer of a client. Known gaps: blocks inside an alert log belong to that kind.
"""

from __future__ import annotations

from typing import TypedDict

import polars as pl

from parsers.clocks import oracle_stamps, stamp_falls
from parsers.declarations import Claim, Format
from parsers.repair.rewrap import PASTE, rejoin
from parsers.secrets import connect_descriptors
from parsers.tables.rows import Domain, State, Tables
from parsers.text.source import Head, Source
from parsers.text.times import WALL_BASE, month, wall_seconds

FORMAT = Format(
    kind="sqlnet",
    variant="log",
    version="1",
    systems=("solaris", "linux", "aix", "hpux", "windows"),
    tables=("logs",),
    man="Oracle Net Services Administrator's Guide, log files",
    example="cat $ORACLE_HOME/network/log/sqlnet.log",
    split="none",
    clocks=("wall-local",),
    own=(
        r"^[ \t]*(?:Fatal NI connect error [0-9]|\*{20,}$|VERSION INFORMATION:|Time: [0-9]|Tracing (?:not )?(?:to|turned)|Tns error struct:"
        r"|n[st] (?:main |secondary |OS |\(2\) +)?err code:|TNS-[0-9]{5}|Client address:|.*TNS for .*: Version |.*Protocol Adapter for .*: Version )"
    ),
)

START = r"^\s*Fatal NI connect error [0-9]+"
_KNOWN = r"^\s*(?:\(|VERSION INFORMATION|TNS|Time:|Tracing|Tns error|ns |nt |Client address)|NT Protocol Adapter"
_BEGINS = rf"{START}|{_KNOWN}|^\s*\*{{20}}|^\s*Version [0-9.]+$"
"""Beginnings of lines, by which lines broken in two are joined."""
_RULE = r"^\s*\*{20,}$"
_TIME = r"^\s*Time: ([0-9]{1,2}-\S{3,12} ?-[0-9]{4} [0-9]{2}:[0-9]{2}:[0-9]{2})"
_CODES = (r"ns main err code: ([0-9]+)", r"ns (?:secondary|\(2\)) +err code: ([0-9]+)", r"nt main err code: ([0-9]+)",
          r"nt (?:secondary|\(2\)) +err code: ([0-9]+)", r"nt OS +err code: ([0-9]+)")  # fmt: skip
_CALLER = r"(?i)\(CID *= *\(PROGRAM *= *.*?\) *\(HOST *= *([^()]+)\)"


class _Carry(TypedDict):
    """First and last stamp of the blocks read so far (s), and the state of `stamp_falls`."""

    t_begin: float | None
    t_end: float | None
    falls: State


def claim(head: Head) -> Claim | None:
    """Claim by headlines of blocks; half as strongly if the blocks are inside an alert log."""
    starts = [i for i, line in enumerate(head.lines) if line.lstrip().startswith("Fatal NI connect error ")]
    if not starts:
        return None
    words = (
        "Tns error struct:",
        "ns main err code:",
        "VERSION INFORMATION:",
        "Time:",
        "Tracing",
        "nt ",
        "ns ",
        "TNS",
        "***",
        "Fatal NI",
        "(",
    )
    text = [line.strip() for line in head.lines if line.strip()]
    share = sum(line.startswith(words) or "NT Protocol Adapter" in line for line in text) / len(text)
    if oracle_stamps.is_alert_block(head.text):
        share /= 2
    return Claim(
        min(0.95, 0.2 + 0.75 * share),
        f"{len(starts)} blocks of Fatal NI connect error, {share:.0%} of the lines theirs",
        "log",
    )


def parse(source: Source, out: Tables, state: State) -> State:
    """Read a run of blocks; `state` keeps the last block of the log, which may continue, and the first and last stamp."""
    schema = {"line_no": pl.Int64, "line": pl.String}
    held = pl.DataFrame(state.get("held", []), schema=schema, orient="row")
    held = held.with_columns(line_end=pl.col("line_no"))
    carry: _Carry = {"t_begin": state.get("t_begin"), "t_end": state.get("t_end"), "falls": state.get("falls", {})}
    for frame in source.frames(PASTE):
        out.secrets(connect_descriptors.secret_columns(frame))
        lines = pl.concat([held, rejoin(frame, source, out, _BEGINS).select(held.columns)])
        starts = lines.filter(pl.col("line").str.contains(START))["line_no"]
        cut = int(starts[-1]) if len(starts) else int(lines["line_no"][-1]) + 1
        held = lines.filter(pl.col("line_no") >= cut)
        _emit(lines.filter(pl.col("line_no") < cut), out, carry)
    if source.last:
        _emit(held, out, carry)
        held = held.clear()
    else:
        out.read(held["line_no"])
    if source.next_line > source.first_line:
        kind, base = ("none", None) if carry["t_begin"] is None else ("wall-local", WALL_BASE)
        lines_read = [(source.first_line, source.next_line - 1)]
        out.domain(Domain(1, kind, base, t_begin=carry["t_begin"], t_end=carry["t_end"], lines=lines_read))
    # The lines with which the next run continues are stored with their accounts masked.
    rows = [(line_no, connect_descriptors.masked(line)) for line_no, line in held.select(*schema).iter_rows()]
    return {**state, **carry, "held": rows}


def _emit(lines: pl.DataFrame, out: Tables, carry: _Carry) -> None:
    line = pl.col("line")
    lines = lines.with_columns(
        block=line.str.contains(START).cum_sum(), rule=line.str.contains(_RULE), blank=line.str.strip_chars() == ""
    )
    out.read(lines.filter("rule")["line_no"])
    # A block ends with its last known line; text that a person wrote after it stays unknown.
    known = line.str.contains(START) | line.str.contains(_KNOWN)
    of_blocks = lines.filter((pl.col("block") > 0) & ~pl.col("rule")).with_columns(
        last=pl.col("line_no").filter(known).max().over("block")
    )
    of_blocks = of_blocks.filter(pl.col("line_no") <= pl.col("last"))
    if not len(of_blocks):
        return
    seen = of_blocks.filter(connect_descriptors.looks_secret(line))
    texts = {text: connect_descriptors.masked(text) for text in seen["line"].unique()}
    of_blocks = of_blocks.with_columns(line=line.replace(texts) if texts else line)
    address = line.str.strip_chars().str.starts_with("(")
    blocks = of_blocks.group_by("block", maintain_order=True).agg(
        pl.col("line_no").min(),
        pl.col("line_end").max(),
        code=line.str.extract(r"Fatal NI connect error ([0-9]+)").drop_nulls().first(),
        time=line.str.extract(_TIME).drop_nulls().first(),
        called=line.filter(address).str.join(""),
        client=line.filter(line.str.contains("Client address")).str.join(""),
        text=line.filter(~pl.col("blank")).str.join("\n"),
        **{f"c{i}": line.str.extract(pattern).drop_nulls().first() for i, pattern in enumerate(_CODES)},
    )
    times = {text: _seconds(text) for text in blocks["time"].drop_nulls().unique()}
    called = pl.coalesce(pl.when(pl.col("client") != "").then("client"), "called")
    rows = blocks.select(
        "line_no", "line_end", "text",
        t_local=pl.col("time").replace_strict(times, return_dtype=pl.Float64) if times else pl.lit(None, pl.Float64),
        source=pl.lit("sqlnet_log"),
        code=pl.format("TNS-{}", pl.col("code").cast(pl.Int64, strict=False)),
        secondary=pl.when(pl.col("c0").is_not_null()).then(pl.concat_list(f"c{i}" for i in range(1, len(_CODES)))),
        peer_ip=connect_descriptors.peer_ip(called), peer_port=connect_descriptors.peer_port(called),
        service=connect_descriptors.service(pl.col("called")), program=connect_descriptors.program(pl.col("called")),
        client_host=pl.col("called").str.extract(_CALLER), ok=pl.lit(False),
    )  # fmt: skip
    out.add("logs", rows)
    stamp_falls.remark(rows, out, carry["falls"])
    stamps: list[float] = rows["t_local"].drop_nulls().to_list()
    ends = [t for t in (carry["t_begin"], carry["t_end"], *stamps) if t is not None]
    carry["t_begin"], carry["t_end"] = min(ends, default=None), max(ends, default=None)


def _seconds(text: str) -> float | None:
    day, clock = text.rsplit(" ", 1)
    date, name, year = day.split("-")
    number = month(name)
    hour, minute, second = (int(p) for p in clock.split(":"))
    return None if number is None else wall_seconds(int(year), number, int(date), hour, minute, second)
