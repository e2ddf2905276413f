"""How much of the traffic was sent again or dropped: measures from counters, and from connections in lists of packets.

Counters of one listing belong together: segments sent and segments sent again. Only their growth is a measure, because a
share since boot says little of today; a counter that is zero since boot did not move today either. A share since boot of
a twentieth and more is told all the same: it is no matter of one bad hour.
Worked example: 12,400 segments sent and 310 retransmitted between two samples: packet_retransmit_pct 2.5.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import Lines, Sighting, figure, place

AGAIN = r"(?i)^(?:tcp)?retranssegs$|^segments? retransmitt?ed$|^data packets? retransmitted$|^(?:tcp)?retrseg/s$|^tcpretranssegs$"
"""Names of counters of segments that were sent again."""

SENT = r"(?i)^(?:tcp)?out(?:data)?segs$|^segments? (?:sent|send)(?: out)?$|^data packets? sent$|^(?:tcp)?oseg/s$|^packets sent$"
"""Names of counters of segments that were sent."""

DROPPED = r"(?i)^(?:(?:RX|TX|receive|transmit) ?)?(?:drop(?:ped|s)?|rxdrop/s|txdrop/s|no ?buf(?:fer)?s?|missed)$|^[rt]x_(?:dropped|drops?|missed_errors)$"
"""Names of counters of packets that an interface dropped."""

ANY_PCT = 1.0
"""Share of segments sent again from which a connection is felt to stall: at 1 % its rate falls to a fraction (Mathis 1997)."""

SINCE_START = "sent_again_total_pct"
SINCE_START_PCT, SINCE_START_SENT = 5.0, 10_000
"""Minimum share of all segments since the host started, and their minimum number, to be told: a mean so high over so much
traffic is no matter of one bad hour."""

LEAST_SENT = 100
"""Minimum number of segments: a share of fewer is chance."""

COLUMNS = ["part", "line_no", "item", "grp", "name", "value", "delta", "mode", "interval_s"]


def measures(case: CaseTables) -> Iterator[Sighting]:
    """Yield packet_retransmit_pct and interface_drops_ps of each listing, and packet_retransmit_pct of each list of packets."""
    yield from _again(case)
    yield from _drops(case)
    yield from _flows(case)


def _moved(case: CaseTables, names: str, groups: pl.Expr) -> pl.LazyFrame:
    """Return the counters of these names with what they moved (`flow`, NULL: unknown) and the last total."""
    value = pl.col("value")
    series = [*PLACE_COLUMNS, "part", "grp", "item", "name"]
    grew = pl.coalesce("delta", value.diff())
    mode = pl.col("mode").fill_null("growth")
    # nstat without -az prints no mode: the growth since its call before, or the total; as a single sample it may be either.
    moved = pl.when(mode == "rate").then(value).otherwise(grew)
    flow = pl.when(moved.is_finite()).then(moved)
    return (
        case.scan(
            "counters",
            [*PLACE_COLUMNS, *COLUMNS],
            pl.col("name").str.contains(names) & (value >= 0) & value.is_finite() & groups,
        )
        .group_by(series, maintain_order=True)
        .agg(
            flow.drop_nulls().sum().alias("flow"),
            flow.drop_nulls().len().alias("n"),
            value.last().alias("total"),
            pl.when(pl.col("delta").is_not_null()).then("interval_s").drop_nulls().sum().alias("seconds"),
            (pl.col("mode") == "rate").any().alias("rates"),
            pl.col("line_no").last(),
        )
        .filter((pl.col("flow") >= 0) | (pl.col("n") == 0))
    )


def _again(case: CaseTables) -> Iterator[Sighting]:
    tcp = pl.col("grp").fill_null("").str.contains(r"(?i)tcp|seg/s|^$") | pl.col("name").str.contains("(?i)^tcp|seg")
    found = []
    for names in (AGAIN, SENT):
        rows = _moved(case, names, tcp).collect(engine="streaming")
        found.append({(r["artifact_id"], r["host"]): r for r in rows.iter_rows(named=True)})
    again, sent = found
    for key, row in again.items():
        of = sent.get(key)
        if of is None:
            continue
        moved = row["n"] > 0 and of["n"] > 0
        n, whole = (row["flow"], of["flow"]) if moved else (row["total"], of["total"])
        if whole <= 0 or (whole < LEAST_SENT and not row["rates"]):
            continue
        if not moved and n > 0:
            if whole >= SINCE_START_SENT and 100 * n / whole >= SINCE_START_PCT:
                since = f"counters since they began ({row['name']})"
                yield _share(row, n, whole, (row["line_no"], of["line_no"]), since, SINCE_START)
            continue
        yield _share(row, n, whole, (row["line_no"], of["line_no"]), "counters")


def _share(
    row: Mapping[str, Any],
    n: float,
    whole: float,
    lines: tuple[int, ...],
    where: str,
    name: str = "packet_retransmit_pct",
) -> Sighting:
    pct = min(100.0, 100 * n / whole)
    stands = pct >= ANY_PCT
    return Sighting(
        "counter",
        "segments sent again",
        f"{figure(n, 'count')} of {figure(whole, 'count')} segments were sent again, {figure(pct, '%')}, by the {where}",
        name,
        pct,
        "%",
        tuple(Lines(row["artifact_id"], x, x, role) for x, role in zip(lines, ("sent again", "sent"), strict=False)),
        **place(row),
        against="the bound",
        against_value=ANY_PCT,
        share=min(1.0, pct / 10),
        n=max(1, int(min(n, 1e15))),
        seen=({"counter": name},) if stands else (),
        normal=not stands,
    )


def _drops(case: CaseTables) -> Iterator[Sighting]:
    iface = (pl.col("grp") == "iface").fill_null(value=False) | pl.col("name").str.contains("(?i)drop/s$")
    rows = _moved(case, DROPPED, iface).collect(engine="streaming")
    best: dict[tuple[Any, ...], tuple[float, dict[str, Any]]] = {}
    for row in rows.iter_rows(named=True):
        if row["rates"]:
            rate = row["flow"] / max(1, row["n"])
        elif row["n"] and row["seconds"]:
            rate = row["flow"] / row["seconds"]
        elif row["total"] == 0 or (row["n"] and row["flow"] == 0):
            rate = 0.0
        else:
            continue
        key = row["artifact_id"], row["host"]
        if key not in best or rate > best[key][0]:
            best[key] = rate, row
    for rate, row in best.values():
        # Drops that move stand out as counters that should be still; here is only the measure.
        yield Sighting(
            "counter",
            f"{row['item'] or 'an interface'} {row['name']}",
            f"The interface that dropped most, {row['item'] or 'of those listed'}, dropped {figure(rate, 'per s')}",
            "interface_drops_ps",
            rate,
            "per s",
            (Lines(row["artifact_id"], row["line_no"], row["line_no"], "dropped"),),
            **place(row),
            normal=True,
        )


def _flows(case: CaseTables) -> Iterator[Sighting]:
    n, again = pl.col("n_packets"), pl.col("retransmits")
    rows = (
        case.scan("tcp_flows", [*PLACE_COLUMNS, "line_no", "n_packets", "retransmits"], (n > 0) & (again >= 0))
        .group_by(PLACE_COLUMNS)
        .agg(n.sum().alias("whole"), again.sum().alias("again"), pl.col("line_no").get(again.arg_max()))
        .filter(pl.col("whole") >= LEAST_SENT)
        .collect(engine="streaming")
    )
    for row in rows.iter_rows(named=True):
        yield _share(row, float(row["again"]), float(row["whole"]), (row["line_no"],), "list of packets")
