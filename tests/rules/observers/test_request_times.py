"""Tests of requests in access logs without a split: late ones are named, those that stay open are idle."""

from __future__ import annotations

from typing import Any

import pytest

from rules.case.case import Case
from rules.observers.long_waits import observe
from rules.observers.observer import Sighting
from rules.observers.request_times import late_request, stays_open

LATE = ({"event": "request-late"},)


def requests(*rows: tuple[str, float]) -> list[Sighting]:
    made: list[dict[str, Any]] = [
        {"line_no": n, "op": op, "elapsed_s": s, "text": f"{op} 200"} for n, (op, s) in enumerate(rows, 1)
    ]
    return [s for s in observe(Case.of_tables({"logs": made})) if s.kind == "wait"]


def test_late_requests_are_a_part_of_the_time_of_all() -> None:
    late, quick = requests(("GET /basket", 4.0), ("GET /basket", 6.0), ("GET /logo.png", 0.2))
    assert (late.seen[0], late.seconds, late.of_s) == (LATE[0], 10.0, 10.2)
    assert LATE[0] not in quick.seen


@pytest.mark.parametrize(
    ("op", "middle", "n", "together", "named"),
    [
        ("GET /basket", 1.0, 2, 2.0, True),
        ("GET /basket", 0.99, 2, 2.0, False),
        ("GET /basket", 4.9, 1, 4.9, False),
        ("GET /basket", 5.0, 1, 5.0, True),
        ("GET /files/image.iso", 90.0, 3, 270.0, False),
        ("GET /chat/websocket", 90.0, 3, 270.0, False),
        ("the import", 90.0, 3, 270.0, False),
    ],
)
def test_the_bounds_of_late(op: str, middle: float, n: int, together: float, named: bool) -> None:
    assert late_request(op, middle, n, together, n) == (LATE if named else ())


@pytest.mark.parametrize(("timed", "named"), [(49, True), (50, True), (100, False), (99, True)])
def test_a_few_late_ones_among_many_say_nothing(timed: int, named: bool) -> None:
    assert bool(late_request("GET /basket", 9.0, 2, 18.0, timed)) == named


def test_a_request_for_news_is_idle_and_no_part_of_the_whole() -> None:
    found = requests(("GET /notify/longpoll", 110.0), ("GET /basket", 4.0), ("GET /basket", 6.0))
    assert [s.subject for s in found if s.idle] == ["GET /notify/longpoll"]
    assert next(s for s in found if not s.idle).of_s == 10.0
    assert not stays_open("GET /polls/3")
