"""Performance counters of Windows: beyond their bounds, within them, and names that are none."""

from __future__ import annotations

from rules.case.case import Case
from rules.observers.observer import Sighting
from rules.observers.performance_counters import observe
from rules.signatures.signatures import recognise

DISK = r"\\db7\PhysicalDisk(2 E:)\Avg. Disk sec/Read"
BUSY = r"\\db7\Processor(_Total)\% Processor Time"
QUEUE = r"\\db7\System\Processor Queue Length"
FREE = r"\Memory\Available MBytes"


def made(**series: tuple[str, list[float]]) -> list[Sighting]:
    rows = [
        {"grp": "csv", "name": name, "value": value, "line_no": n}
        for name, values in series.values()
        for n, value in enumerate(values, 2)
    ]
    return list(observe(Case.of_tables({"counters": rows})))


def test_a_slow_disk_is_told_in_milliseconds() -> None:
    (one,) = made(disk=(DISK, [0.31, 0.29, 0.33]))
    assert one.headline == (
        r"PhysicalDisk(2 E:)\Avg. Disk sec/Read takes 310 ms in the median of 3 samples, 330 ms at worst, 3 of them at or above 20 ms"
    )
    assert recognise(**one.seen[0])[0].mechanism == "disk-latency"
    assert [c.line_from for c in one.lines] == [4]
    assert not one.normal


def test_a_full_processor_has_a_queue() -> None:
    busy, queue = made(busy=(BUSY, [97.0, 99.0]), queue=(QUEUE, [31.0, 35.0]))
    assert [recognise(**s.seen[0])[0].mechanism for s in (busy, queue)] == ["cpu-saturated", "cpu-saturated"]
    assert queue.share == 1.0


def test_little_memory_is_below_its_bound() -> None:
    (one,) = made(free=(FREE, [44.0]))
    assert (one.normal, one.headline) == (False, r"Memory\Available MBytes is at 44 MB")


def test_a_healthy_host_gives_measures_only() -> None:
    found = made(
        disk=(DISK, [0.002, 0.001, 0.004, 0.09, 0.002]),
        busy=(BUSY, [12.0, 31.0, 9.0]),
        queue=(QUEUE, [0.0, 1.0, 0.0]),
        free=(FREE, [8112.0]),
    )
    assert [s.normal for s in found] == [True] * 4


def test_other_names_are_left_alone() -> None:
    assert made(one=("Avg. Disk sec/Read", [3.0]), two=(r"\\db7\LogicalDisk(C:)\Free Megabytes", [3.0])) == []


PAGES = r"\\db7\Memory\Pages/sec"


def test_pages_read_while_no_memory_is_available_name_the_want_outright() -> None:
    short, paged = made(free=(FREE, [44.0]), pages=(PAGES, [4102.0]))
    assert recognise(**paged.seen[0])[0].strength == "mechanism"
    assert not short.normal
    (alone,) = [s for s in made(free=(FREE, [9044.0]), pages=(PAGES, [4102.0])) if s.name == "pages_ps"]
    assert recognise(**alone.seen[0])[0].strength == "shape"


def test_what_else_is_beyond_its_bound() -> None:
    found = made(
        file=(r"\\db7\Paging File(_Total)\% Usage", [96.0]),
        pool=(r"\\db7\Memory\Pool Nonpaged Bytes", [9.1e9]),
        all=(r"\\db7\Processor(_Total)\% DPC Time", [24.0]),
        one=(r"\\db7\Processor(3)\% Interrupt Time", [91.0]),
        queue=(r"\\db7\PhysicalDisk(0 C:)\Avg. Disk Queue Length", [41.0]),
        handles=(r"\\db7\Process(bakesvc)\Handle Count", [812_000.0]),
        gc=(r"\\db7\.NET CLR Memory(bakesvc)\% Time in GC", [71.0]),
    )
    assert not any(s.normal for s in found)
    assert {s.name: recognise(**s.seen[0])[0].mechanism for s in found} == {
        "paging_file_pct": "swap-full",
        "pool_mb": "kernel-memory-growth",
        "cpu_interrupt_pct": "interrupt-load",
        "one_cpu_soft_pct": "interrupts-on-one-cpu",
        "disk_queue": "disk-saturated",
        "handles_count": "descriptor-leak",
        "dotnet_gc_pct": "garbage-collection",
    }


def test_sums_over_all_and_small_figures_are_normal() -> None:
    found = made(
        handles=(r"\\db7\Process(_Total)\Handle Count", [812_000.0]),
        one=(r"\\db7\Processor(3)\% DPC Time", [12.0]),
        pool=(r"\\db7\Memory\Pool Paged Bytes", [6e8]),
        pages=(PAGES, [90.0]),
    )
    assert [(s.name, s.normal) for s in found] == [("pages_ps", True), ("pool_mb", True), ("one_cpu_soft_pct", True)]
