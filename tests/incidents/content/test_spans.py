"""Tests of the time span of a finding or observation: its form in words, its uncertainty, its timeline address."""

from __future__ import annotations

from typing import Any

import pytest

from incidents.content.spans import span_of


def clock(name: str, **more: Any) -> dict[str, Any]:
    row = {
        "clock": name,
        "artifact": 1,
        "part": 1,
        "kind": "wall-utc",
        "base": "2016-04-14",
        "zone": None,
        "host": "db1",
    }
    return row | {"frame": "A", "t_begin": 0.0, "t_end": 60.0, "add": 0.0, "err": 0.0} | more


WHEN = {"clock": "1.1:1", "t_from": 9.3187, "t_to": 11.7921}


def test_a_trace_alone_counts_from_its_begin_and_is_sure_of_itself():
    report = {"clocks": [clock("1.1:1", kind="trace-relative", base=None)]}
    span = span_of(report, "a-room", WHEN)
    assert span is not None
    assert (span.begin, span.end, span.length) == ("9.319 s", "11.792 s", "2.473 s")
    assert (span.counted, span.sure) == ("since the trace began", "by its own clock")
    assert span.href == "/rooms/a-room/#clock=1.1%3A1&from=9.3187&to=11.7921"


def test_of_aligned_clocks_times_are_the_frames_and_the_uncertainty_is_told():
    report = {"clocks": [clock("2.1:1", artifact=2), clock("1.1:1", add=-0.197, err=0.04, t_begin=1.0)]}
    span = span_of(report, "a-room", WHEN)
    assert span is not None
    assert (span.begin, span.end, span.length) == ("00:00:09.122", "00:00:11.595", "2.473 s")
    assert (span.counted, span.sure) == ("2016-04-14, UTC", "± 40 ms against other clocks")
    other = span_of(report, "a-room", WHEN | {"clock": "2.1:1", "t_to": 9.3187})
    assert other is not None
    assert (other.length, other.sure) == ("one moment", "other clocks are laid on this one")


@pytest.mark.parametrize("without", [{"clock": None}, {"t_from": None}, {"t_to": None}, {"clock": "9.9:9"}])
def test_without_a_clock_or_seconds_there_is_no_span(without):
    assert span_of({"clocks": [clock("1.1:1")]}, "a-room", WHEN | without) is None
    assert span_of({"clocks": [clock("1.1:1", kind="none")]}, "a-room", WHEN) is None
