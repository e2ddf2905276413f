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
from rules.observers.observer import MOST_LINES, Lines, Sighting, figure, place

AGAIN = r"(?i)^(?:tcp)?retranssegs$|^segments? retransmitt?ed$|^data packets? retransmitted$|^(?:tcp)?retrseg/s$|^tcpretranssegs$"
"""Names of counters of segments that were sent again."""

SENT = r"(?i)^(?:tcp)?out(?:data)?segs$|^segments? (?:sent|send)(?: out)?$|^data packets? sent$|^(?:tcp)?oseg/s$|^packets sent$"
"""Names of counters of segments that were sent."""

DROPPED = r"(?i)^(?:(?:RX|TX|receive|transmit) ?)?(?:drop(?:ped|s)?|rxdrop/s|txdrop/s|no ?buf(?:fer)?s?|missed)$|^[rt]x_(?:dropped|drops?|missed_errors)$"
"""Names of counters of packets that an interface dropped."""

UNORDERED = r"(?i)^out[- ]of[- ]order packets$|^(?:tcp)?indataunordersegs$|^(?:tcpext)?tcpofoqueue$"
ORDERED = r"(?i)^packets received in[- ]sequence$|^(?:tcp)?indatainordersegs$|^(?:tcp)?insegs$"
"""Names of counters of segments that came after a later one, and of those that came in order (Linux: of all)."""

UNORDERED_PCT = 1.0
"""Share of segments out of order from which the other direction may lose some: each hole makes the next ones come so."""

ERRORS = (
    r"(?i)^(?:[rt]x|in|out|receive|transmit)?[ _]?(?:errs?|errors?|drop(?:ped|s)?|discards?|overruns?|missed|missed_errors|fifo(?:_errors)?"
    r"|crc_errors|frame|carrier|no_?buf(?:fer)?s?|collisions?)$|^[io]err(?:or)?s$"
)
"""Names of counters of an interface that count what it could not take or send."""

PACKETS = r"(?i)^(?:[rt]x|in|out|receive|transmit)?[ _]?(?:packets|pkts)$|^[io]packets$"

ANY_PCT = 1.0
"""Share of segments sent again from which a connection is felt to stall: at 1 % its rate falls to a fraction (Mathis 1997)."""

SINCE_START = "sent_again_total_pct"
SINCE_START_PCT, SINCE_START_SENT = 5.0, 10_000
"""Minimum share of all segments since the host started, and their minimum number, to be told: a mean so high over so much
traffic is no matter of one bad hour."""

NAMED = 4
"""Maximum number of counters that are named."""

LEAST_SENT = 100
"""Minimum number of segments: a share of fewer is chance."""

COLUMNS = ["part", "line_no", "item", "grp", "name", "value", "delta", "mode", "interval_s"]


def measures(case: CaseTables) -> Iterator[Sighting]:
    """Yield packet_retransmit_pct, out_of_order_pct and interface_drops_ps of each listing, whether its interfaces counted
    no error at all, and packet_retransmit_pct of each list of packets."""
    yield from _again(case)
    yield from _out_of_order(case)
    yield from _drops(case)
    yield from _without_errors(case)
    yield from _flows(case)


def _moved(case: CaseTables, names: str, groups: pl.Expr) -> pl.LazyFrame:
    """Return the counters of these names with their growth (`flow`, NULL if unknown) and their last total."""
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


def _out_of_order(case: CaseTables) -> Iterator[Sighting]:
    tcp = pl.col("grp").fill_null("").str.contains(r"(?i)^tcp$|^$")
    found = []
    for names in (UNORDERED, ORDERED):
        rows = _moved(case, names, tcp).sort("total").collect(engine="streaming")
        found.append({(r["artifact_id"], r["host"]): r for r in rows.iter_rows(named=True)})
    for key, row in found[0].items():
        of = found[1].get(key)
        if of is None or row["rates"]:
            continue
        moved = row["n"] > 0 and of["n"] > 0
        n, other = (row["flow"], of["flow"]) if moved else (row["total"], of["total"])
        whole = (
            max(other, n) if "order" not in of["name"].lower() and "sequence" not in of["name"].lower() else n + other
        )
        if whole < LEAST_SENT or not n:
            continue
        since = "" if moved else ", since the counters began"
        yield Sighting(
            "counter",
            "segments out of order",
            f"{figure(other, 'count')} segments were received ({of['name']}) and {figure(n, 'count')} came out of order, "
            f"{figure(100 * n / whole, '%')}{since}",
            "out_of_order_pct",
            100 * n / whole,
            "%",
            tuple(Lines(r["artifact_id"], r["line_no"], r["line_no"], r["name"]) for r in (of, row)),
            **place(row),
            against="the usual bound",
            against_value=UNORDERED_PCT,
            share=min(1.0, n / whole),
            normal=not moved or 100 * n / whole < UNORDERED_PCT,
        )


def _without_errors(case: CaseTables) -> Iterator[Sighting]:
    """Yield how many error and drop counters of interfaces with traffic are 0, for listings in which all are 0."""
    iface = (pl.col("grp") == "iface").fill_null(value=False)
    rows = _moved(case, f"{ERRORS}|{PACKETS}", iface).collect(engine="streaming")
    rows = rows.with_columns(errors=pl.col("name").str.contains(ERRORS))
    for _, held in rows.group_by("artifact_id", "host", maintain_order=True):
        passed = held.filter(~pl.col("errors")).group_by("item").agg(pl.col("total").sum())
        busy = passed.filter(pl.col("total") > 0)["item"]
        counted = held.filter(pl.col("errors") & pl.col("item").is_in(busy.implode(), nulls_equal=True))
        names = counted["name"].unique(maintain_order=True).to_list()
        if len(counted) < 2 or (counted["total"] > 0).any():
            continue
        first = counted.row(0, named=True)
        which = str(first["item"] or "an interface") if len(busy) == 1 else f"{len(busy)} interfaces with traffic"
        lines = counted["line_no"].unique(maintain_order=True).head(MOST_LINES).to_list()
        yield Sighting(
            "counter",
            f"{which} {', '.join(names[:NAMED])}",
            f"{len(counted)} counters of errors and drops of {which} stand at 0 ({', '.join(names[:NAMED])})",
            "counters_at_0",
            float(len(counted)),
            "count",
            tuple(Lines(first["artifact_id"], line, line, "counters of errors") for line in lines),
            **place(first),
            against="all that are listed",
            against_value=float(len(counted)),
            normal=True,
        )


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
    unknown = set()
    for row in rows.iter_rows(named=True):
        key = row["artifact_id"], row["host"]
        if row["rates"]:
            rate = row["flow"] / max(1, row["n"])
        elif row["n"] and row["seconds"]:
            rate = row["flow"] / row["seconds"]
        elif row["total"] == 0 or (row["n"] and row["flow"] == 0):
            rate = 0.0
        else:
            unknown.add(key)
            continue
        if key not in best or rate > best[key][0]:
            best[key] = rate, row
    for key, (rate, row) in best.items():
        if rate == 0 and key in unknown:
            continue  # one interface drops nothing, and of another nobody knows when it dropped what it counts
        # Growing drops stand out in `still_counters`; this is only the measure.
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
