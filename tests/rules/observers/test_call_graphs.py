"""Tests of call graphs: callers with most of a profile below them, and the path that leads to the samples."""

from __future__ import annotations

from typing import Any

import pytest

from rules.case.case import Case
from rules.observers.call_graphs import callers, paths


def listing(*rows: tuple[str, float, float | None]) -> list[dict[str, Any]]:
    return [
        {"line_no": 10 * n, "event": "cycles", "symbol": name, "pct": pct, "self_pct": own}
        for n, (name, pct, own) in enumerate(rows, 1)
    ]


def told(*rows: tuple[str, float, float | None]) -> list[str]:
    return [s.headline for s in callers(Case.of_tables({"profile_symbols": listing(*rows)}))]


def test_the_narrowest_callers_without_the_start_of_the_program() -> None:
    made = told(("_start", 100, 0.0), ("main", 99, 0.0), ("serve", 98, 0.1), ("reply", 97, 0.2), ("encode", 96, 0.3))
    assert made == [
        "96 % of the samples are below encode, 0.30 % in itself",
        "97 % of the samples are below reply, 0.20 % in itself",
    ]


@pytest.mark.parametrize(
    ("pct", "own", "n"), [(50, 10, 1), (49.9, 1, 0), (60, 10.1, 0), (60, None, 0), (float("nan"), 1, 0)]
)
def test_less_than_half_or_much_itself_is_no_caller(pct: float, own: float | None, n: int) -> None:
    assert len(told(("reply", pct, own))) == n


def path(pcts: list[float], of: float = 99.3) -> list[Any]:
    stack = {
        "line_no": 14, "event": "cycles", "unit": "pct", "weight": pcts[0], "pcts": pcts, "leaf": "fcntl",
        "frames": ["fcntl", "inherit", "run"][: len(pcts)],
    }  # fmt: skip
    return list(paths(Case.of_tables({"profile_symbols": listing(("run", of, 0.3)), "profile_stacks": [stack]})))


def test_the_path_to_most_of_the_samples() -> None:
    (made,) = path([91.5, 98.97, 98.99])
    assert (
        made.headline == "Most samples come to run (99.0 %), which calls inherit (99.0 %), which calls fcntl (91.5 %)"
    )
    assert made.share == pytest.approx(0.915)
    assert [(c.line_from, c.line_to) for c in made.lines] == [(12, 14)]


def test_percents_of_the_function_above_are_no_percents_of_the_whole() -> None:
    assert path([98.0, 99.0, 100.0], of=2.0) == []
    (made,) = path([80.0, 90.0, 100.0], of=75.0)
    assert made.share == pytest.approx(0.6)


def test_a_path_without_its_percents_or_with_less_than_half_says_nothing() -> None:
    assert path([40.0, 60.0, 90.0]) == []
    assert path([91.5]) == []
    assert list(paths(Case.of_tables({}))) == []
