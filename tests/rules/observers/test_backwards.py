"""Tests that a falling total stands out, and that one that restarted is reported as restarted."""

from __future__ import annotations

from typing import Any

import pytest

from rules.case.case import Case
from rules.observers.backwards import BEGAN, BROKEN, FELL, observe
from rules.observers.observer import Sighting


def seen(*values: float, **more: Any) -> list[Sighting]:
    row = {"grp": "proc stat", "name": "steal", "mode": "total", **more}
    return list(
        observe(Case.of_tables({"counters": [{"line_no": n, "value": v, **row} for n, v in enumerate(values, 1)]}))
    )


def test_a_total_that_runs_backwards() -> None:
    (made,) = seen(1_000_000.0, 900_000.0, 700_000.0)
    assert made.headline == "proc stat steal fell from 900,000 to 700,000, 2 times: a total that only rises"
    assert [(c.line_from, c.role) for c in made.lines] == [(2, "before it fell: 900000"), (3, "after it fell: 700000")]
    assert made.share == BROKEN


def test_a_restart_is_told_as_one() -> None:
    (made,) = seen(1_000_000.0, 5.0)
    assert made.headline.endswith("fell from 1,000,000 to 5: it began again")
    assert (made.joins, made.share) == ("began again", BEGAN)


@pytest.mark.parametrize("values", [(1.0, 2.0, 2.0), (500.0, 401.0), (7.0,), ()])
def test_what_rises_stands_or_is_rounded_is_normal(values: tuple[float, ...]) -> None:
    assert seen(*values) == []


def test_levels_may_fall() -> None:
    assert seen(1_000_000.0, 900_000.0, mode="level") == []
    assert seen(1_000_000.0, 900_000.0, mode=None) == []


@pytest.mark.parametrize(("name", "broken"), [("steal", True), ("idle", False), ("iowait", False)])
def test_totals_that_the_kernel_promises_only_to_rise(name: str, broken: bool) -> None:
    (made,) = seen(1_000_000.0, 900_000.0, name=name)
    assert (made.share == BROKEN) is broken
    assert bool(made.seen) is broken
    (other,) = seen(1_000_000.0, 900_000.0, grp="web", name=name)
    assert (other.share, other.seen) == (FELL, ())


@pytest.mark.parametrize(
    ("later", "beside"),
    [
        ({"idle": 700.0, "user": 90.0}, "meanwhile idle rose by 200, user did not change"),
        ({"idle": 700.0, "user": 95.0}, "meanwhile idle rose by 200, user rose by 5"),
        ({"idle": 400.0, "user": 90.0}, None),
    ],
)
def test_what_others_on_the_same_lines_did(later: dict[str, float], beside: str | None) -> None:
    samples = ({"steal": 1e6, "idle": 500.0, "user": 90.0}, {"steal": 9e5, **later})
    rows = [
        {"line_no": n, "grp": "proc stat", "item": "CPU0", "name": name, "value": v, "mode": "total"}
        for n, sample in enumerate(samples, 1)
        for name, v in sample.items()
    ]
    made = next(s for s in observe(Case.of_tables({"counters": rows})) if "steal" in s.subject)
    assert made.beside == beside
