"""What iperf measured: the rate of a path, lost datagrams, segments sent again, and intervals in which nothing went through.

Standing out: datagrams lost (`DECIDES_PCT` or more), segments sent again (`AGAIN_PCT` or more of those sent), intervals without a byte
between others (`IN_A_ROW` of them on end: the path stood still),
and streams side by side of which one had `TIMES` times the rate of another. Normal: the rate itself, which is kept as a
measure: whether it is what the link should carry, only its speed tells. A sender of UDP that sends more than the path carries loses the
rest by design, so that its loss alone names no cause outright.
Worked example: `900/2500 (36%)` over 5 s: "900 of 2,500 datagrams were lost: 36 %".
Cost: at most `MOST_ROWS` lines. Source: iperf(1), iperf3(1); RFC 6349 (retransmitted bytes against all).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import Lines, Observer, Sighting, figure, place
from rules.observers.path_loss import DECIDES_PCT, share_of

OBSERVER = Observer(
    "throughput",
    "How much does a path carry?",
    ("rows",),
    {
        "*": "iperf3 -c ADDRESS -t 30 -R, and the same without -R; nstat -az TcpRetransSegs before and after; ethtool INTERFACE (speed)"
    },
)

IPERF = "iperf"
"""Heading under which the general reader keeps the lines of iperf."""

MOST_ROWS = 5_000

AGAIN_PCT = 1.0
"""Minimum part of the segments in % that is sent again: at 1 % TCP sends 12 segments for each round trip (path_loss.share_of)."""

SEGMENT = 1448.0
"""Bytes of a segment on Ethernet with time stamps: iperf prints bytes, not segments."""

TIMES = 5.0
"""Minimum ratio of the rates of two streams side by side: TCP shares a path, but not evenly."""

EMPTY = 2
"""Minimum number of intervals without a byte."""

EMPTY_SHARE = 0.4
"""Share of single empty intervals: a sender that pauses, or an interval shorter than a round trip, looks the same."""

IN_A_ROW, IN_A_ROW_S = 3, 2.5
"""Minimum number of empty intervals in a row, and their seconds, from which the path itself stood still: a sender that waits for its
timer of 0.2 s (RFC 6298) tries several times in it."""

STOOD_SHARE = 0.6

WINDOW = 2 * 1448.0
"""Minimum window in bytes of a sender that has more than one segment on its way."""

_STREAM = re.compile(
    r"\[ *(?P<id>[0-9]+|SUM)\](?:\[[TR]X-[CS]\])? +(?P<begin>[0-9.]+) *- *(?P<end>[0-9.]+) +sec +(?P<size>[0-9.]+) (?P<su>[KMGT]?)Bytes"
    r" +(?P<rate>[0-9.]+ (?P<ru>[KMGT]?)bits/sec)(?P<rest>.*)"
)
_LOST = re.compile(r"(?P<lost>[0-9]+)/ *(?P<all>[0-9]+) +\((?P<pct>[0-9.e+-]+)%\)")
_AGAIN = re.compile(r"^ +(?P<again>[0-9]+)(?: +(?P<window>[0-9.]+) (?P<wu>[KMGT]?)Bytes\b| |$)")
_POWERS = {"": 1.0, "K": 1024.0, "M": 1024.0**2, "G": 1024.0**3, "T": 1024.0**4}
_RATES = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}


@dataclass(frozen=True)
class Interval:
    """A line of a stream: bytes, bits per second, segments sent again or datagrams lost of all, bytes of the sender's window, as far as
    they are printed.
    """

    stream: str
    begin: float
    end: float
    size: float
    rate: float
    rate_text: str
    side: str
    again: int | None
    lost: tuple[int, int] | None
    line: int
    window: float | None = None


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield what each run of iperf lost, sent again or did not get through, then its rate as a measure."""
    ours = (pl.col("heading").list.len() == 1) & (pl.col("heading").list.first() == IPERF)
    columns = [*PLACE_COLUMNS, "part", "line_no", "heading", "cells"]
    rows = case.scan("rows", columns, ours.fill_null(value=False)).head(MOST_ROWS).collect(engine="streaming")
    for _, part in rows.group_by("artifact_id", "part", maintain_order=True):
        held = part.sort("line_no").to_dicts()
        made = [one for r in held if (one := _interval(str(r["cells"][0]), r["line_no"]))]
        if made:
            yield from _run(held[0], made)


def _interval(text: str, line: int) -> Interval | None:
    found = _STREAM.match(text.strip())
    if found is None:
        return None
    lost, again = _LOST.search(found["rest"]), _AGAIN.match(found["rest"])
    side = next((word for word in ("sender", "receiver") if word in found["rest"]), "")
    return Interval(
        found["id"],
        float(found["begin"]),
        float(found["end"]),
        float(found["size"]) * _POWERS[found["su"]],
        float(found["rate"].split()[0]) * _RATES[found["ru"]],
        found["rate"],
        side,
        int(again["again"]) if again and not lost else None,
        (int(lost["lost"]), int(lost["all"])) if lost else None,
        line,
        float(again["window"]) * _POWERS[again["wu"]] if again and again["window"] else None,
    )


def _run(row: dict[str, Any], made: list[Interval]) -> Iterator[Sighting]:
    """Yield what stands out in the lines of a part; the lines with the widest interval cover the whole run."""
    widest = max(i.end - i.begin for i in made)
    wholes = [i for i in made if i.end - i.begin >= 0.9 * widest]
    sums = [i for i in wholes if i.stream == "SUM"] or wholes
    told = [*_losses(row, sums), *_again(row, sums), *_empty(row, made, widest), *_apart(row, wholes)]
    yield from told
    best = max(sums, key=lambda i: (i.side == "receiver", i.rate))
    yield Sighting(
        "rate",
        "iperf",
        f"iperf carried {best.rate_text} over {figure(best.end - best.begin, 's')}",
        "iperf_bits_per_s",
        best.rate,
        "bit/s",
        (Lines(row["artifact_id"], best.line, best.line, "the whole time"),),
        **place(row),
        against="itself: the speed of the link is not known here",
        against_value=best.rate,
        normal=True,
    )


def _losses(row: dict[str, Any], wholes: list[Interval]) -> Iterator[Sighting]:
    counted = [i for i in wholes if i.lost and i.lost[1]]
    worst = max(counted, key=lambda i: i.lost[0] / i.lost[1] if i.lost else 0.0, default=None)
    if worst is None or worst.lost is None:
        return
    lost, whole = worst.lost
    pct = 100 * lost / whole
    yield Sighting(
        "loss",
        "iperf",
        f"{lost:,} of {whole:,} datagrams were lost: {figure(pct, '%')}; {worst.rate_text} arrived",
        "loss_pct",
        pct,
        "%",
        (Lines(row["artifact_id"], worst.line, worst.line, "lost of all datagrams"),),
        **place(row),
        against="a loss that decides on the pace of TCP",
        against_value=DECIDES_PCT,
        share=share_of(pct, whole),
        n=max(1, lost),
        normal=pct < DECIDES_PCT,
        seen=({"event": "datagrams-lost"},) if pct >= DECIDES_PCT else (),
    )


def _again(row: dict[str, Any], wholes: list[Interval]) -> Iterator[Sighting]:
    sent = [i for i in wholes if i.again is not None and i.size > 0]
    worst = max(sent, key=lambda i: (i.again or 0) / i.size, default=None)
    if worst is None or not worst.again:
        return
    pct = min(100.0, 100 * worst.again * SEGMENT / worst.size)
    if pct < AGAIN_PCT:
        return
    yield Sighting(
        "loss",
        "iperf",
        f"{worst.again:,} segments were sent again, about {figure(pct, '%')} of all, at {worst.rate_text}",
        "retransmitted_pct",
        pct,
        "%",
        (Lines(row["artifact_id"], worst.line, worst.line, "segments sent again"),),
        **place(row),
        against="no segment",
        against_value=0.0,
        share=share_of(pct, worst.size / SEGMENT),
        n=worst.again,
        seen=({"event": "segments-sent-again"},),
    )


def _empty(row: dict[str, Any], made: list[Interval], widest: float) -> Iterator[Sighting]:
    """Yield that intervals of one stream had no byte although others had, and whether it stood for seconds on end."""
    parts = [i for i in made if i.end - i.begin < 0.9 * widest and i.stream != "SUM" and not i.side]
    parts = parts or [
        i for i in made if i.stream != "SUM" and not i.side
    ]  # a run that was stopped has no line of the whole
    empty = [i for i in parts if i.size == 0]
    if len(empty) < EMPTY or len(empty) == len(parts):
        return
    longest = _in_a_row(parts)
    lasted = sum(i.end - i.begin for i in longest)
    stood = len(longest) >= IN_A_ROW and lasted >= IN_A_ROW_S
    narrow = stood and all(i.window is not None and i.window < WINDOW for i in longest[:-1])
    text = f"nothing went through in {len(empty):,} of {len(parts):,} intervals"
    text += f", {figure(lasted, 's')} of them on end" if stood else ""
    if narrow:
        text += f"; the sender's window was one segment ({(longest[0].window or 0.0) / 1024:.2f} KBytes)"
    event = "path-stood-still" if stood else "path-stands-still"
    yield Sighting(
        "stall",
        "iperf",
        text,
        "empty_count",
        float(len(empty)),
        "count",
        tuple(
            Lines(row["artifact_id"], i.line, i.line, "0.00 bits/sec: no byte")
            for i in (longest if stood else empty)[:5]
        ),
        **place(row),
        against="all intervals",
        against_value=float(len(parts)),
        share=STOOD_SHARE if stood else EMPTY_SHARE,
        n=len(empty),
        seen=({"event": event},),
    )


def _in_a_row(parts: list[Interval]) -> list[Interval]:
    """Return the longest run of empty intervals of one stream that came after bytes."""
    longest: list[Interval] = []
    for stream in dict.fromkeys(i.stream for i in parts):
        run: list[Interval] = []
        carried = False
        for one in (i for i in parts if i.stream == stream):
            run = [*run, one] if one.size == 0 and carried else []
            carried |= one.size > 0
            longest = max(longest, run, key=len)
    return longest


def _apart(row: dict[str, Any], wholes: list[Interval]) -> Iterator[Sighting]:
    """Yield the slowest and the fastest of streams side by side."""
    streams = [i for i in wholes if i.stream != "SUM" and i.side != "receiver"]
    if len({i.stream for i in streams}) < 2:
        return
    slow, fast = min(streams, key=lambda i: i.rate), max(streams, key=lambda i: i.rate)
    if fast.rate < TIMES * slow.rate:
        return
    yield Sighting(
        "streams",
        "iperf",
        f"stream {slow.stream} had {slow.rate_text}, stream {fast.stream} beside it {fast.rate_text}",
        "stream_bits_per_s",
        slow.rate,
        "bit/s",
        tuple(Lines(row["artifact_id"], i.line, i.line, f"stream {i.stream}") for i in (slow, fast)),
        **place(row),
        against="the fastest stream",
        against_value=fast.rate,
        share=0.3,
    )
