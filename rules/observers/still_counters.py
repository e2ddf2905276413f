"""Counters that should stand still: drops, overflows, retransmissions, stalls, failures, throttling, quota hits.

Standing out: a counter that signatures know as one that should be still (strength mechanism or shape), or whose name
says so (drop, overflow, fail, retrans ...), and that moved: per second where two samples exist, else its total, with the
traffic of the same group where there is any: what came in and what went out. What a protocol over IP could not deliver is
also compared with what IP received, if it is most of that; connections that a listener did not take are compared with those that were
taken. Normal: zero, or less than a thousandth of the group's traffic,
which is a measure.
Shares of the traffic that mechanisms name as measures come from `traffic`.
Worked example: `TCPReqQFullDrop` 4,711 more in 60 s: 78.5 per s.
Cost: one aggregation over the counters. Source: RFC 1213 and the kernels' own descriptions, by signature.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.derived.hist_modes import UNITS
from rules.observers.observer import Lines, Observer, Sighting, figure, lines_of, place
from rules.observers.traffic import measures
from rules.signatures.signatures import Seen, recognise

OBSERVER = Observer(
    "still-counters",
    "Which counters move that should stand still?",
    ("counters", "tcp_flows"),
    {
        "linux": "nstat -az; ethtool -S INTERFACE, twice, 60 s apart",
        "solaris": "netstat -s; kstat -n INTERFACE, twice, 60 s apart",
        "*": "netstat -s, twice, 60 s apart",
    },
    wordless=True,
)

BAD_NAME = (
    r"(?i)drop|overflow|prune|retrans|resent|discard|error|\berrs?\b|fail|refus|reject|collision|timeouts?\b|timed out|no.?buf|stall"
    r"|throttl|oom|denied|exceed|lost|reset|abort|overrun|fifo|missed|steal|reclaim|direct|swap_?(?:in|out)|full\b|corrected|limit|failcnt|squeez"
)
"""Names of counters that count what should not happen, where no signature knows the name."""

TRAFFIC = (
    r"(?i)^(?:outsegs|segs? (?:sent|received)|segments (?:sent|received|send out)|in(?:gmt)?segs|r?x?[rt]x?[_ ]?p(?:ac)?ke?ts?"
    r"|tcpoutsegs|tcpinsegs|ipackets|opackets|ipkts|opkts|.*packets (?:sent|received)|(?:ip)?inreceives|(?:udp)?(?:in|out)datagrams|processed)$"
)
"""Names of counters that tell how much traffic there was."""

SENT, RECEIVED = (
    r"(?i)out|sent|send|tx|opa?ck|opkt|transmit",
    r"(?i)in(?:gmt)?(?:segs|datagrams|receives)|receive|rx|ipa?ck|ipkt|processed",
)
"""Which of these counters tell what went out, and which tell what came in."""

REFUSED = (
    r"(?i)listen ?(?:drop|overflow|queue)|connect requests dropped due to full queue|listener's queue full|SYNs to LISTEN|ReqQFull"
    r"|listen queue of a socket"
)
"""Counters of connections that a listening socket did not take: a part of those that it took, not of all packets."""

ACCEPTED = r"(?i)^(?:(?:tcp)?passiveopens|passive (?:connections? )?open(?:ing)?s?|connection accepts|passive connects?|passive opens)$"
"""Counters of connections that were taken."""

OVER_IP = ("tcp", "udp", "icmp")
"""Groups of counters of protocols whose packets IP counts too."""

MOST_OF_IP = 0.5
"""Minimum share of what IP received before a counter of another protocol is compared with it."""

WITHIN = 2
"""Number of counters below that share that are measures of an artifact, those of the largest share."""

BYTES = r"(?i)bytes|octets"
"""Names of counters that count bytes, which no number of packets is the whole of."""

OF_WORK = r"per (?!sec)"
"""Items of rates per transaction, execution or call, which are none in time."""

OF_PROCESSOR = "perf_stat"
"""Beginning of the groups of events of processors; their derived values (`89 % of all cache refs`) are no rates in time."""

SMALL = 0.001
"""Share of the traffic of its group below which a counter's move is normal."""

DAMAGED, SMALL_DAMAGED, DAMAGED_LEAST = r"(?i)crc|fcs|symbol|framing", 0.0001, 100.0
"""Counters of damaged frames, their share of the traffic that is normal, and the number below which they are a handful: a
good link has next to none, IEEE 802.3 allows one wrong bit in 10 ** 10 (100 Mbit/s) to 10 ** 12."""

HALF = 0.5
"""Share of a counter that a signature names outright and whose part of the traffic decides on the pace of who sends: `TOLD`."""

TRAFFIC_LINE = "traffic"
"""Role of the lines of the traffic that a counter is compared with."""

TOLD = 0.01
"""Minimum share of the traffic for which it is told how much traffic there was."""

MOVED_NAMED, MOVED, STOOD = 0.6, 0.3, 0.1
"""Share of a counter without traffic to compare it with: one that a signature names outright and that moved `TIMES` or
more between the samples, another that moved, and a total of which nobody knows since when it stands."""

EACH_DOES = ("delayed-ack",)
"""Mechanisms of counters that count in every connection at work: their total tells nothing, whatever its share."""

PAGES, FEW_PAGES_PS = r"(?i)^pg(?:scan|steal|dem)", 250.0
"""Counters of pages that are looked at or freed, and the rate from which that is felt: 1 MB per s of pages of 4 kB, as
swapping (`saturation.SWAPPED_KBPS`). Every host that reads files frees a few."""

KILLED = r"(?i)(?:^|\.)oom_(?:group_)?kill$"
"""Counters of processes that a memory limit ended: each one did end, whenever it was."""

TIMES = 10.0
"""Minimum move of a counter that is named outright: fewer may be the end of something old."""

READ = ("line_no", "line_end", "t_local", "sample", "first", "interval_s", "value", "delta", "mode", "unit")
"""Columns that are read beside those that name a counter."""

LONGEST_S = 366 * 86400.0
"""Maximum believable interval between two samples in seconds."""

LONG_S = 1e-9


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield the counters that moved, those that a signature knows first, then by size."""
    keys = [*PLACE_COLUMNS[:3], "grp", "item", "name"]
    rows = case.scan("counters", [*keys, "clock", "part", *READ])
    number = pl.col("value").is_not_null() & pl.col("value").is_finite()
    # Two outputs of one file are two samples of the same counter, also where nothing tells the time between them.
    rise = pl.coalesce("delta", pl.col("value").diff())
    moved = pl.when(pl.col("mode") == "rate").then(pl.col("value")).otherwise(rise)
    flow = pl.when(moved.is_finite()).then(moved)
    # The first sample has no rise to compare; alone, it is the largest.
    largest = flow.fill_null(float("-inf")).arg_max()
    made = (
        rows.filter(number & (pl.col("mode").fill_null("total") != "level") & (pl.col("value") > 0))
        .group_by(keys, maintain_order=True)
        .agg(
            pl.len().alias("n"),
            pl.col("part").first(),
            pl.col("clock").first(),
            pl.col("value").first().alias("before"),
            pl.col("value").last().alias("total"),
            flow.drop_nulls().sum().alias("moved"),
            flow.drop_nulls().len().alias("n_flows"),
            flow.max().alias("most"),
            pl.when(pl.col("delta").is_not_null()).then("interval_s").drop_nulls().mean().alias("interval_s"),
            pl.col("mode").last(),
            pl.col("line_no").get(largest),
            pl.col("line_end").get(largest),
            pl.col("line_no").last().alias("line_last"),
            pl.col("unit").drop_nulls().last(),
            pl.col("t_local").min().alias("t_from"),
            pl.col("t_local").max().alias("t_to"),
        )
        .sort(*keys, nulls_last=True)
        .collect(engine="streaming")
    )
    yield from moving(made)
    yield from measures(case)


def moving(made: pl.DataFrame) -> Iterator[Sighting]:
    """Yield the counters that should not change but did; `made` has the columns of the aggregation in `observe`."""
    found = sorted(_found(made), key=lambda x: -x[0])
    within: Counter[int] = Counter()
    for _, one in found:
        within[one.lines[0].artifact] += one.normal
        if not one.normal or within[one.lines[0].artifact] <= WITHIN:
            yield one


def _found(made: pl.DataFrame) -> Iterator[tuple[float, Sighting]]:
    traffic = _traffic(made)
    named = made.with_columns(pl.col("name").str.contains(BAD_NAME).alias("bad"))
    for row in named.iter_rows(named=True):
        seen: Seen = {"counter": str(row["name"])}
        if row["grp"]:
            seen["group"] = str(row["grp"])
        known = recognise(**seen)
        strength = known[0].strength if known else None
        if (
            strength in ("idle", "harmless", "remark")
            or (strength is None and not row["bad"])
            or "pressure" in row["name"]
        ):
            continue  # pressure is a measure of its own, and its total only ever rises
        if str(row["grp"] or "").startswith(OF_PROCESSOR):
            continue  # misses and faults are the work of a processor: `processor_events` compares them with it
        if row["mode"] == "rate" and re.match(OF_WORK, row["item"] or ""):
            continue  # its rate in time is told
        moved = row["moved"] if row["n_flows"] else None
        amount = row["total"] if moved is None else moved
        if not amount or amount <= 0:
            continue  # it stood still
        beside = _beside(row, moved is not None, amount, traffic)
        of = max((t.amount for t in beside), default=0.0)
        share = min(1.0, amount / of) if of and not re.search(BYTES, row["name"]) else None
        damaged = strength == "mechanism" and amount >= DAMAGED_LEAST and bool(re.search(DAMAGED, row["name"]))
        small = SMALL_DAMAGED if damaged else SMALL
        if share is not None and share < small:
            if row["bad"]:
                yield share - 1.0, _within(row, amount, beside)
            continue
        unknown = MOVED_NAMED if strength == "mechanism" and (moved or 0.0) >= TIMES else MOVED if moved else STOOD
        if re.search(PAGES, row["name"]) and (rate := _rate(row, amount)) is not None and rate < FEW_PAGES_PS:
            unknown = STOOD
        if moved is None and re.search(KILLED, row["name"]):
            unknown = HALF
        weight = min(1.0, 10 * share) if share is not None else unknown
        decides = (share or 0.0) >= (small if damaged else TOLD)
        if strength == "mechanism" and decides:
            weight = max(weight, HALF)
        if moved is None and row["mode"] != "rate" and known and known[0].mechanism in EACH_DOES:
            weight = STOOD
        told = beside if share is not None and share >= TOLD and row["mode"] != "rate" else ()
        yield _weight(strength, amount, share, moved), _sighting(row, amount, share, moved, seen, weight, told)


def _rate(row: Mapping[str, Any], amount: float) -> float | None:
    """Return how much a counter grew per second; None if the time is unknown."""
    if row["mode"] == "rate":
        return amount / max(1, int(row["n_flows"]))
    between = float(row["interval_s"] or 0.0) * float(row["n_flows"])
    return amount / between if 0.0 < between < LONGEST_S else None


def _within(row: Mapping[str, Any], amount: float, traffic: Sequence[Traffic]) -> Sighting:
    """Return a counter as a normal measure: a small part of the traffic, of its direction if the name shows it."""
    whole = next((t for t in traffic if t.name[:2].lower() == row["name"][:2].lower()), traffic[0])
    share = amount / whole.amount
    who = " ".join(dict.fromkeys(str(row[k]) for k in ("grp", "item", "name") if row[k]))
    did = "went up by" if whole.moved else "stands at"
    lines = dict.fromkeys((row.get("line_last") or row["line_no"], whole.line))
    return Sighting(
        "counter",
        who,
        f"{who} {did} {figure(amount, 'count')}, {figure(100 * share, '%')} of the {whole.what} ({whole.says})",
        f"{row['name']} share of the traffic",
        100 * share,
        "%",
        tuple(Lines(row["artifact_id"], line, line, "of the traffic") for line in lines),
        **place(row),
        t_from=row["t_from"],
        t_to=row["t_to"],
        against="what is normal",
        against_value=100 * SMALL,
        normal=True,
    )


def _weight(strength: str | None, amount: float, share: float | None, moved: float | None) -> float:
    known = {"mechanism": 4.0, "shape": 2.0}.get(strength or "", 0.0)
    return known + (1.0 if moved else 0.0) + (share or 0.0) + 0.05 * math.log10(1 + amount)


def _lines(row: Mapping[str, Any]) -> tuple[Lines, ...]:
    """Return the lines where the counter grew most, and of its last value."""
    last = row.get("line_last")
    if last is None or last == row["line_no"]:
        return lines_of(row, "counter")
    return (*lines_of(row, "moved most"), Lines(row["artifact_id"], last, last, "at last"))


def _amount(value: float, unit: str | None) -> str:
    """Write the amount of a counter, times as durations."""
    scale = UNITS.get(unit or "")
    return figure(value * scale, "s") if scale else figure(value, "count")


@dataclass(frozen=True)
class Traffic:
    """A counter of packets: its growth in the period examined, its total, and its line."""

    name: str
    amount: float
    total: float
    line: int
    moved: bool
    what: str = "traffic"

    @property
    def says(self) -> str:
        """Return the counter and what it counted, as a part of a sentence."""
        if not self.moved:
            return f"{self.name} at {figure(self.total, 'count')}"
        return f"{self.name} by {figure(self.amount, 'count')} to {figure(self.total, 'count')}"


Key = tuple[Any, ...]
"""Artifact, group, item, and whether the amounts are growth."""


def _traffic(made: pl.DataFrame) -> dict[Key, list[Traffic]]:
    """Return key -> counters of traffic per group, and of accepted connections, the largest first."""
    found: dict[Key, list[Traffic]] = {}
    for row in made.filter(pl.col("name").str.contains(f"{TRAFFIC}|{ACCEPTED}")).iter_rows(named=True):
        accepted = re.search(ACCEPTED, row["name"]) is not None
        for moving, amount in ((True, row["moved"] if row["n_flows"] else None), (False, row["total"])):
            key = (row["artifact_id"], ACCEPTED if accepted else row["grp"], row["item"], moving)
            if amount and amount > 0:
                what = "accepted connections" if accepted else "traffic"
                line = row.get("line_last") or row["line_no"]
                made_of = Traffic(row["name"], amount, row["total"], line, moving, what)
                found.setdefault(key, []).append(made_of)
    for held in found.values():
        held.sort(key=lambda t: -t.amount)
    return found


def _beside(
    row: Mapping[str, Any], moved: bool, amount: float, traffic: Mapping[Key, Sequence[Traffic]]
) -> tuple[Traffic, ...]:
    """Return the traffic to compare a counter with: packets in and out of its group, else all that IP received."""
    if re.search(REFUSED, row["name"]):
        accepted = traffic.get((row["artifact_id"], ACCEPTED, row["item"], moved), ())
        if accepted:
            return tuple(accepted[:1])
    held = traffic.get((row["artifact_id"], row["grp"], row["item"], moved), ())
    ways = (next((t for t in held if re.search(way, t.name)), None) for way in (RECEIVED, SENT))
    own = tuple(dict.fromkeys(t for t in (*held[:1], *ways) if t is not None))[:2]
    if row["grp"] not in OVER_IP or re.search(SENT, row["name"]) or any(t.amount >= amount for t in own):
        return own
    of_ip = traffic.get((row["artifact_id"], "ip", row["item"], moved), ())
    whole = next((t for t in of_ip if re.search(RECEIVED, t.name)), None)
    return (whole,) if whole and MOST_OF_IP * whole.amount <= amount <= whole.amount else own


def _sighting(
    row: dict[str, Any],
    amount: float,
    share: float | None,
    moved: float | None,
    seen: Seen,
    weight: float,
    traffic: Sequence[Traffic],
) -> Sighting:
    who = " ".join(dict.fromkeys(str(row[k]) for k in ("grp", "item", "name") if row[k]))
    says = " ".join(who.replace(str(row["grp"]), str(row["grp"]).replace("_", " "), 1).split())
    between = row["interval_s"] if (row["interval_s"] or 0.0) < LONGEST_S else None
    seconds = between * row["n_flows"] if moved is not None and between else None
    if row["mode"] == "rate":
        amount = amount / max(1, row["n_flows"])
        samples = f" in the mean of {row['n_flows']} samples" if row["n_flows"] > 1 else ""
        if samples and (row.get("most") or 0.0) > amount:
            samples += f", {figure(row['most'], 'per s')} at most"
        text, unit = f"{says.replace(' per second', '')}: {figure(amount, 'per s')}{samples}", "per s"
        short = figure(amount, unit)
    elif moved is not None:
        during = f" in {figure(seconds, 's')}" if seconds and seconds > LONG_S else " between the samples"
        rose = f"by {_amount(amount, row.get('unit'))}"
        to = _amount(row["total"], row.get("unit"))
        text, unit, short = f"{says} went up {rose}{during}, to {to}", "count", f"{rose} to {to}"
    else:
        text, unit = (
            f"{says} stands at {_amount(amount, row.get('unit'))}; one sample does not tell since when",
            "count",
        )
        short = f"at {_amount(amount, row.get('unit'))}"
    if share is not None:
        more = amount > max((t.amount for t in traffic), default=amount)
        whole = traffic[0].what if traffic else "traffic"
        text += f", more than the {whole}" if more else f", {figure(100 * share, '%')} of the {whole}"
    beside = " and ".join(t.says for t in traffic)
    return Sighting(
        kind="counter",
        subject=who,
        headline=text,
        name=f"{row['name']}",
        value=amount,
        unit=unit,
        lines=(*_lines(row), *(Lines(row["artifact_id"], t.line, t.line, TRAFFIC_LINE) for t in traffic)),
        **place(row),
        t_from=row["t_from"],
        t_to=row["t_to"],
        against="standing still",
        against_value=0.0,
        share=weight,
        n=max(1, row["n_flows"]),
        seen=(seen, {"counter": str(row["name"])}),
        beside=f"{traffic[0].what}{' meanwhile' if moved is not None else ''}: {beside}" if beside else None,
        joins=f"{row['grp'] or 'counters'} {unit} {'moved' if moved is not None else 'stands'}",
        short=f"{' '.join(dict.fromkeys(str(row[k]) for k in ('item', 'name') if row[k]))} {short}",
    )
