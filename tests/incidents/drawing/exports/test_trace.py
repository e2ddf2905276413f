"""Tests that each event of an exported trace follows the Trace Event Format: Perfetto and Chromium drop all others."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from incidents.drawing.exports import trace as trace_file
from incidents.drawing.frames import Frame

CLOCK = {"clock": "1.1:1", "artifact": 1, "kind": "wall-utc", "t_begin": 0.0, "t_end": 9.0}
FRAME = Frame("A", (CLOCK,), 0.0, 9.0)
ROW: dict[str, Any] = {"lane": "syscalls", "strip": "4117 1", "host": "db1", "artifact": 1, "line_from": 1, "line_to": 2, "clock": "1.1:1",
       "begin_s": 1.25, "end_s": 3.5, "label": "read", "value": None, "unit": None, "at_most": True}  # fmt: skip
MOMENT = ROW | {"end_s": 1.25, "label": None, "lane": "log", "strip": "", "host": None}
SAMPLE = ROW | {"lane": "vmstat.r", "strip": "", "label": None, "value": 7.0, "unit": "threads"}


def trace(*rows: dict[str, Any]) -> dict[str, Any]:
    def refused(word: str) -> None:
        raise AssertionError(f"{word} is no JSON")

    told: dict[str, Any] = json.loads("".join(trace_file.events(FRAME, rows, {"room": "x"})), parse_constant=refused)
    return told


def check(told: dict[str, Any]) -> None:
    """Fail at the first event that the format does not allow."""
    assert told["displayTimeUnit"] in ("ms", "ns")
    assert isinstance(told["otherData"], dict)
    named: set[tuple[int, int | None]] = set()
    for event in told["traceEvents"]:
        assert isinstance(event["name"], str), event
        assert event["name"], event
        assert type(event["pid"]) is int
        if event["ph"] == "M":
            assert event["name"] in ("process_name", "thread_name")
            assert isinstance(event["args"]["name"], str)
            named.add((event["pid"], event.get("tid")))
            continue
        assert (event["pid"], None) in named, "its process has no name yet"
        assert (event["pid"], event["tid"]) in named, "its thread has no name yet"
        assert isinstance(event["ts"], int | float)
        assert math.isfinite(event["ts"])
        assert isinstance(event["cat"], str)
        match event["ph"]:
            case "X":
                assert event["dur"] >= 0
            case "i":
                assert event["s"] in ("g", "p", "t")
            case "C":
                assert event["args"]
                assert all(isinstance(value, int | float) for value in event["args"].values()), event
            case other:
                raise AssertionError(f"no such phase here: {other}")


def test_spans_moments_and_samples_are_events_of_the_format():
    told = trace(ROW, MOMENT, SAMPLE)
    check(told)
    events = [event for event in told["traceEvents"] if event["ph"] != "M"]
    assert [event["ph"] for event in events] == ["X", "i", "C"]
    assert (events[0]["ts"], events[0]["dur"]) == (1_250_000, 2_250_000)
    assert events[0]["args"]["line_from"] == 1
    assert events[2]["args"] == {"threads": 7.0}


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_value_that_is_no_number_gives_no_event(value: float):
    told = trace(SAMPLE | {"value": value}, SAMPLE)
    check(told)
    assert [event["ph"] for event in told["traceEvents"]].count("C") == 1


def test_a_trace_of_nothing_is_a_trace():
    told = trace()
    check(told)
    assert told["traceEvents"] == []
