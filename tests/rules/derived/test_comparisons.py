"""Tests that only the observers that look across artifacts run here, and that they see the whole case."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from rules.case.case import Case
from rules.derived import comparisons, observations
from rules.observers.observer import Lines, Observer, Sighting, observers


def test_only_observers_across_have_rows_here(monkeypatch: pytest.MonkeyPatch) -> None:
    def named(name: str, across: bool) -> SimpleNamespace:
        def observe(case: object) -> Iterator[Sighting]:
            yield Sighting("wait", name, name, "duration_s", 1.0, "s", (Lines(1, 1, 1, "wait"),))

        return SimpleNamespace(OBSERVER=Observer(name, "?", ("logs",), across=across), observe=observe)

    toys = {"single": named("single", False), "across": named("across", True)}
    monkeypatch.setattr(observations, "observers", lambda: toys)
    case = Case.of_tables({"logs": [{"line_no": 1, "text": "x"}]})
    assert comparisons.build(case)["observer"].to_list() == ["across"]
    assert observations.build(case)["observer"].to_list() == ["single"]


def test_difference_looks_across() -> None:
    assert {name for name, one in observers().items() if one.OBSERVER.across} == {
        "command-twins",
        "difference",
        "growth-between",
        "limits-apart",
        "run-queue",
    }
    assert comparisons.SCOPE == "room"
    assert observations.SCOPE == "artifact"
