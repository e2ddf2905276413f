"""Tests of waits during which a whole program stops."""

from __future__ import annotations

from typing import Any

import pytest

from rules.case.case import Case

WAIT, WAKE = "0x10, FUTEX_WAIT_PRIVATE, 0, NULL", "0x10, FUTEX_WAKE_PRIVATE, 1"


def call(line: int, lwp: int, begin: float, dur: float, addr: int, args: str, **more: Any) -> dict[str, Any]:
    return {
        "artifact_id": 1, "host": "box", "clock": "c", "pid": 9, "lwp": lwp, "line_no": line, "name": "futex", "stamp": "start",
        "t_local": begin, "dur_hi_s": dur, "arg_addr": addr, "args": args, "state": "done", "contiguous": "proven", **more,
    }  # fmt: skip


# thread 1  --wake(2)-[ parked on A          ]--
# thread 2  [waits B ]------ works ------wake(A)
# thread 3  [ parked                              ]
# thread 4  [ parked                              ]
#          0.5       1.00                1.30     2.0
STOP = [
    call(1, 2, 0.5, 0.5, 0xB, WAIT),
    call(2, 3, 0.5, 1.5, 0xC, WAIT),
    call(3, 4, 0.5, 1.5, 0xD, WAIT),
    call(4, 1, 0.9999, 0.00001, 0xB, WAKE),
    call(5, 1, 1.0, 0.3, 0xA, WAIT),
    call(6, 2, 1.29995, 0.00001, 0xA, WAKE),
]


def found(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return Case.of_tables({"syscalls": rows}).derived("stop_waits").to_dicts()


def changed(line: int, **values: Any) -> list[dict[str, Any]]:
    return [{**r, **values} if r["line_no"] == line else r for r in STOP]


def test_stop_waits_whole_program() -> None:
    (row,) = found(STOP)
    assert (row["pid"], row["waiter_lwp"], row["helper_lwp"], row["n_parked"]) == (9, 1, 2, 2)
    assert (row["line_wait"], row["line_wake"]) == (5, 6)
    assert row["wait_s"] == pytest.approx(0.3)
    assert row["silent_s"] == pytest.approx(0.29999, abs=1e-6)
    assert (row["t_from"], row["t_to"]) == pytest.approx((1.0, 1.3))


def test_stop_waits_scale() -> None:
    scaled = [{**r, "t_local": r["t_local"] * 2 - r["t_local"] % 1e-4, "dur_hi_s": r["dur_hi_s"] * 2} for r in STOP]
    assert [r["wait_s"] for r in found(scaled)] == pytest.approx([0.6])


def test_stop_waits_another_thread_runs() -> None:
    # Thread 3 is parked only half of the time: the program goes on.
    assert found([*changed(2, dur_hi_s=0.65), call(7, 3, 1.4, 0.6, 0xC, WAIT)]) == []


def test_stop_waits_idle_pool_is_none() -> None:
    # The waker was not woken by the waiter: its own wait ended long before.
    assert found(changed(1, dur_hi_s=0.2)) == []
    # Or another thread woke it.
    assert found(changed(4, lwp=3)) == []


def test_stop_waits_helper_that_calls() -> None:
    # A short call in between changes little; a helper that waits itself for a quarter of the time does not work.
    (row,) = found([*STOP, call(7, 2, 1.15, 0.001, 0xE, WAKE)])
    assert row["silent_s"] == pytest.approx(0.29899, abs=1e-6)
    assert found([*STOP, call(7, 2, 1.15, 0.075, 0xE, WAIT)]) == []


def test_stop_waits_timer_and_lines_missing() -> None:
    assert found(changed(5, err="ETIMEDOUT")) == []
    assert found(changed(5, args="0x10, FUTEX_WAIT_PRIVATE, 0, {tv_sec=9, tv_nsec=0}")) == []
    assert found(changed(5, contiguous="broken")) == []
    assert found(changed(5, dur_hi_s=0.049)) == []


def test_stop_waits_thread_of_short_calls_runs() -> None:
    # Thread 5 makes a short call now and then and works in between: it is not parked.
    busy = [call(10 + i, 5, 0.6 + i / 10, 0.0001, 0xF, WAKE) for i in range(10)]
    assert found(STOP + busy) == []
