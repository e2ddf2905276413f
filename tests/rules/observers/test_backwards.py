"""A total that falls stands out; one that began again is told as such."""

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
