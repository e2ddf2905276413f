"""Waits of ready threads for a processor stand out by what they are beside the time that the threads ran."""

from __future__ import annotations

from typing import Any

import pytest

from rules.case.case import Case
from rules.observers.observer import Sighting
from rules.observers.scheduling_delays import observe


def task(line: int, item: str, run: float, turns: float, mean: float, worst: float) -> list[dict[str, Any]]:
    figures = {"run_ms": run, "switches": turns, "delay_avg_ms": mean, "delay_max_ms": worst}
    return [
        {"line_no": line, "grp": "perf_sched", "item": item, "name": name, "value": value}
        for name, value in figures.items()
    ]


def seen(*rows: dict[str, Any]) -> list[Sighting]:
    return list(observe(Case.of_tables({"counters": list(rows)})))


def test_what_waited_most_is_told_with_the_worst_single_wait() -> None:
    (made,) = seen(*task(4, "till:8", 9_000.0, 1_000.0, 12.0, 40.0), *task(5, "cron:7", 100.0, 10.0, 3.0, 900.0))
    assert made.headline == (
        "Ready threads waited 12.030 s for a processor and ran 9.100 s: most of all till:8, 12 ms before each of 1,000 turns"
    )
    assert made.beside == "cron:7 waited 0.900 s once"
    assert made.share == pytest.approx(12.03 / 21.13)
    assert sorted(c.line_from for c in made.lines) == [4, 5]


@pytest.mark.parametrize(("mean", "stands"), [(1.0, True), (0.999, False)])
def test_a_millisecond_each_time_is_late(mean: float, stands: bool) -> None:
    (made,) = seen(*task(4, "till:8", 100.0, 1_000.0, mean, 40.0))
    assert made.normal is not stands


@pytest.mark.parametrize(("run", "stands"), [(8_000.0, True), (8_001.0, False)])
def test_a_fifth_of_the_time_is_felt(run: float, stands: bool) -> None:
    (made,) = seen(*task(4, "till:8", run, 1_000.0, 2.0, 40.0))
    assert made.normal is not stands


def test_waits_of_less_than_a_tenth_of_a_second_together_are_a_measure() -> None:
    (made,) = seen(*task(4, "till:8", 1.0, 10.0, 2.0, 4.0))
    assert made.normal


def test_other_counters_give_nothing() -> None:
    assert seen({"line_no": 1, "grp": "text", "item": "a", "name": "run_ms", "value": 4.0}) == []
