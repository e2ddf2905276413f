"""Tests that the run queue is given per processor if any artifact of the host shows the number of processors."""

from __future__ import annotations

from typing import Any

import pytest

from rules.case.case import Case
from rules.observers.observer import Sighting
from rules.observers.run_queue import observe


def seen(**tables: list[dict[str, Any]]) -> list[Sighting]:
    rows = {name: [{"line_no": n, **row} for n, row in enumerate(held, 2)] for name, held in tables.items()}
    return list(observe(Case.of_tables(rows)))


def test_the_number_of_processors_comes_from_another_artifact_of_the_host() -> None:
    (made,) = seen(vmstat=[{"host": "db1", "r": 30}], hosts=[{"host": "db1", "ncpu": 8}, {"host": "db2", "ncpu": 64}])
    assert (made.name, made.normal) == ("run_queue_per_cpu", False)
    assert made.value == pytest.approx(3.75)
    assert (
        made.headline
        == "the queue of threads ready to run was 30 long (30 at worst), 3.75 for each of the 8 processors"
    )
    assert [c.role for c in made.lines] == ["worst sample", "8 processors, by this listing"]


def test_a_listing_per_processor_counts_them() -> None:
    (made,) = seen(vmstat=[{"r": 3}], mpstat=[{"cpu": "0"}, {"cpu": "1"}, {"cpu": "all"}])
    assert made.value == pytest.approx(1.5)
    assert len(made.lines) == 1, "no line says how many there are"


@pytest.mark.parametrize(("ready", "normal"), [(8, False), (7, True)])
def test_nobody_says_how_many_processors_there_are(ready: int, normal: bool) -> None:
    (made,) = seen(vmstat=[{"r": ready}], hosts=[{"ncpu": None}])
    assert made.normal is normal
    assert "not known" in made.headline


@pytest.mark.parametrize(("ready", "idle", "named"), [(16, 5.0, True), (15, 5.0, False), (16, 6.0, False)])
def test_a_long_queue_before_full_processors_names_the_shortage(ready: int, idle: float, named: bool) -> None:
    (made,) = seen(vmstat=[{"r": ready, "idle": idle, "t_local": float(n)} for n in range(2)])
    assert (made.name == "run_queue_of_full_processors") is named
    (once,) = seen(vmstat=[{"r": ready, "idle": idle}])
    assert once.name == "run_queue", "one sample is a moment"
