"""Tests of spans and of recordings of pages: who owns the time of a request."""

from __future__ import annotations

import json

import pytest

from rules.observers import page_timings, trace_spans
from tests.rules.observers.of_text import told


def jaeger(child_us: int, name: str, whole_us: int = 6_000_000) -> str:
    spans = [
        {"traceID": "t", "spanID": "1", "operationName": "POST /order", "references": [], "startTime": 0, "duration": whole_us},
        {"traceID": "t", "spanID": "2", "operationName": name, "references": [{"refType": "CHILD_OF", "traceID": "t", "spanID": "1"}],
         "startTime": 100, "duration": child_us},
    ]  # fmt: skip
    return json.dumps({"data": [{"traceID": "t", "spans": spans}]})


@pytest.mark.parametrize("indent", [None, 2, 4])
def test_the_child_owns_the_time_on_one_line_or_on_many(indent: int | None) -> None:
    (made,) = told(trace_spans, json.dumps(json.loads(jaeger(5_400_000, "UPDATE stock")), indent=indent) + "\n")
    assert (made.subject, round(made.seconds or 0, 6), made.of_s) == ("UPDATE stock", 5.4, 6.0)
    assert made.seen == ({"event": "span-of-statement"},)
    assert made.lines[0].line_from == (1 if indent is None else 14)


def test_a_parent_owns_what_its_children_do_not_take() -> None:
    (made,) = told(trace_spans, jaeger(600_000, "UPDATE stock") + "\n")
    assert (made.subject, round(made.seconds or 0, 6)) == ("POST /order", 5.4)
    assert made.seen == ({"event": "span-of-service"},)


def test_quick_traces_and_spread_ones_are_normal() -> None:
    assert told(trace_spans, jaeger(540_000, "UPDATE stock", 600_000) + "\n") == []
    both = json.loads(jaeger(2_900_000, "a"))
    both["data"][0]["spans"].append(
        {**both["data"][0]["spans"][1], "spanID": "3", "operationName": "b", "startTime": 2_950_000}
    )
    assert told(trace_spans, json.dumps(both) + "\n") == []


def test_a_call_of_a_service_without_spans_is_that_of_the_other() -> None:
    spans = [
        {"traceId": "7", "id": "a", "name": "get /", "timestamp": 0, "duration": 4000000, "kind": "SERVER"},
        {"traceId": "7", "id": "b", "parentId": "a", "name": "post /rate", "timestamp": 9, "duration": 3900000, "kind": "CLIENT",
         "localEndpoint": {"serviceName": "shop"}},
    ]  # fmt: skip
    (made,) = told(trace_spans, json.dumps(spans) + "\n")
    assert (made.subject, made.seen) == ("post /rate of shop", ({"event": "span-asks-another"},))


def page(wait: float, whole: float, url: str = "https://one.example/basket") -> str:
    entry = {
        "time": whole,
        "request": {"method": "GET", "url": url},
        "timings": {"dns": 1, "send": 1, "wait": wait, "receive": 2},
    }
    return json.dumps({"log": {"entries": [entry]}}) + "\n"


@pytest.mark.parametrize(
    ("text", "n"),
    [
        (page(7000, 7100), 1),
        (page(1000, 1100), 1),
        (page(990, 1100), 0),
        (page(1000, 2100), 0),
        (page(7000, 7100, "https://one.example/socket.io/?transport=polling"), 0),
        (page(7000, 7100, "https://one.example/chat/longpoll"), 0),
    ],
)
def test_a_request_of_a_page_that_waits_for_its_server(text: str, n: int) -> None:
    assert [s.seen for s in told(page_timings, text)] == [({"event": "server-answers-late"},)] * n
