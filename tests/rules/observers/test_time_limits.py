"""Calls that ended by their own time limit, in traces without a duration."""

from __future__ import annotations

from typing import Any

import pytest

from rules.case.case import Case
from rules.observers.observer import Sighting
from rules.observers.time_limits import time_limits

CONNECT = {
    "name": "connect",
    "args": "3, {sa_family=AF_INET, ...}, 16",
    "fd": 3,
    "peer_ip": "192.0.2.1",
    "peer_port": 53,
}


def told(*rows: dict[str, Any]) -> list[Sighting]:
    made = [{"line_no": n, "line_end": n, "seq": n, "state": "done", "ret": 0, **row} for n, row in enumerate(rows, 1)]
    return list(time_limits(Case.of_tables({"syscalls": made})))


def poll(limit: int, ret: int = 0, **more: Any) -> dict[str, Any]:
    return {"name": "poll", "args": f"[{{fd=3, events=POLLIN}}], 1, {limit}", "ret": ret, **more}


def test_an_answer_that_did_not_come_within_the_limit() -> None:
    (one,) = told(CONNECT, poll(5000), poll(5000, ret=1), poll(5000))
    assert one.headline == (
        "poll on 192.0.2.1:53 ended by its time limit of 5.000 s, without an answer, 2 times, 10.000 s together"
    )
    assert (one.value, one.seconds, one.of_s, one.n) == (5.0, 10.0, 10.0, 2)
    assert [line.line_from for line in one.lines] == [2, 4]


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("select", "4, [3], NULL, NULL, {5, 0}"),
        ("select", "4, [3], NULL, NULL, {tv_sec=5, tv_usec=0}"),
        ("ppoll", "[{fd=3, events=POLLIN}], 1, {tv_sec=4, tv_nsec=1000000000}, NULL, 0"),
        ("poll", "[{fd=3, events=POLLIN}], 1, 5000"),
    ],
)
def test_the_limit_as_each_call_prints_it(name: str, args: str) -> None:
    (one,) = told(CONNECT, {"name": name, "args": args})
    assert one.value == 5.0


def test_what_says_nothing() -> None:
    assert told(CONNECT, poll(0), poll(99)) == [], "nobody feels it"
    assert told(poll(5000)) == [], "nobody owes an answer"
    assert told(CONNECT, poll(-1)) == []
    assert told(CONNECT, poll(5000, dur_hi_s=5.0, elapsed_s=5.0, t_local=1.0, stamp="start")) == [], "it is timed"
    assert told(CONNECT, {"name": "listen", "args": "4, 5"}, poll(5000)) == [], "a server waits for its next caller"
    assert told() == []


SEND = {"name": "sendmsg", "args": "3, {msg_name=NULL, ...}, 0", "fd": 3, "ret": 45}
READ = {"name": "recvmsg", "args": "3, {msg_name=NULL, ...}, 0", "fd": 3, "ret": 9}
BUS = CONNECT | {"peer_ip": None, "peer_port": None, "path": "/run/agent.sock"}


@pytest.mark.parametrize(
    ("calls", "owed"),
    [
        ((BUS, SEND, poll(25000)), True),
        ((BUS, SEND, READ, poll(25000)), False),  # it has answered, and owes nothing
        ((BUS, SEND, poll(1000), READ), False),  # it answers the next of several waits
        ((BUS, SEND, poll(1000), SEND, poll(1000)), True),
        ((BUS, poll(25000)), False),  # nobody was asked
        ((CONNECT, SEND, poll(5000)), False),  # a name server: that says more
    ],
)
def test_who_was_asked_and_did_not_answer_owes_the_time(calls: tuple[dict[str, Any], ...], owed: bool) -> None:
    (one,) = told(*calls)
    assert ({"event": "answer-timed-out"} in one.seen) is owed


def test_a_question_for_a_name_needs_no_address_to_be_known() -> None:
    """Check a trace without the connect call: only the question itself shows that a name server was asked."""
    sent = {"name": "sendto", "fd": 3, "data": r"\275T\1\0\0\1\0\0\0\0\0\0\4till\4shop\0\0\1\0\1", "ret": 33}
    (one,) = told(sent, poll(5000, fd=3))
    assert {"event": "name-question-unanswered"} in one.seen
    assert told({**sent, "data": "hello there"}, poll(5000, fd=3)) == []
