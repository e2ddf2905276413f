"""Tests that a gap in regular samples or lines stands out; gaps of slow and irregular sources do not."""

from __future__ import annotations

import pytest

from rules.case.case import Case
from rules.observers.observer import Sighting
from rules.observers.silence import observe


def samples(*times: float, table: str = "vmstat") -> list[Sighting]:
    return list(observe(Case.of_tables({table: [{"line_no": n, "t_local": t} for n, t in enumerate(times, 1)]})))


def test_a_missing_sample() -> None:
    (made,) = samples(0, 5, 10, 15, 56, 61)
    assert made.headline == "No sample of vmstat came for 41.000 s; the usual distance is 5.000 s"
    assert [c.line_from for c in made.lines] == [4, 5]
    assert (made.t_from, made.t_to) == (15.0, 56.0)


@pytest.mark.parametrize(
    ("times", "stands"),
    [
        ((0, 5, 10, 15, 30), True),
        ((0, 5, 10, 15, 29.9), False),  # less than three times
        ((0, 5, 10, 40), False),  # too few to know what is usual
        ((0, 0.1, 0.2, 0.3, 0.9), False),  # less than a second
        ((0, 0.1, 0.2, 0.3, 1.3), True),
    ],
)
def test_bounds(times: tuple[float, ...], stands: bool) -> None:
    assert bool(samples(*times)) is stands


def test_a_chatty_log_that_falls_silent() -> None:
    times = [float(n) for n in range(30)]
    (made,) = samples(*times, 400.0, table="logs")
    assert made.subject == "log record"


def test_a_log_that_speaks_rarely_is_not_silent() -> None:
    times = [100.0 * n for n in range(30)]
    assert samples(*times, 9000.0, table="logs") == []


def test_nothing() -> None:
    assert list(observe(Case.of_tables({}))) == []
