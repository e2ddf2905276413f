"""What rules of packet filters have dropped or refused, and what the rules beside them let pass.

Standing out: a rule or policy that drops or refuses and has counted packets: how many more than in the listing before, where
there are two, and their mean size, which tells handshakes (40 to 80 bytes) from data. Normal: rules that drop and counted
nothing; how many such rules are listed is a measure. That a filter drops is its work, so no rule is recognised as a fault.
Worked example: rule 3 of INPUT, DROP tcp dpt:5432, 20 packets and then 24 with 1,440 bytes: four more, 60 bytes each.
Cost: one aggregation over the counters of filters. Source: iptables(8) -v, iptables-save(8) -c, nft(8) counter, ipfw(8) show.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import MOST_LINES, Lines, Observer, Sighting, figure, place

OBSERVER = Observer(
    "filter-rules",
    "What do packet filters drop?",
    ("counters",),
    {
        "linux": "iptables -vnxL --line-numbers (nft list ruleset), before and after one attempt; conntrack -S",
        "*": "the same listing before and after one attempt",
    },
)

STOPS = r"(?i): (?:drop|reject|deny|reset|unreach|tarpit)(?: |$)"
"""Actions by which a packet does not arrive."""

GROWS, STANDS = 0.3, 0.1
"""Shares of a rule that counted more between two listings, and of one of which nobody knows since when."""

TOLD = 5
"""Maximum number of such rules per artifact, those that counted more and those with most packets first."""

MOST_RULES = 5_000
"""Maximum number of rules that are looked at."""


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield the rules that stopped packets, of each artifact."""
    value, packets, at = pl.col("value"), pl.col("name") == "packets", pl.col("line_no")
    rules = (
        case.scan("counters", [*PLACE_COLUMNS, "item", "name", "value", "line_no"], pl.col("grp") == "filter")
        .filter(pl.col("item").is_not_null() & value.is_finite())
        .group_by(*PLACE_COLUMNS, "item", maintain_order=True)
        .agg(
            value.filter(packets).last().alias("packets"),
            value.filter(~packets).last().alias("bytes"),
            value.filter(packets).first().alias("before"),
            packets.sum().alias("listings"),
            at.first().alias("line_before"),
            at.last(),
        )
        .head(MOST_RULES)
        .with_columns(stops=pl.col("item").str.contains(STOPS))
        .collect(engine="streaming")
    )
    for _, held in rules.group_by("artifact_id", "host", maintain_order=True):
        listed = held.to_dicts()
        stops = [r for r in listed if r["stops"]]
        counted = sorted((r for r in stops if (r["packets"] or 0) > 0), key=lambda r: (-_rose(r), -r["packets"]))
        yield from (_stopped(r, listed) for r in counted[:TOLD])
        if stops and not counted:
            yield _nothing(stops)


def _rose(row: Mapping[str, Any]) -> float:
    rose: float = row["packets"] - row["before"] if row["listings"] > 1 else 0.0
    return max(0.0, rose)


def _stopped(row: Mapping[str, Any], listed: Sequence[Mapping[str, Any]]) -> Sighting:
    rose = _rose(row)
    grew = (
        f", {figure(rose, 'count')} more than the {figure(row['before'], 'count')} of the first listing" if rose else ""
    )
    size = ""
    if row["bytes"]:
        size = f"; {figure(row['bytes'], 'count')} bytes, {figure(round(row['bytes'] / row['packets']), 'count')} each"
    before = (Lines(row["artifact_id"], row["line_before"], row["line_before"], "first listing"),) if rose else ()
    passed = _passed(row, listed)
    packets = "1 packet" if row["packets"] == 1 else f"{figure(row['packets'], 'count')} packets"
    return Sighting(
        "counter",
        row["item"],
        f"{row['item']} has counted {packets}{grew}{size}",
        "packets_stopped",
        row["packets"],
        "count",
        (
            Lines(row["artifact_id"], row["line_no"], row["line_no"], "counted"),
            *before,
            *(Lines(row["artifact_id"], p["line_no"], p["line_no"], p["item"]) for p in passed),
        ),
        **place(row),
        against="none",
        against_value=0.0,
        share=GROWS if rose else STANDS,
        n=int(min(row["packets"], 1e15)),
        beside="; ".join(f"{_rule(p)} counted {figure(p['packets'], 'count')}" for p in passed) or None,
        joins=f"filter {'grew' if rose else 'stands'}",
        short=f"{row['item']} {packets}{grew.split(' than')[0]}",
    )


def _passed(row: Mapping[str, Any], listed: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the nearest rule before this one in its chain that let packets pass, as a list of at most one row."""
    chain = _chain(row["item"])
    others = [r for r in listed if not r["stops"] and (r["packets"] or 0) > 0 and _chain(r["item"]) == chain]
    nearest = [r for r in others if r["line_no"] < row["line_no"]]
    return sorted(nearest, key=lambda r: -r["line_no"])[:1]


def _chain(item: str) -> str:
    return item.split(": ")[0].rsplit(" ", 2)[0] if " rule " in item else item.split(" policy")[0]


def _rule(row: Mapping[str, Any]) -> str:
    """Return the text of a rule without its chain."""
    return re.sub(r"^.*? (?=rule |policy)", "", row["item"])


def _nothing(stops: Sequence[Mapping[str, Any]]) -> Sighting:
    first, n = stops[0], float(len(stops))
    return Sighting(
        "counter",
        "rules that drop",
        f"{figure(n, 'count')} {'rule' if n == 1 else 'rules'} of a packet filter that drop or refuse have counted 0 packets",
        "rules_at_0",
        n,
        "count",
        tuple(Lines(r["artifact_id"], r["line_no"], r["line_no"], r["item"]) for r in stops[:MOST_LINES]),
        **place(first),
        against="all that are listed",
        against_value=n,
        normal=True,
    )
