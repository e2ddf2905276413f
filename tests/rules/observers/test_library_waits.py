"""Tests that functions of libraries are reported by their own time, threads by their time outside of calls."""

from __future__ import annotations

from typing import Any

import pytest

from rules.case.case import Case
from rules.observers.long_waits import observe
from rules.observers.observer import Sighting
from rules.signatures.signatures import recognise


def functions(*rows: tuple[float, str, str]) -> list[Sighting]:
    made = [
        {"line_no": n, "t_local": t, "pid": 1, "lwp": 1, "lib": "libc", "event": event, "func": func}
        for n, (t, event, func) in enumerate(rows, 1)
    ]
    return list(observe(Case.of_tables({"libcalls": made})))


def test_a_function_is_told_for_its_own_time_not_for_what_it_calls() -> None:
    (made,) = functions(
        (0.0, "entry", "main_loop"),
        (0.01, "entry", "getaddrinfo"),
        (5.01, "exit", "getaddrinfo"),
        (5.02, "exit", "main_loop"),
    )
    assert made.headline == "libc:getaddrinfo took 5.000 s by itself"
    assert (made.seconds, made.of_s, [c.line_from for c in made.lines]) == (5.0, 5.02, [2, 3])
    assert recognise(**made.seen[1])[0].mechanism == "name-server-slow"


def test_time_before_a_return_is_of_the_function_that_returns() -> None:
    (made,) = functions((0.0, "entry", "f"), (0.01, "entry", "g"), (0.02, "exit", "g"), (1.02, "exit", "f"))
    assert made.subject == "libc:f"


@pytest.mark.parametrize(("t", "n"), [(0.1, 1), (0.099, 0)])
def test_the_bound_of_a_function(t: float, n: int) -> None:
    assert len(functions((0.0, "entry", "f"), (t, "exit", "f"))) == n


def test_time_between_two_functions_is_of_neither() -> None:
    assert functions((0.0, "entry", "f"), (0.01, "exit", "f"), (9.0, "entry", "g"), (9.01, "exit", "g")) == []


def calls(*rows: tuple[float, float | None, dict[str, Any]]) -> list[Sighting]:
    made = [
        {"line_no": n, "seq": n, "t_local": t, "elapsed_s": s, "dur_hi_s": s, "pid": 1, "lwp": 4, "name": f"call{n}", "stamp": "start",
         "state": "done", "contiguous": "proven", **more}
        for n, (t, s, more) in enumerate(rows, 1)
    ]  # fmt: skip
    return [s for s in observe(Case.of_tables({"syscalls": made})) if s.kind == "outside-calls"]


def test_a_thread_outside_of_calls_is_told_with_both_lines() -> None:
    (made,) = calls((0.0, 0.001, {}), (4.001, 0.001, {}), (4.01, 0.001, {}))
    assert made.headline == "thread 4 made no call for 4.000 s between call1 and call2"
    assert ([c.line_from for c in made.lines], made.seconds) == ([1, 2], None)
    assert made.share == pytest.approx(0.5 * 4.0 / 4.011)


def test_stamps_of_the_end_are_read_as_such() -> None:
    end = {"stamp": "end"}
    (made,) = calls((1.0, 0.5, end), (4.0, 1.0, end))
    assert made.value == 2.0


@pytest.mark.parametrize(
    "more", [{"elapsed_s": None}, {"name": "accept"}, {"contiguous": "broken"}, {"lwp": 5}, {"t_local": None}]
)
def test_nothing_is_said_of_what_is_not_known(more: dict[str, Any]) -> None:
    assert calls((0.0, 0.001, {}), (4.0, 0.001, more)) == []
    assert calls((0.0, 0.001, {}), (0.1, 0.001, {})) == []
    assert calls((0.0, None, {}), (4.0, None, {})) == []  # a tracer that prints no such time
