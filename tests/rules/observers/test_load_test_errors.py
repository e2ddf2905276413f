"""Requests of a load test that failed: by kind, with their total, and none."""

from __future__ import annotations

from rules.case.case import Case
from rules.observers.load_test_errors import observe
from rules.observers.observer import Sighting
from rules.signatures.signatures import recognise


def made(**figures: float) -> list[Sighting]:
    rows = [
        {"grp": "text", "name": name.replace("_", " "), "value": value, "line_no": n}
        for n, (name, value) in enumerate(figures.items(), 1)
    ]
    return list(observe(Case.of_tables({"counters": rows}).with_text()))


def test_requests_without_an_answer_in_time() -> None:
    (one,) = made(Socket_errors_connect=0, Socket_errors_read=12, Socket_errors_timeout=420)
    assert one.headline == "In the load test 420 requests had no answer in time, 12 failed at reading"
    assert (one.value, [c.line_from for c in one.lines]) == (420.0, [2, 3])
    assert recognise(**one.seen[0])[0].mechanism == "service-timeout"


def test_failures_of_ab_are_a_part_of_all() -> None:
    (one,) = made(Complete_requests=1000, Failed_requests=250)
    assert one.headline == "In the load test 250 requests failed (of 1,000)"
    assert one.share == 0.25


def test_no_failure_says_nothing() -> None:
    assert made(Complete_requests=1000, Failed_requests=0, Socket_errors_timeout=0) == []
