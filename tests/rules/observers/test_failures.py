"""Failures: errors whose caller gave up or repeated them; expected ones are left out."""

from __future__ import annotations

from typing import Any

import pytest

from rules.case.case import Case
from rules.observers.failures import AGAIN, EXCERPT, NEXT, observe
from rules.observers.observer import Sighting


def calls(*rows: dict[str, Any]) -> list[Sighting]:
    made = [
        {"pid": 7, "lwp": 7, "line_no": n, "seq": n, "t_local": float(n), "stamp": "start", "state": "done",
         "dur_hi_s": 0.001, "contiguous": "proven", **row}
        for n, row in enumerate(rows, 1)
    ]  # fmt: skip
    return list(observe(Case.of_tables({"syscalls": made})))


REFUSED = {"name": "connect", "peer_ip": "10.0.0.9", "peer_port": 1521, "fd": 3, "err": "ECONNREFUSED"}
EXIT = {"name": "exit_group", "args": "1"}


def test_a_caller_that_exits_gave_up() -> None:
    (one,) = calls(REFUSED, EXIT)
    assert one.failure
    assert [c.line_from for c in one.lines] == [1, 2]
    assert not calls(REFUSED, {**EXIT, "args": "0"})[0].failure


def test_an_exit_far_away_is_not_what_came_next() -> None:
    work = {"name": "read"}
    assert calls(REFUSED, *[work] * (NEXT - 1), EXIT)[0].failure
    assert not calls(REFUSED, *[work] * NEXT, EXIT)[0].failure


def test_a_step_tried_again_and_again_failed() -> None:
    assert calls(*[REFUSED] * AGAIN)[0].failure
    assert not calls(*[REFUSED] * (AGAIN - 1))[0].failure


def test_expected_errors_are_left_out() -> None:
    made = calls({"name": "read", "err": "EAGAIN"}, {"name": "open", "path": "/a", "err": "ENOENT"})
    assert all(s.normal for s in made)
    assert list(observe(Case.of_tables({}))) == []


def test_a_missing_socket_of_the_name_cache_is_expected_and_any_other_is_not() -> None:
    absent = {"name": "connect", "fd": 3, "err": "ENOENT"}
    assert calls({**absent, "path": "/var/run/nscd/socket"}, EXIT) == []
    (one,) = calls({**absent, "path": "/run/postgresql/.s.PGSQL.5432"}, EXIT)
    assert one.failure


def test_how_processes_ended() -> None:
    rows = [
        {"line_no": 5, "pid": 7, "event": "exited", "status": 0},
        {"line_no": 6, "pid": 8, "event": "exited", "status": 2},
        {"line_no": 7, "pid": 9, "event": "killed", "signal": "SIGKILL"},
        {"line_no": 8, "pid": 10, "event": "killed", "signal": "SIGKILL"},
        {"line_no": 9, "pid": 10, "event": "received", "signal": "SIGCHLD"},
    ]
    made = list(observe(Case.of_tables({"signals": rows})))
    assert [s.headline for s in made] == ["2 processes were killed by SIGKILL", "process 8 ended with code 2"]
    assert [c.line_from for c in made[0].lines] == [7, 8]
    assert not any(s.failure for s in made), "an end alone names no step that failed"


def test_the_call_by_which_a_process_ended_is_cited() -> None:
    ends = [{"line_no": 9, "pid": 8, "event": "exited", "status": 3}]
    calls_ = [{"line_no": n, "pid": pid, "name": "exit_group"} for n, pid in ((4, 7), (6, 8))]
    (made,) = observe(Case.of_tables({"signals": ends, "syscalls": calls_}))
    assert [(c.line_from, c.role) for c in made.lines] == [(6, "exit_group: the process ends on its own"), (9, "end")]


FULL = {"name": "mmap", "err": "ENOMEM"}


def wrote(text: str) -> dict[str, Any]:
    return {"name": "write", "fd": 2, "args": f'2, "{text}"..., 40'}


def test_an_error_that_the_caller_reports_each_time_is_a_failure() -> None:
    (one,) = calls(FULL, wrote("10:00 ERROR no segment"), FULL, wrote("10:01 ERROR no segment"))
    assert one.failure
    assert one.headline.endswith("and the caller reported an error each time")
    assert [c.line_from for c in one.lines] == [1, 2, 3]


def test_one_report_or_one_error_without_a_report_is_none() -> None:
    assert not calls(FULL, wrote("ERROR no segment"))[0].failure
    assert not calls(FULL, wrote("ERROR no segment"), FULL, wrote("done"))[0].failure
    far = [{"name": "read"}] * NEXT
    assert not calls(FULL, wrote("ERROR x"), FULL, *far, wrote("ERROR x"))[0].failure


def test_an_optional_file_whose_absence_is_reported_is_told() -> None:
    absent = {"name": "open", "path": "/etc/shop.conf", "err": "ENOENT"}
    (one,) = calls(absent, wrote("cannot open shop.conf"), absent, wrote("cannot open shop.conf"))
    assert one.failure


def test_expected_errors_of_an_excerpt_are_a_measure() -> None:
    rows = [
        {"line_no": 1, "name": "read", "err": "EINTR", "pid": 7},
        {"line_no": 3, "name": "wait4", "ret": 9, "pid": 7},
        {"line_no": 4, "name": "wait4", "err": "ECHILD", "pid": 7},
    ]
    signal = {"line_no": 2, "pid": 7, "event": "received", "signal": "SIGCHLD"}
    (made,) = observe(Case.of_tables({"syscalls": rows, "signals": [signal]}))
    assert made.headline == "Of 3 calls, the errors and signals in their order: read EINTR, SIGCHLD, wait4 ECHILD"
    assert (made.normal, made.value, made.against_value) == (True, 3.0, 3.0)
    assert [c.line_from for c in made.lines] == [1, 2, 4]
    more = [*rows, *({"line_no": 4 + n, "name": "read", "pid": 7} for n in range(1, EXCERPT))]
    assert list(observe(Case.of_tables({"syscalls": more, "signals": [signal]}))) == [], "no excerpt"
    assert list(observe(Case.of_tables({"syscalls": rows[1:2], "signals": [signal]}))) == [], "nothing failed"


def test_a_trace_that_names_no_process_tells_its_end() -> None:
    rows = [
        {"line_no": 1, "seq": 1, "name": "openat", "path": "/etc/relay.conf", "err": "ENOENT", "ret": -1},
        {"line_no": 2, "seq": 2, "name": "exit_group", "args": "1"},
    ]
    (one, *_) = (s for s in observe(Case.of_tables({"syscalls": rows})) if s.kind == "failure")
    assert one.failure
    assert "exited with an error" in one.headline


@pytest.mark.parametrize(
    ("name", "n", "errors", "in_vain"),
    [("access", 1250, 1000, True), ("access", 1251, 1000, False), ("access", 999, 999, False), ("futex", 1000, 1000, False)],
)  # fmt: skip
def test_thousands_of_look_ups_in_vain_have_their_part_of_the_table(
    name: str, n: int, errors: int, in_vain: bool
) -> None:
    rows = [
        {"line_no": 3, "name": name, "n": n, "errors": errors, "total_s": 0.3},
        {"line_no": 4, "name": "read", "n": 90, "total_s": 0.1},
    ]
    (one,) = observe(Case.of_tables({"syscall_totals": rows}))
    assert ({"event": "look-ups-in-vain"} in one.seen, one.share) == (in_vain, pytest.approx(0.75) if in_vain else None)


def test_the_exit_of_a_timed_command_is_no_error_of_a_system_call() -> None:
    rows = [{"line_no": 1, "series": "time", "ok": False, "err": "exit 7"}]
    (made,) = observe(Case.of_tables({"conn_times": rows}))
    assert made.seen == ({"code": "exit 7"},)
