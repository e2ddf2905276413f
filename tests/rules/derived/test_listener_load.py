"""Tests of a listener's utilisation from its own polls: the published one digit by digit, and small ones drawn in
comments.
"""

from __future__ import annotations

import pytest

from rules.case.case import Case
from tests.rules import traces


def load(syscalls, **tables):
    return Case.of_tables({"syscalls": syscalls, **tables}).derived("listener_load").to_dicts()


def trace(*calls, pid=10, first=1):
    """Return the calls of one thread: (name, seconds, more)."""
    rows, t = [], 0.0
    for n, (name, length, more) in enumerate(calls):
        t = round(t + length, 6)
        row = {"line_no": first + n, "seq": n, "pid": pid, "lwp": 1, "t_local": t, "name": name, "dur_hi_s": length}
        rows.append(
            {**row, "host": "db", "state": "done", "stamp": "end", "contiguous": "proven", "clock": "c", **more}
        )
    return rows


def test_utilisation_seed000():
    (found,) = load(traces.truss("000", *traces.BEFORE_000))
    assert (found["line_from"], found["line_to"], found["accepts"]) == (48, 96, 1)
    seen = {k: found[k] for k in ("span_s", "idle_s", "busy_s", "service_s")}
    assert seen == {"span_s": 1.1020, "idle_s": 0.8021, "busy_s": 0.2999, "service_s": 0.2962}
    assert found["busy"] == pytest.approx(0.2721, abs=1e-4)
    assert found["capacity_ps"] == pytest.approx(3.38, abs=0.005)


def test_without_a_second_poll_the_cycle_stands_alone():
    (found,) = load(traces.truss("000", *traces.AFTER_000))
    assert (found["service_s"], found["busy"], found["span_s"]) == (0.2012, None, None)
    assert found["capacity_ps"] == pytest.approx(4.97, abs=0.005)


def test_traces_without_an_accept_or_with_nothing_else_give_nothing():
    assert load(traces.truss("000", (15, 16))) == []
    assert load(traces.truss("001", *traces.TRUSS_001)) == []


POLL: tuple[str, float, dict[str, int]] = ("poll", 1.0, {})
ACCEPT, CLOSE = ("accept", 0.0, {"fd": 12, "ret": 5}), ("close", 0.0, {"fd": 5, "ret": 0})


def test_work_between_idle_polls_is_busy():
    #  poll 1.0 | accept, read 0.3, close | poll 0.7        span 1.0: busy 0.3
    rows = trace(POLL, ACCEPT, ("read", 0.3, {"fd": 5}), CLOSE, ("poll", 0.7, {}))
    (found,) = load(rows)
    assert (found["span_s"], found["idle_s"], found["busy_s"], found["in_poll_s"]) == (1.0, 0.7, 0.3, 0.0)


def test_a_poll_with_the_connection_open_is_not_idle():
    #  poll | accept | poll 0.4 (5 open) | close | poll 0.6
    rows = trace(POLL, ACCEPT, ("poll", 0.4, {}), CLOSE, ("poll", 0.6, {}))
    (found,) = load(rows)
    assert (found["busy_s"], found["in_poll_s"]) == (0.4, 0.4)


def test_a_poll_on_the_listening_descriptor_alone_is_idle():
    rows = trace(POLL, ACCEPT, ("poll", 0.4, {"data": "fd=12 ev=POLLIN rev=POLLIN"}), CLOSE, ("poll", 0.6, {}))
    assert load(rows)[0]["busy_s"] == 0.0


def test_missing_lines_are_in_no_span():
    #  poll | accept .. close | poll 0.5 ][ 9 s not seen ][ poll | accept 0.2 close | poll 0.8
    before = [POLL, ACCEPT, CLOSE, ("poll", 0.5, {})]
    after = [("poll", 9.0, {"contiguous": "broken"}), ACCEPT, ("read", 0.2, {"fd": 5}), CLOSE, ("poll", 0.8, {})]
    (found,) = load(trace(*before, *after))
    assert (found["span_s"], found["busy_s"], found["accepts"]) == (1.5, 0.2, 2)


def test_a_thread_that_blocks_in_accept_is_idle_there():
    #  accept 2.0 | read 0.25 | close | accept 0.75
    rows = trace(
        ("accept", 2.0, {"fd": 3, "ret": 5}), ("read", 0.25, {"fd": 5}), CLOSE, ("accept", 0.75, {"fd": 3, "ret": 5})
    )
    (found,) = load(rows)
    assert (found["span_s"], found["idle_s"], found["busy_s"]) == (1.0, 0.75, 0.25)


def test_a_log_of_the_same_host_gives_the_rate():
    #  service 0.2 s, eleven connections in 4 s: 2.5 a second, rho 0.5
    rows = trace(POLL, ACCEPT, ("read", 0.2, {"fd": 5}), CLOSE, ("poll", 0.8, {}))
    logs = [
        {"artifact_id": 2, "host": "db", "line_no": n, "t_local": 0.4 * n, "source": "listener", "op": "establish"}
        for n in range(1, 12)
    ]
    (found,) = load(rows, logs=logs)
    assert (found["n_arrivals"], found["log_artifact"], found["log_from"], found["log_to"]) == (11, 2, 1, 11)
    got = {k: found[k] for k in ("arrivals_ps", "rho", "wq_mm1_s", "wq_md1_s")}
    assert got == pytest.approx({"arrivals_ps": 2.5, "rho": 0.5, "wq_mm1_s": 0.2, "wq_md1_s": 0.1})
    other = [{**row, "host": "db2"} for row in logs]
    assert load(rows, logs=other)[0]["arrivals_ps"] is None


def test_other_threads_that_accept_are_told():
    one, two = trace(POLL, ACCEPT, CLOSE, POLL), trace(POLL, ACCEPT, CLOSE, POLL, pid=11, first=10)
    assert [row["alone"] for row in load([*one, *two])] == [False, False]
