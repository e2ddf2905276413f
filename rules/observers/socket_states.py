"""What listings of sockets show: queues in which bytes or connections wait, and states in which many sockets stand.

Standing out: a listening socket with as many connections as its queue takes (ss prints the limit as Send-Q; where netstat prints none,
`MANY` that wait stand out), bytes of 32 kB
and more that a program has not read or a peer has not taken, any bytes of a connection whose time-out was doubled twice and
more for want of an acknowledgement (ss -i: backoff), connection attempts that are not answered (SYN_SENT, ten of
SYN_RECV), ten sockets of one end whose peer has closed (CLOSE_WAIT), and a thousand in TIME_WAIT. Normal: less; the state
that most sockets of a port have is told as a measure. Of several samples the one with most counts. How many sockets are in a state at one
moment says nothing of what that costs, so a state has no share and makes no lead alone.
Worked example: ss with `LISTEN 129 128 *:8080`: 129 connections wait at *:8080, which takes 128.
Cost: two aggregations over the sockets. Source: ss(8) (Recv-Q and Send-Q of listening sockets); RFC 9293 3.3.2 (states);
listen(2); Stevens, TCP/IP Illustrated 1, 18.6.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import Lines, Observer, Sighting, figure, place

OBSERVER = Observer(
    "sockets",
    "Where do bytes and connections wait?",
    ("sockets",),
    {
        "linux": "ss -tanpi; ss -lnt; nstat -az, twice, 60 s apart",
        "solaris": "netstat -an; netstat -s, twice, 60 s apart; pfiles PID",
        "aix": "netstat -Aan; netstat -s, twice, 60 s apart",
        "windows": "netstat -anob; netstat -s, twice, 60 s apart",
        "*": "netstat -an; netstat -s, twice, 60 s apart",
    },
    wordless=True,
)

WAITING_B = 32_768.0
"""Minimum bytes in a queue that stand out: half of what a socket takes without any tuning."""

UNREAD, UNREAD_B = 3, 1024.0 * 1024
"""Minimum number of sockets of one end in which much is unread, or bytes in one, from which the reader is what is slow."""

LEFT_OPEN = 100
"""Minimum number of connections that only the peer closed from which the program is what is wrong: a tenth of the usual 1,024
descriptors; fewer may be those of one burst."""

HALF = 0.5
"""Share of what says who is slow, but not how much of the time that takes."""

RESENT_PCT, RESENT_B = 3.0, 1024.0 * 1024
"""Minimum part in % of what a connection sent that it sent again, and minimum bytes sent, to call its path lossy: at 3 % TCP
keeps 1.22 / 0.03 ** 0.5 = 7 segments on their way (Mathis et al. 1997)."""

DOUBLED = 2
"""Minimum number of times that a time-out was doubled: after one lost segment it is doubled once."""

LEAST: Mapping[str, tuple[int, str]] = {
    "SYN_SENT": (1, "an attempt to connect that nobody has answered"),
    "SYN_RECV": (10, "an attempt to connect whose last step is missing"),
    "CLOSE_WAIT": (10, "closed by the peer and not by the program"),
    "TIME_WAIT": (1_000, "ended, and kept for a while"),
    "FIN_WAIT_2": (100, "closed here and not by the peer"),
    "LAST_ACK": (20, "closed on both sides without the peer's last word"),
}
"""Minimum number of sockets of one end in a state that stands out, and what the state means."""

MANY, OPEN = 20, 3
"""Minimum number of sockets of one end and state that are told as a measure, and of such that are connected."""

SAME = {
    "ESTAB": "ESTABLISHED",
    "SYN_RCVD": "SYN_RECV",
    "SYN_RECEIVED": "SYN_RECV",
    "NEW_SYN_RECV": "SYN_RECV",
    "FIN_WAIT2": "FIN_WAIT_2",
}
"""States under the name of another tool."""

OVER = frozenset((51, 101, 129, 201, 257, 512, 513, 1025, 2049, 4097))
"""Connections in a queue that is full: Linux takes one more than the limit (50 of Java, 100 of Tomcat, 128 and 4096 of the kernel, 511
of nginx, Redis and Node.js)."""

UNACCEPTED = 50
"""Minimum number of connections in a queue of an unknown limit from which the program is what does not accept."""

CITED = 5
"""Maximum number of sockets of a group that are cited."""

TOP = 5
"""Maximum number of queues and of states that are told per artifact."""


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield the queues, the longest first, then the states."""
    state = pl.col("state").str.to_uppercase().str.replace_all("-", "_")
    columns = [
        "sample",
        "line_no",
        "line_end",
        "t_local",
        "proto",
        "state",
        "local_ip",
        "local_port",
        "peer_ip",
        "peer_port",
    ]
    rows = case.scan("sockets", [*PLACE_COLUMNS, "part", *columns, "recvq", "sendq", "comm"]).with_columns(
        state.replace(SAME)
    )
    yield from _queues(rows)
    yield from _unanswered(case, rows)
    yield from _resent(case, rows)
    yield from _states(rows)


def _queues(rows: pl.LazyFrame) -> Iterator[Sighting]:
    listens = (pl.col("state") == "LISTEN").fill_null(value=False)
    full = listens & (pl.col("sendq") > 0) & (pl.col("recvq") >= pl.col("sendq"))
    for row in _longest(rows.filter(full), "recvq"):
        yield _sighting(
            row,
            _end(row, "local"),
            f"{row['recvq']:,} connections wait at {_end(row, 'local')} that nobody has accepted; its queue takes {row['sendq']:,}",
            "accept_queue",
            "count",
            row["recvq"],
            float(row["sendq"]),
            "what the queue takes",
        )
    yield from _unaccepted(rows.filter(listens & (pl.col("sendq").fill_null(0) == 0)))
    # A socket of UDP has no peer until it is connected; other such sockets (netlink, packets) have no port.
    datagrams = ((pl.col("proto").fill_null("") == "udp") | (pl.col("state") == "UNCONN")).fill_null(value=False)
    connected = ~listens & (pl.col("peer_port").is_not_null() | (datagrams & pl.col("local_port").is_not_null()))
    for column, whose in (("recvq", "that its program has not read"), ("sendq", "that the other end has not taken")):
        waiting = _longest(rows.filter(connected & (pl.col(column) >= WAITING_B)), column)
        alike = Counter(_same_end(row) for row in waiting)
        for row in waiting:
            streams = row["peer_port"] is not None and row["proto"] != "udp"
            slow = column == "recvq" and streams and (alike[_same_end(row)] >= UNREAD or row[column] >= UNREAD_B)
            peer = f" (peer {_end(row, 'peer')})" if row["peer_port"] is not None else ""
            ends = f"{_end(row, 'local')}{peer}"
            yield _sighting(
                row,
                _end(row, "local"),
                f"{row[column]:,} bytes stand in the {'receive' if column == 'recvq' else 'send'} queue of {ends} {whose}",
                # A program that leaves datagrams unread closes no window.
                f"{'datagrams' if row['peer_port'] is None else 'socket'}_{column}",
                "bytes",
                row[column],
                WAITING_B,
                "a queue that drains",
                event="bytes-unread" if slow else None,
            )


def _unaccepted(rows: pl.LazyFrame) -> Iterator[Sighting]:
    """Yield the queues of netstat, which prints no limit: many that wait, or one more than a usual limit takes, are those of a program
    that does not accept.
    """
    for row in _longest(rows.filter(pl.col("recvq") >= pl.min_horizontal(MANY, min(OVER))), "recvq"):
        full = row["recvq"] in OVER
        limit = f"; its queue takes {row['recvq'] - 1:,}, as many programs ask for" if full else ""
        yield _sighting(
            row,
            _end(row, "local"),
            f"{row['recvq']:,} connections wait at {_end(row, 'local')} that nobody has accepted{limit}",
            "accept_queue" if full or row["recvq"] >= UNACCEPTED else "accept_waiting",
            "count",
            row["recvq"],
            float(row["recvq"] - 1 if full else UNACCEPTED),
            "what the queue takes" if full else "connections of a moment",
        )


def _same_end(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the key of sockets that one reader serves: its program, or the end that all of them share."""
    own = (row["local_port"] or 0) <= (row["peer_port"] or 0)
    return row["artifact_id"], row["comm"] or (row["local_port"] if own else (row["peer_ip"], row["peer_port"]))


def _resent(case: CaseTables, rows: pl.LazyFrame) -> Iterator[Sighting]:
    """Yield the connections that retransmitted a large part of their data, the largest part first."""
    names = ("bytes_sent", "bytes_retrans", "cwnd", "rtt")
    part = 100 * pl.col("bytes_retrans") / pl.col("bytes_sent")
    for row in _longest(
        _with_figures(case, rows, names, (pl.col("bytes_sent") >= RESENT_B) & (part >= RESENT_PCT)), "bytes_retrans"
    ):
        pct = 100 * row["bytes_retrans"] / row["bytes_sent"]
        told = [f"its window is {row['cwnd']:,.0f} segments"] if row["cwnd"] else []
        yield Sighting(
            "loss",
            _end(row, "peer"),
            f"{_end(row, 'local')} sent {figure(pct, '%')} of its bytes to {_end(row, 'peer')} again:"
            f" {row['bytes_retrans']:,.0f} of {row['bytes_sent']:,.0f}",
            "resent_pct",
            pct,
            "%",
            (Lines(row["artifact_id"], row["line_no"], max(row["line_no"], row["below"]), "sent again"),),
            **place(row),
            t_from=row["t_local"],
            t_to=row["t_local"],
            against="what is normal",
            against_value=RESENT_PCT,
            share=min(1.0, HALF + pct / 200),
            seen=({"event": "connection-loses-segments"},),
            beside="; ".join(told) or None,
            joins="resent",
            short=f"{figure(pct, '%')} to {_end(row, 'peer')}",
        )


def _with_figures(case: CaseTables, rows: pl.LazyFrame, names: Sequence[str], such: pl.Expr) -> pl.LazyFrame:
    """Join sockets with their figures of ss -i (`names`) for which `such` holds.

    Figures are on the line of their socket or on the line below it.
    """
    figures = (
        case.scan(
            "counters",
            ["artifact_id", "part", "line_no", "name", "value", "grp"],
            pl.col("name").is_in(names) & (pl.col("grp") == "ss_tcp"),
        )
        .group_by("artifact_id", "part", "line_no")
        .agg(pl.col("value").filter(pl.col("name") == n).last().alias(n) for n in names)
        .filter(such)
        .top_k(1_000, by=names[0])
        .collect(engine="streaming")
        .sort("line_no")
    )
    if figures.is_empty():
        return rows.filter(False).with_columns(below=pl.lit(0), **{n: pl.lit(0.0) for n in names})
    sockets = rows.collect(engine="streaming").sort("line_no")
    near = figures.rename({"line_no": "below"}).join_asof(
        sockets,
        left_on="below",
        right_on="line_no",
        by=["artifact_id", "part"],
        strategy="backward",
        coalesce=False,
        check_sortedness=False,
    )
    return near.filter(pl.col("peer_port").is_not_null() & (pl.col("state") != "LISTEN")).lazy()


def _unanswered(case: CaseTables, rows: pl.LazyFrame) -> Iterator[Sighting]:
    """Yield the connections with unacknowledged bytes, with the number of times that their time-out was doubled."""
    doubled = _with_figures(case, rows, ("backoff", "lastack"), pl.col("backoff") >= DOUBLED)
    for row in _longest(doubled.filter(pl.col("sendq") > 0), "sendq"):
        ends = f"{_end(row, 'local')} (peer {_end(row, 'peer')})"
        since = f"; nothing was acknowledged for {figure(row['lastack'] / 1000, 's')}" if row["lastack"] else ""
        text = f"{row['sendq']:,} bytes stand in the send queue of {ends}, whose time-out has been doubled {figure(row['backoff'], 'count')} times{since}"
        yield _sighting(
            {**row, "line_end": max(row["line_no"], row["below"])},
            _end(row, "peer"),
            text,
            "socket_unacknowledged",
            "bytes",
            row["sendq"],
            0.0,
            "a queue that drains",
        )


def _longest(rows: pl.LazyFrame, column: str) -> list[dict[str, Any]]:
    """Return the rows with the longest queue, each pair of ends once."""
    ends = ["artifact_id", "local_ip", "local_port", "peer_ip", "peer_port"]
    found = rows.top_k(1_000, by=column).collect(engine="streaming").sort(column, descending=True)
    return found.unique(ends, keep="first", maintain_order=True).head(TOP).to_dicts()


def _end(row: Mapping[str, Any], side: str) -> str:
    ip = str(row[f"{side}_ip"] or "*")
    shown = f"[{ip}]" if ":" in ip else ip
    port = row[f"{side}_port"]
    return f"{shown}:{'*' if port is None else port}"


def _sighting(
    row: Mapping[str, Any],
    subject: str,
    text: str,
    name: str,
    unit: str,
    value: float,
    against: float,
    what: str,
    event: str | None = None,
) -> Sighting:
    who = f", program {row['comm']}" if row["comm"] else ""
    return Sighting(
        "queue",
        subject,
        text + who,
        name,
        float(value),
        unit,
        (Lines(row["artifact_id"], row["line_no"], row["line_end"] or row["line_no"], "longest queue"),),
        **place(row),
        t_from=row["t_local"],
        t_to=row["t_local"],
        against=what,
        against_value=against,
        share=1.0 if name == "accept_queue" else HALF if event else None,
        seen=({"event": event},) if event else ({"counter": name},),
        joins=name,
        short=f"{figure(value, unit)} at {subject}",
    )


def _states(rows: pl.LazyFrame) -> Iterator[Sighting]:
    """Yield the states per end: the local port for accepted connections, the peer's address for outgoing ones."""
    own = (pl.col("local_port") <= pl.col("peer_port")).fill_null(value=True)
    end = {
        "ip": pl.when(own).then(pl.lit(None, pl.String)).otherwise("peer_ip"),
        "port": pl.when(own).then("local_port").otherwise("peer_port"),
    }
    key = [*PLACE_COLUMNS, "sample", "state", "own", "ip", "port"]
    found = (
        rows.filter(pl.col("state").is_not_null() & (pl.col("state") != "LISTEN") & pl.col("peer_port").is_not_null())
        .with_columns(own.alias("own"), **end)
        .group_by(key)
        .agg(
            pl.len().alias("n"),
            pl.col("line_no").bottom_k(CITED).sort().alias("lines"),
            pl.col("comm").drop_nulls().mode().first(),
            pl.col("t_local").min(),
            (pl.col("recvq").sum() + pl.col("sendq").sum()).alias("waiting"),
            pl.col("recvq").sum().alias("unread"),
            (pl.col("recvq").null_count() + pl.col("sendq").null_count()).alias("unknown"),
        )
        .with_columns(pl.col("n").sum().over("artifact_id", "sample", "own", "ip", "port").alias("of"))
        .sort("n", "lines", descending=[True, False])
        .collect(engine="streaming")
        .unique([k for k in key if k != "sample"], keep="first", maintain_order=True)
    )
    told: dict[int, int] = {}
    for row in found.iter_rows(named=True):
        least, means = LEAST.get(row["state"], (None, ""))
        stands = least is not None and row["n"] >= least
        if row["state"] == "CLOSE_WAIT" and row["n"] >= UNREAD and row["unread"] > row["n"]:
            stands = True  # The program neither closes nor reads what came before the end, which counts as one byte.
        leaks = stands and row["state"] == "CLOSE_WAIT" and row["n"] >= HALF * row["of"]
        leaks &= row["n"] >= LEFT_OPEN or row["unread"] > row["n"]
        if not stands and row["n"] < (OPEN if row["state"] == "ESTABLISHED" else MANY):
            continue
        told[row["artifact_id"]] = told.get(row["artifact_id"], 0) + 1
        if told[row["artifact_id"]] > TOP:
            continue
        where = f"to {row['ip'] or '*'}:{row['port']}" if not row["own"] else f"at port {row['port']}"
        who = f" of {row['comm']}" if row["comm"] else ""
        of = f" of {row['of']:,}" if row["of"] > row["n"] else ""
        sockets = "sockets" if max(row["n"], row["of"]) > 1 else "socket"
        text = f"{row['n']:,}{of} {sockets}{who} {where} {'are' if row['n'] > 1 else 'is'} {row['state']}"
        yield Sighting(
            "state",
            f"{row['state']} {where}",
            f"{text}: {means}" if stands else text,
            f"{row['state'].lower()}_count",
            float(row["n"]),
            "count",
            tuple(Lines(row["artifact_id"], line, line, row["state"]) for line in row["lines"]),
            **place(row),
            t_from=row["t_local"],
            t_to=row["t_local"],
            against="the usual number" if least else "sockets of the same end",
            against_value=float(least or row["of"]),
            share=HALF if leaks else None,
            n=row["n"],
            seen=({"event": "sockets-left-open"},)
            if leaks
            else ({"counter": f"sockets_{row['state'].lower()}"},)
            if stands
            else (),
            normal=not stands,
            beside=_waiting(row) if row["state"] == "ESTABLISHED" else None,
        )


def _waiting(row: Mapping[str, Any]) -> str | None:
    """Describe how many bytes wait in all queues of the sockets together; None if a tool did not print them."""
    if row["unknown"]:
        return None
    return f"{row['waiting']:,} bytes wait in their queues" if row["waiting"] else "nothing waits in their queues"
