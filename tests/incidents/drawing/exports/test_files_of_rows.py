"""Files of rows over stubs: times that no calendar has, rows that share their lines, pieces that come one by one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import pytest

from incidents.drawing.exports import spans, timesketch
from incidents.drawing.exports.flat import Export
from incidents.drawing.exports.instants import Zero, nanoseconds, zero_of
from incidents.drawing.frames import ORDER, Frame

CLOCK: dict[str, Any] = {
    "clock": "1.1:1",
    "artifact": 1,
    "host": "db1",
    "kind": "wall-utc",
    "base": "2025-06-01",
    "t_begin": 0.0,
    "t_end": 9.0,
    "frame": "A",
}
ROW: dict[str, Any] = {
    "lane": "syscalls",
    "strip": "4117 1",
    "host": "db1",
    "artifact": 1,
    "line_from": 1,
    "line_to": 2,
    "nth": 1,
    "clock": "1.1:1",
    "begin_s": 1.25,
    "end_s": 3.5,
    "length_s": 2.25,
    "label": "read",
    "value": None,
    "unit": None,
    "at_most": True,
}
REPORT = {"artifacts": [{"id": 1, "kind": "truss", "file": "a.txt"}], "clocks": [CLOCK]}
JUDGED = datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=UTC)


class Rows:
    """What a module of exports asks of the tables, answered with rows in pieces of one."""

    def __init__(self, *rows: dict[str, Any]) -> None:
        self.given, self.fetched = rows, 0

    @contextmanager
    def over(self, artifacts: set[int]) -> Iterator[None]:
        yield

    def query(self, sql: str) -> list[dict[str, Any]]:
        return [{"n": len(self.given), "first": min((row["begin_s"] for row in self.given), default=None)}]

    def rows(self, sql: str) -> Iterator[tuple[list[str], list[tuple[Any, ...]]]]:
        for row in self.given:
            self.fetched += 1
            yield list(row), [tuple(row.values())]


def part(**clock: Any) -> Export:
    return Export(Frame("A", (CLOCK | clock,), -1.0, 10.0), (), "select")


def events(*rows: dict[str, Any], of: Export | None = None) -> list[dict[str, Any]]:
    source: Any = Rows(*rows)
    text = "".join(timesketch.lines([of or part()], source, REPORT, JUDGED))
    return [json.loads(line) for line in text.splitlines()]


def test_one_piece_of_rows_is_in_memory_at_a_time():
    source: Any = Rows(ROW, ROW, ROW)
    pieces = timesketch.lines([part()], source, REPORT, JUDGED)
    assert next(pieces).count("\n") == 1
    assert source.fetched == 1
    source = Rows(ROW, ROW, ROW)
    document = spans.documents([part()], source, REPORT, "room")
    assert "spanId" in next(piece for piece in document if "spanId" in piece)
    assert source.fetched == 1


def test_a_clock_out_of_the_calendar_is_counted():
    found = events(ROW, ROW | {"end_s": 1e12}, ROW | {"begin_s": -1e11, "end_s": -1e11})
    assert [line["message"] for line in found] == [
        "read, at most 2.250 s (syscalls 4117 1)",
        "2 rows of “db1, system calls” left out: their clock is out of the calendar.",
    ]
    assert found[0]["timestamp_desc"] == "Begin at the earliest"
    assert found[1]["datetime"] == "2026-01-02T03:04:05.000678+00:00"


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_value_that_is_no_number_is_no_member(value: float):
    (line,) = events(ROW | {"value": value, "lane": "vmstat.r", "strip": "", "label": None})
    assert "value" not in line
    assert line["datetime"] == "2025-06-01T00:00:03.500000+00:00"


def test_what_is_not_known_is_left_out():
    (line,) = events(ROW | {"host": None, "end_s": 1.25, "label": None, "at_most": False})
    assert (line["message"], line["timestamp_desc"]) == ("syscalls 4117 1", "Moment")
    assert {"host", "value", "unit", "end", "at_most"} & line.keys() == set()


def test_escapes_and_marks_that_turn_a_text_are_spelled_out():
    odd = ROW | {"label": "re\x1b[31mad\u202e", "host": "db\u200b1"}
    (line,) = events(odd)
    assert line["message"].startswith("re␛[31mad⟨U+202E⟩, at most")
    assert line["host"] == "db⟨U+200B⟩1"
    source: Any = Rows(odd)
    (resource,) = json.loads("".join(spans.documents([part()], source, REPORT, "room")))["resourceSpans"]
    assert resource["scopeSpans"][0]["spans"][0]["name"] == "re␛[31mad⟨U+202E⟩"
    attributes = {one["key"]: one["value"] for one in resource["resource"]["attributes"]}
    assert attributes["host.name"] == {"stringValue": "db⟨U+200B⟩1"}


def test_an_upper_bound_says_so():
    source: Any = Rows(ROW)
    (resource,) = json.loads("".join(spans.documents([part()], source, REPORT, "room")))["resourceSpans"]
    (span,) = resource["scopeSpans"][0]["spans"]
    assert {"key": "exhibit.at_most", "value": {"boolValue": True}} in span["attributes"]


def test_a_clock_without_a_date_leaves_only_the_remark():
    told = events(ROW, of=part(kind="trace-relative", base=None))
    assert [line["data_type"] for line in told] == ["exhibit:timeline:remark"]


def test_rows_of_the_same_lines_have_ids_of_their_own():
    source: Any = Rows(ROW, ROW | {"nth": 2}, ROW | {"nth": 1, "line_from": 2})
    document = json.loads("".join(spans.documents([part()], source, REPORT, "room")))
    (scope,) = document["resourceSpans"][0]["scopeSpans"]
    assert len({span["spanId"] for span in scope["spans"]}) == 3
    assert len({span["traceId"] for span in scope["spans"]}) == 1


def test_spans_before_the_zero_of_an_undated_clock_move_by_whole_seconds():
    source: Any = Rows(ROW | {"begin_s": -0.5})
    document = json.loads("".join(spans.documents([part(kind="trace-relative", base=None)], source, REPORT, "room")))
    (span,) = document["resourceSpans"][0]["scopeSpans"][0]["spans"]
    assert (span["startTimeUnixNano"], span["endTimeUnixNano"]) == ("500000000", "4500000000")


def test_an_order_has_no_zero():
    assert zero_of(Frame(ORDER, (CLOCK,), 0.0, 1.0)) == Zero(None, "no clock, only an order")
    assert zero_of(part(kind="wall-local", zone=None).frame).caveat.startswith("the time zone is not known")
    assert zero_of(part(kind="wall-local", zone="Europe/Warsaw").frame) == Zero(1748728800.0)


def test_whole_nanoseconds_stay_beside_a_large_zero():
    assert nanoseconds(1748772000.0, 1e-9) - nanoseconds(1748772000.0, 0.0) == 1
