"""Which clocks share an axis, and what may lie on it."""

from __future__ import annotations

from typing import Any, cast

import pytest

from incidents.drawing import frames
from rules.engine.read import ReadOnly


def clock(
    name: str,
    frame: str,
    begin: float | None,
    end: float | None,
    add: float = 0.0,
    kind: str = "wall-local",
    **more: Any,
) -> dict:
    artifact = int(name.split(".")[0])
    return {
        "clock": name, "artifact": artifact, "part": 1, "kind": kind, "host": "db1", "frame": frame,
        "t_begin": begin, "t_end": end, "add": add, **more,
    }  # fmt: skip


REPORT = {
    "artifacts": [{"id": 1, "kind": "truss"}, {"id": 2, "kind": "sqlnet"}, {"id": 3, "kind": "sqlnet"}, {"id": 4, "kind": "conntime"}],
    "clocks": [
        clock("1.1:1", "A", 8.6926, 12.0252, kind="trace-relative"),
        clock("2.1:1", "B", 39.329, 41.201, host="gw1"),
        clock("3.1:1", "B", 39.566, 41.358, add=-0.197),
        clock("4.1:1", "C", None, None, kind="none"),
    ],
    "clock_map": [
        {"clock": "3.1:1", "ref": "2.1:1", "off_lo": 0.157, "off_hi": 0.237, "accepted": True, "method": "request/response", "reason": None},
        {"clock": "1.1:1", "ref": "3.1:1", "off_lo": None, "off_hi": None, "accepted": False, "method": "start", "reason": "intervals differ by 1.541 s"},
    ],
}  # fmt: skip


def test_aligned_clocks_share_a_frame_and_what_has_no_time_has_none() -> None:
    found = frames.frames_of(REPORT)
    assert [(frame.name, [c["clock"] for c in frame.clocks]) for frame in found] == [
        ("B", ["2.1:1", "3.1:1"]),
        ("A", ["1.1:1"]),
    ]
    shared = found[0]
    assert shared.t0 < 39.329
    assert 41.201 < shared.t1 < 41.3, "the listener's end lies on the client's axis"
    assert (shared.axis, found[1].axis) == ("clock", "seconds")


def test_a_frame_says_why_its_clocks_share_an_axis_or_why_it_stands_apart() -> None:
    shared, alone = frames.frames_of(REPORT)
    assert frames.why(shared, REPORT) == (
        "the clock of db1 is 0.197 s ± 0.040 ahead of that of gw1 and drawn shifted; from request/response"
    )
    assert frames.why(alone, REPORT) == "apart: intervals differ by 1.541 s"
    assert frames.why(alone, {"clock_map": []}) == "its own clock, seconds since the trace began"
    assert frames.title(shared, REPORT) == "gw1 and db1, Oracle Net trace"


def finding(**over: Any) -> dict:
    cited = [{"artifact": 1, "line_from": 7, "line_to": 23}]
    return {
        "key": "k", "kind": "finding", "group": "cause", "clock": "1.1:1", "t_from": 9.3, "t_to": 11.8,
        "headline": "stall", "severity": "major", "citations": cited,
    } | over  # fmt: skip


def test_a_band_lies_only_in_the_frame_of_its_own_clock() -> None:
    shared, alone = frames.frames_of(REPORT)
    rows = [finding(), finding(key="l", clock="3.1:1", t_from=39.566, t_to=41.358), finding(key="m", clock=None)]
    assert [(b["finding"], b["clocks"], b["start"]) for b in frames.bands(alone, rows)] == [("k", ["1.1:1"], 9.3)]
    assert [(b["finding"], b["clocks"], round(b["start"], 3)) for b in frames.bands(shared, rows)] == [
        ("l", ["3.1:1"], 39.369)
    ]
    assert frames.bands(alone, [finding(kind="clear")]) == []


def test_only_causes_have_culprits() -> None:
    assert frames.culprits([finding()]) == [{"artifact": 1, "line_from": 7, "line_to": 23}]
    assert frames.culprits([finding(group="along")]) == []


def test_notes_on_a_time_range_stand_on_the_axis() -> None:
    shared, alone = frames.frames_of(REPORT)
    rows = [{"id": 5, "text": "look", "clock": "3.1:1", "t_from": 39.566, "t_to": 40.0}]
    assert frames.notes(alone, rows) == []
    assert round(frames.notes(shared, rows)[0]["start"], 3) == 39.369


class Counted:
    """Stands in for a source: table -> lowest and highest place of its order; it answers only queries for these."""

    def __init__(self, **places: tuple[int, int]) -> None:
        self._places = places

    def has(self, table: str) -> bool:
        return table in self._places

    def query(self, sql: str) -> list[dict[str, int]]:
        [(low, high)] = [places for table, places in self._places.items() if f" from {table} s" in sql]
        return [{"low": low, "high": high}]


@pytest.mark.parametrize(
    ("places", "t1"),
    [
        ({"vmstat": (1, 1)}, 1.5),  # shown anyway
        ({"numa": (1, 3), "vmstat": (1, 2)}, 3.5),
        ({"locks": (1, 2)}, 2.5),
        ({"profile_symbols": (1, 9)}, 9.5),
        ({"ps": (1, 1), "locks": (1, 1)}, None),  # single samples are no series
        ({"conn_times": (1, 68)}, None),  # they have a figure of their own
    ],
)
def test_series_without_a_clock_have_an_order_axis_as_long_as_the_longest(
    places: dict[str, tuple[int, int]], t1: float | None
) -> None:
    found = frames.in_order(REPORT, cast(ReadOnly, Counted(**places)))
    assert (found.t1 if found else None) == t1
