"""What sockets dropped, and receive buffers that are full, as `ss -m` prints them (`skmem:(r425600,rb425984,...,d17)`).

Standing out: a socket without a connection (UDP, netlink, raw) or a listening one that dropped packets (`d`), and such a
socket whose memory in use for what arrived (`r`) is nine tenths of the limit (`rb`). Only drops that went up between two
samples, or at a buffer that is full now, are named as such: a total alone is as old as the socket. Normal: no drops. Drops of
a TCP connection are not told: the kernel counts duplicates there, which do no harm.
Worked example: `d17` and then `d1203` at 10.0.0.1:514: "1,203 packets were dropped at the socket 10.0.0.1:514, 1,186 of them
between the first sample and the last".
Cost: one join of the sockets with their figures by line. Source: ss(8), -m; socket(7), SO_RCVBUF; Linux net/core/sock.c
(sock_queue_rcv_skb), net/ipv4/udp.c (__udp_enqueue_schedule_skb), include/net/tcp.h (tcp_listendrop).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import MOST, Lines, Observer, Sighting, figure, place
from rules.signatures.signatures import Seen

OBSERVER = Observer(
    "socket-memory",
    "Do sockets drop what arrives?",
    ("counters",),
    {"linux": "ss -uanmp, twice, 60 s apart; nstat -az, twice, 60 s apart"},
    wordless=True,
)

FULL = 0.9
"""Part of the limit from which a receive buffer is full: the next packet may be larger than what is left."""

LEAST_B = 4096.0
"""Minimum bytes in a full buffer: a socket whose limit is smaller is meant to hold little."""

NOW, ONCE = 0.6, 0.1
"""Shares of drops that go on, and of a total of which nobody knows since when it stands."""

NAMES = {"skmem_r": "used", "skmem_rb": "limit", "skmem_d": "dropped"}
CONNECTIONLESS, LISTENING = ("UNCONN", "CLOSE"), "LISTEN"
SEEN: Seen = {"counter": "skmem_d", "group": "ss_tcp"}


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield one sighting per socket, those that drop now first, then by number."""
    found = [s for row in _sockets(case) if (s := _said(row)) is not None]
    found.sort(key=lambda s: (-(s.share or 0.0), -s.value))
    told: dict[int, int] = {}
    for one in found:
        artifact = one.lines[0].artifact
        told[artifact] = told.get(artifact, 0) + 1
        if told[artifact] <= MOST:
            yield one


def _sockets(case: CaseTables) -> Iterator[dict[str, Any]]:
    """Yield each socket's last figures, with the drops of its first sample as `before`."""
    key = [*PLACE_COLUMNS, "part", "item"]
    value = pl.col("value")
    figures = (
        case.scan(
            "counters",
            [*key, "line_no", "sample", "t_local", "name", "value"],
            pl.col("name").is_in(list(NAMES)) & (pl.col("grp") == "ss_tcp") & value.is_finite(),
        )
        .group_by(*key, "sample", "line_no", maintain_order=True)
        .agg(
            pl.col("t_local").first(), *(value.filter(pl.col("name") == n).last().alias(to) for n, to in NAMES.items())
        )
        .filter(
            ((pl.col("dropped") > 0) | (pl.col("used") >= pl.max_horizontal(FULL * pl.col("limit"), pl.lit(LEAST_B))))
            .any()
            .over(key)
        )
    )
    rows = figures.collect(engine="streaming")
    if rows.is_empty():
        return
    sockets = case.table("sockets", ["artifact_id", "part", "line_no", "state", "proto", "recvq", "pid", "comm"])
    # The figures stand on the line of their socket or below it.
    near = rows.sort("line_no").join_asof(
        sockets.with_columns(pl.col("line_no").alias("at")).sort("line_no"),
        on="line_no",
        by=["artifact_id", "part"],
        strategy="backward",
        check_sortedness=False,  # within each `by` they are
    )
    quiet = (pl.col("state").is_in(CONNECTIONLESS) | (pl.col("proto") == "udp")).fill_null(value=False)
    listens = (pl.col("state") == LISTENING).fill_null(value=False)
    kept = near.with_columns(quiet=quiet).filter(quiet | listens).sort("line_no")
    by = ["artifact_id", "part", "item", "pid"]
    for _, of in kept.group_by(by, maintain_order=True):
        first, last = of.row(0, named=True), of.row(-1, named=True)
        yield {**last, "before": first["dropped"] if len(of) > 1 else None}


def _said(row: Mapping[str, Any]) -> Sighting | None:
    used, limit, dropped = (row[c] or 0.0 for c in NAMES.values())
    full = row["quiet"] and used >= max(LEAST_B, FULL * limit)
    rose = dropped - row["before"] if row["before"] is not None else 0.0
    if not (dropped or full):
        return None
    subject = str(row["item"] or "").split(" > ")[0]
    who = f"{subject} of {row['comm']}" if row["comm"] else subject
    if row["pid"] is not None:
        who += f" ({row['pid']})"
    holds = f"{figure(used, 'count')} of {figure(limit, 'count')} bytes"
    unread = f", and {row['recvq']:,} bytes wait to be read" if row["recvq"] else ""
    now = full or rose > 0
    at = row["at"] if row["line_no"] - row["at"] <= 2 else row["line_no"]
    return Sighting(
        "counter" if dropped else "queue",
        subject,
        _drops(dropped, rose, who) if dropped else f"The receive buffer of {who} is full: {holds}{unread}",
        "socket_drops" if dropped else "socket_memory",
        dropped or used,
        "count" if dropped else "bytes",
        (Lines(row["artifact_id"], at, row["line_no"], "socket and its memory"),),
        **place(row),
        t_from=row["t_local"],
        t_to=row["t_local"],
        against="none dropped" if dropped else "its limit",
        against_value=0.0 if dropped else limit,
        share=NOW if now else ONCE,
        seen=(SEEN,) if row["quiet"] and dropped and now else (),
        beside=f"its receive buffer is full: {holds}{unread}" if dropped and full else None,
        joins=f"socket {'drops' if dropped else 'full'} {now}",
        short=f"{figure(dropped, 'count')} at {subject}" if dropped else f"that of {subject}",
    )


def _drops(dropped: float, rose: float, who: str) -> str:
    packets = "1 packet was" if dropped == 1 else f"{figure(dropped, 'count')} packets were"
    since = f", {figure(rose, 'count')} of them between the first sample and the last" if rose > 0 else ""
    return f"{packets} dropped at the socket {who}{since}"
