"""Whether hosts ask for the same link addresses again at once (ARP), and what tshark's expert counts of segments sent again.

A host asks once a second for an address (RFC 1122: at most one request a second for each). Standing out: `LEAST` or more requests without an answer of
which a host repeats the same one within `AT_ONCE_S`, as in a loop of switches or a scan of a network; of an expert's list, entries for segments
sent again or missing that have `HALF` of all its entries for TCP. Normal: requests a second or more apart, and other entries.
Worked example: 900 requests in 0.3 s, the same one for 10.0.9.9 every 2 ms.
Cost: one aggregation over the packets; a pass over listings with these columns. Source: RFC 826; RFC 1122, section 2.3.2.1; tshark(1), -z expert.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import numpy as np
import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.database_lists import Listed, figure_of, listings
from rules.observers.observer import Lines, Observer, Sighting, figure, place

OBSERVER = Observer(
    "address-storms",
    "Are link addresses asked for again and again, and what does the expert of tshark count?",
    ("packets", "rows"),
    {"*": "tcpdump -e -n arp for 10 s (senders); the counters of broadcasts at each port of the switch"},
)

LEAST, AT_ONCE_S, SAME = 8, 0.5, 3
"""Minimum number of requests; seconds within which nobody repeats one by right; how often it is repeated."""

HALF, LEAST_ENTRIES = 0.5, 1000.0
CITED = 10
MOST_ROWS = 200_000
_AGAIN = re.compile(
    r"(?i).*(?:retransmission|duplicate ack|previous segment(?:\(s\))? (?:not captured|lost)|out-of-order|ack(?:ed)? (?:lost|unseen) segment).*"
)


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield the storm of each capture, and what each list of an expert says."""
    yield from _storms(case)
    experts = [
        one
        for names, listing in listings(case)
        if {"frequency", "group", "protocol", "summary"} <= names
        for one in listing
    ]
    by_artifact: dict[int, list[Listed]] = {}
    for one in experts:
        by_artifact.setdefault(one.row["artifact_id"], []).append(one)
    for held in by_artifact.values():
        yield from _expert(held)


def _storms(case: CaseTables) -> Iterator[Sighting]:
    columns = [*PLACE_COLUMNS, "part", "line_no", "t_local", "src", "dst", "payload"]
    arp = (pl.col("proto") == "arp").fill_null(value=False)
    packets = case.scan("packets", columns, arp).head(MOST_ROWS).collect(engine="streaming").sort("line_no")
    for _, part in packets.group_by("artifact_id", maintain_order=True):
        asked = part.filter(pl.col("payload").str.starts_with("who-has"))
        if len(asked) < LEAST or len(part) > len(asked) * (1 + HALF):
            continue  # half or more of them are answered
        apart = pl.col("t_local").diff().over("src", "payload")
        again = asked.with_columns(apart.alias("apart")).filter(pl.col("apart").is_between(0, AT_ONCE_S))
        if len(again) < SAME or len(again) < HALF * len(asked):
            continue
        row = again.row(0, named=True)
        lasted = float(np.ptp(asked["t_local"].to_numpy()))
        rate = f", {len(asked) / lasted:,.0f} a second" if lasted > 0 else ""
        middle = figure(float(np.median(again["apart"].to_numpy())), "s")
        yield Sighting(
            "storm",
            f"requests of {row['src']}",
            f"{len(asked):,} requests for link addresses (ARP){rate}; {len(again):,} repeat one that was sent {middle} before",
            "arp_requests_count",
            float(len(asked)),
            "count",
            tuple(
                Lines(r["artifact_id"], r["line_no"], r["line_no"], "the same request again")
                for r in again.head(CITED).iter_rows(named=True)
            ),
            **place(row),
            against="one request a second",
            against_value=1.0,
            share=min(1.0, len(again) / len(asked)),
            n=len(again),
            seen=({"event": "link-addresses-asked-at-once"},),
        )


def _expert(listing: list[Listed]) -> Iterator[Sighting]:
    of_tcp = [(n, one) for one in listing if one.of["protocol"] == "TCP" and (n := figure_of(one.of["frequency"]))]
    again = sorted(((n, one) for n, one in of_tcp if _AGAIN.fullmatch(one.of["summary"])), key=lambda x: -x[0])
    whole, mine = sum(n for n, _ in of_tcp), sum(n for n, _ in again)
    if not again or whole < LEAST_ENTRIES:
        return
    out = mine >= HALF * whole
    yield Sighting(
        "loss",
        "segments sent again",
        f"{mine:,.0f} of {whole:,.0f} entries of the expert for TCP tell of segments sent again or missing, {figure(100 * mine / whole, '%')}",
        "expert_entries_count",
        mine,
        "count",
        tuple(one.line(one.of["summary"]) for _, one in again[:CITED]),
        **place(again[0][1].row),
        against="all entries for TCP",
        against_value=whole,
        share=min(1.0, mine / whole),
        n=len(again),
        seen=({"event": "expert-counts-segments-again"},) if out else (),
        normal=not out,
    )
