"""What a pool of ZFS says of itself: a rebuild or check that runs, its pace, and a disk that is slower than its neighbours.

Standing out: a resilver or scrub in progress (told with what is done, how fast it goes on, and how long the rest takes at that
pace), one that ended with errors, and in `zpool iostat -l` a disk whose own time per request is `TIMES` times the middle one of the
others and `FELT_S` (0.1 s) or longer. Normal: a finished scan without errors, disks that answer alike.
Of the figures of a scan "issued" is what is read and copied; "scanned" only looks for it (zpool-status(8)).
Worked example: 200G of 800G issued at 10M/s: the other 600G take 17.1 h at that pace. disk_wait of sdb 300ms, of sda 3ms: 100 times.
Cost: at most `MOST_ROWS` rows. Source: zpool-status(8), zpool-iostat(8), -l: disk_wait is the time of the disk alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from statistics import median
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import FELT_S, Lines, Observer, Sighting, figure, place

OBSERVER = Observer(
    "pool-status",
    "What does a pool of disks say of itself?",
    ("rows",),
    {"*": "zpool iostat -vl 5 12; iostat -x 5 12; smartctl -x of each disk of the pool"},
)

POOL = "pool status"
"""Heading under which the general reader keeps the lines about a scan."""

MOST_ROWS = 2_000

TIMES = 5.0
"""Minimum ratio of a disk's time to that of its neighbours: disks of one kind under one load differ by less."""

SCAN_SHARE = 0.5
"""Share of a rebuild that runs: it reads and writes all disks of the pool beside the work."""

CHECK_SHARE = 0.25
"""Share of a scrub that runs: it gives way to other work."""

ERROR_SHARE = 0.4

_RUNS = re.compile(r"(?:scan|scrub): (?P<kind>resilver|scrub) in progress (?P<since>(?:since|for) [^,]+).*")
_DONE = re.compile(
    r"(?:scan|scrub): (?:(?P<kind>resilver)ed|scrub repaired) (?P<size>\S+) in (?P<took>.+) with (?P<errors>[0-9]+) errors? on (?P<when>.+)"
)
_SIZE = r"[0-9]+(?:[.,][0-9]+)?[BKMGTPE]?B?"
_ISSUED = re.compile(rf"(?P<size>{_SIZE}) issued(?: at (?P<pace>{_SIZE})/s)?")
_SCANNED = re.compile(rf"(?P<size>{_SIZE}) scanned(?: out of (?P<of>{_SIZE}))?(?: at (?P<pace>{_SIZE})/s)?")
_TOTAL = re.compile(rf"(?P<size>{_SIZE}) total")
_PERCENT = re.compile(r"(?P<pct>[0-9]{1,3}(?:[.,][0-9]+)?)% done")
_LEFT = re.compile(r"(?P<left>no estimated completion time|(?:[0-9]+ days? )?[0-9dhm:]+ to go)")
_TIME = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ns|us|ms|s|m|h)")
_SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_POWERS = "BKMGTPE"


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield scans that run or ended with errors, then disks slower than their neighbours."""
    first = pl.col("heading").list.first()
    ours = (first == POOL) | first.is_in(["NAME", "pool"])
    columns = [*PLACE_COLUMNS, "part", "line_no", "heading", "cells"]
    rows = case.scan("rows", columns, ours.fill_null(value=False)).head(MOST_ROWS).collect(engine="streaming")
    for _, part in rows.group_by("artifact_id", "part", maintain_order=True):
        yield from _scans(part.sort("line_no").to_dicts())
        yield from _disks(part.sort("line_no").to_dicts())


def bytes_of(text: str) -> float:
    """Return a size as ZFS prints it in bytes, with the decimal sign of the user's language.

    >>> bytes_of("1.5K"), bytes_of("7,5M"), bytes_of("12B")
    (1536.0, 7864320.0, 12.0)
    """
    number = re.match(r"[0-9.,]+", text)
    unit = text[number.end() if number else 0 :][:1] or "B"
    return float(number[0].replace(",", ".")) * 1024.0 ** _POWERS.index(unit) if number else 0.0


def _scans(rows: list[dict[str, Any]]) -> Iterator[Sighting]:
    lines = [(r, str(r["cells"][0]).strip()) for r in rows if r["heading"][0] == POOL and r["cells"]]
    for n, (row, text) in enumerate(lines):
        pool, states = _pool(rows, row["line_no"])
        if running := _RUNS.fullmatch(text):
            below = [(r, t) for r, t in lines[n + 1 :] if not (_RUNS.fullmatch(t) or _DONE.fullmatch(t))][:2]
            yield _running(row, running, [(row, text), *below], pool, states)
        elif done := _DONE.fullmatch(text):
            yield _done(row, done, pool)


def _pool(rows: list[dict[str, Any]], line: int) -> tuple[str, list[dict[str, Any]]]:
    """Return the name of a scan's pool and the rows of its table, which is the first table below the scan."""
    below = [
        r for r in rows if r["line_no"] > line and list(r["heading"][:5]) == ["NAME", "STATE", "READ", "WRITE", "CKSUM"]
    ]
    return (str(below[0]["cells"][0]), below) if below else ("a pool", [])


def _running(
    row: dict[str, Any],
    running: re.Match[str],
    lines: list[tuple[dict[str, Any], str]],
    pool: str,
    states: list[dict[str, Any]],
) -> Sighting:
    text = ", ".join(said for _, said in lines)
    copies = running["kind"] == "resilver"
    size, total, pct = _ISSUED.search(text) or _SCANNED.search(text), _TOTAL.search(text), _PERCENT.search(text)
    done = float(pct["pct"].replace(",", ".")) if pct else None
    made = [f"{figure(done, '%')} done"] if done is not None else []
    of = total["size"] if total else size["of"] if size and "of" in size.re.groupindex else None
    pace = bytes_of(size["pace"]) if size and size["pace"] else 0.0
    if size:
        at = f" at {size['pace'].replace(',', '.')}/s" if size["pace"] else ""
        what = "copied" if copies else "read"
        made.append(f"{size['size']} of {of} {what}{at}" if of else f"{size['size']} {what}{at}")
    left = _LEFT.search(text)
    if left:
        made.append(left["left"])
    if of and size and pace > 0 and left and left["left"].startswith("no "):
        rest = max(0.0, bytes_of(of) - bytes_of(size["size"])) / pace
        made.append(f"at that pace the rest takes {figure(rest, 's')}")
    what = "is being rebuilt (resilver)" if copies else "is being checked (scrub)"
    counted = [r for r in states if any(str(c).strip("0") for c in r["cells"][2:5])]
    return Sighting(
        "scan",
        pool,
        f"{pool} {what} {running['since'].strip()}: {', '.join(made)}" if made else f"{pool} {what}",
        "done_pct" if done is not None else "scans_count",
        done if done is not None else 1.0,
        "%" if done is not None else "count",
        (
            *(Lines(r["artifact_id"], r["line_no"], r["line_no"], said[:80]) for r, said in lines),
            *(Lines(r["artifact_id"], r["line_no"], r["line_no"], f"{r['cells'][0]} counts no error") for r in states[:8] if not counted),
        ),
        **place(row),
        against="no scan",
        against_value=0.0,
        share=SCAN_SHARE if copies else CHECK_SHARE,
        seen=({"event": f"pool-{running['kind']}"},),
        beside="no row of it counts an error" if states and not counted else None,
    )  # fmt: skip


def _done(row: dict[str, Any], done: re.Match[str], pool: str) -> Sighting:
    errors = int(done["errors"])
    what = "resilver" if done["kind"] else "scrub"
    return Sighting(
        "scan",
        pool,
        f"the last {what} of {pool} took {done['took']} and ended with {errors:,} errors on {done['when'].strip()}",
        "scan_errors",
        float(errors),
        "count",
        (Lines(row["artifact_id"], row["line_no"], row["line_no"], "the last scan"),),
        **place(row),
        against="no error",
        against_value=0.0,
        share=ERROR_SHARE if errors else None,
        n=max(1, errors),
        seen=({"event": "pool-scan-errors"},) if errors else (),
        normal=not errors,
    )


def _disks(rows: list[dict[str, Any]]) -> Iterator[Sighting]:
    """Yield disks of `zpool iostat -vl` whose own time per request is far above that of the other disks."""
    waits = ["read", "write"] * 4
    listed = [r for r in rows if list(r["heading"][:11]) == ["pool", "alloc", "free", *waits] and len(r["cells"]) >= 11]
    disks = [r for r in listed if r["cells"][1] == "-"]
    for at, way in ((9, "reads"), (10, "writes")):
        timed = [(s, r) for r in disks if (s := _seconds(str(r["cells"][at]))) is not None]
        names = {r["cells"][0] for _, r in timed}
        if len(names) < 2:
            continue
        worst, row = max(timed, key=lambda x: x[0])
        others = [s for s, r in timed if r["cells"][0] != row["cells"][0]]
        middle = median(others)
        if worst < FELT_S or worst < TIMES * middle:
            continue
        name = row["cells"][0]
        took = figure(middle, "s")
        others_ = f"the other disk {took}" if len(names) == 2 else f"the {len(names) - 1:,} others {took} (median)"
        usual = min((x for x in timed if x[1]["cells"][0] != name), key=lambda x: abs(x[0] - middle))[1]
        yield Sighting(
            "disk",
            str(name),
            f"{name} took {figure(worst, 's')} for each of its {way} (disk_wait), {others_}",
            "disk_wait_s",
            worst,
            "s",
            tuple(
                Lines(r["artifact_id"], r["line_no"], r["line_no"], role)
                for r, role in ((row, f"disk_wait of {name}"), (usual, "a usual disk"))
            ),
            **place(row),
            against="the other disks",
            against_value=middle,
            share=0.5,
            seen=({"event": "pool-disk-slow"},),
        )


def _seconds(text: str) -> float | None:
    found = _TIME.fullmatch(text)
    return float(found[1]) * _SECONDS[found[2]] if found else None
