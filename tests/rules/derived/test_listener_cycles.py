"""Tests of a listener's cycles: the published ones digit by digit, and small ones drawn in comments."""

from __future__ import annotations

from typing import Any

import pytest

from rules.case.case import Case
from rules.derived import listener_cycles
from tests.rules import traces


def cycles(rows):
    return Case.of_tables({"syscalls": rows}).derived("listener_cycles").to_dicts()


@pytest.mark.parametrize(
    ("ranges", "expected"),
    [
        (
            traces.BEFORE_000,
            {
                "line_poll": 48, "line_accept": 54, "line_end": 95, "t_accept": 1.5463, "t_end": 1.8425, "cycle_s": 0.2962, "to_close_s": 0.2937,
                "from_poll_s": 0.2999, "wait_child_s": 0.2806, "fork_s": 0.0300, "fork_cpu_s": 0.0299, "exec_s": 0.0139, "adapter_s": 0.0007,
                "log_s": 0.0025, "child_pid": 8195,
            },
        ),
        (
            traces.AFTER_000,
            {
                "line_poll": None, "line_accept": 267, "line_end": 308, "t_accept": 1.6867, "t_end": 1.8879, "cycle_s": 0.2012, "to_close_s": 0.1987,
                "from_poll_s": None, "wait_child_s": 0.1832, "fork_s": 0.0358, "fork_cpu_s": 0.0357, "exec_s": None, "adapter_s": 0.0009,
                "log_s": 0.0025, "child_pid": 1214,
            },
        ),
    ],
)  # fmt: skip
def test_cycles_seed000(ranges, expected):
    (found,) = cycles(traces.truss("000", *ranges))
    assert (found["pid"], found["kind"], found["complete"], found["cycle"]) == (15697, "dedicated", True, 1)
    assert {k: found[k] for k in expected} == pytest.approx(expected, abs=1e-9)


def test_two_domains_of_one_artifact_are_numbered_on():
    before = traces.truss("000", *traces.BEFORE_000)
    after = traces.truss("000", *traces.AFTER_000, clock="1.1:2")
    found = cycles([*before, *after])
    assert sorted((r["clock"], r["cycle"]) for r in found) == [("1.1:1", 1), ("1.1:2", 2)]


def test_incomplete_first_truss():
    assert cycles(traces.truss("000", (15, 16))) == []


def test_seed001_holds_no_accept():
    assert cycles(traces.truss("001", *traces.TRUSS_001)) == []


class Trace:
    """Builds the calls of one thread, 1 ms each unless a length is passed."""

    def __init__(self, pid=10):
        self.rows, self.t, self.pid = [], 0.0, pid

    def __call__(self, name, length=0.001, **more):
        self.t = round(self.t + length, 6)
        row = {
            "line_no": len(self.rows) + 1,
            "seq": len(self.rows),
            "pid": self.pid,
            "lwp": 1,
            "t_local": self.t,
            "name": name,
            "dur_hi_s": length,
        }
        self.rows.append({**row, "state": "done", "stamp": "end", "contiguous": "proven", "clock": "c", **more})
        return self


def test_a_hand_off_ends_at_the_close():
    #  poll | accept 12 -> 5 | read 5 | close 5 | poll
    rows = Trace()("pollsys", 1.0)("accept", fd=12, ret=5)("read", fd=5, ret=9)("close", fd=5, ret=0)("pollsys", 2.0)(
        "write", fd=3, ret=1
    ).rows
    (found,) = cycles(rows)
    assert (found["kind"], found["complete"], found["line_end"]) == ("handoff", True, 4)
    assert found["cycle_s"] == pytest.approx(0.002)
    assert found["from_poll_s"] == pytest.approx(0.003)
    assert (found["fork_s"], found["child_pid"], found["log_s"]) == (None, None, 0.0)


def test_a_poll_on_the_connection_does_not_end_it():
    rows = Trace()("accept", fd=12, ret=5)("poll", 0.5, args="[{fd=5, events=POLLIN}, {fd=12, events=POLLIN}]")(
        "close", fd=5, ret=0
    ).rows
    assert cycles(rows)[0]["cycle_s"] == pytest.approx(0.501)


def test_a_poll_without_the_connection_ends_it_unserved():
    #  accept 12 -> 5 | read 5 | poll on 12 alone | close 5: it went back to waiting, so the rest is not part of this
    # service
    rows = Trace()("accept", fd=12, ret=5)("read", fd=5, ret=3)("poll", 0.5, args="[{fd=12, events=POLLIN}]")(
        "close", fd=5, ret=0
    ).rows
    (found,) = cycles(rows)
    assert (found["complete"], found["cycle_s"], found["line_end"]) == (False, None, 2)


def test_without_its_close_a_cycle_has_no_length():
    (found,) = cycles(Trace()("accept", fd=12, ret=5)("read", fd=5, ret=3).rows)
    assert (found["complete"], found["cycle_s"], found["line_end"]) == (False, None, 2)


def test_a_missing_line_inside_takes_the_length_away():
    rows = Trace()("accept", fd=12, ret=5)("read", fd=5, ret=3, contiguous="broken")("close", fd=5, ret=0).rows
    (found,) = cycles(rows)
    assert (found["complete"], found["cycle_s"]) == (False, None)


def test_refused_accepts_begin_nothing():
    rows = Trace()("accept", fd=12, ret=5)("close", fd=5, ret=0)("accept", fd=12, err="EAGAIN").rows
    assert len(cycles(rows)) == 1


def test_a_slow_third_answer_is_a_wait_too():
    # fork 10 ms, pipe reads: hello 20 ms, its continuation 0.1 ms (not counted), a slow one of 0.5 s (counted)
    base = Trace()("accept", fd=12, ret=5)("pipe", fd=6, fd2=7)("fork1", 0.010, ret=20, child_pid=20)(
        "read", 0.020, fd=6, ret=4
    )
    rows = base("read", 0.0001, fd=6, ret=4)("read", 0.5, fd=6, ret=4)("close", fd=5, ret=0).rows
    assert cycles(rows)[0]["wait_child_s"] == pytest.approx(0.530)


def test_the_log_is_what_is_written_and_never_read():
    # fd 9 talks to the instance (it is also read), fd 3 is the log.
    rows = Trace()("read", fd=9, ret=4)("accept", fd=12, ret=5)("close", fd=5, ret=0)("write", 0.2, fd=9, ret=4)(
        "write", 0.05, fd=3, ret=220
    ).rows
    (found,) = cycles(rows)
    assert found["line_end"] == 5
    assert found["log_s"] == pytest.approx(0.05)


def test_two_threads_do_not_mix():
    one, two = Trace(10)("accept", fd=12, ret=5), Trace(11)("accept", fd=12, ret=5)
    one("close", fd=5, ret=0), two("close", 0.3, fd=5, ret=0)
    for i, row in enumerate([*one.rows, *two.rows]):
        row["line_no"] = i + 1
    found = cycles([*one.rows, *two.rows])
    assert sorted((r["pid"], round(r["cycle_s"], 6)) for r in found) == [(10, 0.001), (11, 0.3)]


@pytest.mark.parametrize("most", [1, 10, 40])
def test_slices_of_a_long_trace_give_the_cycles_of_the_whole(monkeypatch, most):
    # Three threads of one process take turns: some cycles fork; one lacks its close, one its log, one its poll.
    rows: list[dict[str, Any]] = []
    for number in range(60):
        thread, begun = number % 3, number * 0.01
        calls: list[tuple[str, dict[str, Any]]] = [
            ("poll", {"args": "[{fd=12}]"}),
            ("accept", {"fd": 12, "ret": 5}),
            ("read", {"fd": 5, "ret": 3}),
            ("fork1", {"child_pid": 99, "ret": 99}),
            ("close", {"fd": 5, "ret": 0}),
            ("write", {"fd": 3, "ret": 9}),
        ]
        left_out = {7: "close", 11: "write", 13: "poll"}.get(number % 17) or ("fork1" if number % 2 else None)
        for step, (name, more) in enumerate(c for c in calls if c[0] != left_out):
            at = round(begun + 0.03 * (step // 2), 4)  # two calls share each stamp
            rows.append(
                {"pid": 10, "lwp": thread, "t_local": at, "name": name, "dur_hi_s": 0.001, "clock": "c", **more}
            )
    rows.sort(key=lambda row: row["t_local"])
    rows = [{**row, "line_no": line, "seq": line, "contiguous": "proven"} for line, row in enumerate(rows, 1)]
    whole = cycles(rows)
    assert len(whole) > 50
    monkeypatch.setattr(listener_cycles, "SLICE_ROWS", most)
    assert cycles(rows) == whole


def test_start_stamps_of_strace_give_the_same_cycle():
    #  poll 0.0..1.0 | accept ..1.0001 | read | pipe | clone 2 ms | read of the pipe 0.5 s | close | write to the log, ends 1.521 | poll
    def call(line, t, name, elapsed, **more):
        row = {
            "line_no": line,
            "seq": line,
            "pid": 10,
            "lwp": 10,
            "t_local": t,
            "name": name,
            "elapsed_s": elapsed,
            "dur_hi_s": elapsed,
        }
        return {
            **row,
            "dur_kind": "elapsed",
            "stamp": "start",
            "contiguous": "proven",
            "state": "done",
            "clock": "c",
            **more,
        }

    rows = [
        call(1, 0.0, "poll", 1.0, args="[{fd=3, events=POLLIN}], 1, -1"), call(2, 1.0, "accept", 0.0001, fd=3, ret=5),
        call(3, 1.0005, "read", 0.001, fd=5, ret=100),
        call(4, 1.002, "pipe2", 0.0001, fd=6, fd2=7), call(5, 1.003, "clone", 0.002, ret=11, child_pid=11), call(6, 1.006, "read", 0.5, fd=6, ret=9),
        call(7, 1.51, "close", 0.0001, fd=5, ret=0), call(8, 1.52, "write", 0.001, fd=4, ret=200), call(9, 1.53, "poll", 3.0),
    ]  # fmt: skip
    (found,) = cycles(rows)
    assert (found["t_accept"], found["cycle_s"], found["from_poll_s"], found["log_s"]) == (1.0001, 0.5209, 0.521, 0.001)
    assert found["wait_child_s"] == pytest.approx(0.502)
