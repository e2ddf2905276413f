"""What single packets say: resets, closed windows, errors of ICMP, wrong checksums.

Stands out: a packet with RST, one that announces a window of 0 (and neither opens nor ends its connection), an ICMP error, and
one whose checksum the tool calls wrong. Normal: all others. A wrong checksum of the capturing host's own packets is usual
where its card computes them, so it counts only where none of them was answered: the other side drops them.
Worked example: 3 packets from 10.0.0.6:1521 reset connections, each in answer to a SYN: refused.
Cost: one streaming aggregation. Source: RFC 9293 3.5.2 (reset), 3.8.6.1 (zero window); RFC 792, RFC 1191 (need to fragment).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import Lines, Observer, Sighting, figure, place

OBSERVER = Observer(
    "packet-signs",
    "Which packets say that something went wrong?",
    ("packets",),
    {"*": "the same capture on the other host; netstat -s on both"},
)

MOST_SIGNS = 10
"""Maximum number of signs of one list: the most frequent."""

LOST = 2
"""Minimum number of packets with a wrong checksum, none of which was answered: a card that corrects what it sends is answered."""

UNANSWERED_S = 0.5
"""Minimum time in seconds until the other side sends anything, to call a packet unanswered: round trips are shorter."""

HALF = 0.5

WRONG, NONE = "wrong checksum", "no checksum"
"""What the payload of a packet says of its checksum, before the tool's words."""

AGAIN = 3
"""Minimum number of times that a sender was told of one destination that its packets are too large: one who heeds it is told once."""

AGAIN_S = (0.5, 300.0)
"""Shortest and longest time in seconds in which it was told so: a burst of segments is refused at once, and what a sender
learnt it forgets after ten minutes (RFC 1191, 6.3)."""

TOO_LARGE = r"(?i)need to frag|too big"

SAYS = {
    "refused": "{src}:{sport} refused connections of {dst} with RST",
    "reset": "{src} reset connections to {dst} with RST",
    "window": "{src} announced a window of 0 to {dst}: it took no more data",
    "icmp": "{src} told {dst}: {what}",
    "checksum": "packets from {src} to {dst} have a wrong checksum{words}",
}
"""Headlines by sign."""


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield the signs of each pair of hosts, the most frequent first."""
    columns = ["part", "line_no", "t_local", "proto", "src", "sport", "dst", "dport", "flags", "win", "len", "payload"]
    flags, text = pl.col("flags").fill_null(""), pl.col("payload").fill_null("")
    icmp = pl.col("proto").fill_null("").str.starts_with("icmp")
    tells = icmp & text.str.contains(
        r"(?i)unreachable|need to frag|too big|exceeded|source quench|redirect|prohibited|filtered"
    )
    plain = ~flags.str.contains("[RSF]")
    rows = case.scan("packets", [*PLACE_COLUMNS, *columns])
    opened = [*PLACE_COLUMNS, "part"]
    ends = pl.struct("src", "sport").hash() ^ pl.struct(src="dst", sport="dport").hash()
    syn = flags.str.contains("S", literal=True)
    rst = flags.str.contains("R", literal=True)
    rows = rows.with_columns(ends.alias("conn"))
    before = syn.cast(pl.Int8).shift(1).over(*opened, "conn") == 1
    answered = (pl.col("src") != pl.col("src").shift(1).over(*opened, "conn")).fill_null(value=False)
    sign = (
        pl.when(rst & before & answered & ~flags.shift(1).over(*opened, "conn").str.contains(".", literal=True))
        .then(pl.lit("refused"))
        .when(rst)
        .then(pl.lit("reset"))
        .when((pl.col("win") == 0) & plain & (pl.col("proto") == "tcp"))
        .then(pl.lit("window"))
        .when(tells)
        .then(pl.lit("icmp"))
        .when(text.str.starts_with(WRONG))
        .then(pl.lit("checksum"))
    )
    whole = rows.group_by(*PLACE_COLUMNS, "src", "dst").agg(pl.len().alias("whole"))
    made = (
        rows.with_columns(sign.alias("sign"))
        .filter(pl.col("sign").is_not_null())
        .group_by(*PLACE_COLUMNS, "sign", "src", "dst", maintain_order=True)
        .agg(
            pl.len().alias("n"),
            pl.col("sport").first(),
            text.first().alias("what"),
            text.unique_counts().max().alias("same"),
            pl.col("line_no").head(3).alias("lines"),
            pl.col("t_local").min().alias("t_from"),
            pl.col("t_local").max().alias("t_to"),
        )
        .join(whole, on=[*PLACE_COLUMNS, "src", "dst"], how="left", nulls_equal=True)
        .sort("n", descending=True, maintain_order=True)
        .head(MOST_SIGNS)
        .collect(engine="streaming")
    )
    for row in made.iter_rows(named=True):
        n, of = row["n"], row["whole"] or row["n"]
        words = str(row["what"]).removeprefix(WRONG).removeprefix(": ")
        named_by = {"sport": "?" if row["sport"] is None else row["sport"], "words": f' ("{words}")' if words else ""}
        text_ = SAYS[row["sign"]].format(**{**row, **named_by})
        says = f"{text_}, {figure(n, 'count')} of its {figure(of, 'count')} packets there"
        named = {"icmp": f"ICMP: {row['what']}", "window": "TCP: window of 0", "refused": "TCP: RST in answer to a SYN"}
        log = named.get(row["sign"])
        again = (
            row["sign"] == "icmp"
            and row["same"] >= AGAIN
            and row["t_from"] is not None
            and AGAIN_S[0] <= row["t_to"] - row["t_from"] <= AGAIN_S[1]
            and re.search(TOO_LARGE, str(row["what"])) is not None
        )
        lost = _unanswered(rows, row) if row["sign"] == "checksum" and n >= LOST else None
        if lost is not None:
            says += f"; nothing came back for {figure(lost.seconds, 's')}"
        yield Sighting(
            "sign",
            f"{row['src']} to {row['dst']}",
            says,
            "packets_count",
            float(n),
            "count",
            (
                *(Lines(row["artifact_id"], line, line, SIGNS[row["sign"]]) for line in row["lines"]),
                *(lost.lines if lost else ()),
            ),
            **place(row),
            t_from=row["t_from"],
            t_to=row["t_to"],
            against="the packets of that sender there",
            against_value=float(of),
            share=(0.3 if lost is None and not again else HALF) * min(1.0, n / of),
            n=n,
            seen=({"event": "too-large-again"},)
            if again
            else ({"log": log},)
            if log
            else ()
            if lost is None
            else ({"event": "checksum-unanswered"},),
            beside="the packets of the other direction have no checksum at all" if lost and lost.none_back else None,
        )


@dataclass(frozen=True)
class Unanswered:
    """The longest time until a packet came back, the first one that did, and whether that one has no checksum."""

    seconds: float
    lines: tuple[Lines, ...]
    none_back: bool


def _unanswered(rows: pl.LazyFrame, of: Mapping[str, Any]) -> Unanswered | None:
    """Return how long packets with a wrong checksum stayed unanswered; None if one was answered soon, or never.

    Ports do not matter: tunnels have one for each direction.
    """
    src, dst = pl.col("src"), pl.col("dst")
    pair = ((src == of["src"]) & (dst == of["dst"])) | ((src == of["dst"]) & (dst == of["src"]))

    def after(name: str) -> pl.Expr:
        return pl.when(src == of["dst"]).then(name).backward_fill().over("part")

    back = after("t_local") - pl.col("t_local")
    waits = (
        rows.filter(pl.col("artifact_id") == of["artifact_id"], pair)
        .with_columns(back.alias("back_s"), after("line_no").alias("line"), after("payload").alias("says"))
        .filter((src == of["src"]) & pl.col("payload").str.starts_with(WRONG))
        .select(
            pl.col("back_s").min().alias("soonest"),
            pl.col("back_s").max().alias("latest"),
            pl.col("back_s").null_count(),
            pl.col("line").min(),
            pl.col("says").first().fill_null(""),
        )
        .collect(engine="streaming")
    )
    soonest, latest, never, line, says = waits.row(0)
    if never or soonest is None or soonest < UNANSWERED_S:
        return None
    none = says.startswith(NONE)
    first = Lines(
        of["artifact_id"], line, line, f"the first packet back{', ' + says.removeprefix(NONE + ': ') if none else ''}"
    )
    return Unanswered(float(latest), (first,), none)


SIGNS = {
    "refused": "refused with RST",
    "reset": "reset",
    "window": "window of 0",
    "icmp": "ICMP error",
    "checksum": "wrong checksum",
}
"""Roles of the lines by sign."""
