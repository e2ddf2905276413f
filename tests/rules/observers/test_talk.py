"""Tests that the sentence on a long wait quotes what was sent before it and received after it, without secrets."""

from __future__ import annotations

from typing import Any

from rules.case.case import Case
from rules.observers.long_waits import observe
from rules.observers.observer import Sighting
from rules.observers.talk import NEAR

SENT = r"Q\0\0\0\"update account set n = 1\0"


def calls(*given: tuple[str, float, dict[str, Any]], step: int = 1) -> Sighting:
    rows, t = [], 0.0
    for n, (name, took, more) in enumerate(given, 1):
        rows.append(
            {"line_no": 1 + n * step, "seq": n, "pid": 7, "lwp": 7, "t_local": t, "stamp": "start", "state": "done", "name": name,
             "dur_hi_s": took, "dur_kind": "elapsed", "elapsed_s": took, "ret": 20, "fd": 3, **more}
        )  # fmt: skip
        t += took
    socket = {"line_no": 1, "seq": 0, "pid": 7, "lwp": 7, "t_local": 0.0, "stamp": "start", "state": "done", "name": "connect",
              "dur_hi_s": 0.0, "fd": 3, "ret": 0, "peer_ip": "10.0.0.9", "peer_port": 5432}  # fmt: skip
    found = list(observe(Case.of_tables({"syscalls": [socket, *rows]})))
    return found[0]


def test_the_question_and_the_answer() -> None:
    made = calls(("sendto", 1e-5, {"data": SENT}), ("recvfrom", 3.0, {"data": r"C\0\0\0\rUPDATE 1\0"}))
    assert made.headline.endswith('after "update account set n = 1" was sent; "UPDATE 1" came')
    assert [c.role for c in made.lines] == [
        "longest wait: recvfrom()",
        "what it waits for was made by connect()",
        "asked: update account set n = 1",
        "answered: UPDATE 1",
    ]


def test_a_question_on_another_descriptor_or_far_above_is_none() -> None:
    answer = ("recvfrom", 3.0, {"data": "done"})
    assert "was sent" not in calls(("sendto", 1e-5, {"data": SENT, "fd": 4}), answer).headline
    assert "was sent" not in calls(("sendto", 1e-5, {"data": SENT}), answer, step=NEAR + 1).headline


def test_secrets_are_masked() -> None:
    made = calls(("sendto", 1e-5, {"data": "AUTH password=tiger99xx"}), ("recvfrom", 3.0, {"data": "+OK"}))
    assert "tiger99xx" not in made.headline
    assert not any("tiger99xx" in c.role for c in made.lines)
