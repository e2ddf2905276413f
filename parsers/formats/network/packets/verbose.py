r"""Packets in full: snoop -v, tshark -V (also Wireshark's print and export as text), ipreport of AIX.

Tools: Solaris snoop(1M) -v, with and without -x; tethereal 0.10 and 0.99, and tshark 1 to 4 -V; AIX ipreport(1), plain, -n, -s, after iptrace.
Capture: `snoop -v -i FILE`, `tshark -V -r FILE`, `ipreport -ns FILE`.

Samples::

    ETHER:  Packet 2 arrived at 1:43:41.42
    IP:   Source address = 192.168.0.3, solaris9
    TCP:  Flags = 0x18

    Frame 1: 74 bytes on wire (592 bits), 74 bytes captured (592 bits)
        Epoch Arrival Time: 1761269449.136885000
    Transmission Control Protocol, Src Port: 62209, Dst Port: 80, Seq: 1, Ack: 1, Len: 282

    ====( 130 bytes received on interface en0 )==== 12:12:33.397003947
            <source port=49878, destination port=22(ssh) >
            th_off=5, flags<PUSH | ACK>

Tables: packets (a row for each, from its first line to its last), tcp_flows. Clock: wall-utc (tshark's epoch), else wall-local, without
a date in snoop and newer ipreport. The first occurrence of a field in a packet counts: later ones quote the packet that an ICMP error
is about. `len` is the payload, computed from the lengths in the headers; `ack` is empty where the ACK flag is not set. tshark's raw
sequence numbers are read where it prints them, else its relative ones. Traps: older ipreport prints sequence numbers in hexadecimal, and
eight digits may be decimal or hexadecimal: the numbers stay empty until one with a letter, or one of nine digits, decides. Known gaps:
tunnels (the outer addresses are read, or none), names of ports and hosts (only addresses are read).
"""

from __future__ import annotations

import re

import polars as pl

from parsers.columns.stack_rows import records
from parsers.declarations import Claim, Format
from parsers.formats.network.packets.lines import complete, spelled
from parsers.formats.network.packets.rows import Capture
from parsers.tables.rows import State, Tables, line_span
from parsers.text.source import Head, Source

_AT = r"^[ \t]*"
SNOOP_LINK = rf"{_AT}(?:ETHER|FDDI|TR|IPIB|IPNET):[ \t]+-{{3,}} [A-Za-z]+ Header -{{3,}}$"
SNOOP_TIME = (
    rf"{_AT}[A-Z]{{2,6}}:[ \t]+Packet [0-9]+ arrived at ([0-9]{{1,2}}:[0-9]{{1,2}}:[0-9]{{1,2}}\.[0-9]{{1,9}})$"
)
SNOOP = rf"{_AT}(?:[A-Z][A-Z0-9_./-]{{1,11}}|IPv6(?:-[A-Za-z]+)?|ICMPv6|DHCPv6|iSCSI):(?:[ \t]|$)|^[ \t]+[0-9]+: [0-9a-f]{{4}} "
FRAME = rf"{_AT}Frame [0-9]+(?::| \()(?: ?Packet,)? ?[0-9]+ bytes on wire"
TSHARK = (
    rf"{FRAME}|^[0-9a-f]{{4}}  [0-9a-f]{{2}} |^ {{4,}}(?:[A-Z][A-Za-z0-9 ()/.'-]{{1,60}}[:(]|\[|[01.]{{3,4}} [01. ]*= )"
    r"|^(?:Ethernet II|IEEE 802\.3|802\.1Q|Linux cooked|Null/Loopback|Raw packet data|Internet (?:Protocol|Control)|Transmission Control"
    r"|User Datagram|Address Resolution|Hypertext Transfer|Domain Name System|Transport Layer|Secure Sockets|Transparent Network"
    r"|Line-based text|Data \([0-9]+)"
)
TSHARK_IN = (
    rf"{TSHARK}|^[ \t]+\S|{_AT}[01.]{{3,4}} [01. ]*= |^\[.*\]$|^[A-Z][A-Za-z0-9 /.()-]{{2,60}}(?:Protocol|\)|: \S.*)$"
)
"""Lines within a packet: other layers too, and details whose leading blanks were lost."""

PACKET_NUMBER = rf"{_AT}Packet Number [0-9]+$"
IPREPORT_TIME = (
    rf"{_AT}(?:[A-Z]{{2,5}}:[ \t]*)?=+\( ?(?:[0-9]+ bytes|packet) (?:received|transmitted) on interface [A-Za-z0-9]+ \)=+[ \t]*"
    r"(?:([0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,9})?)|[A-Z][a-z]{2} ([A-Z][a-z]{2}) +([0-9]{1,2}) ([0-9:]{8}) ([0-9]{4}))?$"
)
IPREPORT = (
    rf"{IPREPORT_TIME}|{PACKET_NUMBER}|{_AT}(?:ETHERNET packet :|[A-Z]+ header breakdown:)|{_AT}(?:[A-Z]{{2,5}}[0-9]?:[ \t]+)?(?:"
    r"< (?:SRC|DST) = |<source port|(?:ip6?|th|icmp|udp|arp)_[a-z]+ ?=|\[ udp length)|^[A-Z]{2,5}[0-9]?:[ \t]+\S|^[0-9a-f]{8}  +[0-9a-f]{4,8} "
    rf"|{_AT}(?:mss|nop|wscale|timestamps)(?: [0-9]+)*$"
)
_REMARK = {
    "snoop_v": r"^Using device ",
    # Wireshark prints a summary above the details, which repeat it.
    "tshark_V": (
        r"^Capturing on |^[0-9]+ packets? |^No\. +Time +Source +Destination"
        r"|^ *[0-9]+ +[0-9]+\.[0-9]{2,9} +\S+ +(?:(?:→|->) +)?\S+ +[A-Z][A-Za-z0-9_./-]* +\S"
    ),
    "ipreport": r"^IPTRACE version",
}
FORMATS = tuple(
    Format(
        kind="packets", variant=variant, version="2" if variant == "tshark_V" else "1", systems=systems, tables=("packets", "tcp_flows"), man=man,
        example=example, clocks=clocks, own=own,
    )
    for variant, systems, man, example, clocks, own in (
        ("snoop_v", ("solaris", "illumos"), "snoop(1M)", "snoop -v -i FILE", ("wall-local", "none"), SNOOP),
        (
            "tshark_V", ("linux", "solaris", "freebsd", "macos", "windows"), "tshark(1)", "tshark -V -r FILE",
            ("wall-utc", "wall-local", "none"), TSHARK,
        ),
        ("ipreport", ("aix",), "ipreport(1)", "ipreport -ns FILE", ("wall-local", "none"), IPREPORT),
    )
)  # fmt: skip
_OWN = {"snoop_v": SNOOP, "tshark_V": TSHARK_IN, "ipreport": IPREPORT}
_BEGIN = {"snoop_v": SNOOP_TIME, "tshark_V": FRAME, "ipreport": IPREPORT_TIME}
_NEEDS = {"snoop_v": " arrived at ", "tshark_V": " bytes on wire", "ipreport": " on interface "}

_PORT = r"(?:[^,()]{1,40} \()?([0-9]{1,5})\)?"
_ADDRESS = r"(?:[^,()]{1,255} \()?([0-9A-Fa-f.:]+)\)?"
_PORTS = rf"{_AT}(?:Transmission Control|User Datagram) Protocol, Src Port: {_PORT}, Dst Port: {_PORT}"
_PAIR = rf"{_AT}Internet Protocol(?: Version [46])?, Src(?: Addr)?: {_ADDRESS}, Dst(?: Addr)?: {_ADDRESS}"
_FIELDS: dict[str, dict[str, tuple[str, int]]] = {
    "snoop_v": {
        "clock": (SNOOP_TIME, 1),
        "layer": (rf"{_AT}(TCP|UDP|ICMP|ICMPv6|R?ARP):[ \t]+-{{3,}} ", 1),
        "vlan": (rf"{_AT}VLAN:[ \t]+VLAN ID = ([0-9]+)", 1),
        "src": (rf"{_AT}IP(?:v6)?:[ \t]+Source address = ([0-9A-Fa-f.:]+)", 1),
        "dst": (rf"{_AT}IP(?:v6)?:[ \t]+Destination address = ([0-9A-Fa-f.:]+)", 1),
        "arp_src": (rf"{_AT}R?ARP:[ \t]+Sender's protocol address = ([0-9.]+)", 1),
        "arp_dst": (rf"{_AT}R?ARP:[ \t]+Target protocol address = ([0-9.]+)", 1),
        "sport": (rf"{_AT}(?:TCP|UDP):[ \t]+Source port = ([0-9]+)", 1),
        "dport": (rf"{_AT}(?:TCP|UDP):[ \t]+Destination port = ([0-9]+)", 1),
        "seq": (rf"{_AT}TCP:[ \t]+Sequence number = ([0-9]+)", 1),
        "ack": (rf"{_AT}TCP:[ \t]+Acknowledgement number = ([0-9]+)", 1),
        "bits": (rf"{_AT}TCP:[ \t]+Flags = 0x([0-9a-f]+)", 1),
        "win": (rf"{_AT}TCP:[ \t]+Window = ([0-9]+)", 1),
        "mss": (rf"{_AT}TCP:[ \t]+(?:- )?Maximum segment size = ([0-9]+) bytes", 1),
        "ip_len": (rf"{_AT}IP:[ \t]+Total length = ([0-9]+) bytes", 1),
        "ip_head": (rf"{_AT}IP:[ \t]+Header length = ([0-9]+) bytes", 1),
        "ip6_len": (rf"{_AT}IPv6:[ \t]+Payload length = ([0-9]+)", 1),
        "tcp_head": (rf"{_AT}TCP:[ \t]+Data offset = ([0-9]+) bytes", 1),
        "udp_len": (rf"{_AT}UDP:[ \t]+Length = ([0-9]+)", 1),
        "asked": (rf"{_AT}DNS:[ \t]+Domain Name: ([^ ]{{1,80}}?)\.?$", 1),
        "icmp": (rf"{_AT}ICMP(?:v6)?:[ \t]+Type = [0-9]+ \(([^)]{{1,80}})\)", 1),
    },
    "tshark_V": {
        "epoch": (rf"{_AT}Epoch (?:Arrival )?Time: ([0-9]+\.[0-9]{{1,9}})", 1),
        "arrival": (rf"{_AT}Arrival Time: ([A-Z][a-z]{{2}} +[0-9]{{1,2}}, [0-9]{{4}}) [0-9:]{{8}}\.[0-9]", 1),
        "clock": (rf"{_AT}Arrival Time: [A-Z][a-z]{{2}} +[0-9]{{1,2}}, [0-9]{{4}} ([0-9]{{2}}:[0-9]{{2}}:[0-9]{{2}}\.[0-9]{{1,9}})", 1),
        "relative": (rf"{_AT}\[?Time since reference or first frame: ([0-9]+\.[0-9]{{1,9}})", 1),
        "layer": (
            rf"{_AT}(Transmission Control Protocol|User Datagram Protocol|Internet Control Message Protocol(?: v6)?|Address Resolution Protocol)\b", 1,
        ),
        "vlan": (rf"{_AT}802\.1Q Virtual LAN, .*\bID: ([0-9]+)", 1),
        "src": (_PAIR, 1),
        "dst": (_PAIR, 2),
        "arp_src": (rf"{_AT}Sender IP address: {_ADDRESS}", 1),
        "arp_dst": (rf"{_AT}Target IP address: {_ADDRESS}", 1),
        "sport": (_PORTS, 1),
        "dport": (_PORTS, 2),
        "seq": (rf"{_AT}Transmission Control Protocol, .*, Seq: ([0-9]+)", 1),
        "ack": (rf"{_AT}Transmission Control Protocol, .*, Ack: ([0-9]+)", 1),
        "raw_seq": (rf"{_AT}Sequence [Nn]umber \(raw\): ([0-9]+)", 1),
        "raw_ack": (rf"{_AT}Acknowledgment [Nn]umber \(raw\): ([0-9]+)", 1),
        "words": (rf"{_AT}Flags: 0x[0-9a-f]{{2,4}} \((<?(?:[A-Z]{{2,3}}|None)\b[^)]*)\)$", 1),
        "win": (rf"{_AT}Window(?: size(?: value)?)?: ([0-9]+)", 1),
        "mss": (rf"{_AT}(?:TCP Option - )?Maximum segment size: ([0-9]+) bytes", 1),
        "len": (rf"{_AT}Transmission Control Protocol, .*, Len: ([0-9]+)", 1),
        "udp_len": (rf"{_AT}Length: ([0-9]+)$", 1),
        "asked": (rf"{_AT}([^ ]{{1,80}}): type [A-Z0-9]+, class IN$", 1),
        "http": (rf"{_AT}((?:GET|POST|PUT|HEAD|DELETE|OPTIONS) [^ ]{{1,70}}|HTTP/[0-9.]+ [0-9]{{3}})", 1),
        "icmp": (rf"{_AT}Type: [0-9]+ \((.{{1,80}})\)$", 1),
    },
    "ipreport": {
        "clock": (IPREPORT_TIME, 1),
        "mon": (IPREPORT_TIME, 2),
        "day": (IPREPORT_TIME, 3),
        "dated": (IPREPORT_TIME, 4),
        "year": (IPREPORT_TIME, 5),
        "layer": (r"(?:ip_p = [0-9]+ |type 806 +)\(([A-Za-z0-9]+)\)", 1),
        "src": (r"< SRC = +([0-9A-Fa-f.:]+) >", 1),
        "dst": (r"< DST = +([0-9A-Fa-f.:]+) >", 1),
        "sport": (r"<source port=([0-9]+)", 1),
        "dport": (r"destination port=([0-9]+)", 1),
        "seq": (r"\bth_seq=([0-9a-f]+)", 1),
        "ack": (r"\bth_ack=([0-9a-f]+)", 1),
        "words": (r"\bflags<([A-Z| ]*)>", 1),
        "win": (r"\bth_win=([0-9]+)", 1),
        "mss": (rf"{_AT}(?:[A-Z]{{2,5}}:[ \t]+)?mss ([0-9]+)$", 1),
        "ip_len": (r"\bip_len=([0-9]+)", 1),
        "ip_head": (r"\bip_hl=([0-9]+)", 1),
        "tcp_words": (r"\bth_off=([0-9]+)", 1),
        "udp_len": (r"\[ udp length = ([0-9]+)", 1),
        "icmp": (r"\bicmp_type=[0-9]+ \(([^)]{1,80})\)", 1),
    },
}  # fmt: skip
"""By variant: the pattern, and its group, that contains each field."""

_PROTO = {
    "Transmission Control Protocol": "tcp",
    "User Datagram Protocol": "udp",
    "Internet Control Message Protocol": "icmp",
    "Internet Control Message Protocol v6": "icmp6",
    "Address Resolution Protocol": "arp",
    "ICMPv6": "icmp6",
    "ICMP6": "icmp6",
}
_WORDS = {"F": "FIN", "S": "SYN", "R": "RST", "P": "PSH", ".": "ACK", "U": "URG"}
_BITS = {"F": 1, "S": 2, "R": 4, "P": 8, ".": 16, "U": 32}


def claim(head: Head) -> Claim | None:
    """Claim by the first line of a packet, and lines of its layers."""
    for variant, begin in _BEGIN.items():
        if _NEEDS[variant] not in head.text:
            continue
        packets = sum(1 for x in head.lines if re.match(begin, x[:300]))
        filled = [x for x in head.lines[:400] if x.strip()]
        layers = sum(1 for x in filled if re.match(_OWN[variant], x[:300]))
        if packets and layers * 2 > len(filled):
            return Claim(min(0.96, 0.5 + 0.46 * layers / len(filled)), f"{packets} packets, layer by layer", variant)
    return None


def parse(source: Source, out: Tables, state: State) -> State:
    """Read a run of blocks; `state` keeps the open packet, the clock, the connections, and the radix of ipreport's numbers."""
    variant = state["tool"] = state["variant"]
    capture = Capture(source, out, state)
    line = pl.col("line")
    remark = line.str.contains(_REMARK[variant])
    of_packet = line.str.contains(_OWN[variant]) & ~remark
    # The end of a packet whose beginning was cut off stays unknown.
    number = _begins(variant).cum_sum()
    for lines, _ in records(source, out, state, _begins(variant), (of_packet & (number > 0)) | remark):
        lines = lines.with_columns(packet=number, own=of_packet)
        out.read(lines.filter(remark | (pl.col("own") & (pl.col("packet") > 0)))["line_no"])
        values = [line.str.extract(pattern, group).alias(name) for name, (pattern, group) in _FIELDS[variant].items()]
        fields = lines.filter((pl.col("packet") > 0) & pl.col("own")).with_columns(values)
        packets = fields.group_by("packet", maintain_order=True).agg(
            pl.col("line_no").first(),
            pl.col("line_no").last().alias("line_end"),
            *(pl.col(name).drop_nulls().first() for name in _FIELDS[variant]),
        )
        if len(packets):
            capture.add(_rows(packets, out, state), line_span(packets), span="ends")
    capture.close()
    return state


def _begins(variant: str) -> pl.Expr:
    """Return an expression for the first line of each packet; it needs all lines of a piece."""
    line = pl.col("line")
    time, head = (
        line.str.contains(_BEGIN[variant]),
        line.str.contains(SNOOP_LINK if variant == "snoop_v" else PACKET_NUMBER),
    )
    if variant == "tshark_V":
        return time
    # snoop prints one or two lines between the header's title and the time, ipreport none.
    above = [head.shift(n, fill_value=False) for n in range(1, 4 if variant == "snoop_v" else 2)]
    return head | (time & ~pl.any_horizontal(above))


def _rows(packets: pl.DataFrame, out: Tables, state: State) -> pl.DataFrame:
    """Convert the fields of packets to columns of the table, stamps still as text; n rows, in order."""
    every = {name for fields in _FIELDS.values() for name in fields}
    rows = packets.with_columns(pl.lit(None, pl.String).alias(n) for n in every - set(packets.columns))
    layer = pl.col("layer")
    proto = (
        pl.coalesce(layer.replace_strict(_PROTO, default=None, return_dtype=pl.String), layer.str.to_lowercase())
        .fill_null(pl.when(pl.col("src").is_not_null()).then(pl.lit("ip")))
    )  # fmt: skip
    rows = rows.with_columns(proto=proto)
    if state["variant"] == "ipreport":
        rows = _numbered(rows, out, state)
    tcp, udp = pl.col("proto") == "tcp", pl.col("proto") == "udp"
    bits = pl.col("bits").str.to_integer(base=16, strict=False)
    set_ = [pl.when(bits & bit != 0).then(pl.lit(letter)).otherwise(pl.lit("")) for letter, bit in _BITS.items()]
    words = pl.col("words").str.replace("PUSH", "PSH")
    flags = pl.coalesce(
        pl.when(bits.is_not_null()).then(pl.concat_str(set_)), pl.when(words.is_not_null()).then(spelled(_WORDS, words))
    )
    number = {
        n: pl.col(n).cast(pl.Int64, strict=False)
        for n in ("ip_len", "ip_head", "ip6_len", "tcp_head", "tcp_words", "udp_len", "len")
    }
    tcp_head = pl.coalesce(number["tcp_head"], number["tcp_words"] * 4)
    carried = pl.coalesce(number["len"], number["ip_len"] - number["ip_head"] - tcp_head, number["ip6_len"] - tcp_head)
    size = pl.when(tcp).then(carried).when(udp).then(number["udp_len"] - 8)
    day = pl.coalesce(
        pl.col("arrival").str.replace_all(" +", " ").str.to_date("%b %d, %Y", strict=False),
        pl.format("{} {} {}", "mon", "day", "year").str.to_date("%b %d %Y", strict=False),
    )
    rows = rows.with_columns(
        date=day.cast(pl.String),
        clock=pl.coalesce("clock", "dated"),
        src=pl.coalesce("src", "arp_src"),
        dst=pl.coalesce("dst", "arp_dst"),
        **{port: pl.when(tcp | udp).then(pl.col(port)) for port in ("sport", "dport")},
        flags=pl.when(tcp).then(flags),
        seq=pl.when(tcp).then(pl.coalesce("raw_seq", "seq")),
        win=pl.when(tcp).then(pl.col("win")),
        len=pl.when(size >= 0).then(size),
        payload=pl.coalesce(
            pl.when(udp | tcp).then("DNS " + pl.col("asked")),
            pl.when(tcp).then("HTTP " + pl.col("http")),
            pl.when(pl.col("proto").str.starts_with("icmp")).then(pl.col("icmp")),
        ),
        ack=pl.when(tcp & flags.str.contains(".", literal=True)).then(pl.coalesce("raw_ack", "ack")),
    )
    return complete(rows).with_columns(line_end=rows["line_end"])


def _numbered(rows: pl.DataFrame, out: Tables, state: State) -> pl.DataFrame:
    """Convert ipreport's sequence numbers; those that can be only decimal or only hexadecimal decide how to read the others."""
    both = pl.concat_str(pl.col("seq", "ack").fill_null(""), separator=" ")
    radix = pl.when(both.str.contains("[a-f]")).then(16).when(both.str.contains(r"\b[0-9]{9,10}\b")).then(10)
    rows = rows.with_columns(radix=radix.forward_fill().fill_null(pl.lit(state.get("radix"), pl.Int32)))
    unsure = rows.filter(pl.col("radix").is_null() & both.str.contains("[0-9]{2}"))
    if len(unsure) and not state.get("unsure"):
        state["unsure"] = True
        first = int(unsure["line_no"][0])
        text = "sequence numbers may be decimal or hexadecimal: left out until one of them tells"
        out.note(first, first, "remark", text)
    if len(rows):
        state["radix"] = rows["radix"][-1]
    small = r"^[0-9]$"
    read = {
        n: pl.when(pl.col("radix") == 16)
        .then(pl.col(n).str.to_integer(base=16, strict=False))
        .when((pl.col("radix") == 10) | pl.col(n).str.contains(small))
        .then(pl.col(n).cast(pl.Int64, strict=False))
        .cast(pl.String)
        for n in ("seq", "ack")
    }
    return rows.with_columns(**read)
