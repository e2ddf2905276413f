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
