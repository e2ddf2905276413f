"""What names and values of known tools say: chronyc, timedatectl, vmstat -z of FreeBSD, virsh, pveperf.

Standing out: a clock that is `STEP_S` or more away from its servers, whose rate is wrong by more than `RATE_PPM`, or that
follows none; a zone of FreeBSD's kernel that is at its limit and refused requests; a guest to which the hypervisor left less
than `GIVEN` of its memory while it has next to none free; a disk that flushes fewer than `FLUSHES_PS` times per second. Normal:
anything else, also a guest with much memory free; how far a clock is away is kept.
Worked example: `mbuf_cluster: 2048, 25000, 25000, 0, 99999, 812, 0`: "the zone mbuf_cluster is at its limit of 25,000 and refused 812
requests".
Cost: at most `MOST_ROWS` rows. Source: chronyc(1), tracking; timedatectl(1); ntpd(8) (a step from 0.128 s); FreeBSD vmstat(8), -z (SIZE,
LIMIT, USED, FREE, REQ, FAIL, SLEEP); virsh(1), dommemstat and dominfo (kB); Proxmox pveperf(1) (more than 200 flushes per second).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import Lines, Observer, Sighting, figure, place

OBSERVER = Observer(
    "tool-values",
    "What do the values of a known tool say?",
    ("params", "counters", "rows"),
    {"*": "chronyc sources -v; chronyc tracking; the same command, twice, 60 s apart"},
)

MOST_ROWS = 20_000

STEP_S = 0.128
"""Seconds from which ntpd sets a clock at once instead of slewing it."""

RATE_PPM = 500.0
"""Largest error of a clock's rate that ntpd and the kernel's clock discipline correct (NTP_MAXFREQ)."""

GIVEN, FREE = 0.6, 0.1
"""Maximum part of its memory that a guest was left, and maximum part of that which is unused, before it is short."""

FLUSHES_PS = 200.0

FULL = 0.95
"""Minimum part of its limit from which a zone that refused requests still is at it."""

SHARE = 0.6

_AWAY = re.compile(r"([0-9]{1,12}\.[0-9]{1,12}) seconds (slow|fast) of NTP time")
_RATE = re.compile(r"([0-9]{1,9}\.[0-9]{1,9}) ppm (slow|fast)")
_ZONE = re.compile(r"([0-9]+), +([0-9]+), *([0-9]+), *([0-9]+), *([0-9]+), *([0-9]+)(?:, *[0-9]+){0,2}")
WAITED, LEAST_S = 0.1, 60.0
"""Part of the time in which a guest wanted processors and waited for them, and the least of that time in seconds: a guest that just
started tells nothing."""

SLOW_MS, LEAST_REQUESTS = 20.0, 1_000
"""Bound of a request to a disk as of `saturation`, and the least number of requests of which the mean tells something."""

KINDS = {"rd": "reads", "wr": "writes", "fl": "flushes"}
_DELAY = re.compile(r"vcpu\.([0-9]{1,4})\.delay")
_TIMES = re.compile(r"(block\.[0-9]{1,3}\.)(rd|wr|fl)\.times")
_NUMBER = re.compile(r"([0-9]{1,18}(?:\.[0-9]{1,9})?)(?: (?:KiB|kB))?")

Named = Mapping[str, dict[str, Any]]
"""Rows of one part by their name in small letters; of two of one name the first."""


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield the sightings from the values of each part."""
    listed = [
        case.scan(table, [*PLACE_COLUMNS, "part", "line_no", "name", "value"], _of_text(table))
        .with_columns(pl.col("value").cast(pl.String))
        .head(MOST_ROWS)
        .collect(engine="streaming")
        for table in ("params", "counters")
    ]
    for _, part in pl.concat(listed).group_by("artifact_id", "part", maintain_order=True):
        rows = part.sort("line_no").to_dicts()
        named: dict[str, dict[str, Any]] = {}
        for row in rows:
            named.setdefault(str(row["name"]).lower(), row)
        yield from _clock(named)
        for row in rows:
            yield from _zone(row, str(row["name"]), str(row["value"]))
        yield from _guest(named)
        yield from _waiting(rows, named)
        yield from _slow_disks(rows, named)
        yield from _flushes(named)
    zones = (pl.col("heading").list.first() == "ITEM").fill_null(value=False)
    columns = [*PLACE_COLUMNS, "part", "line_no", "heading", "cells"]
    for row in case.scan("rows", columns, zones).head(MOST_ROWS).collect(engine="streaming").to_dicts():
        figures = ", ".join(str(cell).strip(" ,") for cell in row["cells"][1:])
        yield from _zone(row, str(row["cells"][0]), figures)


def _of_text(table: str) -> pl.Expr:
    """Return an expression for the rows made by the general reader, which alone reads the output of these tools."""
    return pl.col("scope" if table == "params" else "grp") == "text"


def _clock(named: Named) -> Iterator[Sighting]:
    away = named.get("system time")
    if away is not None and (found := _AWAY.fullmatch(str(away["value"]).strip())):
        seconds = float(found[1])
        made = _made(
            away, "clock", "the clock", f"the clock is {figure(seconds, 's')} {found[2]} of its servers of time", "clock_offset_ms",
            1e3 * seconds, "ms", "clock-offset", (f"{STEP_S} s", 1e3 * STEP_S), SHARE,
        )  # fmt: skip
        yield made if seconds >= STEP_S else replace(made, share=None, normal=True)
    rate = named.get("frequency")
    if rate is not None and (found := _RATE.fullmatch(str(rate["value"]).strip())) and float(found[1]) > RATE_PPM:
        words = f"the clock runs {float(found[1]):,.0f} ppm {found[2]} by itself: more than ntpd corrects ({RATE_PPM:.0f} ppm)"
        yield _made(
            rate, "clock", "the rate of the clock", words, "clock_rate_ppm", float(found[1]), "ppm", "clock-offset",
            (f"{RATE_PPM:.0f} ppm", RATE_PPM), SHARE,
        )  # fmt: skip
    for name, bad in (
        ("leap status", "not synchronised"),
        ("system clock synchronized", "no"),
        ("ntp synchronized", "no"),
    ):
        row = named.get(name)
        if row is not None and str(row["value"]).strip().lower() == bad:
            words = f"the clock follows no server of time ({row['name']}: {row['value']})"
            yield _made(
                row,
                "clock",
                "the clock",
                words,
                "clock_synchronised",
                0.0,
                "",
                "clock-unsynchronised",
                ("a server", 1.0),
                0.5,
            )
            return


def _zone(row: dict[str, Any], name: str, figures: str) -> Iterator[Sighting]:
    found = _ZONE.fullmatch(figures.strip())
    if found is None:
        return
    _, limit, used, _, _, failed = (int(x) for x in found.groups())
    if not failed or not limit or used < FULL * limit:
        return
    zone = name.strip(": ")
    words = (
        f"the zone {zone} is at its limit of {figure(limit, 'count')} ({figure(used, 'count')} in use)"
        f" and refused {figure(failed, 'count')} requests"
    )
    event = "mbufs-refused" if zone.startswith("mbuf") else "zone-refused"
    yield _made(
        row | {"name": zone}, "limit", zone, words, "zone_failed", float(failed), "count", event, ("none", 0.0), SHARE
    )


def _guest(named: Named) -> Iterator[Sighting]:
    given, most, unused = (_kb(named.get(n)) for n in ("actual", "max memory", "unused"))
    if not given or not most or unused is None or given > GIVEN * most or unused > FREE * given:
        return
    row = named["actual"]
    words = (
        f"the hypervisor leaves the guest {figure(given, 'kB')} of {figure(most, 'kB')}, {figure(100 * given / most, '%')},"
        f" and {figure(unused, 'kB')} of that are unused"
    )
    yield _made(
        row,
        "memory",
        "the guest",
        words,
        "guest_memory_kb",
        given,
        "kB",
        "guest-ballooned",
        ("its memory", most),
        1 - given / most,
    )


def _waiting(rows: list[dict[str, Any]], named: Named) -> Iterator[Sighting]:
    """Yield how long the virtual processors of a guest waited for real ones, all together."""
    found = [(r, m[1]) for r in rows if (m := _DELAY.fullmatch(str(r["name"]).lower()))]
    pairs = [(r, _kb(r), _kb(named.get(f"vcpu.{cpu}.time"))) for r, cpu in found]
    waited = sum(delay for _, delay, ran in pairs if delay is not None and ran is not None)
    ran = sum(ran for _, delay, ran in pairs if delay is not None and ran is not None)
    if not pairs or waited + ran < 1e9 * LEAST_S:
        return
    row = max(pairs, key=lambda p: p[1] or 0.0)[0]
    part = waited / (waited + ran)
    words = f"the virtual processors of the guest waited {figure(waited / 1e9, 's')} for real ones (delay) and ran {figure(ran / 1e9, 's')}"
    made = _made(
        row, "cpu", "the guest", words, "vm_ready_pct", 100 * part, "%", "vm-ready", (f"{WAITED:.0%}", 100 * WAITED), part
    )  # fmt: skip
    yield made if part >= WAITED else replace(made, share=None, seen=(), normal=True)


def _slow_disks(rows: list[dict[str, Any]], named: Named) -> Iterator[Sighting]:
    """Yield virtual disks of a guest whose reads, writes or flushes took long in the mean since its start."""
    for row in rows:
        found = _TIMES.fullmatch(str(row["name"]).lower())
        times, count = _kb(row), _kb(named.get(f"{found[1]}{found[2]}.reqs")) if found else None
        if found is None or times is None or not count or count < LEAST_REQUESTS:
            continue
        ms = times / count / 1e6
        disk = str((named.get(f"{found[1]}name") or {"value": "its disk"})["value"])
        words = f"{KINDS[found[2]]} of the guest on {disk} took {figure(ms, 'ms')} on average ({row['name']} by reqs)"
        made = _made(
            row, "wait", disk, words, "disk_response_ms", ms, "ms", "vm-disk-slow", (f"{SLOW_MS} ms", SLOW_MS), SHARE
        )
        if ms >= SLOW_MS:
            yield made


def _flushes(named: Named) -> Iterator[Sighting]:
    row = named.get("fsyncs/second")
    rate = _kb(row)
    if row is not None and rate is not None and 0 < rate < FLUSHES_PS:
        words = (
            f"{figure(rate, 'count')} flushes per second (fsync) were made, Proxmox expects more than {FLUSHES_PS:.0f}"
        )
        yield _made(
            row,
            "wait",
            "flushes",
            words,
            "flushes_ps",
            rate,
            "per s",
            "disk-test-flush",
            ("200 per s", FLUSHES_PS),
            SHARE,
        )


def _kb(row: dict[str, Any] | None) -> float | None:
    found = _NUMBER.fullmatch(str(row["value"]).strip()) if row is not None else None
    return float(found[1]) if found else None


def _made(
    row: dict[str, Any],
    kind: str,
    subject: str,
    words: str,
    name: str,
    value: float,
    unit: str,
    event: str,
    against: tuple[str, float],
    share: float,
) -> Sighting:
    return Sighting(
        kind,
        subject,
        words,
        name,
        value,
        unit,
        (Lines(row["artifact_id"], row["line_no"], row["line_no"], str(row["name"])),),
        **place(row),
        against=against[0],
        against_value=against[1],
        share=share,
        seen=({"event": event},),
    )
