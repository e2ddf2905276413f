"""Which queue of a pool of ZFS holds requests, and where their time goes: `zpool iostat -q` and `-w`.

Standing out: a queue of a disk with `PENDING` or more requests that wait (in the median of the samples), told beside the other disks;
in the histograms, half of the reads or writes that took `FELT_MS` or longer, with the time of the disk alone beside it. Normal: less.
Worked example: `asyncq_write pend` of sdc 1.90K, of sda and sdb 4 and 6: "1,900 requests waited in the queue of asynchronous writes of
sdc, 5 in the middle one of the 2 others". total_wait of writes 268 ms in the median, disk_wait 8 ms: they wait before they reach the disk.
Cost: at most `MOST_ROWS` rows. Source: zpool-iostat(8): -q lists pend and activ of syncq_read, syncq_write, asyncq_read, asyncq_write,
scrubq_read, trimq_write (and rebuildq_write) in this order; -w has total_wait (queue and disk), disk_wait (disk alone), syncq_wait,
asyncq_wait, then scrub and trim, by powers of two.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from statistics import median
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import Lines, Observer, Sighting, figure, place

OBSERVER = Observer(
    "pool-queues",
    "Where do the requests of a pool wait?",
    ("rows",),
    {"*": "zpool iostat -vl 5 12; iostat -x 5 12; zpool status -v"},
)

MOST_ROWS = 5_000

PENDING = 100.0
"""Minimum number of requests that wait in a queue: ZFS hands a disk up to 10 of most sorts at once, and writes come in groups."""

TIMES = 5.0
"""Minimum ratio to the other disks of a pool: they share its load."""

FELT_MS = 100.0
"""Minimum time in ms of half of the requests."""

SHARE = 0.6

QUEUES = (
    "synchronous reads",
    "synchronous writes",
    "asynchronous reads",
    "asynchronous writes",
    "reads of a scrub",
    "trims",
    "writes of a rebuild",
)
_FRONT = ["pool", "alloc", "free", "read", "write", "read", "write"]
_HISTOGRAM = ["latency", *["read", "write"] * 4]
_NUMBER = re.compile(r"([0-9]+(?:\.[0-9]+)?)([KMGT]?)")
_POWERS = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_TIME = re.compile(r"([0-9]+)(ns|us|ms|s)")
_IN_MS = {"ns": 1e-6, "us": 1e-3, "ms": 1.0, "s": 1e3}


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield queues that hold many requests, then histograms whose half is felt."""
    first = pl.col("heading").list.first().is_in(["pool", "latency"])
    columns = [*PLACE_COLUMNS, "part", "line_no", "table_no", "heading", "cells"]
    rows = case.scan("rows", columns, first.fill_null(value=False)).head(MOST_ROWS).collect(engine="streaming")
    for _, part in rows.group_by("artifact_id", "part", maintain_order=True):
        held = part.sort("line_no").to_dicts()
        yield from _queues(held)
        tables: dict[int, list[dict[str, Any]]] = {}
        for row in held:
            if list(row["heading"][: len(_HISTOGRAM)]) == _HISTOGRAM:
                tables.setdefault(row["table_no"], []).append(row)
        for table in tables.values():
            yield from _histogram(table)


def _queues(rows: Sequence[dict[str, Any]]) -> Iterator[Sighting]:
    listed = [
        r for r in rows if list(r["heading"][:9]) == [*_FRONT, "pend", "activ"] and len(r["cells"]) == len(r["heading"])
    ]
    if not listed:
        return
    disks = [r for r in listed if r["cells"][1] == "-"] or listed
    for n, queue in enumerate(QUEUES[: (len(listed[0]["heading"]) - len(_FRONT)) // 2]):
        at = len(_FRONT) + 2 * n
        waiting: dict[str, list[tuple[float, dict[str, Any]]]] = {}
        for row in disks:
            if at < len(row["cells"]) and (value := _number(row["cells"][at])) is not None:
                waiting.setdefault(str(row["cells"][0]), []).append((value, row))
        middles = {name: median(v for v, _ in held) for name, held in waiting.items()}
        if not middles:
            continue
        name = max(middles, key=lambda k: middles[k])
        value, others = middles[name], [v for k, v in middles.items() if k != name]
        if value < PENDING:
            continue
        row = min(waiting[name], key=lambda x: abs(x[0] - value))[1]
        active = _number(row["cells"][at + 1]) or 0.0
        beside, alone = "", False
        lines = [Lines(row["artifact_id"], row["line_no"], row["line_no"], f"{name}: {row['cells'][at]} wait")]
        if others and disks is not listed:
            middle = median(others)
            alone = value >= TIMES * max(1.0, middle)
            which = f"the middle one of the {len(others):,} others" if len(others) > 1 else "the other one"
            beside = f", {figure(middle, 'count')} in that of {which}"
            usual = min(
                (x for k, held in waiting.items() if k != name for x in held), key=lambda x: abs(x[0] - middle)
            )[1]
            lines.append(Lines(usual["artifact_id"], usual["line_no"], usual["line_no"], "a usual disk"))
        yield Sighting(
            "queue",
            name,
            f"{figure(value, 'count')} requests waited in the queue of {queue} of {name}, {figure(active, 'count')} were at work{beside}",
            "pool_queue",
            value,
            "count",
            tuple(lines),
            **place(row),
            against="the other disks" if alone else "none that wait",
            against_value=median(others) if others else 0.0,
            share=SHARE,
            n=len(waiting[name]),
            seen=({"event": "zfs-queue-one-disk" if alone else "zfs-queue"},),
        )


def _histogram(rows: Sequence[dict[str, Any]]) -> Iterator[Sighting]:
    for way, total_at, disk_at in (("reads", 1, 3), ("writes", 2, 4)):
        total, disk = _middle(rows, total_at), _middle(rows, disk_at)
        if total is None or total[0] < FELT_MS:
            continue
        at_disk = disk[0] if disk is not None else 0.0
        lines = [
            Lines(total[1]["artifact_id"], total[1]["line_no"], total[1]["line_no"], f"half of the {way} (total_wait)")
        ]
        if disk is not None:
            lines.append(
                Lines(disk[1]["artifact_id"], disk[1]["line_no"], disk[1]["line_no"], f"half of the {way} (disk_wait)")
            )
        yield Sighting(
            "wait",
            f"{way} of the pool",
            f"half of the {way} of the pool took {figure(total[0], 'ms')} or longer in all (total_wait), {figure(at_disk, 'ms')} at the disk"
            " alone (disk_wait)",
            "pool_wait_ms",
            total[0],
            "ms",
            tuple(lines),
            **place(total[1]),
            against="the disk alone",
            against_value=at_disk,
            share=SHARE,
            seen=({"event": "pool-disk-slow" if at_disk * 2 >= total[0] else "zfs-queue"},),
        )  # fmt: skip


def _middle(rows: Sequence[dict[str, Any]], at: int) -> tuple[float, dict[str, Any]] | None:
    """Return the bucket (ms) that contains the median request, and its row."""
    counted = []
    for row in rows:
        bucket, n = _TIME.fullmatch(str(row["cells"][0])), _number(str(row["cells"][at]))
        if bucket and n is not None:
            counted.append((float(bucket[1]) * _IN_MS[bucket[2]], n, row))
    whole, passed = sum(n for _, n, _ in counted), 0.0
    for took, n, row in counted:
        passed += n
        if whole and passed * 2 >= whole:
            return took, row
    return None


def _number(text: str) -> float | None:
    found = _NUMBER.fullmatch(text)
    return float(found[1]) * _POWERS[found[2]] if found else None
