"""Which user of the kernel's own memory holds most of it: tags of the pools of Windows, types of FreeBSD's malloc, caches of Linux.

Standing out: a tag of a Windows pool with half of all that is listed and at least `LEAST_KB`; a cache of Linux (slab) that no
file system fills and that holds a quarter of the memory, or, where that is not listed, half of all caches. A cache of names, inodes or
buffers that holds half of all is told too, but it is given back when memory is wanted: it has no share and leads nowhere alone.
Normal: less, and the largest type of FreeBSD, where ZFS holds much in health: it is told as a measure.
Worked example: `Tag NP_MB`, AbCd 9000.0, six others 20 to 60: "AbCd holds 9,216,000 kB, 97.9 % of the pool that is listed".
Cost: the first `MOST_ROWS` rows of listings whose first column is Tag, and one aggregation over the types.
Source: slabtop(1); slabinfo(5); Linux mm/slab.h (SLAB_RECLAIM_ACCOUNT); Microsoft, PoolMon and "Pool tags"; FreeBSD vmstat(8), -m.
Nonpaged pool of a host in order is a few hundred MB (Microsoft, Memory limits of Windows; Russinovich, Pushing the limits of Windows: paged and nonpaged pool).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import Lines, Observer, Sighting, figure, place

OBSERVER = Observer(
    "kernel-pools",
    "Who holds the memory of the kernel?",
    ("rows", "counters", "meminfo"),
    {
        "windows": "findstr /m /l TAG %SystemRoot%\\System32\\drivers\\*.sys; poolmon -b, twice, 10 min apart",
        "linux": "slabtop -o -s c; cat /proc/sys/fs/dentry-state; grep -E 'Slab|SUnreclaim|SReclaimable' /proc/meminfo, twice, 10 min apart",
        "freebsd": "vmstat -m; vmstat -z, twice, 10 min apart",
    },
    like="listed-values",
)

HOLDS = 0.5
"""Minimum part of the listed pool: more than all others together."""

LEAST_KB = 1024.0**2
"""Minimum size in kB (1 GiB): the whole nonpaged pool of a host in order is smaller."""

OF_MEMORY = 0.25
"""Minimum part of the memory that one cache holds."""

GIVEN_BACK = re.compile(
    r"dentry|.*inode(?:_cache|_item|s)?(?:\(.*)?|.*_ino(?:de)?|buffer_head|radix_tree_node|xa_node|kernfs_node_cache|zfs_znode_cache|dnode_t"
    r"|dmu_buf_impl_t|arc_buf.*|zio_(?:data_)?buf_.*"
)
"""Caches of Linux and of ZFS that hold names and files and shrink when memory is wanted."""

BY_SIZE = re.compile(r"(?:dma-)?kmalloc-(?:rcl-|cg-|rnd-[0-9]{1,3}-)?[0-9]{1,5}[kM]?|size-[0-9]{1,8}(?:\(DMA\))?")
"""Caches of Linux for what asks for memory without a cache of its own."""

MOST_ROWS = 20_000
"""Maximum number of rows that are looked at."""

LISTED = {
    "pool": "pool that is listed",
    "malloc": "kernel's malloc that is listed",
    "slab": "caches of the slab allocator that are listed",
}
"""What the size of a user is compared with, in words."""

UNITS = {"bytes": 1 / 1024, "kb": 1.0, "mb": 1024.0, "gb": 1024.0**2}
AMOUNT = re.compile(r"(?i)^(?:np|nonp\w*|paged|pp|pool|total|used|size)?[ _.(-]*(bytes|kb|mb|gb)\)?$")
"""Columns that say how much a tag holds, with their unit."""


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield the largest tag of each listing of pools, and the largest type of each listing of malloc."""
    yield from _tags(case)
    yield from _types(case, "malloc", "memory")
    yield from _caches(case)


def _tags(case: CaseTables) -> Iterator[Sighting]:
    columns = [*PLACE_COLUMNS, "part", "line_no", "table_no", "heading", "cells"]
    tagged = (pl.col("heading").list.first().str.to_lowercase() == "tag").fill_null(value=False)
    rows = case.scan("rows", columns, tagged).head(MOST_ROWS).collect(engine="streaming").sort("artifact_id", "line_no")
    for _, table in rows.group_by("artifact_id", "part", "table_no", maintain_order=True):
        held = table.to_dicts()
        found = [(n, m[1].lower()) for n, name in enumerate(held[0]["heading"]) if (m := AMOUNT.match(name or ""))]
        if not found:
            continue
        at, unit = found[0]
        sizes = [(kb, row) for row in held if (kb := _kb(row["cells"], at, UNITS[unit])) is not None]
        if sizes:
            yield from _largest([(kb, str(row["cells"][0]), row) for kb, row in sizes], "pool", lead=True)


def _kb(cells: list[str | None], at: int, factor: float) -> float | None:
    text = (cells[at] or "").replace(",", "") if at < len(cells) else ""
    return float(text) * factor if re.fullmatch(r"[0-9]{1,15}(?:\.[0-9]{1,6})?", text) else None


def _types(case: CaseTables, grp: str, name: str) -> Iterator[Sighting]:
    columns = [*PLACE_COLUMNS, "part", "sample", "line_no", "grp", "item", "name", "value"]
    of = (pl.col("grp") == grp) & (pl.col("name") == name) & (pl.col("value") > 0) & pl.col("value").is_finite()
    rows = (
        case.scan("counters", columns, of)
        .filter(pl.col("sample").eq_missing(pl.col("sample").max().over("artifact_id", "part")))
        .sort("artifact_id", "line_no")
        .head(MOST_ROWS)
        .collect(engine="streaming")
    )
    for _, listing in rows.group_by("artifact_id", "part", maintain_order=True):
        yield from _largest([(row["value"], str(row["item"]), row) for row in listing.to_dicts()], grp, lead=False)


def _caches(case: CaseTables) -> Iterator[Sighting]:
    columns = [*PLACE_COLUMNS, "part", "sample", "line_no", "grp", "item", "name", "value"]
    of = (
        (pl.col("grp") == "slab") & (pl.col("name") == "cache_kb") & (pl.col("value") > 0) & pl.col("value").is_finite()
    )
    rows = (
        case.scan("counters", columns, of)
        .filter(pl.col("sample").eq_missing(pl.col("sample").max().over("artifact_id", "part")))
        .sort("artifact_id", "line_no")
        .head(MOST_ROWS)
        .collect(engine="streaming")
    )
    if rows.is_empty():
        return
    is_total = pl.col("name").str.contains(r"^MemTotal$")
    is_total &= pl.col("unit").str.to_lowercase() == "kb"
    memory = case.scan("meminfo", ["artifact_id", "name", "value", "unit"], is_total).collect(engine="streaming")
    for (artifact, _), listing in rows.group_by("artifact_id", "part", maintain_order=True):
        sizes = [(row["value"], str(row["item"]), row) for row in listing.to_dicts()]
        total = max(memory.filter(pl.col("artifact_id") == artifact)["value"].to_list(), default=None)
        kb, name, row = max(sizes, key=lambda one: one[0])
        whole = sum(size for size, _, _ in sizes)
        yield from _by_size(sizes, whole, total)
        if kb < LEAST_KB or len(sizes) < 2:
            continue
        of_memory = kb / total if total else None
        given_back = GIVEN_BACK.fullmatch(name) is not None
        stands = not given_back and (of_memory >= OF_MEMORY if of_memory is not None else kb >= HOLDS * whole)
        told = stands or (given_back and kb >= HOLDS * whole)
        part = f", {figure(100 * of_memory, '%')} of the memory" if of_memory is not None else ""
        yield Sighting(
            "consumer",
            name,
            f"the kernel's cache {name} holds {figure(kb, 'kB')}, {figure(100 * kb / whole, '%')} of the caches that are listed{part}",
            f"slab_{name}_kb",
            kb,
            "kB",
            (Lines(row["artifact_id"], row["line_no"], row["line_no"], name),),
            **place(row),
            against="all caches that are listed",
            against_value=whole,
            share=None if told and given_back else min(1.0, kb / whole),
            seen=({"counter": "slab_cache_kb"},) if stands else (),
            normal=not told,
            beside=f"all {len(sizes):,} caches of the listing hold {figure(whole, 'kB')}",
        )


def _by_size(sizes: list[tuple[float, str, dict[str, Any]]], whole: float, total: float | None) -> Iterator[Sighting]:
    """Yield what the caches that go by a size alone (kmalloc-N) hold together: a driver that keeps its memory takes several sizes."""
    held = sorted((one for one in sizes if BY_SIZE.fullmatch(one[1])), key=lambda one: -one[0])
    kb = sum(size for size, _, _ in held)
    if len(held) < 2 or kb < 2 * LEAST_KB or kb < (OF_MEMORY * total if total else HOLDS * whole):
        return
    if held[0][0] >= HOLDS * whole:
        return  # one of them alone is told
    row = held[0][2]
    part = f", {figure(100 * kb / total, '%')} of the memory" if total else ""
    yield Sighting(
        "consumer",
        "kmalloc",
        f"the kernel's {len(held)} caches by size (kmalloc) hold {figure(kb, 'kB')} together,"
        f" {figure(100 * kb / whole, '%')} of the caches that are listed{part}",
        "slab_kmalloc_kb",
        kb,
        "kB",
        tuple(Lines(r["artifact_id"], r["line_no"], r["line_no"], name) for _, name, r in held[:5]),
        **place(row),
        against="all caches that are listed",
        against_value=whole,
        share=min(1.0, kb / whole),
        seen=({"counter": "slab_cache_kb"},),
        beside=f"all {len(sizes):,} caches of the listing hold {figure(whole, 'kB')}",
    )


def _largest(sizes: list[tuple[float, str, dict[str, Any]]], what: str, *, lead: bool) -> Iterator[Sighting]:
    whole = sum(kb for kb, _, _ in sizes)
    kb, name, row = max(sizes, key=lambda one: one[0])
    if whole <= 0 or len(sizes) < 2:
        return
    share = kb / whole
    stands = lead and share >= HOLDS and kb >= LEAST_KB
    listed = LISTED[what]
    yield Sighting(
        "consumer",
        name,
        f"{name} holds {figure(kb, 'kB')}, {figure(100 * share, '%')} of the {listed}",
        f"{what}_{name}_kb",
        kb,
        "kB",
        (Lines(row["artifact_id"], row["line_no"], row["line_no"], name),),
        **place(row),
        against="all that is listed",
        against_value=whole,
        share=min(1.0, share),
        seen=({"counter": "pool_tag_kb"},) if stands else (),
        normal=not stands,
        beside=f"all {len(sizes):,} of the listing hold {figure(whole, 'kB')}",
    )
