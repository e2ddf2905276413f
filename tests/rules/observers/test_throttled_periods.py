"""How often a group was held back: a tenth of the periods stands out, less is told as normal, a burst says nothing."""

from __future__ import annotations

from typing import Any

import pytest

from rules.case.case import Case
from rules.observers.observer import Sighting
from rules.observers.throttled_periods import DECIDES, observe


def stat(periods: float, throttled: float, time: float, **more: Any) -> list[dict[str, Any]]:
    named = (("nr_periods", periods, None), ("nr_throttled", throttled, None), ("throttled_time", time, "ns"))
    return [{"grp": "cgroup", "item": "/shop", "name": n, "value": v, "unit": u, "mode": "total", **more} for n, v, u in named]  # fmt: skip


def seen(counters: list[dict[str, Any]], params: list[dict[str, Any]] | None = None) -> list[Sighting]:
    tables = {"counters": counters, "params": params or []}
    rows = {name: [{"line_no": n, **row} for n, row in enumerate(held, 2)] for name, held in tables.items() if held}
    return list(observe(Case.of_tables(rows)))


def test_few_periods_are_normal_and_told_with_the_quota_and_the_processors() -> None:
    params = [
        {"scope": "cgroup", "entity": "/shop", "name": name, "value": value, "num": num}
        for name, value, num in (
            ("cpu.cfs_quota_us", "150000", 150000.0),
            ("cpu.cfs_period_us", "100000", 100000.0),
            ("cpuset.cpus", "4-5", 2.0),
        )
    ]
    (made,) = seen(stat(4000, 40, 8e6), params)
    assert (made.normal, made.seen) == (True, ())
    assert made.headline == (
        "The group /shop was held back in 40 of 4,000 periods, 1 % since it began, 8 ms of its threads' time in all"
    )
    assert made.beside == "its quota is the time of 1.5 processors, it may run on processors 4-5 only"
    assert {"periods", "throttled periods", "time", "cpuset.cpus"} <= {line.role for line in made.lines}


@pytest.mark.parametrize(("throttled", "normal"), [(9.0, True), (10.0, False)])
def test_a_tenth_of_the_periods_stands_out(throttled: float, normal: bool) -> None:
    (made,) = seen(stat(100, throttled, 1e9))
    assert made.normal == normal


def test_between_two_samples_only_what_moved_counts() -> None:
    earlier, later = stat(1000, 900, 9e9), stat(1100, 905, 9.1e9)
    for row, delta in zip(later, (100.0, 5.0, 1e8), strict=True):
        row["delta"] = delta
    (made,) = seen([*earlier, *later])
    assert made.headline.startswith("The group /shop was held back in 5 of 100 periods, 5 % between the samples, 0.1")
    assert made.normal


@pytest.mark.parametrize("counters", [stat(9, 9, 1e9), stat(0, 0, 0), stat(100, 101, 0)[1:], stat(100, 101, 0)])
def test_a_burst_or_figures_that_do_not_fit_say_nothing(counters: list[dict[str, Any]]) -> None:
    assert seen(counters) == []


def test_a_limit_as_number_of_processors() -> None:
    params = [{"scope": "cgroup", "entity": "/shop", "name": "cpu.max", "value": "100000 100000", "num": 1.0}]
    (made,) = seen(stat(100, 60, 1e9), params)
    assert made.beside == "its quota is the time of 1 processor"
    assert made.seen == ({"counter": "nr_throttled", "group": "cgroup"},)


@pytest.mark.parametrize(("throttled", "share"), [(250, DECIDES), (240, 0.24), (700, 0.7)])
def test_every_fourth_period_decides(throttled: int, share: float) -> None:
    (made,) = seen(stat(1000, throttled, 8e9))
    assert (made.normal, made.share) == (False, share)
