"""What stands out in a listing that no format knows: a cell unlike the others of its column, one near its limit, errors.

Standing out: of a column of figures with at least `ROWS` rows, a cell that is `TIMES` times the middle one and more than half of
their sum; a percentage of `NEAR_PCT` or more in a column of use, or a used amount beside its limit or before it in one cell; a
column of errors, drops, retries or restarts that is not 0. Normal: even columns, numbers that are names (pid, port, inode), empty
columns of errors. Of cells with their limit the fullest is kept as a measure.
Bad states are read as complaints by the general reader.
Worked example: `NAME CPU(cores)`, web-1 12m, web-2 11m, web-3 985m, web-4 13m: "CPU(cores) of web-3 is 985m, the others 12m
(middle of 3)". `/dev/sda1 20G 19G 1G 97% /`: "Use% of /dev/sda1 (/) is 97%".
Cost: the first `MOST_ROWS` rows of each artifact, one pass. Source: how people read a table: extremes first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from statistics import median
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.function_lists import HEADINGS
from rules.observers.near_limit import UNLIMITED
from rules.observers.observer import Lines, Observer, Sighting, place

OBSERVER = Observer("listed-values", "What stands out in a listing?", ("rows",))

MOST_ROWS = 20_000
"""Maximum number of rows of an artifact that are looked at: a listing that people paste has fewer."""

MOUNTED, FULL_PCT, FULL_SHARE = "Mounted on", 100.0, 0.5
"""Heading of df, the percentage from which nobody but root writes, and the share of such a file system."""

POOLS = (("CAP", "HEALTH", 96.0), ("%RAW USED", "RAW USED", 95.0), ("%USE", "PGS", 95.0))
"""Percentages of pools with another heading of their listing and the bound from which they are full: ZFS looks for the best free block
from 96 % on (metaslab_df_free_pct), Ceph takes no writes from 95 % on (mon_osd_full_ratio)."""

LEFT = 0.01
"""Maximum free part of a drive that is full: programs and the page file need room of their own."""

SNAPSHOTS, SNAPSHOT_FULL_PCT = ("s", "S"), 90.0
"""First letters of the attributes of a snapshot of LVM, and the percentage of its room from which it is nearly full."""

POOL_FULL_PCT = 98.0
"""Percentage from which a thin pool is full: what is left is a chunk or two for each volume."""

READ_ONLY = re.compile(
    r"/dev/(?:loop|sr|cd)[0-9]|.* /(?:snap|media|cdrom|mnt/iso|Volumes)(?:/|$)|squashfs|iso9660|overlay |(?:devfs|fdescfs|procfs|linprocfs|map) "
)
"""File systems of images, discs and the kernel, which are always full."""

ROWS = 4
"""Minimum number of rows before one of them can be called unlike the others."""

TIMES = 5.0
"""Minimum ratio of a cell to the middle one of its column: figures spread by factors anyway."""

HALF = 0.5
"""Minimum part of the sum of its column."""

NEAR_PCT = 90.0
"""Minimum percentage of use that is worth a word."""

NEAR = 0.8
"""Part of a limit from which it is nearly used up."""

TOLD = 3
"""Number of cells of a kind that are told per listing, the largest first."""

QUOTED = 60
"""Maximum number of characters of a cell in a headline."""

UNLIKE_SHARE, LIMIT_SHARE, ERROR_SHARE = 0.3, 0.4, 0.25
"""Shares by which such cells are ranked: nobody knows what they cost, so that measured time comes first."""

FIGURE = re.compile(r"[<>~]?([-+]?[0-9][0-9,]{0,20}(?:\.[0-9]{1,9})?)[ ]?([A-Za-zµ%/]{0,6})")
FACTORS = {
    "": 1.0, "%": 1.0, "B": 1.0, "k": 1e3, "K": 1e3, "kB": 1e3, "KB": 1e3, "Ki": 2.0**10, "KiB": 2.0**10, "m": 1e-3, "M": 1e6, "MB": 1e6,
    "Mi": 2.0**20, "MiB": 2.0**20, "G": 1e9, "GB": 1e9, "Gi": 2.0**30, "GiB": 2.0**30, "T": 1e12, "TB": 1e12, "Ti": 2.0**40, "TiB": 2.0**40,
    "ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "sec": 1.0, "x": 1.0,
}  # fmt: skip
"""Factors of units. Only figures of one column are compared, so that `m` may be a thousandth of a processor."""

NAMES = re.compile(
    r"(?i)(?:p?pid|tid|lwp|spid|uid|gid|port|l?rport|inode|id|.*[_ ]id|no|nr|num|#|idx|index|line|seq|serial|major|minor|rank|order|ni|nice"
    r"|pri|prio|priority|weight|ver|version|year|date|.*time ?stamp.*|start(?:ed)?|begin|end|offset|addr(?:ess)?|vlan|metric|as|hop|ttl|age|last"
    r"|created|uptime|since|size|total|capacity|limit|max.*|hard|soft|blocks|1k-blocks|free|avail.*|idle|id\b.*|quota|cells?|row|level|depth)"
)
"""Columns whose numbers are names, moments or what there is, so that a large one tells nothing."""

USE = re.compile(
    r"(?i)(?:^|[^a-z])(?:i?used?|usage|util|utili[sz]ation|busy|cap|capacity|full|filled)(?:[^a-z]|$)|^(?:cpu|mem|memory|disk|swap|i) ?(?:use)? ?%"
    r"|^(?:data|meta) ?%$"
)
"""Columns of percentages of use."""

USED = re.compile(r"(?i)(?:used|usage|in[ _]use|current|cur|active|allocated|alloc|now|count|open)")
LIMIT = re.compile(
    r"(?i)(?:limit|max(?:imum)?|max_.*|hard|hard limit|quota|capacity|size|1k-blocks|total|configured|allowed|inodes)"
)

OF_LIMIT = re.compile(r"(?i)(\S.*?) ?/ ?(?:limit|max(?:imum)?|quota|capacity|total)")
"""Columns whose cells hold what is used and its limit: `MEM USAGE / LIMIT` of docker and podman stats."""

ERRORS = re.compile(
    r"(?i)(?:^|[_ ./-])(?:restarts?|err|errors?|errs|drop|drops|dropped|retries|retrans|retransmits?|resent|fail|fails|failed|failures?|overruns?"
    r"|timeouts?|evicted|evictions?|rejected|rejects|refused|lost|loss|collisions?|cksum|bad|aborted|discards?|stalls?)(?:[_ ./%-]|$)"
)
"""Columns that count what should not happen."""

OTHERS = ("ATTRIBUTE_NAME", "Loss%", "Command/Feature_Name", "DISK READ", "avserv", "%softirq", "swapin/s")
"""Headings of tables that an observer of their own reads, because their rows do not compare: attributes of a disk each count in a unit
of their own (disk-health), registers of a disk's error log are codes, routers on a path need not answer (path-loss), who waits
by iotop is told by io-waiters, and atopsar adds processors up (tool-tables).
"""

LABELS = re.compile(
    r"(?i)(?:name|names|pod|container|device|disk|file ?system|mounted on|interface|iface|command|cmd|process|host|node|queue|topic|table"
    r"|user|service|unit|resource|resource_name|database|pool)"
)
"""Columns that say what a row is about."""


@dataclass(frozen=True)
class Cell:
    """A cell of a column of figures: name of its row, line, printed text, and value."""

    label: str
    line: int
    text: str
    value: float


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield cells that stand out, the largest share first."""
    columns = [*PLACE_COLUMNS, "part", "line_no", "table_no", "row_no", "heading", "cells"]
    rows = (
        case.scan("rows", columns, pl.col("heading").is_not_null() & pl.col("cells").is_not_null())
        .sort("artifact_id", "part", "table_no", "row_no", "line_no", nulls_last=True)
        .group_by("artifact_id", maintain_order=True)
        .head(MOST_ROWS)
        .collect(engine="streaming")
        .to_dicts()
    )
    found: list[Sighting] = []
    for _, held in groupby(rows, key=lambda r: (r["artifact_id"], r["part"], r["table_no"])):
        found += _table(list(held))
    yield from sorted(found, key=lambda s: (-(s.share or 0.0), s.lines[0].line_from))


def figure_of(cell: str) -> float | None:
    """Return a cell as a number in its base unit, None if it is not a number.

    >>> figure_of("985m"), figure_of("1,024 KiB"), figure_of("97%"), figure_of("web-1")
    (0.985, 1048576.0, 97.0, None)
    """
    found = FIGURE.fullmatch(cell.strip())
    if found is None or found[2] not in FACTORS:
        return None
    return float(found[1].replace(",", "")) * FACTORS[found[2]]


def _table(rows: Sequence[dict[str, Any]]) -> Iterator[Sighting]:
    heading = rows[0]["heading"]
    if tuple(heading) in HEADINGS or any(name in OTHERS for name in heading):
        return
    if len(heading) < 2 or len({name or "" for name in heading}) < len(heading):
        return
    labels = [_label(r) for r in rows]
    columns: dict[str, list[Cell]] = {}
    for n, name in enumerate(heading):
        cells = [
            (r, label, (r["cells"][n] if n < len(r["cells"]) else None) or "")
            for r, label in zip(rows, labels, strict=True)
        ]
        figures = [
            (Cell(label, r["line_no"], c[:QUOTED], v)) for r, label, c in cells if (v := figure_of(c)) is not None
        ]
        # A column of figures has hardly anything else.
        if name and figures and 5 * len(figures) >= 4 * sum(bool(c.strip()) and c.strip() != "-" for _, _, c in cells):
            columns[name] = figures
    if {"LV", "VG", "Attr"} <= set(heading):
        yield from _thin_pools(rows, columns)  # of LVM: how full a volume in a pool is tells nothing
        return
    near = list(_near(rows[0], columns))
    yield from near
    told = {made.subject for made in near}  # what is full says more than how far it is from the others
    yield from (made for made in _unlike(rows[0], columns) if made.subject not in told)
    yield from _of_limit(rows, labels)
    yield from _errors(rows[0], columns)


def columns_of(row: dict[str, Any]) -> Sequence[str]:
    """Return the heading of a row's table."""
    heading: Sequence[str] = row["heading"]
    return heading


def _label(row: dict[str, Any]) -> str:
    """Return the name of a row's thing: the cells of naming columns, else the first cell that is not a figure."""
    pairs = list(zip(row["heading"], row["cells"], strict=False))
    named = [c for name, c in pairs if c and name and LABELS.fullmatch(name) and figure_of(c) is None]
    if not named:
        named = [c for _, c in pairs if c and figure_of(c) is None and re.search(r"[A-Za-z/]", c)][:1]
    text = " ".join(named[:2]) or f"row {row['row_no'] or row['line_no']}"
    return text if len(text) <= QUOTED else f"{text[: QUOTED - 3]}..."


def _unlike(first: dict[str, Any], columns: dict[str, list[Cell]]) -> Iterator[Sighting]:
    """Yield the cell of each column that is far above the others; the columns with the largest ratio first."""
    found: list[tuple[float, Sighting]] = []
    for name, cells in columns.items():
        if len(cells) < ROWS or NAMES.fullmatch(name) or any(c.value < 0 for c in cells):
            continue
        top = max(cells, key=lambda c: c.value)
        others = [c for c in cells if c is not top]
        middle = median(c.value for c in others)
        whole = sum(c.value for c in cells)
        if not top.value or top.value < TIMES * middle or top.value < HALF * whole or whole == float("inf"):
            continue
        usual = min(others, key=lambda c: abs(c.value - middle))
        made = _cell(
            first,
            name,
            top,
            f"{name} of {top.label} is {top.text}, the others {usual.text} (middle of {len(others)})",
            UNLIKE_SHARE,
            against=("the middle of the others", middle),
            more=((usual, "a usual one"),),
        )
        found.append((top.value / middle if middle else float("inf"), made))
    found.sort(key=lambda x: -x[0])
    yield from (made for _, made in found[:TOLD])


def _near(first: dict[str, Any], columns: dict[str, list[Cell]]) -> Iterator[Sighting]:
    """Yield percentages of use near 100, and used amounts near the limit beside them."""
    told: set[int] = set()
    for name, cells in columns.items():
        percent = all(c.text.endswith("%") for c in cells)  # `capacity` of df is a part of it, elsewhere a size
        if not USE.search(name) or (NAMES.fullmatch(name) and not percent):
            continue
        full = [
            c for c in cells if NEAR_PCT <= c.value <= 100 and ("%" in c.text or "%" in name or "pct" in name.lower())
        ]
        mounted = MOUNTED in columns_of(first)
        if mounted:
            told.update(c.line for c in cells if READ_ONLY.match(c.label))
            full = [c for c in full if not READ_ONLY.match(c.label)]
        for cell in sorted(full, key=lambda c: -c.value)[:TOLD]:
            told.add(cell.line)
            full_up = mounted and cell.value >= FULL_PCT
            full_up |= any(n == name and of in columns_of(first) and cell.value >= least for n, of, least in POOLS)
            made = _cell(
                first, name, cell, f"{name} of {cell.label} is {cell.text}", LIMIT_SHARE, against=("all of it", 100.0)
            )
            yield replace(made, share=FULL_SHARE, seen=({"event": "file-system-full"},)) if full_up else made
    yield from _of_drives(first, columns)
    used = next((name for name in columns if USED.fullmatch(name)), None)
    limit = next((name for name in columns if LIMIT.fullmatch(name)), None)
    if used is None or limit is None:
        return
    limits = {c.line: c for c in columns[limit]}
    pairs = [(c, limits[c.line]) for c in columns[used] if c.line in limits and c.line not in told]
    near = [(c, of) for c, of in pairs if 0 < of.value < UNLIMITED and NEAR * of.value <= c.value <= 2 * of.value]
    for cell, of in sorted(near, key=lambda x: -x[0].value / x[1].value)[:TOLD]:
        text = f"{used} of {cell.label} is {cell.text}, {limit} is {of.text}"
        yield _cell(first, used, cell, text, LIMIT_SHARE, against=(limit, of.value))


def _of_drives(first: dict[str, Any], columns: dict[str, list[Cell]]) -> Iterator[Sighting]:
    """Yield drives of Windows that have less than a hundredth of their size left."""
    free, size = columns.get("FreeSpace", []), {c.line: c for c in columns.get("Size", [])}
    for cell in free:
        of = size.get(cell.line)
        if of is None or not of.value or cell.value > LEFT * of.value:
            continue
        text = f"FreeSpace of {cell.label} is {cell.text} of {of.text}"
        made = _cell(first, "FreeSpace", cell, text, FULL_SHARE, against=("its size", of.value))
        yield replace(made, seen=({"event": "file-system-full"},))


def _thin_pools(rows: Sequence[dict[str, Any]], columns: dict[str, list[Cell]]) -> Iterator[Sighting]:
    """Yield thin pools and their metadata that have hardly a block left, of the others the fullest as a measure.

    Snapshots that are nearly full come behind.

    A volume of a pool may be written to its end: of it nothing follows.
    """
    attrs = {r["line_no"]: dict(zip(r["heading"], r["cells"], strict=False)).get("Attr") or "" for r in rows}
    found: list[Sighting] = []
    for name in ("Data%", "Meta%"):
        for cell in columns.get(name, []):
            if not attrs.get(cell.line, "").startswith("t") or cell.value > FULL_PCT:
                continue
            text = f"{name} of the thin pool {cell.label} is {cell.text}"
            made = _cell(rows[0], name, cell, text, LIMIT_SHARE, against=("all of it", FULL_PCT))
            if cell.value >= POOL_FULL_PCT:
                made = replace(made, share=FULL_SHARE, seen=({"event": "thin-pool-full"},))
            found.append(replace(made, normal=cell.value < NEAR_PCT))
    found.sort(key=lambda s: -s.value)
    yield from [made for made in found if not made.normal][:TOLD] or found[:1]
    for name in ("Data%", "Snap%"):
        cells = [c for c in columns.get(name, []) if attrs.get(c.line, "")[:1] in SNAPSHOTS and _has_room(rows, c.line)]
        for cell in [c for c in cells if SNAPSHOT_FULL_PCT <= c.value <= FULL_PCT][:TOLD]:
            lost = " and cannot be used any more" if attrs[cell.line][4:5] == "I" else ""
            text = f"The snapshot {cell.label} has used {cell.text} % of its room{lost}"
            made = _cell(rows[0], name, cell, text, FULL_SHARE, against=("all of it", FULL_PCT))
            yield replace(made, seen=({"event": "snapshot-nearly-full"},))


def _has_room(rows: Sequence[dict[str, Any]], line: int) -> bool:
    """Return whether the volume of a line has room of its own: one in a thin pool has not."""
    row = next(r for r in rows if r["line_no"] == line)
    return not (dict(zip(row["heading"], row["cells"], strict=False)).get("Pool") or "").strip()


def _of_limit(rows: Sequence[dict[str, Any]], labels: Sequence[str]) -> Iterator[Sighting]:
    """Yield cells such as `1.2GiB / 2GiB` that are near their limit, else the fullest as a measure."""
    for n, name in enumerate(rows[0]["heading"]):
        named = OF_LIMIT.fullmatch((name or "").strip())
        if named is None:
            continue
        found: list[tuple[float, Sighting]] = []
        for row, label in zip(rows, labels, strict=True):
            text = (row["cells"][n] if n < len(row["cells"]) else None) or ""
            used, _, limit = (part.strip() for part in text.partition("/"))
            value, of = figure_of(used), figure_of(limit)
            if value is None or of is None or not 0 < of < UNLIMITED:
                continue
            whose = "" if label == text else f" of {label}"
            says = f"{named[1]}{whose} is {used}, {100 * value / of:.1f} % of its limit of {limit}"
            cell = Cell(label, row["line_no"], used, value)
            made = _cell(rows[0], named[1], cell, says, LIMIT_SHARE, against=("its limit", of))
            found.append((value / of, made))
        found.sort(key=lambda x: -x[0])
        near = [made for part, made in found if part >= NEAR]
        yield from near[:TOLD] or (replace(made, normal=True) for _, made in found[:1])


def _errors(first: dict[str, Any], columns: dict[str, list[Cell]]) -> Iterator[Sighting]:
    """Yield columns that count what should not happen and are not 0."""
    for name, cells in columns.items():
        counted = [c for c in cells if c.value > 0]
        if not ERRORS.search(name) or not counted:
            continue
        top = max(counted, key=lambda c: c.value)
        more = f"; {len(counted):,} of {len(cells):,} rows have some" if len(cells) > 1 else ""
        yield _cell(first, name, top, f"{name} of {top.label} is {top.text}{more}", ERROR_SHARE, against=("none", 0.0))


def _cell(
    first: dict[str, Any],
    name: str,
    cell: Cell,
    headline: str,
    share: float,
    *,
    against: tuple[str, float],
    more: Sequence[tuple[Cell, str]] = (),
) -> Sighting:
    return Sighting(
        "listed",
        f"{name} of {cell.label}",
        headline,
        "listed_value",
        cell.value,
        "",
        (
            Lines(first["artifact_id"], cell.line, cell.line, f"{name} {cell.text}"),
            *(Lines(first["artifact_id"], c.line, c.line, role) for c, role in more if c.line != cell.line),
        ),
        **place(first),
        against=against[0],
        against_value=against[1],
        share=share,
    )
