r"""Packets: tcpdump, snoop and tshark as text, and captures (pcap, pcapng, snoop files).

Tools: tcpdump 3 and 4 (-n, -e, -v, -q, -S, -t to -ttttt, -i any; the bytes of -x are skipped), Solaris snoop(1M) summaries
(-r, -ta, -td, -tr, -i FILE), tshark's usual columns (-t r, -t d, -t a, -t ad, -t e), Wireshark's packet list.
Capture: `tcpdump -nn -s 200 -w FILE port 1521`, `snoop -o FILE port 1521`. A capture file is first converted to a transcript
(`parsers/text/pcap.py`): line n is packet n.

Samples::

    2015-06-10T09:00:00.000001Z tcp 10.1.1.1:40000 > 10.1.1.2:1521 [S] seq=17 ack=0 win=64240 len=0 opts=mss:1460,ws:7
    09:00:00.000001 IP 10.1.1.1.40000 > 10.1.1.2.1521: Flags [P.], seq 1:241, ack 1, win 229, length 240
    09:00:00.000001 10.1.1.1.40000 > 10.1.1.2.ncube-lm: P 1:241(240) ack 1 win 229 (DF)
      3   0.00042     client -> db1          TCP D=1521 S=40000 Ack=457 Seq=124 Len=240 Win=64240
        3   0.000420     10.1.1.1 → 10.1.1.2     TCP 74 40000 → 1521 [SYN] Seq=0 Win=64240 Len=0 MSS=1460

Tables: packets (one row each), tcp_flows (one row for each connection, `parsers/formats/network/packets/tcp_flows.py`; complete only at
the end of the part). Clock: wall-utc (captures, `tcpdump -tt`), wall-local (other stamps; without a date if none is printed),
trace-relative (snoop -tr and -td, tshark, tcpdump -ttt); `t_local` counts from midnight of the first stamp's day, so that
nanoseconds are not lost. A stamp is the time when the packet passed the point of capture, on either host or between them.
Traps: a first stamp of zero means "since the first packet" or "since the packet before": the command or the first twenty
stamps decide, with a note. Sequence numbers may be relative (tcpdump without -S, tshark). `flags` are tcpdump's: `.` is ACK. A capture
that dropped packets reports it only in its last lines: a note repeats it, because such gaps look like loss.
Under -v an ICMP error quotes a packet: its two lines are not a packet. Packets within a tunnel (VXLAN, OTV) are rows without a time.
In snoop -V the line of the transport is the packet; the lines of the other layers belong to it. Known gaps: addresses that a person
replaced by `<host>`; lines of tshark that name a protocol above TCP have no ports.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import polars as pl

from parsers.declarations import Claim, Format
from parsers.formats.network.packets.lines import (
    COLUMNS_OF_WIRESHARK,
    LAYERS_END,
    SNOOP,
    TCPDUMP,
    TCPDUMP_ARP,
    TCPDUMP_FIRST,
    TCPDUMP_QUOTED,
    TCPDUMP_SECOND,
    TRANSCRIPT,
    TSHARK,
    one_layer,
    snoop,
    tcpdump,
    transcript,
    tshark,
)
from parsers.formats.network.packets.rows import Capture
from parsers.repair.rewrap import PASTE, rejoin
from parsers.tables.rows import State, Tables, line_span
from parsers.text.source import Head, Source

DETAIL = (
    r"^(?:\t| {4,8})0x[0-9a-f]{4}:  |^[0-9a-f]{4,8}  (?:[0-9a-f]{2} ){1,16} |"
    r"^(?:tcpdump: )?(?:verbose output suppressed|listening on |reading from )|^Capturing on |"
    r"^Using device |^No\. +Time +Source +Destination +Protocol|"
    r"^(?:\^C)?[0-9]+ packets? (?:captured|received by filter|dropped by (?:kernel|interface))|^dropped privs|"
    rf"^tcpdump: (?:listening on|verbose)|^[0-9]+ [0-9]+ packets captured$|^\^C$|{LAYERS_END}"
)

_BEGINS = (
    rf"{DETAIL}|^[ \t]*(?:[0-9]+[ \t]+)?(?:[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}} )?(?:[0-9]{{1,2}}:[0-9]{{2}}:[0-9]{{2}}\.[0-9]+|[0-9]+\.[0-9]{{4,9}}) "
    r"|^(?:\t| {3,})|^(?:# |[A-Z]+: )|^[0-9]+ packets|^(?:IP6? |ARP|tcpdump|snoop|tshark|Frame )"
)
"""Beginnings of lines, by which lines broken in two are joined: a stamp, a blank, a word of the tool."""

FORMATS = (
    Format(
        kind="packets",
        variant="pcap",
        version="1",
        systems=("solaris", "linux", "aix", "hpux", "freebsd", "macos", "windows"),
        tables=("packets", "tcp_flows"),
        man="pcap-savefile(5), pcapng",
        example="tcpdump -nn -s 200 -w FILE port 1521",
        clocks=("wall-utc", "none"),
        own=TRANSCRIPT,
    ),
    Format(
        kind="packets",
        variant="text",
        version="5",
        systems=("solaris", "linux", "aix", "hpux", "freebsd", "macos", "windows"),
        tables=("packets", "tcp_flows"),
        man="tcpdump(1), snoop(1M), tshark(1)",
        example="tcpdump -nn -tttt port 1521",
        clocks=("wall-local", "wall-utc", "trace-relative", "none"),
        own="(?:"
        + "|".join((TCPDUMP, TCPDUMP_FIRST, TCPDUMP_QUOTED, TCPDUMP_ARP, SNOOP, TSHARK, COLUMNS_OF_WIRESHARK, DETAIL))
        + ")",
    ),
)

DAMAGED = "# damaged: "
_READERS: dict[str, Callable[[pl.DataFrame], pl.DataFrame]] = {
    "transcript": transcript,
    "tcpdump": tcpdump,
    "snoop": snoop,
    "tshark": tshark,
}
_SHAPES = {
    "transcript": TRANSCRIPT,
    "tshark": f"{TSHARK}|{COLUMNS_OF_WIRESHARK}",
    "tcpdump": "|".join((TCPDUMP, TCPDUMP_FIRST, TCPDUMP_SECOND, TCPDUMP_ARP)),
    "snoop": SNOOP,
}
ASKED = r" > [^ ]+: [0-9]+[+*|$-]{0,4} (?:\[[^\]]*\] )?(?:[A-Z]{1,6}\? |[A-Za-z]*[*|$-]{0,4} ?[0-9]+/[0-9]+/[0-9]+ )"
LOST = r"^([0-9]+) packets? dropped by (?:kernel|interface)"


def _packets(frame: pl.DataFrame, out: Tables, state: State) -> pl.DataFrame:
    """Return the lines of snoop that give a row each; under -V the lines of the other layers only count as read."""
    line = pl.col("line")
    state["layers"] = state.get("layers") or bool(frame["line"].str.contains(LAYERS_END).any())
    if not state["layers"]:
        return frame
    parted = frame.with_columns(packet=one_layer(frame).fill_null(True))
    out.read(parted.filter(~pl.col("packet"))["line_no"])
    return parted.filter("packet").select("line_no", line)


def _tool(lines: list[str]) -> tuple[str | None, int, int]:
    """Return the tool that printed the lines (None if unknown), the number of lines that fit it, and the number of lines in all.

    Blank lines and the tools' remarks are not counted.
    """
    filled = [x for x in lines[:200] if x and not re.search(DETAIL, x)]
    counts = {tool: sum(1 for x in filled if re.match(shape, x)) for tool, shape in _SHAPES.items()}
    best = max(counts, key=lambda tool: counts[tool])
    return (best if counts[best] else None), counts[best], len(filled)


def claim(head: Head) -> Claim | None:
    """Claim by lines with two addresses and an arrow in the order of one tool."""
    text = "\n".join([x for x in head.lines[:40] if x][:20])
    if " > " not in text and " -> " not in text and " → " not in text and "who-has" not in text:
        return None
    if not any(re.match(shape, x[:300]) for x in text.split("\n") for shape in _SHAPES.values()):
        return None
    tool, hits, filled = _tool(head.lines)
    if tool is None or (hits == 1 and filled > 3):
        return None
    if tool == "transcript":
        return Claim(0.98, f"{hits} packets of a capture", "pcap") if hits * 2 > filled else None
    kinds = (
        "Flags [",
        " ack ",
        " win ",
        "length ",
        " length: ",
        "who-has",
        "ICMP",
        "UDP",
        "TCP ",
        " Seq=",
        "Len=",
        " DNS ",
        "ARP ",
        ": tcp ",
        "Syn ",
    )
    # snoop names the protocol of a call (C) or an answer (R): NFS C GETATTR, RPC R, TELNET C.
    called = tool == "snoop" and re.search(r" -> [^ ]+ +[A-Z][A-Z0-9_]{2,8} [CR] ", text)
    # tcpdump prints no word for the protocol of questions to name servers and their answers.
    asked = tool == "tcpdump" and re.search(ASKED, text)
    # tshark's columns with an arrow are its own, whatever protocol it dissects: LDAP, SMB2, KRB5, iSCSI.
    dissected = tool == "tshark" and sum(re.match(TSHARK, x[:300]) is not None for x in head.lines[:40]) > 1
    if not called and not asked and not dissected and not any(word in text for word in kinds):
        return None
    # Under -v a packet has two lines, under -x many. In an indented copy only the second ones fit.
    share = hits / filled
    return Claim(min(0.8, 0.6 + share) + 0.15 * share, f"{hits} packets of {tool}", "text") if share > 0.3 else None


def parse(source: Source, out: Tables, state: State) -> State:
    """Read a run of blocks; `state` keeps the tool, the day, the last stamp and the connections."""
    capture = Capture(source, out, state)
    for lines in source.frames(PASTE):
        whole = rejoin(lines, source, out, _BEGINS)
        tool = "transcript" if state["variant"] == "pcap" else state.get("tool") or _tool(whole["line"].to_list())[0]
        frame, ends = whole.select("line_no", "line"), whole.select("line_no", "line_end")
        rows = _READERS[tool or "tcpdump"](_packets(frame, out, state) if tool == "snoop" else frame)
        state["tool"] = tool
        _remarks(frame, out, state["variant"])
        rows = rows.join(ends, on="line_no", how="left", maintain_order="left")
        if tool == "tcpdump":
            rows = _joined(frame, rows, out, state)
        capture.add(rows, line_span(lines))
    capture.close()
    return state


def _remarks(frame: pl.DataFrame, out: Tables, variant: str) -> None:
    """Count the tool's remarks as read; note lost packets and a damaged capture."""
    line = pl.col("line")
    if variant == "pcap":
        for number, text in frame.filter(line.str.starts_with(DAMAGED)).iter_rows():
            out.account("damaged", [number])
            out.note(number, number, "damaged", text.removeprefix("# "))
        return
    remarks = frame.filter(line.str.contains(DETAIL))
    out.read(remarks["line_no"])
    for number, text in remarks.filter(line.str.contains(LOST) & ~line.str.starts_with("0 ")).iter_rows():
        out.note(number, number, "elided", f"{text}: the capture has gaps, and what looks like loss may be only these")


def _joined(frame: pl.DataFrame, rows: pl.DataFrame, out: Tables, state: State) -> pl.DataFrame:
    """Add to the second lines of -v the stamp of their first line, which may stand at the end of the previous run."""
    firsts = frame.filter(pl.col("line").str.contains(TCPDUMP_FIRST))
    out.read(firsts["line_no"])
    quoted = frame.filter(pl.col("line").str.contains(TCPDUMP_QUOTED))["line_no"]
    below = [*([state.pop("quoted")] if "quoted" in state else []), *(quoted + 1).to_list()]
    out.read(quoted)
    out.read(rows.filter(pl.col("line_no").is_in(below))["line_no"])
    rows = rows.filter(~pl.col("line_no").is_in(below))
    if below and frame["line_no"].max() == below[-1] - 1:
        state["quoted"] = below[-1]
    if firsts.is_empty() and "first" not in state:
        return rows
    names = ["date", "clock", "epoch", "vlan"]
    groups = pl.col("line").str.extract_groups(TCPDUMP_FIRST).struct.rename_fields(names)
    firsts = (
        firsts.select("line_no", groups.alias("g"))
        .unnest("g")
        .with_columns(pl.col("vlan").cast(pl.Int64, strict=False))
    )
    if "first" in state:
        firsts = pl.concat([pl.DataFrame([state["first"]], schema=firsts.schema), firsts])
    heads = firsts.rename({n: f"f_{n}" for n in names}).with_columns(head="line_no", line_no=pl.col("line_no") + 1)
    rows = rows.join(heads, on="line_no", how="left", maintain_order="left")
    second = pl.col("head").is_not_null() & pl.coalesce(pl.col("clock"), pl.col("epoch")).is_null()
    rows = rows.with_columns(pl.when(second).then(pl.col(f"f_{n}")).otherwise(pl.col(n)).alias(n) for n in names)
    rows = rows.with_columns(line_no=pl.when(second).then(pl.col("head")).otherwise(pl.col("line_no")))
    end = frame["line_no"].max()
    state.pop("first", None)
    if len(firsts) and firsts["line_no"][-1] == end:
        state["first"] = firsts.row(-1, named=True)
    return rows.drop("head", *(f"f_{n}" for n in names))
