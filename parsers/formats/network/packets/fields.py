r"""Packets as a table of named fields: tshark -T fields with a header.

Tool: tshark(1) -T fields -E header=y, separated by tabs (its default), commas, semicolons or bars, maybe quoted. Capture:
`tshark -r FILE -T fields -E header=y -e frame.time_epoch -e ip.src -e tcp.srcport -e ip.dst -e tcp.dstport -e tcp.flags -e tcp.seq -e tcp.ack -e tcp.len`.

Sample::

    frame.number	frame.time_relative	ip.src	tcp.srcport	ip.dst	tcp.dstport	tcp.len
    9	0.605188000	10.0.0.1	5900	10.0.0.2	57847	5

Tables: packets (a row for each line), tcp_flows where addresses, ports and flags were selected. Clock: wall-utc (frame.time_epoch),
wall-local (frame.time), trace-relative (frame.time_relative), else none. Traps: if a field occurs twice in a packet (tunnels, the packet
that an ICMP error quotes), the first is read; sequence numbers are relative unless `tcp.seq_raw` was selected; empty cells at the end of
a line are lost with its blanks, so a short line is complete unless it is the last one, which may be cut. Known gaps: output without the
header, whose columns are unknown; frame.time_delta, _ws.col.Time; all fields that the table has no column for.
"""

from __future__ import annotations

import re

import polars as pl

from parsers.declarations import Claim, Format
from parsers.formats.network.packets.lines import complete, spelled
from parsers.formats.network.packets.rows import Capture
from parsers.tables.rows import State, Tables, line_span
from parsers.text.source import Head, Source

_NAME = r'"?_?[a-z][A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+)+"?'
HEAD = rf"^{_NAME}(?:\t{_NAME})+$|^{_NAME}(?:,{_NAME})+$|^{_NAME}(?:;{_NAME})+$|^{_NAME}(?:\|{_NAME})+$"
SEPARATORS = "\t,;|"
_FIELDS = {
    "epoch": ("frame.time_epoch",),
    "relative": ("frame.time_relative",),
    "time": ("frame.time",),
    "src": ("ip.src", "ipv6.src", "arp.src.proto_ipv4", "ip.src_host", "_ws.col.source", "_ws.col.def_src"),
    "dst": ("ip.dst", "ipv6.dst", "arp.dst.proto_ipv4", "ip.dst_host", "_ws.col.destination", "_ws.col.def_dst"),
    "tcp_from": ("tcp.srcport",),
    "tcp_to": ("tcp.dstport",),
    "udp_from": ("udp.srcport",),
    "udp_to": ("udp.dstport",),
    "number": ("ip.proto",),
    "layer": ("_ws.col.protocol",),
    "layers": ("frame.protocols",),
    "bits": ("tcp.flags",),
    "words": ("tcp.flags.str",),
    "seq": ("tcp.seq_raw", "tcp.seq"),
    "ack": ("tcp.ack_raw", "tcp.ack"),
    "win": ("tcp.window_size", "tcp.window_size_value"),
    "mss": ("tcp.options.mss_val",),
    "tcp_len": ("tcp.len",),
    "udp_len": ("udp.length",),
    "vlan": ("vlan.id",),
    "asked": ("dns.qry.name",),
    "info": ("_ws.col.info",),
}
"""Fields that contain each value; the first one that is not empty counts."""

KNOWN = frozenset(x for names in _FIELDS.values() for x in names)
_LETTERS = {"F": "F", "S": "S", "R": "R", "P": "P", ".": "A", "U": "U"}
_BITS = {"F": 1, "S": 2, "R": 4, "P": 8, ".": 16, "U": 32}
_NUMBERS = {"1": "icmp", "6": "tcp", "17": "udp", "58": "icmp6", "132": "sctp"}

FORMAT = Format(
    kind="packets",
    variant="tshark_fields",
    version="1",
    systems=("linux", "solaris", "freebsd", "macos", "windows"),
    tables=("packets", "tcp_flows"),
    man="tshark(1)",
    example="tshark -r FILE -T fields -E header=y -e frame.time_epoch -e ip.src -e ip.dst",
    clocks=("wall-utc", "wall-local", "trace-relative", "none"),
    own=HEAD,
)


def claim(head: Head) -> Claim | None:
    """Claim by a header with at least two known field names, and a row below with as many columns."""
    if "." not in head.text[:4096]:
        return None
    for number, line in enumerate(head.lines[:20]):
        if not re.match(HEAD, line[:2000]):
            continue
        sign = _separator(line)
        names = _names(line, sign)
        below = (head.lines[number + 1 : number + 2] or [""])[0]
        wide = below.count(sign) == len(names) - 1 or (sign == "\t" and 0 < below.count(sign) < len(names))
        if len(KNOWN & set(names)) >= 2 and wide:
            return Claim(0.98, f"header of tshark's fields in line {number + 1}", "tshark_fields")
    return None


def _separator(line: str) -> str:
    return next(x for x in SEPARATORS if x in line)


def _names(line: str, sign: str) -> list[str]:
    return [x.strip('"').lower() for x in line.split(sign)]


def parse(source: Source, out: Tables, state: State) -> State:
    """Read a run of blocks; `state` keeps the header, a short line that may be the last, the clock and the connections."""
    state["tool"] = state["variant"]
    capture = Capture(source, out, state)
    line = pl.col("line")
    for block in source.blocks():
        frame = block.frame.select("line_no", "line").filter(line.str.contains(r"\S"))
        out.read(frame.filter(line.str.contains(HEAD))["line_no"])
        if "held" in state:
            frame = pl.concat([pl.DataFrame([state.pop("held")], schema=frame.schema, orient="row"), frame])
        frame = frame.with_columns(head=pl.when(line.str.contains(HEAD)).then(line))
        frame = frame.with_columns(pl.col("head").forward_fill().fill_null(pl.lit(state.get("head"), pl.String)))
        if len(frame):
            state["head"] = frame["head"][-1]
        below = frame.filter((line != pl.col("head")).fill_null(value=False))
        parts = below.partition_by("head", maintain_order=True)
        packets = [_rows(part, str(part["head"][0])) for part in parts]
        if parts and _short(last := below.row(-1, named=True)) and last["line_no"] == frame["line_no"][-1]:
            state["held"] = [last["line_no"], last["line"]]
            packets[-1] = packets[-1].filter(pl.col("line_no") < last["line_no"])
        rows = pl.concat(packets) if packets else pl.DataFrame()
        if len(rows):
            capture.add(rows, line_span(rows))
    if "held" in state and not source.last:
        out.read([state["held"][0]])
    capture.close()
    return state


def _short(row: dict[str, str]) -> bool:
    return row["line"].count("\t") < row["head"].count("\t")


def _rows(part: pl.DataFrame, head: str) -> pl.DataFrame:
    """Return packets for the lines below a header; its names decide the columns."""
    sign = _separator(head)
    names = _names(head, sign)
    cells = pl.col("line").str.split(sign)
    wide = cells.list.len() == len(names)
    if sign == "\t":
        wide |= cells.list.len().is_between(2, len(names))
    fit = part.filter(wide).with_columns(cells=cells)
    # Read the first value of a field that occurs more than once; a comma separates them unless it separates the columns.
    cell = {
        name: pl.col("cells").list.get(at, null_on_oob=True).str.strip_chars('"').str.extract(r"^([^,]+)" if name != "_ws.col.info" else "^(.+)$")
        for at, name in reversed(list(enumerate(names)))
        if name in KNOWN
    }  # fmt: skip
    if "frame.time" in cell:
        cell["frame.time"] = pl.col("cells").list.get(names.index("frame.time"), null_on_oob=True).str.strip_chars('"')
    none = pl.lit(None, pl.String)
    got = {value: pl.coalesce([cell[f] for f in fields if f in cell] or [none]) for value, fields in _FIELDS.items()}
    rows = fit.with_columns(**got)
    bits = pl.col("bits").str.strip_prefix("0x").str.to_integer(base=16, strict=False)
    letters = [pl.when(bits & bit != 0).then(pl.lit(letter)).otherwise(pl.lit("")) for letter, bit in _BITS.items()]
    layers = ":" + pl.col("layers") + ":"
    protocols = pl.concat_str(layers.fill_null(""), (":" + pl.col("layer").str.to_lowercase() + ":").fill_null(""))
    proto = (
        pl.when(pl.col("tcp_from").is_not_null()).then(pl.lit("tcp"))
        .when(pl.col("udp_from").is_not_null()).then(pl.lit("udp"))
        .otherwise(pl.coalesce(
            pl.col("number").replace_strict(_NUMBERS, default=None, return_dtype=pl.String),
            protocols.str.extract(":(tcp|udp|icmpv6|icmp|arp|sctp):").replace("icmpv6", "icmp6"),
            pl.when(pl.col("src").is_not_null()).then(pl.lit("ip")),
        ))
    )  # fmt: skip
    day = r"^([A-Z][a-z]{2} +[0-9]{1,2}, [0-9]{4}) "
    rows = rows.with_columns(
        proto=proto,
        flags=pl.coalesce(
            pl.when(bits.is_not_null()).then(pl.concat_str(letters)),
            pl.when(pl.col("words").str.contains("[A-Z]")).then(spelled(_LETTERS, pl.col("words"))),
        ),
        date=pl.coalesce(
            pl.col("time").str.extract(r"^([0-9]{4}-[0-9]{2}-[0-9]{2})"),
            pl.col("time")
            .str.extract(day)
            .str.replace_all(" +", " ")
            .str.to_date("%b %d, %Y", strict=False)
            .cast(pl.String),
        ),
        clock=pl.col("time").str.extract(r"([0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{1,9})"),
        epoch=pl.col("epoch").str.extract(r"^([0-9]{9,10}\.[0-9]{1,9})$"),
        relative=pl.col("relative").str.extract(r"^([0-9]{1,9}\.[0-9]{1,9})$"),
        sport=pl.coalesce("tcp_from", "udp_from"),
        dport=pl.coalesce("tcp_to", "udp_to"),
    )
    tcp = pl.col("proto") == "tcp"
    length = pl.col("udp_len").cast(pl.Int64, strict=False) - 8
    rows = rows.with_columns(
        flags=pl.when(tcp).then(pl.col("flags")),
        ack=pl.when(pl.col("flags").is_null() | pl.col("flags").str.contains(".", literal=True)).then(pl.col("ack")),
        len=pl.coalesce(pl.col("tcp_len").cast(pl.Int64, strict=False), pl.when(length >= 0).then(length)),
        payload=pl.coalesce("DNS " + pl.col("asked"), pl.when(~tcp).then(pl.col("info").str.slice(0, 80))),
    )
    return complete(rows).with_columns(line_end=pl.col("line_no"))
