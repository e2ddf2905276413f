r"""Sockets of Linux: ss with all options.

Tool: ss(8) of iproute2, any of -a -l -n -t -u -w -x -p -e -i -m -o -s, old and new header (`users:(("x",1,2))` too). Capture:
`ss -tanpiem`.

Samples::

    Netid  State   Recv-Q  Send-Q   Local Address:Port   Peer Address:Port  Process
    ESTAB  0       240     10.0.0.1:1521                 10.0.0.2:40000     users:(("oracle",pid=4711,fd=13))
             cubic wscale:7,7 rto:204 rtt:0.5/0.25 ato:40 mss:1448 cwnd:10 retrans:0/3 unacked:1 rcv_space:14480
    TCP:   12 (estab 3, closed 1, orphaned 0, timewait 1)

Tables: sockets; counters (-i, -m: grp ss_tcp, item = `local > peer`; -s: grp sockets). Clock: none; wall-local under marks.
Traps: Recv-Q of a listener is its accept queue and Send-Q the limit of that queue (backlog); of other sockets both are bytes.
`retrans:0/3` is the number now and in total: both are stored (retrans_now, retrans_total). rtt is mean/deviation in ms. Lines of details
belong to the socket above them, also where a mail program wrapped them. Netlink and packet sockets have no addresses: the program comes
from `rtnl:netifd/960`. Only the first of several users of a socket is stored. Known gaps: -b (filters), cgroup and sched lines.
"""

from __future__ import annotations

import re

import polars as pl

from parsers.clocks.snapshots import marked
from parsers.columns import counter_rows, grid
from parsers.columns.endpoints import address, port
from parsers.declarations import Claim, Format
from parsers.tables.rows import State, Tables
from parsers.text.source import Head, Source

_STATES = "ESTAB|SYN-SENT|SYN-RECV|FIN-WAIT-1|FIN-WAIT-2|TIME-WAIT|CLOSE-WAIT|LAST-ACK|LISTEN|CLOSING|CLOSED|CLOSE|UNCONN|UNKNOWN|NEW-SYN-RECV|NEW_SYN_RECV"
HEADER = r"^(?:Netid[ \t]+)?(?:State[ \t]+)?Recv-Q[ \t]+Send-Q[ \t]+Local[ \t]+Address:Port[ \t]+Peer[ \t]+Address:Port"
SOCKET = (
    rf"^(?:([a-z_0-9]+)[ \t]+)?(?:({_STATES})[ \t]+)?([0-9]+)[ \t]+([0-9]+)[ \t]+([^ \t]+?)(?::|[ \t])[ \t]*([0-9]+|\*|[a-z][0-9A-Za-z_-]*)[ \t]+"
    r"([^ \t]+?)(?::|[ \t])[ \t]*([0-9]+|\*|[a-z][0-9A-Za-z_-]*)(?:[ \t]+(.*))?$"
)
# Sockets without peer and ports: netlink, raw packets.
BARE = rf"^(nl|p_raw|p_dgr|xdp)[ \t]+({_STATES})[ \t]+([0-9]+)[ \t]+([0-9]+)[ \t]+([^ \t]+)[ \t]+\*(?:[ \t]+(.*))?$"
_KEYS = (
    "wscale|rto|backoff|rtt|ato|mss|pmtu|rcvmss|advmss|cwnd|ssthresh|bytes_[a-z]+|(?:data_)?segs_(?:in|out)|last(?:snd|rcv|ack)|delivered(?:_ce)?|busy|unacked"
    "|retrans|lost|sacked|reordering|reord_seen|rcv_(?:rtt|space|ssthresh|ooopack)|minrtt|snd_wnd|notsent|dsack_dups|rwnd_limited|sndbuf_limited"
)
DETAIL = (
    r"^[ \t]*(?:skmem:\(|timer:\(|users:\(|(?:uid:[0-9]+ )?ino:[0-9]+ sk:|inet-sockopt: \(|bbr:\(|app_limited "
    rf"|(?:ts )?(?:sack )?(?:e[a-z]+ )?(?:ecnseen )?(?:[a-z]+[0-9]* )?(?:{_KEYS}):[0-9]|(?:send|pacing_rate|delivery_rate|max_pacing_rate) [0-9.]+[KMGTP]?bps)"
)
SUMMARY = r"^([A-Z][A-Za-z0-9]*):[ \t]+([0-9]+)(?: \((.*)\))?$"
TRANSPORT = r"^(\*|RAW|UDP|TCP|INET|FRAG)[ \t]+([0-9]+|-)[ \t]+([0-9]+|-)[ \t]+([0-9]+|-)[ \t]*$"
_NAMED = {
    "rtt": ("rtt_ms", "rttvar_ms", "ms"),
    "retrans": ("retrans_now", "retrans_total", "segments"),
    "rto": ("rto_ms", "", "ms"),
    "minrtt": ("minrtt_ms", "", "ms"),
    "ato": ("ato_ms", "", "ms"),
}
_PLAIN = (
    "mss cwnd ssthresh unacked lost sacked reordering rcv_space rcv_ssthresh notsent bytes_sent bytes_acked bytes_received "
    "bytes_retrans segs_out segs_in lastsnd lastrcv lastack backoff reord_seen rcv_ooopack snd_wnd"
).split()
_TOTALS = ("bytes_", "segs_", "retrans_total", "reord_seen", "rcv_ooopack")

FORMAT = Format(
    kind="ss",
    variant="linux",
    version="1",
    systems=("linux",),
    tables=("sockets", "counters"),
    man="ss(8)",
    example="ss -tanpiem",
    clocks=("none", "wall-local"),
    own="(?:" + "|".join((HEADER, rf"^(?:[a-z_0-9]+[ \t]+)?(?:{_STATES})[ \t]+[0-9]+[ \t]+[0-9]+[ \t]", DETAIL)) + ")",
)


def claim(head: Head) -> Claim | None:
    """Claim by the header, else by rows that begin with a state and two queues, else by the summary of -s."""
    text = head.text
    first = [x for x in head.lines[:40] if x][:12]
    if "Recv-Q" not in text and not any(re.match(SOCKET, x) or "timewait" in x for x in first):
        return None
    for number, line in enumerate(head.lines if "Recv-Q" in text else (), start=1):
        if re.match(HEADER, line):
            return Claim(0.97, f"header of ss in line {number}")
    filled = [x for x in head.lines[:400] if x]
    rows = sum(1 for x in filled if (m := re.match(SOCKET, x)) and m[2])
    details = sum(1 for x in filled if re.match(DETAIL, x))
    if rows and (rows + details) * 2 > len(filled):
        return Claim(0.9, f"{rows} sockets of ss")
    if any(re.match(r"^TCP: +[0-9]+ \(estab [0-9]+, closed", x) for x in filled):
        return Claim(0.95, "summary of ss -s")
    return None


def parse(source: Source, out: Tables, state: State) -> State:
    """Read a run of blocks; `state` keeps the sample and the socket that a detail line may belong to."""
    for frame in grid.frames(source):
        frame = marked(frame, out, state).filter(~pl.col("is_mark"))
        line = pl.col("line")
        heads = line.str.contains(HEADER) | line.str.contains(r"^Total: [0-9]+")
        frame = frame.with_columns(sample=grid.counted(heads, state), is_head=heads)
        grid.carry(frame, state)
        frame = frame.with_columns(sample=pl.max_horizontal("sample", pl.lit(1, pl.Int64)))
        out.read(frame.filter(pl.col("is_head") | line.str.contains(r"^Transport[ \t]+Total"))["line_no"])
        heading = line.str.contains(r"^Transport\b") & ~line.str.contains(
            r"^Transport[ \t]+Total[ \t]+IP[ \t]+IPv6[ \t]*$"
        )
        if frame.select(heading.any()).item():  # numbers under headings in another order cannot be assigned
            frame = frame.filter(~line.str.contains(TRANSPORT))
        sockets = _sockets(frame, out)
        rows = pl.concat([_details(frame, sockets, out, state), _summary(frame)], how="diagonal_relaxed")
        counter_rows.add(rows, out, state)
    return state


def _sockets(frame: pl.DataFrame, out: Tables) -> pl.DataFrame:
    names = ["netid", "state", "recvq", "sendq", "local", "lport", "peer", "pport", "rest"]
    line = pl.col("line")
    sockets = line.str.contains(SOCKET) & ~line.str.contains(r"^[ \t]")
    fitting = frame.filter((sockets | line.str.contains(BARE)) & ~pl.col("is_head"))
    rows = fitting.with_columns(line.str.extract_groups(SOCKET).struct.rename_fields(names).alias("g")).unnest("g")
    both = {
        side: pl.concat_str(pl.col(side), pl.col(p), separator=":")
        for side, p in (("local", "lport"), ("peer", "pport"))
    }
    bare = line.str.extract_groups(BARE).struct.rename_fields(["netid", "state", "recvq", "sendq", "local", "rest"])
    bare_local = bare.struct.field("local")
    rest = pl.coalesce("rest", bare.struct.field("rest"))
    rows = rows.with_columns(
        *(pl.coalesce(pl.col(c), bare.struct.field(c)) for c in ("netid", "state", "recvq", "sendq")),
        local=pl.coalesce(both["local"], bare_local),
        peer=pl.coalesce(both["peer"], pl.when(bare_local.is_not_null()).then(pl.lit("*"))),
        rest=rest,
    )
    rest = pl.col("rest")
    rows = rows.with_columns(
        proto=pl.col("netid").replace(
            {"u_str": "unix", "u_dgr": "unix", "u_seq": "unix", "nl": "netlink", "p_raw": "packet", "p_dgr": "packet"}
        ),
        pid=pl.coalesce(
            rest.str.extract(r"pid=([0-9]+)"),
            rest.str.extract(r'\("[^"]*",([0-9]+),'),
            bare_local.str.extract(r":[^/ ]+/([0-9]+)$"),
        ).cast(pl.Int64, strict=False),
        comm=pl.coalesce(rest.str.extract(r'\("([^"]*)"'), bare_local.str.extract(r":([^/ ]+)/[0-9]+$")),
    )
    # Without Netid the list has one protocol; only TCP has states other than UNCONN.
    proto = pl.coalesce(
        "proto", pl.when(~pl.col("state").is_in(["UNCONN"]) & pl.col("state").is_not_null()).then(pl.lit("tcp"))
    )
    no_address = pl.col("proto").is_in(["unix", "netlink", "packet", "xdp"]).fill_null(False)
    out.add(
        "sockets",
        rows.select(
            "line_no",
            "sample",
            "t_local",
            "state",
            "pid",
            "comm",
            proto=proto,
            local_ip=pl.when(~no_address).then(address(pl.col("local"))),
            local_port=pl.when(~no_address).then(port(pl.col("local"))),
            peer_ip=pl.when(~no_address).then(address(pl.col("peer"))),
            peer_port=pl.when(~no_address).then(port(pl.col("peer"))),
            recvq=pl.col("recvq").cast(pl.Int64, strict=False),
            sendq=pl.col("sendq").cast(pl.Int64, strict=False),
        ),
    )
    return rows.select("line_no", "local", "peer", "rest")


def _details(frame: pl.DataFrame, sockets: pl.DataFrame, out: Tables, state: State) -> pl.DataFrame:
    """Read the details of -i and -m, after the socket or on the line below it."""
    line = pl.col("line")
    named = frame.join(sockets, on="line_no", how="left", maintain_order="left")
    item = pl.concat_str(pl.col("local"), pl.col("peer"), separator=" > ")
    named = named.with_columns(item=item.forward_fill().fill_null(pl.lit(state.get("item"), pl.String)))
    if len(named):
        state["item"] = named["item"][-1]
    below = line.str.contains(DETAIL)
    text = pl.when(below).then(line).otherwise(pl.col("rest"))
    detailed = named.with_columns(text=text).filter(pl.col("text").is_not_null() & pl.col("item").is_not_null())
    out.read(named.filter(below & pl.col("item").is_not_null())["line_no"])
    memory = pl.col("text").str.extract(r"skmem:\(([^)]*)\)").str.extract_all(r"[a-z]+[0-9]+")
    plain = (
        pl.col("text")
        .str.replace(r"skmem:\([^)]*\)", "")
        .str.replace(r"users:\(.*?\)\)", "")
        .str.extract_all(r"[a-z][a-z_]*:[0-9][0-9./]*")
    )
    cells = (
        detailed.select(
            "line_no",
            "sample",
            "t_local",
            "item",
            cell=pl.concat_list(memory.list.eval("skmem_" + pl.element()).fill_null([]), plain),
        )
        .explode("cell")
        .drop_nulls("cell")
    )
    groups = (
        pl.col("cell")
        .str.extract_groups(r"^([a-z_]+?):?([0-9][0-9.]*)(?:/([0-9.]+))?$")
        .struct.rename_fields(["name", "one", "two"])
    )
    cells = cells.with_columns(groups.alias("g")).unnest("g")
    first = pl.col("name").replace({k: v[0] for k, v in _NAMED.items()})
    second = pl.col("name").replace_strict(
        {k: v[1] for k, v in _NAMED.items() if v[1]}, default=None, return_dtype=pl.String
    )
    wanted = pl.col("name").is_in([*_NAMED, *_PLAIN]) | pl.col("name").str.starts_with("skmem_")
    cells = cells.filter(wanted)
    one = cells.select(
        "line_no",
        "sample",
        "t_local",
        "item",
        name=first,
        value=pl.col("one").cast(pl.Float64, strict=False),
        base="name",
    )
    two = cells.filter(pl.col("two").is_not_null() & second.is_not_null())
    two = two.select(
        "line_no",
        "sample",
        "t_local",
        "item",
        name=second,
        value=pl.col("two").cast(pl.Float64, strict=False),
        base="name",
    )
    rows = pl.concat([one, two]).with_columns(
        grp=pl.lit("ss_tcp"),
        unit=pl.col("base").replace_strict({k: v[2] for k, v in _NAMED.items()}, default=None, return_dtype=pl.String),
        mode=pl.when(pl.any_horizontal(pl.col("name").str.starts_with(t) for t in _TOTALS))
        .then(pl.lit("total"))
        .otherwise(pl.lit("level")),
    )
    return rows.drop("base")


def _summary(frame: pl.DataFrame) -> pl.DataFrame:
    """Read the summary of -s: `TCP: 12 (estab 3, ...)` and the table of transports."""
    line = pl.col("line")
    tops = frame.filter(line.str.contains(SUMMARY)).with_columns(
        line.str.extract_groups(SUMMARY).struct.rename_fields(["item", "all", "more"]).alias("g")
    )
    tops = tops.unnest("g").with_columns(item=pl.col("item").str.to_lowercase())
    more = tops.with_columns(cell=pl.col("more").str.extract_all(r"[a-z]+ [0-9]+")).explode("cell").drop_nulls("cell")
    base = ["line_no", "sample", "t_local", "item"]
    parts = [
        tops.select(*base, name=pl.lit("all"), value=pl.col("all").cast(pl.Float64)),
        more.select(
            *base,
            name=pl.col("cell").str.extract(r"^([a-z]+)"),
            value=pl.col("cell").str.extract(r"([0-9]+)$").cast(pl.Float64),
        ),
    ]
    table = frame.filter(line.str.contains(TRANSPORT)).with_columns(
        line.str.extract_groups(TRANSPORT).struct.rename_fields(["item", "total", "ip", "ipv6"]).alias("g")
    )
    table = table.unnest("g").with_columns(item=pl.col("item").str.to_lowercase())
    parts += [
        table.select(*base, name=pl.lit(n), value=pl.col(n).cast(pl.Float64, strict=False))
        for n in ("total", "ip", "ipv6")
    ]
    return pl.concat(parts).with_columns(grp=pl.lit("sockets"), mode=pl.lit("level"))
