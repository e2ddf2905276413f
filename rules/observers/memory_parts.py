"""What memory is set aside for: huge pages, memory listed for nobody, no swap, free pages in pieces, a group's memory.

For `consumers`. A quarter of a group's memory in the page cache is no want of memory: the kernel gives it back.
Source: Linux Documentation/admin-guide/mm/hugetlbpage.rst; cgroup-v1/memory.rst, section 5.2; cgroup-v2.rst, memory.stat.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import MOST, Lines, Sighting, figure, place

IDLE_KB = 1024.0 * 1024
"""Minimum size of huge pages that nobody uses to be worth a word: 1 GiB."""

IDLE_PART = 0.1
"""Minimum part of all huge pages that nobody uses; a few are always spare."""

HUGE = ("HugePages_Total", "HugePages_Free", "HugePages_Rsvd", "Hugepagesize")

WHOLE = "MemTotal"
LISTED = (
    "MemFree",
    "Buffers",
    "Cached",
    "SwapCached",
    "AnonPages",
    "Slab",
    "KernelStack",
    "PageTables",
    "SecPageTables",
    "Percpu",
    "Bounce",
    "WritebackTmp",
)
"""Who holds memory, by the lines of /proc/meminfo that share none; huge pages come on top."""

UNLISTED = 0.25
"""Minimum part of the memory that nobody is listed for: firmware and the kernel's own code hold a few percent."""

CITED = ("MemTotal", "MemFree", "AnonPages", "Slab")

MAPPED = ("Mapped", "ShmemHugePages", "HugePages_Total")
"""What stands beside page tables, by the names of /proc/meminfo: files and shared memory that they map, and huge pages,
which need a five-hundredth of the tables."""

ORDER = re.compile(r"order([0-9]+)")
LARGE_ORDER = 9
"""Order of a block as large as a huge page of x86: 512 pages."""

SMALL_PART = 0.5
"""Minimum part of a zone's free pages that lie single to be worth a word; a zone in good order holds most in large blocks."""

FREE_PAGES = 16_384.0
"""Minimum number of free pages of a zone whose pieces are worth a word (64 MB of 4 kB)."""

CACHE = ("cache", "file")
"""Names of a group's page cache, of version 1 and 2."""

OWN = ("rss", "anon")
"""Names of what the programs of a group hold themselves."""

DROPPED_FIRST = "inactive_file"
LIMITS = ("hierarchical_memory_limit", "memory.limit_in_bytes", "memory.max")
NO_LIMIT = 2.0**62
"""Value in bytes from which a limit of version 1 is none: it is as large as a number of pages can be."""


def huge_pages(case: CaseTables) -> Iterator[Sighting]:
    """Yield huge pages that are set aside, and how many of them nobody uses."""
    rows = (
        case.scan("meminfo", [*PLACE_COLUMNS, "part", "sample", "t_local", "name", "value", "line_no"])
        .filter(pl.col("name").is_in(list(HUGE)) & pl.col("value").is_finite())
        .collect(engine="streaming")
        .sort("artifact_id", "line_no")
    )
    for _, one in rows.group_by("artifact_id", "part", "sample", maintain_order=True):
        value = {name: (v, line) for name, v, line in one.select("name", "value", "line_no").iter_rows()}
        if not {"HugePages_Total", "HugePages_Free"} <= value.keys():
            continue
        total, free = value["HugePages_Total"][0], value["HugePages_Free"][0]
        kept, size = value.get("HugePages_Rsvd", (0.0, 0))[0], value.get("Hugepagesize", (None, 0))[0]
        if total <= 0 or free < 0:
            continue
        spare = max(free - kept, 0.0)
        idle_kb = None if size is None else spare * size
        stands = idle_kb is not None and idle_kb >= IDLE_KB and spare >= IDLE_PART * total
        headline = (
            f"{free:,.0f} of the {total:,.0f} huge pages are free, {kept:,.0f} of those are promised to a process"
        )
        if stands and idle_kb is not None and size is not None:
            headline += f": {figure(idle_kb, 'kB')} in pages of {figure(size, 'kB')} that nothing else can use"
        first = one.row(0, named=True)
        yield Sighting(
            "setting",
            "HugePages_Free",
            headline,
            "HugePages_Free",
            free,
            "pages",
            tuple(Lines(first["artifact_id"], value[name][1], value[name][1], name) for name in HUGE if name in value),
            **place(first),
            t_from=first["t_local"],
            t_to=first["t_local"],
            against="all huge pages",
            against_value=total,
            share=min(1.0, spare / total),
            seen=({"counter": "HugePages_Free"},) if stands else (),
            normal=not stands,
        )


def unlisted(case: CaseTables) -> Iterator[Sighting]:
    """Yield how much of the memory /proc/meminfo lists under no use; of several samples the last."""
    names = [WHOLE, *LISTED, *HUGE, "Hugetlb"]
    rows = (
        case.scan("meminfo", [*PLACE_COLUMNS, "t_local", "name", "value", "line_no"])
        .filter(pl.col("name").is_in(names) & pl.col("value").is_finite() & (pl.col("value") >= 0))
        .sort("artifact_id", "line_no")
        .group_by("artifact_id", "name", maintain_order=True)
        .last()
        .collect(engine="streaming")
        .sort("artifact_id", "line_no")
    )
    for _, one in rows.group_by("artifact_id", maintain_order=True):
        value = {row["name"]: row for row in one.iter_rows(named=True)}
        if not {WHOLE, "MemFree", "Cached", "AnonPages", "Slab", "PageTables"} <= value.keys():
            continue
        whole = value[WHOLE]["value"]
        listed = sum(value[n]["value"] for n in LISTED if n in value)
        listed += value["Hugetlb"]["value"] if "Hugetlb" in value else _set_aside(value)
        nobodys = whole - listed
        if nobodys < max(IDLE_KB, UNLISTED * whole):
            continue
        row = value[WHOLE]
        yield Sighting(
            "consumer",
            "memory listed for nobody",
            f"{figure(nobodys, 'kB')}, {figure(100 * nobodys / whole, '%')} of the memory, is neither free nor listed for programs, files,"
            " slabs or page tables: drivers, ZFS or a balloon of the hypervisor hold it",
            "unlisted_kb",
            nobodys,
            "kB",
            tuple(Lines(row["artifact_id"], value[n]["line_no"], value[n]["line_no"], n) for n in CITED if n in value),
            **place(row),
            t_from=row["t_local"],
            t_to=row["t_local"],
            against="the memory of the host",
            against_value=whole,
            share=nobodys / whole,
            seen=({"counter": "unlisted_kb"},),
        )


OF_BSD = ("Mem Active", "Mem Inact", "Mem Laundry", "Mem Wired", "Mem Cache", "Mem Free")
"""Figures of top of FreeBSD that together are the memory; `Buf` is a part of Wired."""

WIRED_PART = 0.5
"""Minimum part of the memory that is wired and not in the cache of ZFS: then the kernel holds more than all programs and
the cache of files together. A kernel needs a tenth or less for itself (FreeBSD top(1): Wired, ARC)."""


def _set_aside(value: Mapping[str, Mapping[str, Any]]) -> float:
    """Return the size of all huge pages in kB: number times size, since some kernels do not print the sum."""
    both = [value.get(n, {"value": 0.0})["value"] for n in ("HugePages_Total", "Hugepagesize")]
    return float(both[0] * both[1])


def no_swap(case: CaseTables) -> Iterator[Sighting]:
    """Yield a sighting for each listing of a host without swap."""
    none = (pl.col("name") == "SwapTotal") & (pl.col("value") == 0)
    rows = case.scan("meminfo", [*PLACE_COLUMNS, "t_local", "line_no"], none).collect(engine="streaming")
    for row in rows.sort("line_no").unique("artifact_id", keep="first", maintain_order=True).iter_rows(named=True):
        yield Sighting(
            "setting",
            "SwapTotal",
            "There is no swap: SwapTotal is 0",
            "SwapTotal",
            0.0,
            "kB",
            (Lines(row["artifact_id"], row["line_no"], row["line_no"], "SwapTotal"),),
            **place(row),
            t_from=row["t_local"],
            t_to=row["t_local"],
            normal=True,
        )


def wired(case: CaseTables) -> Iterator[Sighting]:
    """Yield the memory that FreeBSD's kernel has wired, without the cache of ZFS; of several samples the last.

    Standing out: half of the memory (`WIRED_PART`) is wired and not in the ARC, and pages went to swap. Normal: less,
    a host without a line of the ARC (its cache cannot be told apart), and one that never needed its swap.
    """
    columns = [*PLACE_COLUMNS, "part", "sample", "line_no", "t_local", "name", "value"]
    named = pl.col("name").is_in([*OF_BSD, "ARC Total", "Swap Used"]) & pl.col("value").is_finite()
    rows = (
        case.scan("meminfo", columns, named & (pl.col("value") >= 0))
        .filter(pl.col("sample").eq_missing(pl.col("sample").max().over("artifact_id", "part")))
        .sort("line_no")
        .collect(engine="streaming")
    )
    for _, listing in rows.group_by("artifact_id", "part", maintain_order=True):
        value = {row["name"]: row for row in listing.iter_rows(named=True)}
        whole = sum(value[name]["value"] for name in OF_BSD if name in value)
        if "Mem Wired" not in value or "Mem Free" not in value or whole <= 0:
            continue
        row, cache, swap = value["Mem Wired"], value.get("ARC Total"), value.get("Swap Used")
        beyond = row["value"] - (cache["value"] if cache else 0.0)
        used = swap is not None and swap["value"] > 0
        stands = cache is not None and used and beyond >= WIRED_PART * whole
        text = f"The kernel has wired {figure(row['value'], 'kB')}, {figure(100 * row['value'] / whole, '%')} of the memory"
        if cache:
            text += f"; the cache of ZFS is {figure(cache['value'], 'kB')}"
            text += f" of it, so {figure(beyond, 'kB')} are held by something else" if beyond > 0 else ""
        told = [value["Mem Free"], *(x for x in (swap, cache) if x is not None)]
        beside = f"{figure(value['Mem Free']['value'], 'kB')} are free"
        beside += f", {figure(swap['value'], 'kB')} of the swap are used" if swap is not None and used else ""
        yield Sighting(
            "consumer",
            "Wired",
            text,
            "wired_beyond_cache_kb" if cache else "wired_kb",
            max(0.0, beyond) if cache else row["value"],
            "kB",
            (
                Lines(row["artifact_id"], row["line_no"], row["line_no"], "Wired"),
                *(Lines(r["artifact_id"], r["line_no"], r["line_no"], r["name"]) for r in told),
            ),
            **place(row),
            t_from=row["t_local"],
            t_to=row["t_local"],
            against="the memory of the host",
            against_value=whole,
            share=min(1.0, max(0.0, beyond) / whole),
            seen=({"counter": "wired_beyond_cache_kb"},) if stands else (),
            normal=not stands,
            beside=beside,
        )


def swap_devices(case: CaseTables) -> Iterator[Sighting]:
    """Yield how full each swap device is, of several samples the last: an empty one may still be fully reserved."""
    key = [*PLACE_COLUMNS, "item"]
    parts = {name: pl.col("value").filter(pl.col("name") == name).first() for name in ("size", "used", "free")}
    rows = (
        case.scan("counters", [*key, "sample", "line_no", "t_local", "grp", "name", "value"], pl.col("grp") == "swap")
        .filter(pl.col("item").is_not_null() & pl.col("value").is_finite())
        .filter(pl.col("sample").eq_missing(pl.col("sample").max().over("artifact_id")))
        .group_by(key, maintain_order=True)
        .agg(pl.col("line_no").first(), pl.col("t_local").first(), **parts)
        .with_columns(pl.coalesce("used", pl.col("size") - pl.col("free")).alias("used"))
        .filter((pl.col("size") > 0) & (pl.col("used") >= 0) & (pl.col("used") <= pl.col("size")))
        .sort("artifact_id", "line_no")
        .head(MOST)
        .collect(engine="streaming")
    )
    for row in rows.iter_rows(named=True):
        pct = 100.0 * row["used"] / row["size"]
        yield Sighting(
            "consumer",
            str(row["item"]),
            f"Of the swap device {row['item']}, {figure(pct, '%')} are used: {figure(row['used'], 'kB')} of {figure(row['size'], 'kB')}",
            f"swap device {row['item']}",
            pct,
            "%",
            (Lines(row["artifact_id"], row["line_no"], row["line_no"], "swap device"),),
            **place(row),
            t_from=row["t_local"],
            t_to=row["t_local"],
            against="its size",
            against_value=100.0,
            normal=True,
        )


def mapped_by(row: Mapping[str, Any], rows: pl.LazyFrame) -> tuple[str | None, tuple[Lines, ...]]:
    """Describe the memory that page tables map and whether any of it is in huge pages, with the lines of both."""
    same = [pl.col(k).eq_missing(pl.lit(row[k])) for k in ("artifact_id", "part", "sample")]
    held = rows.filter(*same, pl.col("name").is_in(MAPPED)).collect(engine="streaming")
    value = {r["name"]: r for r in held.iter_rows(named=True)}
    if "Mapped" not in value:
        return None, ()
    told = [n for n in MAPPED if n in value]
    said = [f"{n} is {figure(value[n]['value'], 'count' if n == MAPPED[-1] else 'kB')}" for n in told]
    lines = (Lines(row["artifact_id"], value[n]["line_no"], value[n]["line_no"], n) for n in told)
    return ", ".join(said), tuple(lines)


def pieces(case: CaseTables) -> Iterator[Sighting]:
    """Yield zones of memory whose free pages lie in small pieces, by /proc/buddyinfo; of several samples the last."""
    order = pl.col("name").str.extract(ORDER.pattern).cast(pl.Int64)
    keys = [*PLACE_COLUMNS, "part", "item"]
    pages = pl.col("value") * pl.lit(2.0) ** pl.col("order")
    zones = (
        case.scan(
            "counters", [*keys, "grp", "name", "sample", "value", "line_no", "t_local"], pl.col("grp") == "buddyinfo"
        )
        .with_columns(order.alias("order"))
        .filter(pl.col("order").is_between(0, 30) & (pl.col("value") >= 0) & pl.col("value").is_finite())
        .filter(pl.col("sample").eq_missing(pl.col("sample").max().over(keys)))
        .group_by(keys)
        .agg(
            pages.sum().alias("free"),
            pages.filter(pl.col("order") == 0).sum().alias("single"),
            pl.col("value").filter(pl.col("order") >= LARGE_ORDER).sum().alias("large"),
            pl.col("line_no").first(),
            pl.col("t_local").first(),
        )
        .filter((pl.col("free") >= FREE_PAGES) & (pl.col("single") >= SMALL_PART * pl.col("free")))
        .sort("artifact_id", "line_no")
        .collect(engine="streaming")
    )
    for row in zones.head(MOST).iter_rows(named=True):
        share = row["single"] / row["free"]
        yield Sighting(
            "consumer",
            f"{row['item']} free pages",
            f"{figure(row['single'], 'count')} of the {figure(row['free'], 'count')} free pages of {row['item']},"
            f" {figure(100 * share, '%')}, lie single; {figure(row['large'], 'count')} free blocks have 512 pages or more",
            "single_pages",
            row["single"],
            "pages",
            (Lines(row["artifact_id"], row["line_no"], row["line_no"], row["item"]),),
            **place(row),
            t_from=row["t_local"],
            t_to=row["t_local"],
            against="the free pages of the zone",
            against_value=row["free"],
            share=share,
            normal=True,
        )


def groups(case: CaseTables) -> Iterator[Sighting]:
    """Yield what the memory of each control group consists of (file cache or programs), and whether it has a limit."""
    names = [*CACHE, *OWN, DROPPED_FIRST, *LIMITS]
    key = [*PLACE_COLUMNS, "item"]
    # Unknown text has a group's memory only if it holds what stands beside it in the daemon's answer.
    answers = ((pl.col("grp") == "text") & (pl.col("name") == "usage")).any().over("artifact_id")
    listed = case.scan("counters", [*key, "sample", "t_local", "grp", "name", "value", "line_no"])
    rows = (
        pl.concat([listed.with_columns(answers.alias("answers")), _unlimited(case)], how="diagonal_relaxed")
        .filter((pl.col("grp") == "cgroup") | ((pl.col("grp") == "text") & pl.col("answers")))
        .filter(pl.col("name").is_in(names) & pl.col("value").is_not_nan())
        .sort("sample", "line_no")
        .group_by([*key, "name"], maintain_order=True)
        .last()
        .collect(engine="streaming")
        .sort("artifact_id", "line_no")
    )
    for _, one in rows.group_by("artifact_id", "item", maintain_order=True):
        named = {row["name"]: row for row in one.iter_rows(named=True)}
        cache = next((named[n] for n in CACHE if n in named), None)
        own = next((named[n] for n in OWN if n in named), None)
        if cache is None or own is None or min(cache["value"], own["value"]) < 0:
            continue
        if not 0 < cache["value"] + own["value"] < NO_LIMIT:
            continue
        yield _group(cache, own, named)


def _unlimited(case: CaseTables) -> pl.LazyFrame:
    """Return memory limits that are set to unlimited, as rows of counters with an infinite value."""
    none = (pl.col("scope") == "cgroup") & pl.col("name").is_in(LIMITS) & pl.col("num").is_null()
    rows = case.scan("params", [*PLACE_COLUMNS, "entity", "scope", "name", "num", "line_no", "t_local"], none)
    return rows.rename({"entity": "item"}).select(
        *PLACE_COLUMNS,
        "item",
        "t_local",
        "name",
        "line_no",
        sample=pl.lit(1, pl.Int64),
        grp=pl.lit("cgroup"),
        value=pl.lit(float("inf")),
    )


def _group(cache: Mapping[str, Any], own: Mapping[str, Any], named: Mapping[str, Mapping[str, Any]]) -> Sighting:
    whole = cache["value"] + own["value"]
    words = (
        f"{cache['name']} holds {figure(cache['value'], 'bytes')}, {figure(100 * cache['value'] / whole, '%')} of the "
        f"group's memory, its programs {own['name']} {figure(own['value'], 'bytes')}"
    )
    lines = [cache, own]
    if (dropped := named.get(DROPPED_FIRST)) is not None:
        words += f"; {DROPPED_FIRST} {figure(dropped['value'], 'bytes')} can be dropped first"
        lines.append(dropped)
    if (limit := next((named[n] for n in LIMITS if n in named), None)) is not None:
        none = limit["value"] >= NO_LIMIT
        words += f"; {limit['name']} is {'none' if none else figure(limit['value'], 'bytes')}"
        lines.append(limit)
    return Sighting(
        "consumer",
        cache["name"],
        words,
        "page_cache_bytes",
        cache["value"],
        "bytes",
        tuple(Lines(r["artifact_id"], r["line_no"], r["line_no"], r["name"]) for r in lines),
        **place(cache),
        t_from=cache["t_local"],
        t_to=cache["t_local"],
        against="the group's memory",
        against_value=whole,
        share=cache["value"] / whole,
        normal=True,
    )
