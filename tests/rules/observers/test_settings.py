"""Tests that a setting is a remark if a signature knows it as a risk, and is ignored otherwise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from rules.case.case import Case
from rules.observers import settings
from rules.observers.observer import Sighting
from rules.observers.settings import SHARE, observe
from rules.signatures.signatures import Signature, Strength


def seen(**tables: list[dict[str, Any]]) -> list[Sighting]:
    rows = {name: [{"line_no": n, **row} for n, row in enumerate(held, 1)] for name, held in tables.items()}
    return list(observe(Case.of_tables(rows)))


@pytest.fixture
def know(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Let signatures know some settings, whatever the lists hold."""

    def made(*entries: tuple[dict[str, str], Strength]) -> None:
        listed = [Signature(match, "a risk", "a source", "", strength) for match, strength in entries]
        monkeypatch.setattr(settings, "recognise", lambda **names: tuple(s for s in listed if s.matches(names)))

    return made


@pytest.mark.parametrize(("value", "stands"), [("1", True), ("0", False)])
def test_a_risk_is_known_by_name_and_value(know: Callable[..., None], value: str, stands: bool) -> None:
    know(({"parameter": "vm.zone_reclaim_mode", "value": "> 0"}, "shape"))
    made = seen(params=[{"name": "vm.zone_reclaim_mode", "value": value, "num": float(value)}])
    assert [(s.headline, s.share) for s in made] == [("vm.zone_reclaim_mode is 1", SHARE)] * stands
    if made:
        assert made[0].seen == ({"parameter": "vm.zone_reclaim_mode", "value": "1"},)


def test_a_value_is_tried_as_printed_and_as_a_number(know: Callable[..., None]) -> None:
    know(({"parameter": "nofile", "value": "<= 1024"}, "remark"))
    made = seen(params=[{"name": "nofile", "value": "1,024", "num": 1024.0, "entity": "app"}])
    assert [s.headline for s in made] == ["nofile of app is 1,024"]


@pytest.mark.parametrize("strength", ["harmless", "idle"])
def test_what_is_all_right_says_nothing(know: Callable[..., None], strength: Strength) -> None:
    know(({"parameter": "a"}, strength))
    assert seen(params=[{"name": "a", "value": "x"}]) == []


def test_what_is_not_active_says_nothing(know: Callable[..., None]) -> None:
    know(({"parameter": "a"}, "remark"))
    assert seen(params=[{"name": "a", "value": "x", "active": False}, {"name": None, "value": "x"}]) == []


def test_what_names_a_mechanism_comes_first_and_the_same_setting_once(know: Callable[..., None]) -> None:
    know(({"parameter": "a"}, "remark"), ({"parameter": "b"}, "mechanism"))
    made = seen(params=[{"name": "a", "value": "x"}, {"name": "b", "value": ""}, {"name": "a", "value": "x"}])
    assert [(s.headline, s.lines[0].line_from) for s in made] == [("b is empty", 2), ("a is x", 1)]


def test_odd_rows_and_nothing_give_nothing(know: Callable[..., None]) -> None:
    know(({"parameter": "a", "value": "> 0"}, "remark"))
    assert seen() == []
    assert seen(params=[{"name": "a"}, {"name": "a", "num": float("nan")}]) == []


def test_a_figure_of_memory_is_no_setting_of_another_system_with_its_name() -> None:
    assert seen(params=[{"name": "shmem", "value": "1"}]) != []
    assert seen(meminfo=[{"name": "Shmem", "value": 1.0}]) == []


def test_settings_that_no_signature_knows_are_normal() -> None:
    assert seen(params=[{"name": "nobody_knows_this", "value": "1", "num": 1.0}]) == []


def test_a_setting_of_several_samples_is_cited_in_the_first_and_the_last() -> None:
    rows = [{"line_no": n, "name": "vm.zone_reclaim_mode", "value": "1", "num": 1.0} for n in (3, 20, 41)]
    (made,) = observe(Case.of_tables({"params": rows}))
    assert [(c.line_from, c.role) for c in made.lines] == [(3, "setting"), (41, "still so")]


def test_settings_of_one_line_are_told_in_the_order_of_what_they_belong_to(know: Callable[..., None]) -> None:
    know(({"parameter": "nofile"}, "remark"))
    rows = [{"line_no": 1, "name": "nofile", "value": "64", "entity": entity} for entity in ("c", "a", "d", "b")]
    assert [s.headline for s in seen(params=rows)] == [f"nofile of {entity} is 64" for entity in "abcd"]
