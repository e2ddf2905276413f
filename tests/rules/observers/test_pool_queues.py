"""Queues and histograms of `zpool iostat`: one disk that holds the queue, writes that wait before they reach a disk."""

from __future__ import annotations

from rules.case.case import Case
from rules.observers.observer import Sighting
from rules.observers.pool_queues import observe
from rules.signatures.signatures import recognise
from tests.parsers.formats.evidence import read_bytes

HEAD = """              capacity     operations     bandwidth    syncq_read    syncq_write   asyncq_read  asyncq_write   scrubq_read
pool        alloc   free   read  write   read  write   pend  activ   pend  activ   pend  activ   pend  activ   pend  activ
----------  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----
"""


def queues(*disks: tuple[str, str]) -> list[Sighting]:
    rows = [
        f"{name:<10}  {'-':>5}  {'-':>5}     10    200   300K  20.0M      0      0      0      0      0      0  {n:>5}     10      0      0"
        for name, n in disks
    ]
    return seen(HEAD + "\n".join(rows) + "\n")


def seen(text: str) -> list[Sighting]:
    return list(observe(Case.of_tables({"rows": read_bytes(text.encode()).table("rows").to_dicts()})))


def test_one_disk_holds_the_queue_of_its_pool() -> None:
    (made,) = queues(("    da4", "3"), ("    da5", "820"), ("    da6", "7"))
    assert made.headline == (
        "820 requests waited in the queue of asynchronous writes of da5, 10 were at work, 5 in that of the middle one of the 2 others"
    )
    assert recognise(**made.seen[0])[0].mechanism == "disk-latency"


def test_queues_of_all_disks_are_load() -> None:
    (made,) = queues(("    da4", "900"), ("    da5", "1.02K"), ("    da6", "950"))
    assert made.value == 1020.0
    assert recognise(**made.seen[0])[0].mechanism == "disk-saturated"


def test_short_queues_are_normal() -> None:
    assert queues(("    da4", "12"), ("    da5", "31"), ("    da6", "9")) == []


def histogram(total: int, disk: int) -> list[Sighting]:
    """Return the sightings of histograms with most writes in bucket `total` (whole time) and in bucket `disk`."""
    names = ["1ms", "2ms", "4ms", "8ms", "16ms", "33ms", "67ms", "134ms", "268ms", "536ms"]
    rows = [
        f"{name:<10}      0  {900 if n == total else 1:>5}      0  {900 if n == disk else 1:>5}      0      0      0      0      0      0"
        for n, name in enumerate(names)
    ]
    head = (
        "backup       total_wait     disk_wait    syncq_wait    asyncq_wait\n"
        "latency      read  write   read  write   read  write   read  write  scrub   trim\n"
        "----------  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----\n"
    )
    return seen(head + "\n".join(rows) + "\n")


def test_writes_that_wait_before_the_disk() -> None:
    (made,) = histogram(8, 2)
    assert made.headline == (
        "half of the writes of the pool took 268 ms or longer in all (total_wait), 4 ms at the disk alone (disk_wait)"
    )
    assert recognise(**made.seen[0])[0].mechanism == "disk-saturated"


def test_writes_that_wait_at_the_disk_and_quick_ones() -> None:
    (made,) = histogram(8, 8)
    assert made.seen == ({"event": "pool-disk-slow"},)
    assert histogram(3, 2) == []
