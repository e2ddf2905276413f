"""What fio measured of a disk: requests per second, how long they took, and how long a flush (fsync, fdatasync) took.

Standing out: flushes of which one in a hundred took `FLUSH_MS` or longer, and reads or writes that took `SLOW_MS` on average while no more
than `DEPTH` were asked for at once. Normal: quicker ones; the rate is kept as a measure. A deep queue waits for itself, so that its
times tell nothing of the disk.
Worked example: `sync percentiles (usec): ... 99.00th=[33162]`: "1 of 100 flushes took 33.2 ms or longer, 15.1 ms on average".
Cost: at most `MOST_ROWS` lines. Source: fio(1), "Interpreting the output"; etcd, Hardware recommendations (99 of 100 flushes of the log
should take less than 10 ms).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import Lines, Observer, Sighting, figure, place

OBSERVER = Observer(
    "disk-tests",
    "What did a test of a disk measure?",
    ("rows",),
    {"*": "fio with one job, --iodepth=1 --fdatasync=1 --rw=write --bs=4k, on an idle disk; iostat -x 1 meanwhile"},
)

FIO = "fio"
"""Heading under which the general reader keeps the lines of fio."""

MOST_ROWS = 5_000

FLUSH_MS = 10.0
SLOW_MS = 20.0
DEPTH = 4
ONE_BY_ONE = 1.5
"""Maximum number of requests under way on average for which none waits behind another."""
SHARE, MEASURED_SHARE = 0.6, 0.1

_JOB = re.compile(r"\s*(?P<name>[\w./-]+): \(groupid=[0-9]+, jobs=(?P<jobs>[0-9]+)\)")
_WAY = re.compile(r"\s*(?P<way>read|write|trim) ?: ?(?P<rest>.*)")
_IOPS = re.compile(r"(?i)\biops= ?(?P<n>[0-9.]+)(?P<p>[kM]?)")
_BW = re.compile(r"(?i)\bBW= ?(?P<bw>[0-9.]+ ?[KMG]?i?B/s)")
_TIMES = re.compile(r"\s*(?P<what>clat|lat|slat|sync) \((?P<unit>nsec|usec|msec)\): min=.*?avg= ?(?P<avg>[0-9.]+)")
_PARTS = re.compile(r"\s*(?P<what>clat|lat|slat|sync) percentiles \((?P<unit>nsec|usec|msec)\):")
_P99 = re.compile(r"99\.00th=\[ *(?P<value>[0-9]+)\]")
_MS = {"nsec": 1e-6, "usec": 1e-3, "msec": 1.0}


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield flushes and requests that took long, then the rate of each job as a measure."""
    ours = (pl.col("heading").list.len() == 1) & (pl.col("heading").list.first() == FIO)
    columns = [*PLACE_COLUMNS, "part", "line_no", "heading", "cells"]
    rows = case.scan("rows", columns, ours.fill_null(value=False)).head(MOST_ROWS).collect(engine="streaming")
    for _, part in rows.group_by("artifact_id", "part", maintain_order=True):
        found = list(_measured(part.sort("line_no").to_dicts()))
        yield from sorted(found, key=lambda s: (s.normal, s.lines[0].line_from))


def _measured(rows: Sequence[dict[str, Any]]) -> Iterator[Sighting]:
    job, jobs, way, unit_of = "the test", 1, "", ("", 0.0)
    took: dict[str, float] = {}
    rate: float | None = None
    for row in rows:
        text = str(row["cells"][0])
        if found := _JOB.match(text):
            job, jobs, way, took = found["name"], int(found["jobs"]), "", {}
        elif found := _WAY.match(text):
            way, took = found["way"], {}
            rate = _per_second(found["rest"])
            yield from _rate(row, job, way, found["rest"])
        elif text.strip().startswith("fsync/"):
            way, took = "flush", {}
        elif found := _TIMES.match(text):
            took[found["what"]] = float(found["avg"]) * _MS[found["unit"]]
            if found["what"] == "clat" and way in ("read", "write") and jobs <= DEPTH and took["clat"] >= SLOW_MS:
                yield _slow(row, job, way, took["clat"], rate)
        elif found := _PARTS.match(text):
            unit_of = found["what"], _MS[found["unit"]]
        elif (found := _P99.search(text)) and unit_of[0] == "sync":
            worst = float(found["value"]) * unit_of[1]
            average = took.get("sync")
            yield _flush(row, job, worst, average)


def _per_second(rest: str) -> float | None:
    """Return the requests per second that a line of fio states.

    >>> _per_second("IOPS=1.5k, BW=6MiB/s"), _per_second("bw=9KB/s")
    (1500.0, None)
    """
    found = _IOPS.search(rest)
    return float(found["n"]) * {"": 1.0, "k": 1e3, "m": 1e6}[found["p"].lower()] if found else None


def _rate(row: dict[str, Any], job: str, way: str, rest: str) -> Iterator[Sighting]:
    value, bw = _per_second(rest), _BW.search(rest)
    if value is None:
        return
    at = f", {bw['bw']}" if bw else ""
    yield Sighting(
        "rate",
        f"{job} {way}",
        f"{job} made {figure(value, 'count')} {way}s per second{at}",
        f"fio_{way}_ps",
        value,
        "per s",
        (Lines(row["artifact_id"], row["line_no"], row["line_no"], f"rate of {way}s"),),
        **place(row),
        share=MEASURED_SHARE,
        normal=True,
    )


def _slow(row: dict[str, Any], job: str, way: str, took: float, rate: float | None) -> Sighting:
    """Return requests that take long; their rate times their time is how many were under way (Little's law)."""
    one_by_one = rate is not None and rate * took / 1e3 <= ONE_BY_ONE
    return Sighting(
        "wait",
        f"{job} {way}",
        f"each of the {way}s of {job} took {figure(took, 'ms')} on average",
        "disk_response_ms",
        took,
        "ms",
        (Lines(row["artifact_id"], row["line_no"], row["line_no"], f"times of {way}s"),),
        **place(row),
        against="a quick disk",
        against_value=SLOW_MS,
        share=SHARE if one_by_one else SHARE / 2,
        seen=({"event": "disk-test-slow-alone" if one_by_one else "disk-test-slow"},),
    )


def _flush(row: dict[str, Any], job: str, worst: float, average: float | None) -> Sighting:
    mean = f", {figure(average, 'ms')} on average" if average is not None else ""
    slow = worst >= FLUSH_MS
    return Sighting(
        "wait",
        f"{job} flush",
        f"1 of 100 flushes (fsync) of {job} took {figure(worst, 'ms')} or longer{mean}",
        "flush_p99_ms",
        worst,
        "ms",
        (Lines(row["artifact_id"], row["line_no"], row["line_no"], "99.00th of the flushes"),),
        **place(row),
        against="10 ms",
        against_value=FLUSH_MS,
        share=SHARE if slow else MEASURED_SHARE,
        seen=({"event": "disk-test-flush"},) if slow else (),
        normal=not slow,
    )
