"""Tests of questions to name servers in traces: unanswered, failed, answered late, and answered at once."""

from __future__ import annotations

from typing import Any

import pytest

from rules.case.case import Case
from rules.observers.name_traces import message_of, observe, unescaped
from rules.observers.observer import Sighting

A, AAAA = r"\x00\x00\x01\x00\x01", r"\x00\x00\x1C\x00\x01"


def message(number: int, flags: str, name: str, kind: str = "") -> str:
    labels = "".join(f"\\x{len(label):02X}{label}" for label in name.split("."))
    return rf"\x00\x{number:02X}{flags}\x00\x01\x00\x00\x00\x00\x00\x00{labels}{kind}"


def row(t: float | None, name: str, data: str | None, **more: Any) -> dict[str, Any]:
    made = {
        "t_local": t,
        "name": name,
        "fd": 4,
        "pid": 9,
        "lwp": 9,
        "peer_ip": "10.0.0.3",
        "peer_port": 53,
        "args": "4",
    }
    return {**made, "data": data, "ret": 40, "elapsed_s": None, "err": None, **more}


def asks(t: float | None, number: int, name: str, kind: str = A) -> dict[str, Any]:
    return row(t, "sendto", message(number, r"\x01\x00", name, kind))


def answers(t: float | None, number: int, name: str, code: int = 0) -> dict[str, Any]:
    return row(t, "recvfrom", message(number, rf"\x81\x{0x80 + code:02X}", name))


def seen(*rows: dict[str, Any]) -> list[Sighting]:
    return list(observe(Case.of_tables({"syscalls": [{"line_no": n, **r} for n, r in enumerate(rows, 1)]})))


def test_a_question_without_an_answer_is_told_beside_what_was_answered() -> None:
    connect = row(None, "connect", None)
    made = seen(connect, asks(None, 1, "nas.lan"), answers(None, 1, "nas.lan", 3), *[asks(None, 2, "nas", AAAA)] * 2)
    assert [s.headline for s in made] == ["10.0.0.3:53 did not answer AAAA? nas, sent 2 times, one of 2 questions"]
    assert made[0].beside == "it answered NXDOMAIN (no such name) to A? nas.lan"
    assert [(c.line_from, c.role) for c in made[0].lines] == [
        (1, "the name server, 10.0.0.3:53"), (4, "asks for AAAA? nas"), (5, "asks for AAAA? nas"),
        (2, "asks for A? nas.lan"), (3, "recvfrom: NXDOMAIN"),
    ]  # fmt: skip


def test_the_last_question_of_a_trace_may_still_be_answered() -> None:
    assert seen(asks(5.0, 1, "nas")) == []
    assert seen(asks(None, 1, "nas")) == []
    made = seen(asks(5.0, 1, "nas"), asks(9.0, 2, "box"), answers(9.001, 2, "box"))
    assert [s.normal for s in made] == [False, True]
    made = seen(*(asks(n, int(n), f"n{n:.0f}") for n in (1.0, 2.0, 3.0)))
    assert [s.headline for s in made] == ["10.0.0.3:53 did not answer 2 of 2 questions; the first: A? n1"]


@pytest.mark.parametrize(
    ("code", "took", "says", "normal"),
    [
        (2, 0.02, "10.0.0.3:53 answered SERVFAIL to A? nas, after 20 ms", False),
        (3, 0.4, "10.0.0.3:53 answered NXDOMAIN (no such name) to A? nas, after 0.400 s", False),
        (3, 0.02, "10.0.0.3:53 answered NXDOMAIN (no such name) to A? nas, after 20 ms", True),
        (0, 0.4, "10.0.0.3:53 answered A? nas, after 0.400 s", False),
        (0, 0.02, "10.0.0.3:53 answered A? nas, after 20 ms", True),
    ],
)  # fmt: skip
def test_failures_and_late_answers_stand_out(code: int, took: float, says: str, normal: bool) -> None:
    (made,) = seen(asks(1.0, 1, "nas"), answers(1.0 + took, 1, "nas", code))
    assert (made.headline, made.normal) == (says, normal)
    assert made.seen == (({"log": "name server answered SERVFAIL"},) if code == 2 else ())


def test_two_questions_of_one_call_are_two() -> None:
    first, second = (message(n, r"\x01\x00", "nas", kind) for n, kind in ((1, A), (2, AAAA)))
    both = f'iov_base="{first}" iov_base="{second}"'
    (made,) = seen(
        row(1.0, "sendmmsg", None, args=f"4, [{{{both}}}], 2"), answers(1.01, 1, "nas"), answers(1.02, 2, "nas")
    )
    assert made.headline == "10.0.0.3:53 answered 2 of 2 questions, after 15 ms (median); the first: A? nas"
    assert [c.line_from for c in made.lines] == [1, 2, 3]


def test_answers_without_times_and_other_bytes_say_nothing() -> None:
    assert seen(asks(None, 1, "nas"), answers(None, 1, "nas")) == []
    assert seen(row(1.0, "sendto", "GET / HTTP/1.1"), row(9.0, "recvfrom", None)) == []
    assert seen(answers(1.0, 1, "nas")) == []
    assert seen() == []


@pytest.mark.parametrize(
    "data",
    [b"", b"\0" * 12, b"\0\1\1\0\0\1" + b"\0" * 6 + b"\xff", b"\0\1\1\0\0\1" + b"\0" * 7, b"\0\1\1\0\0\1" + b"\0" * 6 + b"\2\1\1\0"],
)  # fmt: skip
def test_bytes_that_are_no_question(data: bytes) -> None:
    assert message_of(data) is None


def test_payloads_are_read_as_tracers_print_them() -> None:
    assert unescaped(r"\303q\x0Aab\\") == b"\xc3q\nab\\"
    cut = message_of(unescaped(message(7, r"\x01\x00", "storage.exam")))
    assert cut is not None
    assert cut.question == "storage.exam..."
