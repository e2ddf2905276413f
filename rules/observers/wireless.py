"""At which rate a wireless card sends and receives, beside how strong the signal is.

Standing out: a bit rate of `BASIC_MBITS` or less in one direction while the signal is strong: with such a signal rates
are some tens of times larger, so that noise, the other side's driver or power saving holds them down; retries that are
many beside the packets sent, which a weak signal explains. Normal: low rates of a weak signal, high rates. One look
tells the rate of the last packet, which may have been a short one that is always sent slowly: the sentence says so and
names no mechanism.
Worked example: `signal: -40 dBm`, `rx bitrate: 1.0 MBit/s`, `tx bitrate: 144.4 MBit/s`.
Cost: a filter by name. Source: iw(8), station dump; IEEE 802.11, basic rates of 1 to 11 Mbit/s; IEEE 802.11-2016 table 19-22
(receiver sensitivity: 54 Mbit/s need -65 dBm).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import Lines, Observer, Sighting, figure, place

OBSERVER = Observer(
    "wireless",
    "At which rate does a wireless card send and receive?",
    ("counters", "params"),
    {
        "linux": "iw dev INTERFACE station dump, five times; iw dev INTERFACE get power_save; dmesg -T; the same over a cable"
    },
)

NAMES = ("signal", "rx bitrate", "tx bitrate", "tx retries", "tx failed", "tx packets")

STRONG_DBM = -65.0
"""Minimum signal for 54 Mbit/s (receiver sensitivity of IEEE 802.11-2016, table 19-22)."""

BASIC_MBITS = 11.0
"""Largest rate of the oldest cards (802.11b): a card near its access point uses those for control packets only."""

WEAK_DBM = -80.0
"""Signal below which a card of 20 MHz has its two slowest rates left (the same table: MCS 1 needs -79 dBm)."""

RETRIED = 0.5
"""Minimum ratio of retries to packets sent: each packet was sent half a time more on average."""

LEAST = 100
"""Minimum number of packets for that ratio."""

SHARE, HALF = 0.4, 0.5

_NUMBER = re.compile(r"(-?[0-9]+(?:\.[0-9]+)?)\b.*")


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield low rates under a strong signal, then many retries."""
    named = pl.col("name").is_in(NAMES)
    text = (pl.col("scope") == "text") & named
    params = case.scan("params", [*PLACE_COLUMNS, "part", "line_no", "name", "value", "scope"], text)
    counters = case.scan(
        "counters", [*PLACE_COLUMNS, "part", "line_no", "name", "value", "grp"], (pl.col("grp") == "text") & named
    )
    rows = pl.concat(
        [params.drop("scope"), counters.drop("grp").with_columns(pl.col("value").cast(pl.String))],
        how="diagonal_relaxed",
    )
    held = rows.head(5_000).collect(engine="streaming").sort("artifact_id", "part", "line_no")
    for _, part in held.group_by("artifact_id", "part", maintain_order=True):
        yield from _stations(part.to_dicts())


def _stations(rows: list[dict[str, Any]]) -> Iterator[Sighting]:
    """Yield what stands out for each station of a dump; a repeated name begins the next station."""
    station: dict[str, tuple[float, dict[str, Any]]] = {}
    for row in rows:
        number = _NUMBER.match(str(row["value"]))
        if number is None:
            continue
        if row["name"] in station:
            yield from _station(station)
            station = {}
        station[row["name"]] = (float(number[1]), row)
    yield from _station(station)


def _station(station: dict[str, tuple[float, dict[str, Any]]]) -> Iterator[Sighting]:
    signal = station.get("signal")
    for name, way in (("rx bitrate", "came"), ("tx bitrate", "was sent")):
        rate = station.get(name)
        if rate is None or signal is None or not STRONG_DBM <= signal[0] < 0 or rate[0] > BASIC_MBITS:
            continue
        other = station.get("tx bitrate" if name == "rx bitrate" else "rx bitrate")
        beside = f", {'tx' if name == 'rx bitrate' else 'rx'} {other[0]:g} MBit/s" if other else ""
        row = rate[1]
        yield Sighting(
            "rate",
            name,
            f"{name} is {rate[0]:g} MBit/s with a strong signal of {signal[0]:g} dBm{beside}; it is that of the last packet that {way},"
            " look again",
            "rate_mbits",
            rate[0],
            "MBit/s",
            tuple(Lines(row["artifact_id"], r["line_no"], r["line_no"], r["name"]) for r in (row, signal[1], *([other[1]] if other else []))),
            **place(row),
            against="the least that such a signal carries otherwise",
            against_value=BASIC_MBITS,
            share=SHARE,
        )  # fmt: skip
    sent, again = station.get("tx packets"), station.get("tx retries")
    if sent and again and sent[0] >= LEAST and again[0] >= RETRIED * sent[0]:
        row = again[1]
        weak = signal is not None and signal[0] <= WEAK_DBM
        under = f", under a signal of {signal[0]:g} dBm" if signal is not None and weak else ""
        shown = (row, sent[1], *([signal[1]] if signal is not None and weak else []))
        yield Sighting(
            "retries",
            "tx retries",
            f"{figure(again[0], 'count')} sendings were repeated (tx retries) of {figure(sent[0], 'count')} packets sent{under}",
            "retries_count",
            again[0],
            "count",
            tuple(Lines(row["artifact_id"], r["line_no"], r["line_no"], r["name"]) for r in shown),
            **place(row),
            against="packets sent",
            against_value=sent[0],
            share=HALF if weak else SHARE,
            n=int(again[0]),
            seen=({"event": "wireless-too-weak" if weak else "wireless-retries"},),
        )
