r"""Protocol counters and lists of sockets: netstat -s, netstat -an, nstat, /proc/net/snmp and /proc/net/netstat.

Tools: netstat -s of Solaris, Linux, AIX, HP-UX, BSD, Junos; netstat -an (also -p, -e, -o, -f, Solaris -u, macOS -v, Windows); nstat(8);
/proc/net/snmp and netstat. Capture: `netstat -s -P tcp` (Solaris), `netstat -s` twice with the time between; `nstat -az`.

Samples::

        tcpListenDrop       =    11     tcpListenDropQ0     =     0
        2890303 segments send out
        Quick ack mode was activated 9 times
        TCPDeferAcceptDrop: 537
                3064597202 data packets (1653480 bytes)
    TcpExtListenOverflows           4                  0.0
    tcp        0      0 10.0.0.1:1521           10.0.0.2:40000          ESTABLISHED 4711/tnslsnr
    10.1.1.1.1521        10.1.1.2.40000       49640      0 49640      0 ESTABLISHED

Tables: counters (grp = protocol: tcp ip udp icmp ..., TcpExt belongs to tcp; name as printed, without its number; item = the heading
it stands under), sockets. Clock: none; wall-local under marks.
Traps: all counters are since boot: only differences are meaningful, and a counter may have wrapped at 2^32 (AIX). Solaris prints
values that are not counts (tcpMaxConn = -1, words): mode level. Solaris counts drops at a full accept queue in tcpListenDrop, at a full
half-open queue in tcpListenDropQ0; sctpListenDrop belongs to another protocol. On Linux Recv-Q of a listener is its accept queue. nstat
without -a prints the growth since its previous call: mode is NULL unless the command is known. Known gaps: netstat -m, -r, -p (ARP).
"""

from __future__ import annotations

import re
from itertools import pairwise

import polars as pl

from parsers.clocks.snapshots import MARK, marked
from parsers.columns import counter_rows, grid
from parsers.columns.endpoints import address, port
from parsers.declarations import Claim, Format
from parsers.formats.network.netstat.translated import ABOVE, STATES
from parsers.tables.rows import State, Tables
from parsers.text.source import Head, Source

PAIR = r"([a-z][A-Za-z0-9]*[A-Z][A-Za-z0-9]*)[ \t]*=[ \t]*(-?[0-9]+|[a-z][A-Za-z0-9]*)"
PAIRS = (
    r"^(?:(?:TCP|UDP|SCTP|RAWIP|IPv[46]|ICMPv[46]|IGMP|DCCP)[ \t]|[ \t]*)[ \t]*(?:"
    + PAIR.replace("(", "(?:")
    + r"[ \t]*)+$"
)
GROUP = r"^([A-Za-z][A-Za-z0-9_]{1,12}):$"
SECTION = r"^([ \t]+)([A-Za-z][^=]*:|(?:Out|In)put Histogram)$"
FIRST = r"^([ \t]+)([0-9]+) {1,2}([A-Za-z(][^=]*)$"
NAMED = r"^([ \t]+)([A-Za-z#][A-Za-z0-9 ,'/_()-]*): *([0-9]+)$"
WITHIN = r"^([ \t]+)([A-Za-z][A-Za-z0-9 ,'/_-]*?) ([0-9]+) ([a-z][A-Za-z ]*)$"
BYTES = r"\((?:for |including |of )?([0-9]+) ([a-z][a-z ]*)\)"
# Brackets without a count of bytes: the line was damaged.
UNCOUNTED = r"\([a-z ]*-(?:[0-9]| )"
NSTAT = r"^([A-Z][A-Za-z0-9]+)[ \t]+([0-9]+)[ \t]+([0-9.]+)$"
NSTAT_HEAD = r"^#(?:kernel|[0-9]+\.[0-9]+ sampling)"
PROC_NAMES = r"^(Ip|Icmp|IcmpMsg|Tcp|Udp|UdpLite|TcpExt|IpExt|MPTcpExt): ((?:[A-Z][A-Za-z0-9]* )*[A-Z][A-Za-z0-9]*) ?$"
PROC = r"^(Ip|Icmp|IcmpMsg|Tcp|Udp|UdpLite|TcpExt|IpExt|MPTcpExt): (-?[0-9]+(?: -?[0-9]+)*) *$"
SOCKET = (
    r"^[ \t]*(?:[0-9a-f]{8,16}[ \t]+)?((?i:tcp|udp|sctp|raw|icmp)[46]{0,2}6?)[ \t]+([0-9]+)[ \t]+([0-9]+)"
    r"[ \t]+([^ \t]+[:.][0-9a-z*][^ \t]*)[ \t]+([^ \t]+[:.][0-9a-z*][^ \t]*)(?:[ \t]+([A-Z][A-Z_0-9ÇÖ]+))?(?:[ \t]+([^ \t].*))?$"
)
"""A socket; AIX and BSD -A print a kernel address in front."""

PROGRAM = r"(?:^|[ \t])([0-9]+)/([^ \t].*)?$"
TIMER = r"[ \t]+(?:off|on|keepalive|timewait|probe|unkn-[0-9]+) \([0-9./]+\)[ \t]*$"
"""Text after the state: Linux -p prints process and program, -e user and inode before them, -o a timer after them."""

# macOS -v: two buffer limits, the process, the process it acts for.
BUFFERS = r"^[0-9]+[ \t]+[0-9]+[ \t]+([0-9]+)[ \t]+[0-9]+(?:[ \t]|$)"
PROCESS = r"^(?:[0-9]+[ \t]+){2,4}([^0-9 \t][^:]{0,60}):([0-9]+)[ \t]"
"""Newer macOS -v: counts of bytes, two buffer limits, name and process (long names are cut and may contain blanks)."""

SOCKET_SOLARIS = (
    r"^[ \t]*([0-9A-Za-z*][^ \t]*\.(?:[0-9]+|\*|[a-z][0-9a-z-]*))[ \t]+([0-9A-Za-z*][^ \t]*\.(?:[0-9]+|\*|[a-z][0-9a-z-]*))[ \t]+"
    r"(?:[a-z_][^ \t]*[ \t]+([0-9]+)[ \t]+([^ \t]+)[ \t]+)?"
    r"([0-9]+)[ \t]+([0-9]+)[ \t]+([0-9]+)[ \t]+([0-9]+)[ \t]+([A-Z][A-Z_0-9]+)$"
)
SOCKET_WINDOWS = (
    r"^[ \t]+(TCP|UDP)[ \t]+([^ \t]+:[0-9*]+)[ \t]+([^ \t]+:[0-9*]+)(?:[ \t]+([A-Z][A-Z_0-9ÇÖ]+))?(?:[ \t]+([0-9]+))?$"
)
UNBOUND = r"^[ \t]+(\*\.\*|[0-9A-Za-z*][^ \t]*\.(?:[0-9]+|\*))[ \t]+(?:[a-z_][^ \t]*[ \t]+([0-9]+)[ \t]+([^ \t]+)[ \t]+)?(Idle|Unbound|Connected)[ \t]*$"
UNIX = r"^unix[ \t]+([0-9]+)[ \t]+\[[^\]]*\][ \t]+(STREAM|DGRAM|SEQPACKET|RAW)[ \t]+([A-Z]+)?"
UNIX_ADDRESS = r"^[0-9a-f]{8,16}[ \t]+(stream|dgram|seqpac)[ \t]+([0-9]+)[ \t]+([0-9]+)(?:[ \t]+[0-9a-f]+){3,4}(?:[ \t]+/[^ \t]*)?[ \t]*$"
"""A Unix socket of AIX and BSD; AIX prints another address below it."""

HEADS = (
    rf"{ABOVE}|^[0-9a-f]{{8,16}}[ \t]*$|"
    r"^(?:[ \t]*(?:Active |Proto |PCB/ADDR |SADR/PCB |Local Address|Lokale Adresse)|(?:TCP|UDP|SCTP): IPv|TCP$|UDP$|SCTP$|-{5}|[ \t]+-{5}"
    r"|\(Not all processes|[ \t]*will not be shown|"
    r"netstat: |error parsing)|^[ \t]*$"
)

_LEVELS = r"(?:RtoAlgorithm|RtoMin|RtoMax|MaxConn|CurrEstab|Forwarding|DefaultTTL|AddrEntrySize|RouteEntrySize|NetToMediaEntrySize|MaxInitRetr|ValCookieLife)$"
_GROUPS = {
    "tcpext": "tcp",
    "ipext": "ip",
    "icmpmsg": "icmp",
    "mptcpext": "mptcp",
    "ipv4": "ip",
    "icmpv4": "icmp",
    "udplite": "udplite",
}

_UNIX = ("solaris", "linux", "aix", "hpux", "freebsd", "macos")


def _format(variant: str, systems: tuple[str, ...], table: str, example: str, own: tuple[str, ...]) -> Format:
    tool = example.split()[0]
    man = {"nstat": "nstat(8)", "cat": "proc(5)"}.get(tool, "netstat(1)")
    return Format(
        "netstat",
        variant,
        "2" if variant in ("s", "an") else "1",
        systems,
        (table,),
        man,
        example,
        clocks=("none", "wall-local"),
        own="(?:" + "|".join(own) + ")",
    )


FORMATS = (
    _format("s", _UNIX, "counters", "netstat -s", (PAIRS, GROUP, FIRST, NAMED)),
    _format("an", (*_UNIX, "windows"), "sockets", "netstat -an", (SOCKET, SOCKET_SOLARIS, SOCKET_WINDOWS)),
    _format("nstat", ("linux",), "counters", "nstat -az", (NSTAT,)),
    _format("proc", ("linux",), "counters", "cat /proc/net/snmp /proc/net/netstat", (PROC_NAMES, PROC)),
)

_PROTOCOLS = frozenset(
    "ip tcp udp icmp tcpext ipext icmpmsg udplite ip6 icmp6 igmp arp sctp ipv6 icmpv6 rawip ipsec ah esp pim carp mptcpext "
    "udp6 tcp6 unix rip6 pfkey kctl xfrm".split()
)
LOOKED_AT = 60
"""Maximum number of lines of a head that `claim` examines."""

_FIRST_WORDS = r"^(?:Active |Aktive |Conn?e|PCB/|Proto |(?:TCP|UDP)\b|[ \t]*Local Address|#kernel|#[0-9.]+ sampl|[ \t]+[0-9]+ [a-z])"
SIGN = re.compile("|".join((_FIRST_WORDS, GROUP, PAIRS, SOCKET, SOCKET_SOLARIS, NSTAT, PROC_NAMES, PROC)))
"""Form that at least one of the first lines has in each of these outputs."""

_WORDS = r"(?i)packets?|segments?|connections?|datagrams|retransmit|listen|timeouts?|octets|acks|messages|checksum|fragments|requests"


def claim(head: Head) -> Claim | None:
    """Claim by name=value pairs of Solaris, protocol headings with counters below, rows of sockets, names of nstat or /proc/net."""
    lines = [x for x in head.lines[:LOOKED_AT] if x and not re.match(MARK, x)]
    if not any(SIGN.match(x[:200]) for x in lines[:12]):
        return None
    pairs = sum(1 for x in lines if "=" in x and re.match(PAIRS, x))
    if pairs >= 1 and pairs * 2 > len(lines):
        return Claim(0.95 if pairs > 1 else 0.7, f"{pairs} lines of name=value pairs of Solaris's protocols", "s")
    sockets = sum(1 for x in lines if re.match(SOCKET, x) or re.match(SOCKET_SOLARIS, x) or re.match(SOCKET_WINDOWS, x))
    head_row = any(
        x.startswith(("Active Internet", "Proto Recv-Q", "PCB/ADDR")) or "Local Address" in x for x in lines[:20]
    )
    if sockets and (head_row or sockets * 2 > len(lines)) and "Netid" not in lines[0]:
        return Claim(0.95 if head_row else 0.85, f"{sockets} sockets", "an")
    names = sum(1 for x in lines if re.match(NSTAT, x) and re.match(r"Tcp|Ip|Udp|Icmp", x))
    if names and (re.match(NSTAT_HEAD, lines[0]) or names * 2 > len(lines)):
        return Claim(0.95, f"{names} counters of nstat", "nstat")
    pairs = sum(bool(re.match(PROC_NAMES, a) and re.match(PROC, b)) for a, b in pairwise(lines))
    if pairs and pairs * 4 > len(lines):
        return Claim(0.96, f"{pairs} lines of names of /proc/net, each with its values", "proc")
    groups = [m[1].lower() for m in (re.match(GROUP, x) for x in lines) if m]
    known = [g for g in groups if g in _PROTOCOLS]
    rows = [x for x in lines if re.match(FIRST, x) or re.match(NAMED, x) or re.match(WITHIN, x)]
    named = sum(1 for x in rows if re.search(_WORDS, x))
    if rows and known and len(rows) * 2 > len(lines) - len(groups):
        return Claim(0.95 if len(rows) > 3 else 0.75, f"protocol {known[0]} with {len(rows)} counters", "s")
    if len(rows) > 2 and len(rows) * 3 > len(lines) * 2 and named * 2 > len(rows):
        return Claim(0.7, f"{named} counters of packets and connections", "s")
    return None


def parse(source: Source, out: Tables, state: State) -> State:
    """Read a run of blocks; `state` keeps the protocol, the heading, the sample and the last values."""
    for frame in grid.frames(source):
        frame = marked(frame, out, state).filter(~pl.col("is_mark"))
        if state["variant"] == "an":
            _sockets(frame, out, state)
        elif state["variant"] == "nstat":
            _nstat(frame, source, out, state)
        elif state["variant"] == "proc":
            _proc(frame, out, state)
        else:
            _counters(frame, out, state)
    return state


def _counters(frame: pl.DataFrame, out: Tables, state: State) -> None:
    """Read both styles: name=value pairs, and numbers with words under headings."""
    line = pl.col("line")
    pairs = frame.filter(line.str.contains(PAIRS))
    groups = pl.col("pair").str.extract_groups(PAIR).struct.rename_fields(["name", "text"])
    pairs = (
        pairs.with_columns(pair=line.str.extract_all(PAIR)).explode("pair").with_columns(groups.alias("g")).unnest("g")
    )
    prefix = pl.col("name").str.extract(r"^([a-z]+v?[0-9]*)")
    pairs = pairs.with_columns(
        grp=prefix.replace(_GROUPS),
        item=pl.lit(None, pl.String),
        value=pl.col("text").cast(pl.Float64, strict=False),
        mode=pl.when(pl.col("name").str.contains(_LEVELS)).then(pl.lit("level")).otherwise(pl.lit("total")),
    )
    lines = frame.filter(~line.str.contains(PAIRS)).with_columns(
        group=line.str.extract(GROUP).str.to_lowercase(),
        section=line.str.extract(SECTION, 2).str.strip_suffix(":"),
        deep=line.str.extract(SECTION, 1).str.len_chars().cast(pl.Int64, strict=False),
        indent=line.str.extract(r"^([ \t]*)").str.len_chars().cast(pl.Int64, strict=False),
    )
    headed = lines.with_columns(
        section=pl.when(pl.col("group").is_not_null())
        .then(pl.lit(""))
        .otherwise(pl.col("section"))
        .forward_fill()
        .fill_null(pl.lit(state.get("section", ""))),
        deep=pl.when(pl.col("group").is_not_null())
        .then(pl.lit(0))
        .otherwise(pl.col("deep"))
        .forward_fill()
        .fill_null(pl.lit(state.get("deep", 0))),
        is_head=pl.col("group").is_not_null() | pl.col("section").is_not_null(),
        printed=line.str.extract(GROUP).forward_fill().fill_null(pl.lit(state.get("printed"), pl.String)),
    )
    out.read(headed.filter("is_head")["line_no"])
    if len(headed):
        last = headed.row(-1, named=True)
        state |= {"section": last["section"], "deep": last["deep"], "printed": last["printed"]}
    parts, left = [], headed.filter(~line.str.contains(UNCOUNTED))
    for pattern, names in (
        (FIRST, "indent0 text name"),
        (NAMED, "indent0 name text"),
        (WITHIN, "indent0 head text tail"),
    ):
        fit = left.filter(line.str.contains(pattern))
        left = left.filter(~line.str.contains(pattern))
        fit = fit.with_columns(line.str.extract_groups(pattern).struct.rename_fields(names.split()).alias("g")).unnest(
            "g"
        )
        if "head" in names:
            fit = fit.with_columns(name=pl.col("head") + " " + pl.col("tail"))
        parts.append(fit.select("line_no", "t_local", "printed", "section", "deep", "indent", "name", "text"))
    rows = pl.concat(parts)
    more = rows.filter(pl.col("name").str.contains(BYTES))
    more = more.with_columns(
        text=pl.col("name").str.extract(BYTES, 1), name=pl.col("name").str.replace(" *" + BYTES, " $2")
    )
    rows = pl.concat([rows.with_columns(name=pl.col("name").str.replace(r" *" + BYTES, "")), more])
    protocol = pl.col("printed").str.to_lowercase()
    grp = protocol.replace(_GROUPS)
    inside = (pl.col("section") != "") & (pl.col("indent") > pl.col("deep"))
    bare = rows.filter(pl.col("printed").is_null())["line_no"].sort()
    if len(bare):
        out.note(int(bare[0]), int(bare[-1]), "remark", "no heading above says the protocol: their group is unknown")
    special = pl.when(protocol != grp).then(pl.col("printed"))
    rows = rows.with_columns(
        grp=grp,
        item=pl.coalesce(pl.when(inside).then(pl.col("section")), special),
        value=pl.col("text").cast(pl.Float64),
        name=pl.col("name").str.strip_chars_end("."),
        mode=pl.when(pl.col("name") == "connections established").then(pl.lit("level")).otherwise(pl.lit("total")),
    )
    keep = ["line_no", "t_local", "grp", "item", "name", "value", "mode"]
    counter_rows.add(pl.concat([pairs.select(keep), rows.select(keep)]), out, state)


def _nstat(frame: pl.DataFrame, source: Source, out: Tables, state: State) -> None:
    """Read nstat: names begin with their protocol (TcpExtListenDrops); the third column is a rate of the daemon and left out."""
    line = pl.col("line")
    out.read(frame.filter(line.str.contains(NSTAT_HEAD))["line_no"])
    names = ["name", "text", "rate"]
    rows = (
        frame.filter(line.str.contains(NSTAT))
        .with_columns(line.str.extract_groups(NSTAT).struct.rename_fields(names).alias("g"))
        .unnest("g")
    )
    command = source.hints.command or ""
    mode = "total" if re.search(r"nstat .*-[a-z]*a", command) else None
    if mode is None and len(rows) and not state.get("said"):
        number = int(rows["line_no"][0])
        out.note(
            number,
            number,
            "remark",
            "nstat without -a prints growth since its call before; which one this is was not told",
        )
        state["said"] = True
    prefix = (
        pl.col("name")
        .str.extract(r"^(Ip6|Icmp6|Udp6|UdpLite6?|TcpExt|IpExt|MPTcpExt|IcmpMsg|Tcp|Ip|Udp|Icmp)")
        .str.to_lowercase()
    )
    rows = rows.with_columns(
        grp=prefix.fill_null("nstat").replace(_GROUPS),
        item=pl.lit(None, pl.String),
        value=pl.col("text").cast(pl.Float64),
        mode=pl.lit(mode, pl.String),
    )
    counter_rows.add(rows.select("line_no", "t_local", "grp", "item", "name", "value", "mode"), out, state)


def _proc(frame: pl.DataFrame, out: Tables, state: State) -> None:
    """Read /proc/net/snmp and netstat: a line of values below each line of names; the names become those of nstat."""
    line = pl.col("line")
    names = pl.when(line.str.contains(PROC_NAMES)).then(line)
    above = names.forward_fill().fill_null(pl.lit(state.get("names"), pl.String))
    frame = frame.with_columns(above=above)
    if len(frame):
        state["names"] = frame["above"][-1]
    out.read(frame.filter(line.str.contains(PROC_NAMES))["line_no"])
    rows = frame.filter(line.str.contains(PROC) & pl.col("above").is_not_null()).with_columns(
        prefix=line.str.extract(PROC, 1),
        word=pl.col("above").str.extract_all(r"[A-Za-z0-9]+").list.slice(1),
        text=line.str.extract(PROC, 2).str.split(" "),
    )
    fit = (pl.col("above").str.extract(r"^([A-Za-z]+):") == pl.col("prefix")) & (
        pl.col("word").list.len() == pl.col("text").list.len()
    )
    long = rows.filter(fit).explode("word", "text")
    level = pl.col("word").str.contains(f"^{_LEVELS}")
    group = pl.col("prefix").str.to_lowercase().replace(_GROUPS)
    long = long.with_columns(
        grp=group,
        item=pl.lit(None, pl.String),
        name=pl.col("prefix") + pl.col("word"),
        value=pl.col("text").cast(pl.Float64),
        mode=pl.when(level).then(pl.lit("level")).otherwise(pl.lit("total")),
    )
    counter_rows.add(long.select("line_no", "t_local", "grp", "item", "name", "value", "mode"), out, state)


def _sockets(frame: pl.DataFrame, out: Tables, state: State) -> None:
    """Read lists of sockets of all systems; the first heading of a list begins a sample, those of further protocols do not."""
    line = pl.col("line")
    begins = line.str.contains(ABOVE)
    frame = frame.with_columns(sample=grid.counted(begins, state))
    grid.carry(frame, state)
    frame = frame.with_columns(sample=pl.max_horizontal("sample", pl.lit(1, pl.Int64)))
    section = (
        line.str.extract(r"^(TCP|UDP|SCTP)(?:: IPv[46])?$")
        .str.to_lowercase()
        .forward_fill()
        .fill_null(pl.lit(state.get("section"), pl.String))
    )
    frame = frame.with_columns(section=section)
    if len(frame):
        state["section"] = frame["section"][-1]
    out.read(frame.filter(line.str.contains(HEADS) & (line != ""))["line_no"])
    shapes = (
        (SOCKET, ["proto", "recvq", "sendq", "local", "peer", "state", "more"]),
        (SOCKET_SOLARIS, ["local", "peer", "pid", "comm", "swind", "sendq", "rwind", "recvq", "state"]),
        (SOCKET_WINDOWS, ["proto", "local", "peer", "state", "pid"]),
        (UNBOUND, ["local", "pid", "comm", "state"]),
        (UNIX, ["refs", "kind", "state"]),
        (UNIX_ADDRESS, ["kind", "recvq", "sendq"]),
    )
    lists = []
    left = frame
    for pattern, names in shapes:
        fit = left.filter(line.str.contains(pattern))
        left = left.filter(~line.str.contains(pattern))
        if fit.is_empty():
            continue
        fit = fit.with_columns(line.str.extract_groups(pattern).struct.rename_fields(names).alias("g")).unnest("g")
        if "more" in names:
            program = pl.col("more").str.replace(TIMER, "").str.strip_chars_end()
            # On newer macOS the third figure is a limit, and name and process stand together.
            process = [pl.col("more").str.extract(PROCESS, n) for n in (1, 2)]
            pid = pl.coalesce(program.str.extract(PROGRAM, 1), process[1], pl.col("more").str.extract(BUFFERS))
            fit = fit.with_columns(pid=pid, comm=pl.coalesce(program.str.extract(PROGRAM, 2), process[0]))
        missing = [
            pl.lit(None, pl.String).alias(n)
            for n in ("proto", "recvq", "sendq", "local", "peer", "pid", "comm", "state")
            if n not in fit.columns
        ]
        fit = fit.with_columns(missing)
        proto = (
            pl.lit("unix")
            if pattern in (UNIX, UNIX_ADDRESS)
            else pl.coalesce(pl.col("proto").str.to_lowercase(), "section")
        )
        lists.append(
            fit.select(
                "line_no",
                "sample",
                "t_local",
                proto=proto,
                state=pl.col("state").replace(STATES),
                local_ip=address(pl.col("local")),
                local_port=port(pl.col("local")),
                peer_ip=address(pl.col("peer")),
                peer_port=port(pl.col("peer")),
                recvq=pl.col("recvq").cast(pl.Int64, strict=False),
                sendq=pl.col("sendq").cast(pl.Int64, strict=False),
                pid=pl.col("pid").cast(pl.Int64, strict=False),
                comm=pl.col("comm"),
            )
        )
    if lists:
        out.add("sockets", pl.concat(lists).sort("line_no"))
