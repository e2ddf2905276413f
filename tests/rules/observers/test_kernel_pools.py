"""Who holds the kernel's memory: a tag with most of a large pool stands out; small pools and FreeBSD's types are told."""

from __future__ import annotations

from typing import Any

import pytest

from rules.case.case import Case
from rules.observers.kernel_pools import observe
from rules.observers.observer import Sighting
from tests.parsers.formats.evidence import read_bytes


def pool(heading: str, *sizes: str) -> list[Sighting]:
    rows: list[dict[str, Any]] = [
        {
            "line_no": n,
            "table_no": 1,
            "row_no": n,
            "heading": ["Tag", heading, "share"],
            "cells": [f"Tg{n:02}", size, "1%"],
        }
        for n, size in enumerate(sizes, 2)
    ]
    return list(observe(Case.of_tables({"rows": rows})))


@pytest.mark.parametrize(
    ("heading", "sizes", "normal"),
    [
        ("NP_MB", ("9000.0", "60.5", "20"), False),
        ("NP_MB", ("1000.0", "60.5", "20"), True),
        ("NP_MB", ("9000.0", "9100.0", "20"), False),
        ("NP_MB", ("9000.0", "8000.0", "7000"), True),
        ("Bytes", ("9,663,676,416", "1024"), False),
        ("NonPaged(KB)", ("900", "10"), True),
    ],
)
def test_a_tag_with_half_of_a_large_pool(heading: str, sizes: tuple[str, ...], normal: bool) -> None:
    (made,) = pool(heading, *sizes)
    assert made.normal is normal
    assert made.seen == (() if normal else ({"counter": "pool_tag_kb"},))


def test_it_is_told_with_its_part() -> None:
    (made,) = pool("NP_MB", "9000.0", "1000")
    assert made.headline == "Tg02 holds 9,216,000 kB, 90 % of the pool that is listed"
    assert made.beside == "all 2 of the listing hold 10,240,000 kB"


@pytest.mark.parametrize(("heading", "sizes"), [("Size", ("9000", "1")), ("NP_MB", ("9000",)), ("NP_MB", ("-", "x"))])
def test_what_has_no_unit_or_no_rival_says_nothing(heading: str, sizes: tuple[str, ...]) -> None:
    assert pool(heading, *sizes) == []


def test_the_largest_type_of_malloc_is_a_measure() -> None:
    rows = [
        {"line_no": n, "sample": 1, "grp": "malloc", "item": item, "name": "memory", "value": kb, "unit": "kB"}
        for n, (item, kb) in enumerate((("cache", 9e7), ("devbuf", 1e7)), 2)
    ]
    (made,) = observe(Case.of_tables({"counters": rows}))
    assert made.normal
    assert made.headline == "cache holds 90,000,000 kB, 90 % of the kernel's malloc that is listed"


def caches(total_kb: float | None, *sizes: tuple[str, float]) -> list[Sighting]:
    tables: dict[str, list[dict[str, Any]]] = {
        "counters": [
            {"line_no": n, "sample": 1, "grp": "slab", "item": item, "name": "cache_kb", "value": kb, "unit": "kb"}
            for n, (item, kb) in enumerate(sizes, 2)
        ]
    }
    if total_kb is not None:
        tables["meminfo"] = [{"line_no": 1, "sample": 1, "name": "MemTotal", "value": total_kb, "unit": "kb"}]
    return list(observe(Case.of_tables(tables)))


@pytest.mark.parametrize(
    ("total", "name", "kb", "normal"),
    [
        (3.2e7, "kmalloc-192", 9e6, False),
        (3.2e7, "kmalloc-192", 7e6, True),  # less than a quarter of the memory
        (None, "kmalloc-192", 9e6, False),
        (3.2e7, "dentry", 9e6, True),  # given back when memory is wanted
        (3.2e7, "xfs_inode", 9e6, True),
        (3.2e7, "ext4_inode_cache", 9e6, True),
        (2e6, "kmalloc-192", 9e5, True),  # less than 1 GiB
    ],
)
def test_a_cache_that_no_file_system_fills(total: float | None, name: str, kb: float, normal: bool) -> None:
    made = caches(total, (name, kb), ("anon_vma", 3e5))
    assert [s.seen for s in made if s.seen] == ([] if normal else [({"counter": "slab_cache_kb"},)])


@pytest.mark.parametrize(("kb", "told"), [(1024.0**2, True), (1024.0**2 - 1, False)])
def test_a_cache_of_names_that_holds_most_is_told_and_leads_nowhere(kb: float, told: bool) -> None:
    made = caches(None, ("dentry", kb), ("buffer_head", 1000.0))
    assert [(s.normal, s.share, s.seen) for s in made] == ([(False, None, ())] if told else [])


def test_a_cache_is_told_with_its_part_of_the_memory() -> None:
    made = caches(2e7, ("kmalloc-192", 9e6), ("anon_vma", 1e6))[0]
    assert made.headline == (
        "the kernel's cache kmalloc-192 holds 9,000,000 kB, 90 % of the caches that are listed, 45 % of the memory"
    )


def test_a_screen_of_poolmon_with_its_empty_line() -> None:
    text = """ Memory:16462844K Avail:  812204K  PageFlts: 91022   InRam Krnl:21022K P:1102211K
 Tag  Type     Allocs            Frees            Diff   Bytes       Per Alloc

 Oven Nonp   81022110 (   210)  10110221 (    0) 70911889 9153443584 (    9120)     256
 MmSt Paged   4102211 (    12)   4011022 (   12)    91189  288157240 (    3160)    3160
"""
    (made,) = observe(Case.of_tables({"rows": read_bytes(text.encode()).table("rows").to_dicts()}))
    assert (made.subject, made.seen) == ("Oven", ({"counter": "pool_tag_kb"},))


@pytest.mark.parametrize(("each", "stands"), [(900_000.0, True), (600_000.0, False)])
def test_caches_by_size_are_told_together(each: float, stands: bool) -> None:
    """A driver that keeps what it took asks for several sizes, none of which holds most."""
    sizes = {"kmalloc-64": each, "kmalloc-2k": each, "kmalloc-rcl-512": each, "dentry": 700_000.0, "cred_jar": 5_000.0}
    rows = [
        {"line_no": n, "sample": 1, "grp": "slab", "item": item, "name": "cache_kb", "value": kb, "unit": "kb"}
        for n, (item, kb) in enumerate(sizes.items(), 1)
    ]
    told = [s for s in observe(Case.of_tables({"counters": rows})) if s.subject == "kmalloc"]
    assert bool(told) is stands
    if stands:
        assert told[0].headline.startswith("the kernel's 3 caches by size (kmalloc) hold 2,700,000 kB together, 79.3 %")
