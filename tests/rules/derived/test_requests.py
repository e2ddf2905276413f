"""Tests of the requests of a trace and their parts, as intervals drawn by hand.

pid 7:  |exec 0.0 .. own .. connect sss .. 3 look-ups .. fork(8) .. wait4(8) .. exit 1.0|
pid 8:                                     |exec .. nanosleep 0.25 .. exit|
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from polars.testing import assert_frame_equal

from rules.case.case import Case
from rules.case.reading import open_paths

PLACE = {"artifact_id": 1, "host": "app", "clock": "1.1:1"}


def call(line: int, pid: int, at: float, took: float, name: str, **more: Any) -> dict[str, Any]:
    """Return a call as `strace -f -ttt -T` shows it: `at` is its start (s), `took` its elapsed time (s)."""
    return {**PLACE, "line_no": line, "line_end": line, "seq": line, "pid": pid, "lwp": pid, "t_local": at, "name": name, "stamp": "start",
            "dur_hi_s": took, "elapsed_s": took, "dur_kind": "elapsed", "state": "done", "contiguous": "proven", "ret": 0, "args": "", **more}  # fmt: skip


COMMAND = [
    call(1, 7, 0.0, 0.001, "execve", path="/bin/report"),
    call(2, 7, 0.05, 0.001, "socket", ret=3),
    call(3, 7, 0.06, 0.001, "connect", fd=3, args='3, {sa_family=AF_UNIX, sun_path="/var/lib/sss/pipes/nss"}, 110'),
    *(
        row
        for n in range(3)
        for row in (
            call(4 + 3 * n, 7, 0.1 + 0.15 * n, 0.001, "sendto", fd=3, bytes=20, ret=20),
            call(5 + 3 * n, 7, 0.102 + 0.15 * n, 0.1, "poll", args="[{fd=3, events=POLLIN}], 1, 300000", ret=1),
            call(6 + 3 * n, 7, 0.203 + 0.15 * n, 0.001, "read", fd=3, bytes=40, ret=40),
        )
    ),
    call(20, 7, 0.6, 0.002, "clone", child_pid=8, ret=8),
    call(21, 8, 0.603, 0.001, "execve", path="/bin/sleep"),
    call(22, 8, 0.61, 0.25, "nanosleep"),
    call(23, 8, 0.861, 0.0005, "exit_group", state="no_return", dur_kind="gap", elapsed_s=None),
    call(24, 7, 0.604, 0.26, "wait4", arg_id=-1, ret=8),
    call(25, 7, 0.999, 0.001, "exit_group", state="no_return", dur_kind="gap", elapsed_s=None),
]


def of(case: Case, name: str, **where: Any) -> list[dict[str, Any]]:
    return [r for r in case.derived(name).iter_rows(named=True) if all(r[k] == v for k, v in where.items())]


@pytest.fixture(scope="module")
def command() -> Case:
    return Case.of_tables({"syscalls": COMMAND})


def test_a_command_is_one_request_from_exec_to_exit(command: Case) -> None:
    (whole,) = of(command, "requests", kind="command")
    assert (whole["pid"], whole["line_from"], whole["line_to"], whole["t_from"], whole["t_to"]) == (
        7,
        1,
        25,
        0.001,
        1.0,
    )
    assert whole["wall_s"] == 0.999
    assert not whole["idle"]
    assert [r["wall_s"] for r in of(command, "requests", kind="exchange")] == [
        0.103
    ] * 3  # from sending a question to reading its answer
    assert not of(command, "requests", pid=8)  # what the command starts is followed inside it


def test_parts_add_up_and_name_what_was_asked(command: Case) -> None:
    (whole,) = of(command, "requests", kind="command")
    parts = of(command, "request_parts", request=whole["request"])
    assert sum(round(p["dur_s"] * 1e9) for p in parts if not p["followed"]) == round(whole["wall_s"] * 1e9)
    (asked,) = [p for p in parts if p["kind"] == "name service"]
    assert (asked["target"], asked["n"], round(asked["dur_s"], 6)) == ("/var/lib/sss/pipes/nss", 10, 0.307)
    assert (asked["name"], asked["max_s"], asked["level"]) == ("poll", 0.1, 0)


def test_a_wait_is_followed_into_the_child(command: Case) -> None:
    (whole,) = of(command, "requests", kind="command")
    parts = of(command, "request_parts", request=whole["request"])
    (wait,) = [p for p in parts if p["followed"]]
    assert (wait["kind"], wait["to_pid"], round(wait["dur_s"], 6)) == ("child", 8, 0.26)
    inner = {p["kind"]: round(p["dur_s"], 6) for p in parts if p["level"] == 1}
    assert inner == {
        "sleep": 0.25,
        "own code": 0.006,
        "process": 0.0015,
    }  # an exit has no end of its own: the gap after it bounds it
    (rest,) = [p for p in parts if p["kind"] == "child" and not p["followed"]]
    assert round(rest["dur_s"], 6) == 0.0025  # from 0.861 + 0.0005 to 0.864, and nothing of the 0.25 twice
    assert [(e["from_pid"], e["to_pid"], e["kind"], e["wait_s"]) for e in of(command, "wait_edges")] == [
        (7, 8, "child", 0.26)
    ]


def test_what_the_child_did_before_the_wait_is_not_in_it() -> None:
    late = [dict(r) for r in COMMAND]
    late[-2].update(t_local=0.7, elapsed_s=0.164, dur_hi_s=0.164)
    case = Case.of_tables({"syscalls": late})
    (whole,) = of(case, "requests", kind="command")
    sleep = next(p for p in of(case, "request_parts", request=whole["request"]) if p["kind"] == "sleep")
    assert round(sleep["dur_s"], 6) == 0.16  # of the sleep from 0.61 to 0.86 the wait covers 0.70 to 0.86


SERVER = [
    call(1, 5, 0.0, 0.5, "accept", fd=4, peer_ip="10.0.0.7", peer_port=4000, ret=9),
    call(2, 5, 0.6, 0.1, "read", fd=9, bytes=10, ret=10),
    call(3, 5, 0.7, 0.3, "pread64", fd=6, bytes=8192, ret=8192),
    call(4, 5, 1.05, 0.001, "write", fd=9, bytes=10, ret=10),
    call(5, 5, 1.1, 4.0, "read", fd=9, bytes=10, ret=10),
    call(6, 5, 5.2, 0.001, "write", fd=9, bytes=10, ret=10),
]


def test_a_servers_request_begins_when_it_was_read_and_ends_when_it_was_answered() -> None:
    case = Case.of_tables({"syscalls": SERVER})
    first, second = of(case, "requests", kind="service")
    assert (first["t_from"], first["t_to"], first["wall_s"], first["peer"]) == (0.7, 1.051, 0.351, "10.0.0.7:4000")
    assert second["wall_s"] == pytest.approx(
        0.101
    )  # the four seconds until the client asked again belong to no request
    assert not of(case, "requests", kind="thread")


def test_a_file_read_and_written_is_no_conversation() -> None:
    rows = [call(1, 5, 0.0, 0.1, "read", fd=9, bytes=10, ret=10), call(2, 5, 0.2, 0.1, "write", fd=9, bytes=10, ret=10)]
    case = Case.of_tables({"syscalls": rows})
    assert {r["kind"] for r in of(case, "requests")} == {"thread"}
    assert all(r["idle"] for r in of(case, "requests"))


def test_missing_lines_are_not_traced_and_nobodys() -> None:
    rows = [dict(r) for r in SERVER[:4]]
    rows[3].update(contiguous="broken")
    case = Case.of_tables({"syscalls": rows})
    (whole,) = of(case, "requests", kind="service")
    kinds = {p["kind"]: round(p["dur_s"], 6) for p in of(case, "request_parts", request=whole["request"])}
    assert kinds == {"other": 0.3, "socket": 0.001, "not traced": 0.05}


def test_a_lock_is_followed_to_whoever_gave_it_free() -> None:
    rows = [
        *COMMAND[:1],
        call(2, 7, 0.1, 0.8, "futex", arg_addr=64, args="0x40, FUTEX_WAIT_PRIVATE, 2, NULL"),
        {**call(3, 7, 0.05, 0.7, "fsync", fd=5), "lwp": 11},
        {**call(4, 7, 0.88, 0.001, "futex", arg_addr=64, args="0x40, FUTEX_WAKE_PRIVATE, 1", ret=1), "lwp": 11},
        call(9, 7, 0.999, 0.001, "exit_group", state="no_return"),
    ]
    case = Case.of_tables({"syscalls": rows})
    (whole,) = of(case, "requests", kind="command")
    parts = of(case, "request_parts", request=whole["request"])
    assert [(p["to_lwp"], round(p["dur_s"], 6)) for p in parts if p["followed"]] == [(11, 0.8)]
    assert (
        next(round(p["dur_s"], 6) for p in parts if p["kind"] == "sync") == 0.65
    )  # the wait covers 0.10 to 0.75 of 0.05 to 0.75


@pytest.mark.parametrize(
    ("row", "kind", "target"),
    [
        (call(9, 7, 0.5, 0.1, "recvfrom", fd=5, peer_ip="10.0.0.2", peer_port=53), "name service", "10.0.0.2:53"),
        (call(9, 7, 0.5, 0.1, "recvfrom", fd=5, peer_ip="10.0.0.2", peer_port=1521), "socket", "10.0.0.2:1521"),
        (call(9, 7, 0.5, 0.1, "door_call", fd=5), "name service", None),
        (call(9, 7, 0.5, 0.1, "select", args="0, NULL, NULL, NULL, {tv_sec=1}"), "sleep", None),
        (call(9, 7, 0.5, 0.1, "epoll_wait", args="4, [], 64, 100", ret=0), "sleep", None),
        (call(9, 7, 0.5, 0.1, "fdatasync", fd=3), "sync", "/data/redo"),
        (call(9, 7, 0.5, 0.1, "pread64", fd=3, bytes=8192, ret=8192), "file", "/data/redo"),
        (call(9, 7, 0.5, 0.1, "semop", arg_id=3), "ipc", None),
        (call(9, 7, 0.5, 0.1, "getpid"), "other", None),
    ],
)  # fmt: skip
def test_what_a_call_is_about(row: dict[str, Any], kind: str, target: str | None) -> None:
    rows = [*COMMAND[:1], call(2, 7, 0.01, 0.001, "openat", path="/data/redo", ret=3), row, COMMAND[-1]]
    case = Case.of_tables({"syscalls": rows})
    (whole,) = of(case, "requests", kind="command")
    found = {(p["kind"], p["target"]) for p in of(case, "request_parts", request=whole["request"])}
    assert (kind, target) in found


@pytest.mark.parametrize("name", ["fat-parent", "slow-sync", "pipe-wait", "futex-convoy", "slow-directory"])
def test_a_long_request_read_in_pieces_has_the_same_parts(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded = Path(__file__).parents[2] / "cases" / "produced" / name
    spec, _ = open_paths([recorded], None, tmp_path)
    whole = Case(spec).derived("request_parts")
    assert whole.height > 0
    monkeypatch.setattr("rules.walking.request_walk.LARGE", 0)
    monkeypatch.setattr("rules.walking.request_walk.PIECE", 7)
    assert_frame_equal(Case(spec).derived("request_parts"), whole)
