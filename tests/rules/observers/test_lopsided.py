"""Tests that a member which takes most of a shared resource stands out; even shares and small amounts do not."""

from __future__ import annotations

from typing import Any

import pytest

from rules.case.case import Case
from rules.observers.lopsided import observe
from rules.observers.observer import Sighting


def cpus(*idle: float, **more: float) -> list[Sighting]:
    rows = [{"line_no": n, "sample": 1, "cpu": n, "idle": v, "soft": 0.0, **more} for n, v in enumerate(idle)]
    return list(observe(Case.of_tables({"mpstat": rows})))


def test_one_processor_is_busy_and_the_others_idle() -> None:
    (made,) = cpus(1.0, 97.0, 95.0, 96.0)
    assert made.headline == "CPU 0 has 89.2 % of the busy time of 4: 99 %, the others 4 % each"
    assert made.against_value == pytest.approx(4.0)
    assert made.lines[0].line_from == 0


@pytest.mark.parametrize(
    ("idle", "stands"),
    [
        ((20.0, 100.0, 100.0), True),
        ((20.1, 100.0, 100.0), False),  # less than 80 % busy
        ((0.0, 0.0, 0.0, 0.0), False),  # even
        ((0.0, 67.0, 67.0, 67.0), True),
        ((0.0, 66.0, 66.0, 66.0), False),  # less than half of all
        ((0.0, 100.0), True),
        ((0.0,), False),  # nobody to share with
    ],
)
def test_bounds(idle: tuple[float, ...], stands: bool) -> None:
    assert bool(cpus(*idle)) is stands


def test_one_of_two_must_take_all_to_be_twice_its_share() -> None:
    assert not cpus(0.0, 90.0)


def test_interrupts_lie_on_one_processor() -> None:
    rows = [{"line_no": n, "cpu": n, "idle": 60.0, "soft": 40.0 if n == 3 else 0.0} for n in range(4)]
    (made,) = observe(Case.of_tables({"mpstat": rows}))
    assert made.subject == "CPU 3 soft interrupts"


def test_one_device_does_it_all_and_partitions_do_not_count() -> None:
    rows = [
        {"line_no": 1, "device": "sda", "busy_pct": 90.0},
        {"line_no": 2, "device": "sda1", "busy_pct": 90.0, "part_of": True},
        {"line_no": 3, "device": "sdb", "busy_pct": 0.0},
    ]
    (made,) = observe(Case.of_tables({"iostat": rows}))
    assert made.subject == "sda busy time"


def test_one_process_takes_the_processor() -> None:
    rows = [{"line_no": n, "pid": n, "comm": "py", "cpu_pct": 99.0 if n == 2 else 0.5} for n in range(1, 5)]
    (made,) = observe(Case.of_tables({"ps": rows}))
    assert made.subject == "py (pid 2) processor time"


def nodes(*rows: tuple[int, str, float]) -> list[Sighting]:
    made = [{"line_no": n, "node": node, "metric": metric, "value": v} for n, (node, metric, v) in enumerate(rows, 1)]
    return list(observe(Case.of_tables({"numa": made})))


def test_pages_of_a_node_go_to_programs_of_another() -> None:
    before = [(1, "local_node", 5_000.0), (1, "other_node", 900.0)]
    (made,) = nodes(*before, (1, "local_node", 5_204.0), (1, "other_node", 78_751.0))
    assert made.headline == "77,851 of 78,055 pages of memory node 1 went to programs of another node, 204 to its own"
    assert [c.line_from for c in made.lines] == [4, 2, 3]


@pytest.mark.parametrize(
    ("local", "other", "stands"),
    [(4000.0, 1000.0, True), (4001.0, 1000.0, False), (0.0, 999.0, False), (0.0, 1000.0, True)],
)
def test_a_fifth_and_a_thousand_pages_are_worth_a_word(local: float, other: float, stands: bool) -> None:
    assert bool(nodes((0, "local_node", local), (0, "other_node", other))) is stands


@pytest.mark.parametrize(("miss", "stands"), [(2_000.0, True), (1_900.0, False), (0.0, False)])
def test_pages_that_were_wanted_from_another_node(miss: float, stands: bool) -> None:
    made = nodes((1, "numa_hit", 8_000.0), (1, "numa_miss", miss))
    assert [s.seen for s in made] == [({"counter": "numa_miss_part"},)] * stands


@pytest.mark.parametrize(
    ("full", "empty", "stands"), [(10.0, 50.0, True), (10.1, 50.0, False), (10.0, 49.9, False), (90.0, 95.0, False)]
)
def test_a_full_node_beside_an_empty_one(full: float, empty: float, stands: bool) -> None:
    rows = [
        (n, metric, v) for n, free in enumerate((full, empty)) for metric, v in (("mem_kb", 1e2), ("free_kb", free))
    ]
    assert bool(nodes(*rows)) is stands


def test_nothing() -> None:
    assert list(observe(Case.of_tables({}))) == []


def counted(*values: float, item: str = "CPU{}", mode: str = "total") -> list[Sighting]:
    rows = [
        {"line_no": n + 1, "grp": "softnet", "name": "processed", "item": item.format(n), "value": v, "mode": mode}
        for n, v in enumerate(values)
    ]
    return list(observe(Case.of_tables({"counters": rows})))


def test_one_processor_has_counted_most() -> None:
    (made,) = counted(1_000_000.0, 10_000.0, 20_000.0)
    assert made.headline == ("CPU0 has 97.1 % of the softnet processed of 3: 1,000,000, the others 15,000 each")
    assert made.lines[0].line_from == 1


def test_even_small_and_unshared_counters_say_nothing() -> None:
    assert counted(50_000.0, 49_000.0, 51_000.0) == []
    assert counted(9_999.0, 1.0, 1.0) == []
    assert counted(1_000_000.0, 1.0, item="eth{}") == []
    assert counted(1_000_000.0, 1.0, mode="level") == []
    assert counted(float("nan"), float("inf"), -1.0) == []


def test_what_grew_is_told_with_its_total() -> None:
    first, later = (100_000.0, 10.0, 5.0), (105_000.0, 30.0, 25.0)
    rows = [
        {"line_no": n, "grp": "interrupts", "name": "9 card", "item": f"CPU{cpu}", "value": v, "mode": "total"}
        for n, values in enumerate((first, later), 1)
        for cpu, v in enumerate(values)
    ]
    (made,) = observe(Case.of_tables({"counters": rows}))
    assert made.headline == "CPU0 has 99.2 % of the interrupts 9 card of 3: 5,000, the others 20 each"
    assert made.beside == "CPU0 stands at 105,000"
    assert counted(1_000_000.0, 10_000.0, 20_000.0)[0].beside is None, "one sample is its total"


def of_interrupts(name: str, *each: float, line: int) -> list[dict[str, Any]]:
    made = {"grp": "interrupts", "name": name, "mode": "total", "line_no": line}
    return [{**made, "item": f"CPU{n}", "value": value} for n, value in enumerate(each)]


@pytest.mark.parametrize(
    ("second", "told"),
    [
        (("41 lan0-rx-1", 9.0e6, 10.0), True),
        (("41 lan0-rx-1", 10.0, 9.0e6), False),  # another processor
        (("41 lan0-rx-1", 9.0e5, 10.0), False),  # hardly used
        (("41 lan1-rx-1", 9.0e6, 10.0), False),  # another card
    ],
)
def test_queues_of_a_device_that_interrupt_one_processor(second: tuple[str, float, float], told: bool) -> None:
    rows = of_interrupts("40 lan0-rx-0", 7.0e6, 3.0, line=2) + of_interrupts(*second, line=3)
    made = [s for s in observe(Case.of_tables({"counters": rows})) if s.name == "one_of_queues"]
    assert [s.headline for s in made] == [
        "All 2 queues of lan0 interrupt CPU0: 16,000,000 of their 16,000,013 interrupts, 2 processors could share them"
    ] * told
