"""Who waits for reads and writes, by iotop and pidstat -d: programs, journals of file systems, and those whose pages come back from swap.

Standing out: a thread that waited for reads and writes at least `WAITS_PCT` of the time (IO>), or at least `SWAPS_PCT` for its own
pages (SWAPIN). Several samples of one thread are taken in the median. The thread of a journal has no work but the journal, so its
wait is one for the journal; whose program waits may read a large file in health. Normal: less.
Worked example: `402 be/3 root 0.00 B/s 31.25 K/s 0.00 % 97.12 % [jbd2/sdb1-8]`: "[jbd2/sdb1-8] waited for reads and writes 97.1 % of
the time (IO>), while it read 0 kB and wrote 31.2 kB per s".
Cost: the first `MOST_ROWS` rows of iotop. Source: iotop(8); Linux Documentation/accounting/delay-accounting.rst (blkio and swapin delay).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from statistics import median
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import Lines, Observer, Sighting, figure, place

OBSERVER = Observer(
    "io-waiters",
    "Who waits for reads and writes?",
    ("rows", "counters"),
    {"linux": "iotop -botqqqk -d 5 -n 12; iostat -x 5 12"},
)

MOST_ROWS = 20_000

WAITS_PCT, SWAPS_PCT = 20.0, 10.0
"""Bounds of time in % that a thread waits: a fifth is felt (`saturation.WAITING_PCT`); for its own pages a tenth."""

AMOUNTS = {"kB_rd/s": "read", "kB_wr/s": "wrote"}
"""Columns of pidstat -d, and what a process did."""

MUCH_KBPS = 1_000.0
"""Least rate that is worth a word."""

TOLD = 4
"""Maximum number of threads of one listing that are told, those that wait longest first."""

JOURNAL = re.compile(
    r"\[?(?:jbd2?|kjournald|xfsaild|txg_sync|jfsCommit|btrfs-transacti|f2fs_ckpt|nilfs_)\b.*|\[?xfs-(?:sync|cil)/.*"
)
"""Threads of the kernel that only write the journal of a file system (ext3, ext4, XFS, ZFS, JFS, Btrfs, F2FS)."""

_AMOUNT = re.compile(r"(?P<value>[0-9.]+) (?P<unit>[KMGT]?)B?(?P<rate>/s)?")
_KB = {"": 1 / 1024, "K": 1.0, "M": 1024.0, "G": 1024.0**2, "T": 1024.0**3}


SEVERAL = 2
"""Number of programs that wait for block devices at once from which it is not the work of one alone."""


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield the threads that wait longest, the longest first."""
    columns = [*PLACE_COLUMNS, "part", "line_no", "heading", "cells"]
    ours = pl.col("heading").list.contains("DISK READ") & pl.col("heading").list.contains("IO%")
    rows = case.scan("rows", columns, ours.fill_null(value=False)).head(MOST_ROWS).collect(engine="streaming")
    for _, part in rows.group_by("artifact_id", "part", maintain_order=True):
        threads: dict[tuple[str, str], list[dict[str, Any]]] = {}
        for row in part.sort("line_no").to_dicts():
            cells = row["cells"]
            threads.setdefault((cells[0], cells[7]), []).append(
                {**row, "io": float(cells[6]), "swap": float(cells[5] or 0)}
            )
        made = [one for held in threads.values() for one in _of_thread(held)]
        yield from sorted(made, key=lambda s: -s.value)[:TOLD]
    yield from _of_pidstat(case)


def _of_pidstat(case: CaseTables) -> Iterator[Sighting]:
    """Yield the processes that pidstat saw wait for block devices longest, and who wrote or read most.

    `iodelay` counts ticks of USER_HZ, a hundred a second, in each interval.
    """
    columns = [*PLACE_COLUMNS, "part", "line_no", "item", "name", "value", "interval_s"]
    ours = (pl.col("grp") == "pidstat") & pl.col("name").is_in(["iodelay", *AMOUNTS]) & pl.col("value").is_finite()
    rows = case.scan("counters", columns, ours).head(MOST_ROWS).collect(engine="streaming").sort("line_no")
    for _, part in rows.group_by("artifact_id", "part", maintain_order=True):
        named: dict[str, dict[str, list[dict[str, Any]]]] = {}
        for row in part.to_dicts():
            named.setdefault(row["name"], {}).setdefault(str(row["item"]), []).append(row)
        made = [one for item, held in named.get("iodelay", {}).items() for one in _delayed(item, held)]
        if len(made) >= SEVERAL:
            made = [replace(one, seen=({"event": "io-wait-several"},)) for one in made]
        yield from sorted(made, key=lambda s: -s.value)[:TOLD]
        for name, did in AMOUNTS.items():
            yield from _most(name, did, named.get(name, {}))


def _delayed(item: str, rows: list[dict[str, Any]]) -> Iterator[Sighting]:
    pct = median(min(100.0, r["value"] / (r["interval_s"] or 1.0)) for r in rows)
    if pct < WAITS_PCT:
        return
    worst = max(rows, key=lambda r: r["value"])
    samples = f" in the median of {len(rows)} samples" if len(rows) > 1 else ""
    words = f"process {item} waited for block devices {figure(pct, '%')} of the time (iodelay){samples}"
    yield _made(worst, f"process {item}", words, "io_wait_pct", pct, WAITS_PCT, "io-wait-program", len(rows))


def _most(name: str, did: str, by_process: dict[str, list[dict[str, Any]]]) -> Iterator[Sighting]:
    """Yield as a measure who read or wrote most, where that is much."""
    means = {item: median(r["value"] for r in rows) for item, rows in by_process.items()}
    whole = sum(means.values())
    item = max(means, key=lambda i: means[i], default=None)
    if item is None or means[item] < MUCH_KBPS:
        return
    row = max(by_process[item], key=lambda r: r["value"])
    words = f"process {item} {did} {figure(means[item], 'kB per s')}, {figure(100 * means[item] / whole, '%')} of what the listed {did}"
    made = _made(row, f"process {item}", words, name, means[item], 0.0, "", len(by_process[item]))
    yield replace(
        made,
        unit="kB per s",
        against="all that are listed",
        against_value=whole,
        share=means[item] / whole,
        seen=(),
        normal=True,
    )


def _of_thread(rows: list[dict[str, Any]]) -> Iterator[Sighting]:
    """Yield the waits of one thread for reads and writes, and for swapped pages, from its samples."""
    worst = max(rows, key=lambda r: r["io"])
    who = str(worst["cells"][7])
    waits, swaps = median(r["io"] for r in rows), median(r["swap"] for r in rows)
    samples = f" in the median of {len(rows)} samples" if len(rows) > 1 else ""
    if waits >= WAITS_PCT:
        event = "io-wait-journal" if JOURNAL.fullmatch(who) else "io-wait-program"
        did = " and ".join(_did(worst["cells"][3], "read") + _did(worst["cells"][4], "wrote"))
        words = f"{who} waited for reads and writes {figure(waits, '%')} of the time (IO>){samples}"
        yield _made(worst, who, f"{words}, while it {did}", "io_wait_pct", waits, WAITS_PCT, event, len(rows))
    if swaps >= SWAPS_PCT:
        words = f"{who} waited for its own pages from swap {figure(swaps, '%')} of the time (SWAPIN){samples}"
        yield _made(worst, who, words, "swap_wait_pct", swaps, SWAPS_PCT, "io-wait-swap", len(rows))


def _did(cell: str, verb: str) -> list[str]:
    """Return how much a thread read or wrote, in words.

    >>> _did("2778.70 K/s", "wrote"), _did("1.50 M", "read")
    (['wrote 2,779 kB per s'], ['read 1,536 kB'])
    """
    found = _AMOUNT.fullmatch(cell.strip())
    if not found:
        return []
    amount = figure(float(found["value"]) * _KB[found["unit"]], "kB")
    return [f"{verb} {amount}{' per s' if found['rate'] else ''}"]


def _made(
    row: dict[str, Any], who: str, headline: str, name: str, value: float, bound: float, event: str, n: int
) -> Sighting:
    return Sighting(
        "io-wait",
        who,
        headline,
        name,
        value,
        "%",
        (Lines(row["artifact_id"], row["line_no"], row["line_no"], who),),
        **place(row),
        against="what a program feels",
        against_value=bound,
        share=min(1.0, value / 100.0),
        n=n,
        seen=({"event": event},),
    )
