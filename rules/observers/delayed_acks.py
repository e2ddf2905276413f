"""Small writes that wait for a delayed acknowledgement: the last one of a sender is acknowledged late, and only then the next goes out.

Stands out: on one connection, a sender whose small segment was acknowledged without data after 35 to 500 ms, and who sent its next
segment right behind that acknowledgement (within 5 ms), `LEAST` times and more. That is Nagle's rule at the sender and a delayed
acknowledgement at the receiver; which of both hosts is changed does not matter. Normal: late acknowledgements after which the sender
stays silent, because it has nothing more to say, and a reply that carries the acknowledgement.
Worked example: 8 bytes, acknowledged after 40 ms, then 121 bytes 0.03 ms later, 3 times: 0.12 s of 0.122 s.
Cost: one pass over the segments of TCP with two shifts per connection.
Source: RFC 896 (Nagle); RFC 1122 4.2.3.2 (an acknowledgement is delayed by less than 0.5 s), 4.2.3.4; Linux include/net/tcp.h
(TCP_DELACK_MIN 40 ms); Stevens, TCP/IP Illustrated 1, 19.3, 19.4.
"""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import Lines, Observer, Sighting, figure, place

OBSERVER = Observer(
    "delayed-acks",
    "Do small writes wait for acknowledgements?",
    ("packets",),
    {
        "linux": "strace -f -e trace=setsockopt,write,sendto -p PID of the sender (TCP_NODELAY, small writes)",
        "*": "whether the sender sets TCP_NODELAY, and how many writes one message takes",
    },
)

DELAYED_S, AT_MOST_S = 0.035, 0.5
"""Delay in seconds of an acknowledgement that was put off: the least that systems use, and the most that RFC 1122 allows."""

BEHIND_S = 0.005
"""Maximum seconds after the acknowledgement within which the sender goes on, if it waited for just that."""

SMALL_B = 1_200
"""Maximum bytes of a segment that Nagle's rule may hold back: less than a full one over usual paths."""

LEAST = 3
"""Minimum number of such waits on one connection; one may be chance."""

SHOWN, MOST = 3, 5
"""Maximum number of waits that are cited, and of connections that are told."""

CONNECTION = [*PLACE_COLUMNS, "part", "conn"]
END = [*PLACE_COLUMNS, "src", "dst", "sport", "dport"]


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield the senders that waited, the longest time first."""
    columns = ["part", "line_no", "t_local", "proto", "src", "sport", "dst", "dport", "flags", "len"]
    tcp = (pl.col("proto") == "tcp") & pl.col("t_local").is_finite() & pl.col("len").is_not_null()
    source, target = pl.struct("src", "sport").hash(), pl.struct(src="dst", sport="dport").hash()
    rows = case.scan("packets", [*PLACE_COLUMNS, *columns], tcp).with_columns(
        source.alias("from"), (source ^ target).alias("conn")
    )
    back = {
        c: [pl.col(c).shift(n).over(CONNECTION) for n in (1, 2)] for c in ("from", "len", "flags", "t_local", "line_no")
    }
    awaited = (
        (pl.col("len") > 0)
        & (back["from"][0] != pl.col("from")) & (back["len"][0] == 0) & (back["flags"][0] == ".")
        & (back["from"][1] == pl.col("from")) & back["len"][1].is_between(1, SMALL_B)
        & (back["t_local"][0] - back["t_local"][1]).is_between(DELAYED_S, AT_MOST_S)
        & (pl.col("t_local") - back["t_local"][0]).is_between(0, BEHIND_S)
    )  # fmt: skip
    made = (
        rows.with_columns(
            awaited.alias("awaited"),
            (back["t_local"][0] - back["t_local"][1]).alias("gap"),
            back["line_no"][1].alias("sent"),
            back["line_no"][0].alias("acknowledged"),
            (pl.col("t_local").max().over(CONNECTION) - pl.col("t_local").min().over(CONNECTION)).alias("span"),
        )
        .filter("awaited")
        .group_by(END)
        .agg(
            pl.len().alias("n"),
            pl.col("gap").sum().alias("seconds"),
            pl.col("gap").median().alias("middle"),
            pl.col("span").max(),
            pl.struct("sent", "acknowledged", "line_no").head(SHOWN).alias("lines"),
            pl.col("t_local").min().alias("t_from"),
            pl.col("t_local").max().alias("t_to"),
        )
        .filter(pl.col("n") >= LEAST)
        .sort("seconds", descending=True)
        .head(MOST)
        .collect(engine="streaming")
    )
    for row in made.iter_rows(named=True):
        sender, receiver = f"{row['src']}:{row['sport']}", f"{row['dst']}:{row['dport']}"
        yield Sighting(
            "wait",
            f"{sender} to {receiver}",
            f"{sender} held its next segment back {row['n']:,} times until {receiver} had acknowledged the last one, after"
            f" {figure(row['middle'], 's')} (median): {figure(row['seconds'], 's')} of {figure(row['span'], 's')}",
            "delayed_ack_s",
            row["middle"],
            "s",
            tuple(
                Lines(row["artifact_id"], one[c], one[c], role)
                for one in row["lines"]
                for c, role in (("sent", "sent"), ("acknowledged", "acknowledged late"), ("line_no", "goes on"))
            ),
            **place(row),
            t_from=row["t_from"],
            t_to=row["t_to"],
            against="an acknowledgement that is not put off",
            against_value=DELAYED_S,
            share=min(1.0, row["seconds"] / row["span"]),
            n=row["n"],
            seen=({"event": "acknowledgement-awaited"},),
        )
