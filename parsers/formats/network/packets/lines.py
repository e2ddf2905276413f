r"""Convert lines of tcpdump, snoop, tshark and of our transcripts of captures to one set of columns.

Each reader takes a data frame (line_no, line) and returns the lines it understands with: line_no, date (text or NULL), clock
(text `HH:MM:SS.ffffff`), epoch and relative (text, seconds), proto, src, sport, dst, dport, flags (as present versions of tcpdump
print them: `S.`), seq, ack, len, win, mss, vlan, payload. Values that a tool does not print are NULL.
"""

from __future__ import annotations

import polars as pl

from parsers.columns.services import SERVICES

_FRAME = (
    r"(?:(?:[0-9a-f:]{11,17} (?:\([^)]*\) )?> (?:[0-9a-f:]{11,17}|Broadcast)(?: \([^)]*\))?, (?:ethertype )?"
    # With -i any tcpdump prints only the sender's address.
    r"|(?:(?:In|Out|B|M|P) +)?(?:ifindex [0-9]+ )?[0-9a-f:]{17} (?:\([^)]*\) )?ethertype )"
    r"[^,]{1,40}, length [0-9]+: (?:vlan ([0-9]+), p [0-9]+, (?:DEI, )?(?:ethertype )?[^,]{1,40}, )?)"
)
_ETHER = f"{_FRAME}?"
# -ttt and -ttttt print a blank in front.
_STAMP = (
    r"(?: ?(?:([0-9]{4}-[0-9]{2}-[0-9]{2}) )?([0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{1,9}) |([0-9]{9,10}\.[0-9]{1,9}) )?"
    r"(?:[a-z][0-9A-Za-z.:@_-]* +(?:In|Out|B|M|P|\?) +)?"
    # -e -i pflog0 prints the decision of the packet filter.
    r"(?:rule [0-9a-z._/-]{1,40}\([a-z-]{1,20}\):? (?:\[[^\]]*\] )?[a-z]{1,8} (?:in|out) on [0-9a-z._]{1,20}: )?"
)
_PAIR = r"([0-9A-Za-z][0-9A-Za-z.:%_-]*|::[0-9a-z.:]*) > ([0-9A-Za-z][0-9A-Za-z.:%_-]*|::[0-9a-z.:]*): "
_CUT = r"(?:truncated-ip6? - [0-9]{1,9} bytes missing! ?)?"
"""Remark of tcpdump on a packet of which it captured only the first bytes (print-ip.c)."""

TCPDUMP = r"^" + _STAMP + _ETHER + r"(?:IP6? )?" + _CUT + r"(?:\([^>]*\) )?" + _PAIR
TCPDUMP_SECOND = r"^[ \t]{2,}" + _PAIR
"""Second line of a packet under -v; the first line is TCPDUMP_FIRST."""

TCPDUMP_FIRST = r"^" + _STAMP + _ETHER + r"(?:IP6? )?\((?:tos|class|flowlabel|hlim)[^>]*\)$"
TCPDUMP_QUOTED = r"^\t(?:IP6? )?\((?:tos|class|flowlabel|hlim)[^>]*\)$"
"""Head of the packet that an ICMP error quotes, under -v: the line below it is not a separate packet."""
_ARP_OVER = r"(?:\([^>]*\), |Ethernet \(len 6\), IPv4 \(len 4\), )?"
TCPDUMP_ARP = (
    r"^"
    + _STAMP
    + r"(?:"
    + _ETHER
    + r"(?i:arp),? "
    + _ARP_OVER
    + r"(?i:request |reply )?|"
    + _FRAME
    + _ARP_OVER
    + r"(?:Request|Reply) )"
    r"(who-has|[0-9A-Za-z.:_-]+)(.*)$"
)
"""A line of ARP; under -e the Ethernet header names ARP already."""

TCPDUMP_TCP = (
    r"Flags \[([A-Z.none]*)\](?:, cksum [^,]*)?(?:, seq ([0-9]+)(?::([0-9]+))?)?(?:, ack ([0-9]+))?(?:, win ([0-9]+))?"
)
TCPDUMP_OLD = (
    r"^: ([SFPRWE]+|\.) (?:\[[^\]]*\] )?(?:([0-9]+):([0-9]+)\(([0-9]+)\) ?)?(?:ack ([0-9]+) ?)?(?:win ([0-9]+))?"
)
SNOOP = (
    r"^ *(?:[0-9]+[ \t]+)?(?:([0-9]{1,2}:[0-9]{2}:[0-9]{2}\.[0-9]+)|([0-9]+\.[0-9]{4,6}))? *([0-9A-Za-z][0-9A-Za-z.:_-]*) -> "
    r"([0-9A-Za-z(*][0-9A-Za-z.:_()-]*) +(?:VLAN#([0-9]+): )?(?:length: +[0-9]+ +)?(ICMPv6|[A-Z]{2,8}[0-9]?) ?"
)
_SECOND_TIME = r"(?: +(?:[0-9]{4}-[0-9]{2}-[0-9]{2} )?[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]+)?"
"""A second column of times, as people add the time of day to that since the first packet: the first column counts."""

TSHARK = (
    r"^ *(?:[0-9]+ +)?(?:(?:([0-9]{4}-[0-9]{2}-[0-9]{2}) )?([0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]+)|([0-9]{10}\.[0-9]{6,9})|([0-9]{1,9}\.[0-9]{6,9}))"
    + _SECOND_TIME
    + r" +"
    r"([0-9A-Za-z:][0-9A-Za-z.:_-]*) +(?:→|->) +([0-9A-Za-z:][0-9A-Za-z.:_-]*) +([a-z]?[A-Z][A-Za-z0-9_./-]*) +([0-9]+) "
)
COLUMNS_OF_WIRESHARK = (
    r"^ *[0-9]+ +(?:(?:([0-9]{4}-[0-9]{2}-[0-9]{2}) )?([0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]+)|([0-9]{10}\.[0-9]{6,9})|([0-9]{1,9}\.[0-9]{6,9}))"
    + _SECOND_TIME
    + r" +"
    r"([0-9A-Za-z_-]*[.:][0-9A-Za-z.:_-]*) +([0-9A-Za-z:][0-9A-Za-z.:_-]*) +([a-z]?[A-Z][A-Za-z0-9_./-]*) +(?:([0-9]+) +)?[0-9A-Za-z\[]"
)
"""A row of Wireshark's packet list, copied or exported: columns, no arrow between the addresses; the length may be missing."""

TSHARK_TCP = r" ([0-9A-Za-z_-]+) +(?:→|->|>) +([0-9A-Za-z_-]+) +\[([A-Z, ]+)\]"
TRANSCRIPT = (
    r"^(?:([0-9]{4}-[0-9]{2}-[0-9]{2})T([0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6,9})Z|-) ([a-z0-9]+) "
    r"(\[[0-9a-f:.]+\]|[0-9.]+|-)(?::([0-9]+))? > (\[[0-9a-f:.]+\]|[0-9.]+|-)(?::([0-9]+))?(?: \[([FSRP.UEW]*)\])?"
)
COLUMNS = (
    "line_no",
    "line",
    "date",
    "clock",
    "epoch",
    "relative",
    "proto",
    "src",
    "sport",
    "dst",
    "dport",
    "flags",
    "seq",
    "ack",
    "len",
    "win",
    "mss",
    "vlan",
    "payload",
)
NONE = pl.lit(None, pl.String)


def complete(frame: pl.DataFrame) -> pl.DataFrame:
    """Add missing columns as NULL, put all in the order of COLUMNS, and convert numbers."""
    missing = [NONE.alias(c) for c in COLUMNS if c not in frame.columns]
    numbers = ("sport", "dport", "seq", "ack", "len", "win", "mss", "vlan")
    return frame.with_columns(missing).select(COLUMNS).with_columns(pl.col(*numbers).cast(pl.Int64, strict=False))


def _groups(frame: pl.DataFrame, pattern: str, names: str) -> pl.DataFrame:
    """Return the lines that fit a pattern, with its groups as columns."""
    fitting = frame.filter(pl.col("line").str.contains(pattern))
    return fitting.with_columns(
        pl.col("line").str.extract_groups(pattern).struct.rename_fields(names.split()).alias("g")
    ).unnest("g")


def transcript(frame: pl.DataFrame) -> pl.DataFrame:
    """Read lines of a transcript of a capture, which `parsers/text/pcap.py` prints."""
    rows = _groups(frame, TRANSCRIPT, "date clock proto src sport dst dport flags")
    line = pl.col("line")
    head = line.str.extract(r"^([^|]*)")
    numbers = {k: head.str.extract(rf" {k}=([0-9]+)") for k in ("seq", "ack", "win", "len", "vlan")}
    addresses = {k: pl.col(k).str.strip_chars("[]").replace("-", None) for k in ("src", "dst")}
    numbers["mss"] = head.str.extract(r"[ ,=]mss:([0-9]+)")
    return complete(rows.with_columns(**numbers, **addresses, payload=line.str.extract(r" \| (.+)$")))


def tcpdump(frame: pl.DataFrame) -> pl.DataFrame:
    """Read packets on one line, ARP, and second lines of -v (whose stamp is NULL here)."""
    one = _groups(frame, TCPDUMP, "date clock epoch vlan from to")
    two = _groups(frame.filter(~pl.col("line").str.contains(TCPDUMP)), TCPDUMP_SECOND, "from to")
    rows = pl.concat([one, two], how="diagonal").with_columns(pl.col("line").alias("rest"))
    rest = pl.col("rest").str.replace(r"^.*? > [^ ]+: ", ": ")
    rows = rows.with_columns(rest=rest)
    tcp = pl.col("rest").str.extract_groups(TCPDUMP_TCP).struct.rename_fields(["flags", "seq", "seq_end", "ack", "win"])
    old = pl.col("rest").str.extract_groups(TCPDUMP_OLD)
    old = old.struct.rename_fields(["o_flags", "o_seq", "o_end", "o_len", "o_ack", "o_win"])
    rows = rows.with_columns(tcp.alias("n"), old.alias("o")).unnest("n", "o")
    text = pl.col("rest")
    plain = text.str.starts_with(": tcp ")
    proto = (
        pl.when(pl.col("flags").is_not_null() | pl.col("o_flags").is_not_null() | plain)
        .then(pl.lit("tcp"))
        .when(text.str.contains(r"^: (?:\[[^\]]*\] )?(?:HBH )?(?:ICMP6|icmp6)"))
        .then(pl.lit("icmp6"))
        .when(text.str.contains(r"^: (?:ICMP|icmp)"))
        .then(pl.lit("icmp"))
        .when(_port(pl.col("from")).is_null() | _port(pl.col("to")).is_null())
        .then(pl.lit("ip"))
        .otherwise(pl.lit("udp"))
    )
    length = pl.coalesce(
        "o_len",
        text.str.extract(r"length ([0-9]+)"),
        text.str.extract(r"^: tcp ([0-9]+)"),
        text.str.extract(r"\(([0-9]+)\)$"),
    )
    spelled = pl.col("o_flags").str.replace(".", "", literal=True) + pl.when(pl.col("o_ack").is_not_null()).then(
        pl.lit(".")
    ).otherwise(pl.lit(""))
    question = (
        text.str.extract(r" ([A-Z]{1,5})\? ").str.replace("^", "DNS ")
        + "? "
        + text.str.extract(r" [A-Z]{1,5}\? ([^ ]+?)\.? ")
    )
    icmp = text.str.extract(r"^: ICMP6?,? ([^,]+)")
    # 1234 NXDomain*- 0/1/0 (140), 1235 2/0/0 A 192.0.2.7: answers of a name server.
    answer = text.str.extract(
        r"^: [0-9]+(?:[*|$-]{1,4})? (?:\[[^\]]*\] )?([A-Z][A-Za-z]+)[*|$-]{0,4} [0-9]+/[0-9]+/[0-9]+"
    ).str.replace("^", "DNS answer ")
    # In the tool's own words: [bad udp cksum 0xffff -> 0x76dc!], cksum 0xfe28 (incorrect -> 0x1c2a), [no cksum].
    wrong = text.str.extract(
        r"\[(bad (?:udp|tcp) cksum [^\]]{1,40})\]|(cksum 0x[0-9a-f]+ \(incorrect[^)]{0,40}\))", 0
    ).str.strip_chars("[]")
    wrong = pl.coalesce("wrong checksum: " + wrong, "no checksum: " + text.str.extract(r"^: \[(no cksum)\]"))
    rows = rows.with_columns(
        proto=proto,
        flags=pl.coalesce(pl.col("flags").replace("none", ""), spelled),
        seq=pl.coalesce("seq", "o_seq"),
        ack=pl.coalesce("ack", "o_ack"),
        win=pl.coalesce("win", "o_win"),
        mss=text.str.extract(r"[\[<,]mss ([0-9]+)"),
        len=pl.when(pl.col("o_flags").is_not_null()).then(pl.coalesce(length, pl.lit("0"))).otherwise(length),
        payload=pl.coalesce(question, answer, icmp, text.str.extract(r"length [0-9]+: (HTTP[^?]{0,80})"), wrong),
    )
    ported = pl.col("proto").is_in(["tcp", "udp"])
    ends: dict[str, pl.Expr] = {}
    for name, port, whole in (("src", "sport", "from"), ("dst", "dport", "to")):
        ends[port] = pl.when(ported).then(_port(pl.col(whole)))
        ends[name] = pl.when(ported).then(pl.col(whole).str.replace(r"\.[0-9A-Za-z_-]+$", "")).otherwise(pl.col(whole))
    arp = _groups(
        frame.filter(~pl.col("line").str.contains(TCPDUMP)), TCPDUMP_ARP, "date clock epoch vlan vlan_e who rest"
    )
    arp = arp.with_columns(vlan=pl.coalesce("vlan", "vlan_e"))
    words = pl.col("rest")
    arp = arp.with_columns(
        proto=pl.lit("arp"),
        src=pl.when(pl.col("who") == "who-has").then(words.str.extract(r"tell ([^ ,]+)")).otherwise(pl.col("who")),
        dst=pl.when(pl.col("who") == "who-has").then(words.str.extract(r"^ ([^ ,]+)")),
        len=words.str.extract(r"length ([0-9]+)"),
        payload=(pl.col("who") + words).str.extract(r"^([^,]{1,80})"),
    )
    return pl.concat([complete(rows.with_columns(**ends)), complete(arp)]).sort("line_no")


def _port(address: pl.Expr) -> pl.Expr:
    """Return the port number at the end of `10.0.0.1.1521`, `fe80::1.53`, `db1.example.ncube-lm`; NULL for an address alone."""
    last = address.str.extract(r"\.([0-9A-Za-z_-]+)$")
    bare = address.str.contains(r"^[0-9]{1,3}(?:\.[0-9]{1,3}){3}$")
    number = last.str.extract(r"^([0-9]{1,5})$").cast(pl.Int64, strict=False)
    named = last.replace_strict(SERVICES, default=None, return_dtype=pl.Int64)
    return pl.when(~bare).then(pl.coalesce(number, named))


LAYERS_END = r"^_{8,}$"
"""Rule between the packets of snoop -V, which prints a line for each layer of a packet."""
_ONE_LAYER = r"^ICMP(?:v6)?$|^(?:TCP|UDP|R?ARP)$"


def one_layer(frame: pl.DataFrame) -> pl.Expr:
    """Return whether a line of snoop -V gives the row of its packet; the other lines repeat the packet layer by layer.

    Such a line is that of the transport, of a fragment, or of an Ethernet type that carries no IP. Only the line itself decides.
    """
    line = pl.col("line")
    layer = line.str.extract(SNOOP, 6)
    alone = (layer == "IP") & line.str.contains(" FRAG|, Fragment", literal=False)
    other = (layer == "ETHER") & ~line.str.contains(r" Type=(?:0800|86DD|0806|8035|8100)\b")
    return layer.str.contains(_ONE_LAYER) | alone | other


def snoop(frame: pl.DataFrame) -> pl.DataFrame:
    """Read summary lines of snoop, with or without number and time."""
    rows = _groups(frame, SNOOP, "clock relative src dst vlan layer")
    line = pl.col("line")
    tcp = pl.col("layer") == "TCP"
    flags = spelled({"F": r" Fin", "S": r" Syn", "R": r" Rst", "P": r" Push", ".": r" Ack=", "U": r" Urg"}, line)
    number = {
        # After the digits of a port or number no dot may follow: `S=10.1.1.1` is an address.
        k: line.str.extract(rf" {v}=([0-9]+)(?:[ ,]|$)")
        for k, v in {"sport": "S", "dport": "D", "seq": "Seq", "ack": "Ack", "win": "Win"}.items()
    }
    rows = rows.with_columns(
        **number,
        flags=pl.when(tcp).then(flags),
        mss=pl.when(tcp).then(line.str.extract(r"[<,]mss ([0-9]+)")),
        proto=pl.col("layer").replace({"ICMPv6": "icmp6", "DNS": "udp"}).str.to_lowercase(),
        # For UDP snoop prints the length from the header, which includes the header's eight bytes.
        len=_less(line.str.extract(r" (?i:len)=([0-9]+)"), pl.when(pl.col("layer") == "UDP").then(8).otherwise(0)),
        payload=pl.when(~tcp & (pl.col("layer") != "UDP")).then(
            line.str.extract(r" -> [^ ]+ +(?:VLAN#[0-9]+: )?([^?]{1,80})")
        ),
    )
    return complete(rows)


def _less(number: pl.Expr, by: pl.Expr) -> pl.Expr:
    """Subtract the length of a header; return NULL if the packet is shorter than its header."""
    rest = number.cast(pl.Int64, strict=False) - by
    return pl.when(rest >= 0).then(rest)


def tshark(frame: pl.DataFrame) -> pl.DataFrame:
    """Read summary lines of tshark with its usual columns; sequence numbers are relative unless an option made them absolute."""
    line = pl.col("line")
    names = "date clock epoch relative src dst layer size"
    bare = _groups(frame.filter(~line.str.contains(TSHARK)), COLUMNS_OF_WIRESHARK, names)
    rows = pl.concat([_groups(frame, TSHARK, names), bare]).sort("line_no")
    rows = rows.with_columns(
        line.str.extract_groups(TSHARK_TCP).struct.rename_fields(["sport", "dport", "words"]).alias("g")
    ).unnest("g")
    named = (
        pl.col(n).replace(SERVICES).cast(pl.Int64, strict=False).cast(pl.String).alias(n) for n in ("sport", "dport")
    )
    rows = rows.with_columns(named)
    # If TCP carries a protocol that tshark knows (TNS, HTTP, TLS), the line names that one and has no ports or numbers.
    tcp = pl.col("words").is_not_null()
    words = pl.col("words")
    flags = spelled({"F": "FIN", "S": "SYN", "R": "RST", "P": "PSH", ".": "ACK", "U": "URG"}, words)
    ports = r" ([0-9]{1,5}) +(?:→|->|>) +([0-9]{1,5})(?: |$)"
    udp = pl.col("layer") == "UDP"
    number = {
        k: line.str.extract(rf" {v}=([0-9]+)")
        for k, v in {"seq": "Seq", "ack": "Ack", "win": "Win", "len": "Len", "mss": "MSS"}.items()
    }
    layer = pl.col("layer")
    upper = layer.is_in(["TNS", "HTTP", "TLSv1", "TLSv1.1", "TLSv1.2", "TLSv1.3", "SSH", "SMB2", "MySQL", "PGSQL"])
    rows = rows.with_columns(
        **number,
        sport=pl.coalesce("sport", pl.when(udp).then(line.str.extract(ports, 1))),
        dport=pl.coalesce("dport", pl.when(udp).then(line.str.extract(ports, 2))),
        flags=pl.when(tcp).then(flags),
        proto=pl.when(tcp | upper)
        .then(pl.lit("tcp"))
        .when(layer == "DNS")
        .then(pl.lit("udp"))
        .otherwise(layer.str.to_lowercase()),
        payload=pl.when(~tcp & (layer != "UDP")).then(
            layer + " " + line.str.extract(r" [a-z]?[A-Z][A-Za-z0-9_./-]* +[0-9]+ ([^?]{1,80})")
        ),
    )
    return complete(rows)


def spelled(words: dict[str, str], text: pl.Expr) -> pl.Expr:
    """Return flags as letters, in the order of `words`."""
    letters = [
        pl.when(text.str.contains(word, literal=True)).then(pl.lit(letter)).otherwise(pl.lit(""))
        for letter, word in words.items()
    ]
    return pl.concat_str(letters)
