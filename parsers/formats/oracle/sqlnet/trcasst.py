"""Reports of trcasst, the Trace Assistant of Oracle Net: packets and error stacks of a trace, 10g to 12c.
Source: Net Services Administrator's Guide, "Trace Assistant".

    <--- Received 190 bytes - Connect packet  timestamp=014-11-15 16:44:06.389016
    Connect data length: 132
    Connect Data:
        (ADDRESS=(PROTOCOL=beq)(PROGRAM=/u01/app/oracle/product/11.2.0/db/bin/
        tnslsnr)(ENVS=)(ARGV0=)(ARGS='LISTENER,-inherit')(DETACH=yes))
    ---> Send 103 bytes - Refuse packet  timestamp=014-11-15 16:45:02.346088

Tables: sqlnet, one row for each packet (func NULL; the report names none) and each error stack. Clock: wall-local. Traps: the year lacks
its first digit; texts are wrapped at 70 characters inside words; the lines of a data packet may contain statements and values and are
masked. Known gaps: the statistics at the end and the explanations of codes give no rows.
"""

from __future__ import annotations

import re

import polars as pl

from parsers.declarations import Claim, Format
from parsers.repair.rewrap import PASTE, rejoin
from parsers.secrets import connect_descriptors
from parsers.tables.rows import Domain, State, Tables
from parsers.text.source import Head, Source
from parsers.text.times import WALL_BASE, wall_seconds

FORMAT = Format(
    kind="sqlnet",
    variant="trcasst",
    version="1",
    systems=("solaris", "linux", "aix", "hpux", "windows"),
    tables=("sqlnet",),
    man="Oracle Net Services Administrator's Guide, Trace Assistant",
    example="trcasst -odt -e1 -s FILE",
    split="none",
    clocks=("wall-local", "none"),
    own=(
        r"^ *(?:<---|--->) (?:Received|Send) [0-9]|^ *Error found\. Error Stack follows|^Trace Assistant Utility: |^Trace File Statistics:"
        r"|^(?:Start|End) Timestamp *:|^ +Bytes +Bytes$|^ +Sent +Rcvd$|^-{5,}$|^/{5,}$|^[0-9]{5}, 00000 |^ NS & NT Errors| (?:id|NS|NT):[0-9]|^\*{5,}"
    ),
)

DECIDE_LINES = 2000
"""Number of lines by which the side of the trace is decided, so that the size of blocks changes nothing."""

_PACKET = r"^ *(<---|--->) (?:Received|Send) ([0-9]+) bytes - ([A-Za-z]+) packet(?: +timestamp=([0-9-]+ [0-9:.]+))?"
_STACK = r"^ *Error found\. Error Stack follows(?: for thread #: ([0-9]+))?"
_START = rf"(?:{_PACKET})|(?:{_STACK})"
_END = r"^-{5,}$|^/{5,}$"
_NUMBER = {
    "ns": "NS Error 1",
    "ns2": "NS Error 2",
    "nt0": "NT Generic Error",
    "nt1": "Protocol Error",
    "os": "OS Error",
}
_REPORT = (
    r"^Trace Assistant Utility: |^Copyright \(c\)|^[* ]*\*+[A-Za-z* ]*$|^ +Bytes +Bytes$|^ +Sent +Rcvd$|^[-/]{1,80}$|^Trace File Statistics:"
    r"|^(?:Start|End) Timestamp *:|^Total |^ +(?:Total|Average|Maximum|Grand|Operation)|^[A-Z ]+:$|^ *// |^[0-9]{5}, 00000 |^ NS & NT Errors"
)

_HEAD = r"^ *(?:<---|--->) .* timestamp=[0-9-]+ [0-9:]+\.[0-9]{6}$"
_BEGINS = (
    rf"{_START}|{_REPORT}|^ {{4,}}|^\s*$|^(?:Connect|Redirect|Refuse|Accept|Marker|Resend|Control) [dDp]|^ *(?:<---|--->) "
    r"|^(?:NS|NT|OS|Protocol) (?:Error|Generic)|^(?:User|System) return|^ *(?:NS|NT|OS) "
)
"""Beginnings of lines, by which lines broken in two are joined."""

_WHEN = re.compile(r"([0-9]{1,4})-([0-9]{1,2})-([0-9]{1,2}) ([0-9]{1,2}):([0-9]{1,2}):([0-9]{1,2}(?:\.[0-9]{1,9})?)")


def claim(head: Head) -> Claim | None:
    """Claim by packets, error stacks and the title of the report."""
    packets = sum(line.lstrip().startswith(("<--- Received ", "---> Send ")) for line in head.lines)
    stacks = sum("Error Stack follows" in line for line in head.lines)
    titled = any(line.startswith("Trace Assistant Utility: Version") for line in head.lines[:10])
    if not (packets or stacks):
        return None
    strength = 0.95 if titled or packets >= 3 else 0.8
    return Claim(strength, f"report of the Trace Assistant: {packets} packets, {stacks} error stacks", "trcasst")


def parse(source: Source, out: Tables, state: State) -> State:
    """Read a run of blocks; `state` keeps the last packet or stack, which may continue, the side, and the last time."""
    schema = {"line_no": pl.Int64, "line": pl.String}
    held = pl.DataFrame(state.get("held", []), schema=schema, orient="row")
    carry = {key: state.get(key) for key in ("seq", "side", "prev_line", "t", "t_begin", "t_end")}
    held = held.with_columns(line_end=pl.col("line_no"))
    broken: dict[int, str] = {}
    for frame in source.frames(PASTE):
        broken = dict(frame.iter_rows()) if source.is_small(PASTE) else {}
        lines = pl.concat([held, rejoin(frame, source, out, _BEGINS, _HEAD).select(held.columns)])
        if carry["seq"] is None and len(lines) < DECIDE_LINES:
            held = lines
            continue
        starts = lines.filter(pl.col("line").str.contains(_START))["line_no"]
        cut = int(starts[-1]) if len(starts) else int(lines["line_no"][-1]) + 1
        held = lines.filter(pl.col("line_no") >= cut)
        _emit(lines.filter(pl.col("line_no") < cut), broken, out, carry)
    if source.last:
        _emit(held, broken, out, carry)
        held = held.clear()
    else:
        out.read(held["line_no"])
    if source.next_line > source.first_line:
        base = None if carry["t_begin"] is None else WALL_BASE
        lines_read = [(source.first_line, source.next_line - 1)]
        out.domain(
            Domain(
                1,
                "wall-local" if base else "none",
                base,
                t_begin=carry["t_begin"],
                t_end=carry["t_end"],
                lines=lines_read,
            )
        )
    rows = [(line_no, connect_descriptors.masked(line)) for line_no, line in held.select(*schema).iter_rows()]
    return state | carry | {"held": rows}


def _emit(lines: pl.DataFrame, broken: dict[int, str], out: Tables, carry: dict[str, int | float | str | None]) -> None:
    """Write the rows of complete packets and stacks; `broken` has the unjoined lines of a paste by number, for masking."""
    line = pl.col("line")
    lines = lines.with_columns(begins=line.str.contains(_START)).with_columns(block=pl.col("begins").cum_sum())
    ended = (line.str.contains(_END) & ~pl.col("begins")).cum_max().over("block")
    lines = lines.with_columns(own=(pl.col("block") > 0) & ~ended)
    out.read(lines.filter(~pl.col("own") & line.str.contains(_REPORT))["line_no"])
    # Explanations of codes stand between the numbers of a stack and its last rule; their lines begin with a blank and slashes.
    of_blocks = lines.filter("own").filter(line.str.strip_chars() != "")
    if not len(of_blocks):
        return
    head = line.filter(pl.col("begins")).first()
    blocks = of_blocks.group_by("block", maintain_order=True).agg(
        pl.col("line_no").min(), pl.col("line_no").alias("numbers"), pl.col("line_end").alias("ends"), line.alias("lines"),
        pl.col("line_end").max(), head=head,
        body=line.filter(~pl.col("begins") & line.str.contains("^    ")).str.strip_chars_start().str.join(""),
        **{key: line.str.extract(rf"{name}: *([0-9]+)").drop_nulls().first() for key, name in _NUMBER.items()},
    )  # fmt: skip
    groups = pl.col("head").str.extract_groups(_PACKET).struct
    blocks = blocks.with_columns(
        arrow=groups.field("1"), bytes=groups.field("2").cast(pl.Int64, strict=False), ptype=groups.field("3").str.to_lowercase(), stamp=groups.field("4"),
        thread=pl.col("head").str.extract(_STACK),
    )  # fmt: skip
    times = {text: _seconds(text) for text in blocks["stamp"].drop_nulls().unique()}
    blocks = blocks.with_columns(
        t_local=pl.col("stamp").replace_strict(times, return_dtype=pl.Float64) if times else pl.lit(None, pl.Float64),
        body=pl.when(pl.col("ptype") == "data").then(pl.lit("")).otherwise("body"),
    )
    out.secrets(_places(blocks, broken))
    masked = {text: connect_descriptors.masked(text) for text in blocks["body"].unique()}
    body = pl.col("body").replace(masked)
    seq = int(carry["seq"] or 0)
    if carry["seq"] is None:
        carry["side"] = _side(blocks.filter(pl.col("line_no") < blocks["line_no"][0] + DECIDE_LINES))
    previous = pl.col("line_no").shift(1, fill_value=carry["prev_line"])
    gap = pl.col("t_local") - pl.col("t_local").shift(1, fill_value=carry["t"])
    code = pl.coalesce(
        pl.when(pl.col("ns") != "0").then(pl.col("ns").cast(pl.Int64, strict=False)),
        connect_descriptors.error(pl.col("body")),
    )
    rows = blocks.select(
        "line_no", "line_end", "t_local", "thread", "bytes", "ptype",
        side=pl.lit(carry["side"], pl.String), seq=pl.int_range(seq + 1, seq + 1 + len(blocks)), event=pl.lit("info"),
        text=pl.concat_str(pl.col("head").str.strip_chars(), pl.lit(" "), body).str.strip_chars(),
        direction=pl.when(pl.col("arrow") == "<---").then(pl.lit("in")).when(pl.col("arrow") == "--->").then(pl.lit("out")),
        service=connect_descriptors.service(body), program=connect_descriptors.program(body), err=pl.format("TNS-{}", code),
        secondary=pl.when(pl.col("ns").is_not_null()).then(pl.concat_list("ns2", "nt0", "nt1", "os")),
        prev_line=previous, gap_s=pl.when(gap >= 0).then(gap.round(6)),
        # The report has all packets and nothing else, so events within a gap between two packets are unknown.
        contiguous=pl.when(previous.is_null() | (gap < 0)).then(pl.lit("broken")).otherwise(pl.lit("assumed")),
    )  # fmt: skip
    out.add("sqlnet", rows)
    carry["seq"], carry["prev_line"], carry["t"] = seq + len(rows), rows["line_no"][-1], rows["t_local"][-1]
    stamps = [
        t
        for t in (carry["t_begin"], carry["t_end"], rows["t_local"].min(), rows["t_local"].max())
        if isinstance(t, float)
    ]
    carry["t_begin"], carry["t_end"] = min(stamps, default=None), max(stamps, default=None)


def _places(blocks: pl.DataFrame, broken: dict[int, str]) -> pl.DataFrame:
    """Return the places to mask: lines of data packets as a whole, accounts in descriptors, which are wrapped inside words."""
    spans: list[tuple[int, int, int, str]] = []
    for ptype, *columns in blocks.select("ptype", "numbers", "ends", "lines").iter_rows():
        indented = [row for row in zip(*columns, strict=True) if row[2].startswith("    ")]
        below = [(n, broken.get(n, text)) for first, last, text in indented for n in range(first, last + 1)]
        if ptype == "data":
            spans += [(n, 0, len(text), "payload") for n, text in below]
            continue
        spans += connect_descriptors.wrapped_spans(below)
    return connect_descriptors.places(spans)


def _side(blocks: pl.DataFrame) -> str | None:
    if len(blocks.filter((pl.col("ptype") == "connect") & (pl.col("arrow") == "--->"))):
        return "client"
    refers = blocks.filter(pl.col("ptype").is_in(["refuse", "redirect"]) & (pl.col("arrow") == "--->"))
    return "listener" if len(refers) else None


def _seconds(text: str) -> float | None:
    """Return the seconds of `014-11-15 16:44:06.389016`; the first digit of the year, which is missing, is 2."""
    match = _WHEN.fullmatch(text)
    if match is None:
        return None
    year, month, date, hour, minute = (int(match[i]) for i in range(1, 6))
    return wall_seconds(year + 2000 if year < 1000 else year, month, date, hour, minute, float(match[6]))
