"""Huge pages that nobody uses, no swap, and what a control group's memory is."""

from __future__ import annotations

from typing import Any

import pytest

from rules.case.case import Case
from rules.observers.consumers import observe
from rules.observers.memory_parts import swap_devices, wired
from rules.observers.observer import Sighting


def meminfo(**values: float) -> list[Sighting]:
    row = {"sample": 1, "part": 1, "unit": "kb"}
    rows = [{**row, "line_no": n, "name": k, "value": v} for n, (k, v) in enumerate(values.items(), 2)]
    return list(observe(Case.of_tables({"meminfo": rows})))


def group(**values: float) -> list[Sighting]:
    rows: list[dict[str, Any]] = [
        {"line_no": n, "sample": 1, "part": 1, "grp": "cgroup", "item": "/a", "name": k, "value": v}
        for n, (k, v) in enumerate(values.items(), 2)
    ]
    return list(observe(Case.of_tables({"counters": rows})))


def test_huge_pages_that_nobody_uses() -> None:
    (one,) = meminfo(HugePages_Total=50_000.0, HugePages_Free=10_000.0, HugePages_Rsvd=0.0, Hugepagesize=2048.0)
    assert one.headline == (
        "10,000 of the 50,000 huge pages are free, 0 of those are promised to a process: 20,480,000 kB in pages of 2,048 kB "
        "that nothing else can use"
    )
    assert (one.normal, one.share, len(one.lines)) == (False, 0.2, 4)


@pytest.mark.parametrize(
    ("free", "kept"),
    [(511.0, 0.0), (10_000.0, 9_800.0)],
    ids=["less than 1 GiB", "promised"],
)
def test_spare_ones_are_normal(free: float, kept: float) -> None:
    (one,) = meminfo(HugePages_Total=50_000.0, HugePages_Free=free, HugePages_Rsvd=kept, Hugepagesize=2048.0)
    assert one.normal
    assert one.seen == ()


def test_a_host_without_huge_pages_or_with_swap_says_nothing_of_them() -> None:
    assert meminfo(HugePages_Total=0.0, HugePages_Free=0.0, SwapTotal=4.0) == []


def test_no_swap_is_told() -> None:
    (one,) = meminfo(SwapTotal=0.0, SwapFree=0.0)
    assert (one.headline, one.normal) == ("There is no swap: SwapTotal is 0", True)


def test_a_groups_memory_is_mostly_pages_of_files() -> None:
    (one,) = [s for s in group(cache=900.0, rss=100.0, inactive_file=800.0) if s.kind == "consumer"]
    assert one.headline == (
        "cache holds 900 bytes, 90 % of the group's memory, its programs rss 100 bytes; inactive_file 800 bytes can be "
        "dropped first"
    )
    assert one.normal
    assert group(cache=900.0) == group(rss=1.0) == group(cache=0.0, rss=0.0) == []


def test_a_group_without_a_limit_says_so() -> None:
    counters = [
        {"line_no": n, "sample": 1, "part": 1, "grp": "cgroup", "item": "/a", "name": k, "value": 100.0}
        for n, k in enumerate(("cache", "rss"), 2)
    ]
    limit = {"line_no": 9, "part": 1, "scope": "cgroup", "name": "hierarchical_memory_limit", "value": "92"}
    made = list(observe(Case.of_tables({"counters": counters, "params": [{**limit, "entity": "/a"}]})))
    assert made[0].headline.endswith("; hierarchical_memory_limit is none")
    assert made[0].lines[-1].line_from == 9
    of_another = list(observe(Case.of_tables({"counters": counters, "params": [{**limit, "entity": "/b"}]})))
    assert "limit" not in of_another[0].headline


@pytest.mark.parametrize(("beside", "n"), [("usage", 1), ("memory", 0)])
def test_the_answer_of_a_container_daemon_is_known_by_the_usage_beside(beside: str, n: int) -> None:
    rows = [
        {"line_no": i, "sample": 1, "part": 1, "grp": "text", "name": k, "value": v}
        for i, (k, v) in enumerate({"cache": 300.0, "rss": 100.0, beside: 400.0}.items(), 2)
    ]
    assert len(list(observe(Case.of_tables({"counters": rows}).with_text()))) == n


LISTED = {"MemTotal": 16e6, "MemFree": 1e6, "Cached": 2e6, "AnonPages": 3e6, "Slab": 1e6, "PageTables": 1e5}


def test_memory_that_nobody_is_listed_for() -> None:
    (one,) = [s for s in meminfo(**LISTED) if s.name == "unlisted_kb"]
    assert one.value == pytest.approx(8.9e6)
    assert one.headline.startswith("8,900,000 kB, 55.6 % of the memory, is neither free nor listed")
    assert one.seen == ({"counter": "unlisted_kb"},)


@pytest.mark.parametrize(
    "more",
    [
        {"Hugetlb": 6e6},
        {"HugePages_Total": 3_000.0, "HugePages_Free": 0.0, "Hugepagesize": 2048.0},
        {"Percpu": 5e6},
        {"MemTotal": 9e6},
    ],
)
def test_memory_that_is_accounted_for(more: dict[str, float]) -> None:
    assert [s for s in meminfo(**{**LISTED, **more}) if s.name == "unlisted_kb"] == []


def test_a_part_of_meminfo_says_nothing_of_the_rest() -> None:
    assert [s for s in meminfo(MemTotal=16e6, MemFree=1e6) if s.name == "unlisted_kb"] == []


def by_use(unit: str | None) -> list[str]:
    named = {"Kernel": 400.0, "ZFS": 500.0, "Free": 100.0, "Total": 1000.0}
    rows = [
        {"line_no": n, "sample": 1, "part": 1, "name": k, "value": v, "unit": unit}
        for n, (k, v) in enumerate(named.items(), 3)
    ]
    return [s.headline for s in observe(Case.of_tables({"meminfo": rows}))]


def test_memory_by_use_has_the_unit_of_its_rows() -> None:
    assert by_use("kb") == [
        "ZFS holds 500 kB, 50 % of the memory",
        "Kernel holds 400 kB, 40 % of the memory",
        "Free is 100 kB, 10 % of the memory",
    ]
    assert by_use("pages")[0] == "ZFS holds 500 pages, 50 % of the memory"


def buddies(*zones: tuple[str, list[float]]) -> list[Sighting]:
    rows = [
        {"line_no": n, "sample": 1, "part": 1, "grp": "buddyinfo", "item": zone, "name": f"order{i}", "value": v}
        for n, (zone, blocks) in enumerate(zones, 1)
        for i, v in enumerate(blocks)
    ]
    return list(observe(Case.of_tables({"counters": rows})))


def test_free_pages_that_lie_single_are_told_with_what_is_left_of_large_blocks() -> None:
    (one,) = buddies(
        ("node 0 Normal", [90_000.0, 1_000.0, *[0.0] * 7, 3.0, 1.0]), ("node 0 DMA32", [9_000.0, *[0.0] * 9, 20.0])
    )
    assert one.headline == (
        "90,000 of the 94,560 free pages of node 0 Normal, 95.2 %, lie single; 4 free blocks have 512 pages or more"
    )
    assert (one.normal, one.lines[0].line_from) == (True, 1)


def test_a_zone_with_few_free_pages_or_most_of_them_in_blocks_says_nothing_of_its_pieces() -> None:
    assert buddies(("node 0 DMA", [16_000.0])) == []
    assert buddies(("node 0 Normal", [20_000.0, *[0.0] * 9, 20.0])) == []


def test_page_tables_are_told_with_what_they_map() -> None:
    told = meminfo(MemTotal=1e6, Mapped=8e4, PageTables=6e4, ShmemHugePages=0.0, HugePages_Total=0.0)
    (one,) = [s for s in told if s.subject == "PageTables"]
    assert one.beside == "Mapped is 80,000 kB, ShmemHugePages is 0 kB, HugePages_Total is 0"
    assert [line.line_from for line in one.lines] == [4, 3, 5, 6]
    (alone,) = [s for s in meminfo(MemTotal=1e6, PageTables=6e4) if s.subject == "PageTables"]
    assert (alone.beside, len(alone.lines)) == (None, 1)


def test_what_files_hold_is_told_by_the_word_that_top_and_free_print() -> None:
    told = meminfo(MemTotal=1000.0, MemFree=100.0, BuffCache=700.0)
    assert [s.headline for s in told] == ["buff/cache holds 700 kB, 70 % of the memory"]


def bsd(wired: float, arc: float | None = 8.0, used: float | None = 1.0) -> list[dict[str, Any]]:
    figures = {"Mem Active": 1.0, "Mem Inact": 96.0 - wired, "Mem Wired": wired, "Mem Buf": 9.0, "Mem Free": 3.0}
    figures |= {"ARC Total": arc} if arc is not None else {}
    figures |= {"Swap Used": used} if used is not None else {}
    return [
        {"line_no": n, "sample": 1, "name": name, "value": gb * 1024**2, "unit": "kb"}
        for n, (name, gb) in enumerate(figures.items(), 1)
    ]


@pytest.mark.parametrize(
    ("rows", "normal"),
    [
        (bsd(58.0), False),
        (bsd(57.0), True),
        (bsd(90.0, arc=80.0), True),
        (bsd(90.0, arc=None), True),
        (bsd(90.0, used=0.0), True),
        (bsd(90.0, used=None), True),
    ],
)
def test_wired_memory_stands_out_beyond_the_cache_of_zfs_where_swap_is_used(
    rows: list[dict[str, Any]], normal: bool
) -> None:
    (made,) = wired(Case.of_tables({"meminfo": rows}))
    assert made.normal is normal
    assert made.seen == (() if normal else ({"counter": "wired_beyond_cache_kb"},))


def test_wired_memory_is_told_with_what_it_is_compared_with() -> None:
    (made,) = wired(Case.of_tables({"meminfo": bsd(90.0)}))
    assert made.headline == (
        "The kernel has wired 94,371,840 kB, 90 % of the memory; the cache of ZFS is 8,388,608 kB of it,"
        " so 85,983,232 kB are held by something else"
    )
    assert made.beside == "3,145,728 kB are free, 1,048,576 kB of the swap are used"
    assert list(wired(Case.of_tables({"meminfo": bsd(90.0)[:3]}))) == []


def test_a_device_of_swap_is_told_with_how_full_it_is() -> None:
    rows = [
        {"line_no": line, "sample": 1, "grp": "swap", "item": item, "name": name, "value": value}
        for line, item, name, value in (
            (3, "/dev/a", "size", 4096.0), (3, "/dev/a", "used", 1024.0), (4, "/dev/b", "size", 100.0), (4, "/dev/b", "free", 100.0),
            (5, "/dev/c", "size", 0.0), (5, "/dev/c", "used", 0.0),
        )
    ]  # fmt: skip
    made = list(swap_devices(Case.of_tables({"counters": rows})))
    assert [(s.subject, s.value, s.normal) for s in made] == [("/dev/a", 25.0, True), ("/dev/b", 0.0, True)]
    assert made[0].headline == "Of the swap device /dev/a, 25 % are used: 1,024 kB of 4,096 kB"
