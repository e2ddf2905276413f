"""Tests of observations as pages show them: figures, what they are compared with, and pictures of known values only."""

from __future__ import annotations

from typing import Any

import pytest

from incidents.content.observations import observation
from incidents.content.report import Outlook
from incidents.content.wrapping import NO_BREAK, pieces, unparted
from rules.judging.by_words import ROWS


def raw(**more: Any) -> dict[str, Any]:
    return {
        "rank": 1, "kind": "wait", "headline": "shmat waited 2.473 s", "quantity": {"name": "duration_s", "value": 2.4734, "unit": "s"},
        "against": None, "share": None, "n": 1, "key": "0123456789abcdef", "citations": [], "seconds": 2.4734, **more,
    }  # fmt: skip


def against(what: str, value: float | None, unit: str = "s") -> dict[str, Any]:
    return {"what": what, "value": value, "unit": unit}


def quantity(name: str, value: float, unit: str) -> dict[str, Any]:
    return {"name": name, "value": value, "unit": unit}


@pytest.mark.parametrize(
    ("more", "magnitude", "small", "compared", "kind"),
    [
        ({}, "2.473 s", "", "", None),
        ({"n": 48}, "2.473 s", "48 times", "", None),
        ({"against": against("the middle one", 0.31)}, "2.473 s", "", "the middle one: 0.310 s", "pair"),
        (
            {"headline": "95 % of 2.6 s", "share": 0.95, "against": against("the whole", 2.6)},
            "2.473 s",
            "95 % of it",
            "the whole: 2.600 s",
            "share",
        ),
        (
            {"quantity": quantity("calls_count", 27, "count"), "against": against("once per unit of work", 1, "count")},
            "27",
            "calls",
            "once per unit of work",
            "pair",
        ),
        (
            {"quantity": quantity("errors_count", 1, "count"), "against": against("no error", 0, "count")},
            "1",
            "error",
            "",
            None,
        ),
        ({"quantity": quantity("cpu_idle_pct", 96.0, "%"), "seconds": None}, "96 %", "cpu idle", "", "sample"),
        ({"kind": "setting", "quantity": quantity("hosts", 1.0, ""), "share": 0.05}, "", "setting", "", None),
        (
            {
                "quantity": quantity("cpu_user_pct", 8.0, "%"),
                "against": against("its bound", 80.0, "%"),
                "normal": True,
            },
            "8 %",
            "cpu user",
            "its bound: 80 %, within its bounds",
            "pair",
        ),
    ],
)
def test_each_kind_of_figure(more: Any, magnitude: str, small: str, compared: str, kind: str | None) -> None:
    made = observation(raw(**more), [])
    assert (made.magnitude, made.small, made.compared) == (magnitude, small, compared)
    assert (made.picture.kind if made.picture else None) == kind


def test_a_share_that_only_ranks_the_observation_is_neither_said_nor_drawn() -> None:
    made = observation(raw(share=0.05, headline="The trace is of a running program: 3.333 s"), [])
    assert (made.small, made.picture) == ("", None)


def test_values_of_different_units_are_not_drawn_side_by_side() -> None:
    assert observation(raw(against=against("its limit", 4000, "count")), []).picture is None


def test_an_old_report_without_figures_still_shows_its_sentence() -> None:
    made = observation({"rank": 1, "headline": "Something"}, [])
    assert (made.headline, made.magnitude, made.small, made.compared, made.picture) == ("Something", "", "", "", None)


def test_the_host_is_said_only_where_there_are_several() -> None:
    def where(*hosts: str) -> list[str]:
        report = {"observations": [raw(rank=n, host=host) for n, host in enumerate(hosts, 1)]}
        return [one.where for one in Outlook(report, "x").observations]

    assert where("db1", "db1") == ["", ""]
    assert where("db1", "web1") == ["db1", "web1"]


def test_what_is_idle_is_counted_by_its_reason() -> None:
    report = {"observations": [raw(idle=True, idle_reason="waits for work"), raw(), raw(idle=True, idle_reason="waits for work")]}  # fmt: skip
    assert Outlook(report, "x").idle == [("waits for work", 2)]


def test_numbers_stay_with_their_units_and_nothing_else_changes() -> None:
    text = "took 0.1 s or more, 21 of 21 threads, 3 stops"
    assert unparted(text) == f"took 0.1{NO_BREAK}s or more, 21 of 21 threads, 3 stops"


def test_pieces_of_a_text_together_are_the_text() -> None:
    text = 'poll({fd=3}, 1, 5000) on /very/long/path/of/a_program-1.2.3/with?query=1&more in "Error: service(lmtp)"'
    assert "".join(pieces(text)) == text
    assert max(map(len, pieces("/very/long/path/of/a_program-1.2.3/with?query=1&more"))) < 10


def test_a_lead_points_to_the_observations_of_its_mechanism() -> None:
    told = [raw(mechanism="journal-wait"), raw(mechanism="flush-wait")]
    shown = Outlook({"verdict": {"state": "lead", "mechanism": "flush-wait"}, "observations": told}, "x-abcdefgh")
    assert [one.mechanism for one in shown.points_to] == ["flush-wait"]


def test_a_lead_by_words_points_to_those_that_stand_out_most() -> None:
    told = [raw(key="a", normal=True), *(raw(key=key) for key in "bcde"), raw(key="f", idle=True)]
    shown = Outlook({"verdict": {"state": "lead", "mechanism": "unnamed-storage"}, "observations": told}, "x-abcdefgh")
    assert [one.key for one in shown.points_to] == ["b", "c", "d"]
    assert len(shown.points_to) == ROWS
