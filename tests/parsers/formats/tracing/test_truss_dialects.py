"""Tests of the relatives of truss: FreeBSD, dtruss."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parsers.formats.tracing.truss import dtruss as truss_dtruss
from parsers.formats.tracing.truss import freebsd as truss_freebsd
from parsers.formats.tracing.truss import kdump as truss_kdump
from parsers.formats.tracing.truss.errno_names import FREEBSD
from parsers.text.dress import characters_of, undressed_lines
from parsers.text.source import Head, Hints, Limits
from tests.draw import examples
from tests.parsers.formats.evidence import read_bytes

CORPUS = Path(__file__).parents[3] / "corpus" / "truss"
FREE = Hints(kind="truss", variant="freebsd")
DTRUSS = Hints(kind="truss", variant="dtruss")


def read(text: str, hints: Hints, **limits: int):
    reading = read_bytes(text.encode(), hints, Limits(**limits) if limits else None)
    assert reading.error is None
    assert reading.account.account.lines == len(text.splitlines())
    return reading


def rows(text: str, hints: Hints, **limits: int) -> list[dict]:
    return read(text, hints, **limits).table("syscalls").to_dicts()


# FreeBSD

STAMPED = (
    '  812  100077: 0.000100000 0.000020000 read(3,"a b",2)\t\t = 2 (0x2)\n'
    "  812  100077: 1.500100000 1.400000000 select(5,{ 4 },{ },{ },{ 2.000000 })\t = 1 (0x1)\n"
    "  812  100077: 1.500200000 0.000010000 open(\"/x\",O_RDONLY,00) ERR#2 'No such file or directory'\n"
)


def test_two_stamps_are_end_and_length():
    found = rows(STAMPED, FREE)
    assert [(r["pid"], r["lwp"], r["t_local"], r["elapsed_s"]) for r in found] == [
        (812, 100077, 0.0001, 2e-05), (812, 100077, 1.5001, 1.4), (812, 100077, 1.5002, 1e-05),
    ]  # fmt: skip
    assert [(r["dur_hi_s"], r["dur_kind"], r["contiguous"], r["stamp"]) for r in found][1] == (
        1.4,
        "elapsed",
        "proven",
        "end",
    )
    assert (found[0]["data"], found[2]["err"], found[2]["path"], found[2]["ret"]) == ("a b", "ENOENT", "/x", None)


def test_one_stamp_that_rises_is_the_time_and_else_the_length():
    rising = re.sub(r" [0-9.]{11}(?= [a-z]+\()", "", STAMPED)
    assert [r["t_local"] for r in rows(rising, FREE)] == [0.0001, 1.5001, 1.5002]
    falling = re.sub(r" [0-9.]{11}(?= [0-9.]{11} )", "", STAMPED)
    assert [r["elapsed_s"] for r in rows(falling, FREE)] == [2e-05, 1.4, 1e-05]
    two = read("".join(rising.splitlines(keepends=True)[:2]), FREE)
    assert two.table("syscalls")["t_local"].null_count() == 2
    assert [n.kind for n in two.account.notes] == ["remark"]


def test_signals_exits_and_threads():
    text = (
        " 812: <new process>\n 812: SIGNAL 20 (SIGCHLD) code=CLD_EXITED pid=813 uid=0 status=7\n 812: exit(0x0)\t\t\t\n"
        " 812: process exit, rval = 3\nSIGNAL 11 (SIGSEGV)\nprocess killed, signal = 11 (core dumped)\n"
    )
    reading = read(text, FREE)
    assert reading.table("signals").select("event", "signal", "sender_pid", "status").rows() == [
        ("received", "SIGCHLD", 813, 7), ("received", "SIGSEGV", None, None), ("exited", None, None, 3), ("killed", None, None, None),
    ]  # fmt: skip
    assert reading.table("syscalls").select("name", "args", "state").rows() == [("exit", "0x0", "no_return")]
    assert reading.account.account.read == 6


def test_a_table_of_counts():
    text = (
        "syscall                     seconds   calls  errors\nfstat                   0.000012345       1       0\n"
        "openat                  0.000100000      12       3\n                      ------------- ------- -------\n"
        "                        0.000112345      13       3\n"
    )
    head = truss_freebsd.claim(Head(text.splitlines()))
    assert head is not None
    reading = read(text, FREE)
    assert reading.table("syscall_totals").select("name", "n", "errors", "total_s", "total_kind").rows() == [
        ("fstat", 1, 0, 1.2345e-05, "cpu"), ("openat", 12, 3, 0.0001, "cpu"),
    ]  # fmt: skip
    assert reading.account.parts[0].facts["counts_calls"] == 13


def test_a_damaged_line_is_unknown():
    reading = read(' 812: close(3)\t\t = 0 (0x0)\n 812: read(4,"abc\n 812: close(5)\t\t = 0 (0x0)\n', FREE)
    assert reading.account.account.unknown == 1
    assert reading.table("syscalls")["line_no"].to_list() == [1, 3]


@given(
    pid=st.integers(1, 99999), name=st.from_regex(r"[a-z_][a-z0-9_]{0,10}", fullmatch=True), number=st.sampled_from(sorted(FREEBSD)),
    value=st.integers(0, 2**40), failed=st.booleans(), args=st.lists(st.sampled_from(["3", '"a b"', "{ 4 }", "0x0"]), max_size=4),
)  # fmt: skip
@settings(max_examples=examples(40), deadline=None, database=None)
def test_any_freebsd_call_comes_back(pid, name, number, value, failed, args):
    result = f"ERR#{number} 'Some words'" if failed else f"= {value} ({value:#x})"
    row = rows(f"{pid:5}: {name}({','.join(args)})\t\t {result}\n", FREE)[0]
    assert (row["pid"], row["name"], row["args"]) == (pid, name, ",".join(args))
    assert row["ret_text"] == result.removeprefix("= ")
    assert (row["ret"], row["err"]) == ((None, FREEBSD[number]) if failed else (value, None))


# dtruss

FULL = (
    "\tPID/THRD  RELATIVE  ELAPSD    CPU SYSCALL(args) \t\t = return\n"
    '20001/0x128f0:      2562     128     67 open("/dev/dtracehelper\\0", 0x2, 0xFFFF)\t\t = 3 0\n'
    '20001/0x128f0:      2869     306    304 read(0x3, "ab\\n\\0", 0x80)\t\t = 3 0\n'
    "20001/0x128f0:      3869     100     90 connect(0x4, 0x16D, 0x10)\t\t = -1 61\n"
)


def test_microseconds_by_the_header():
    found = rows(FULL, DTRUSS)
    assert [(r["t_local"], r["elapsed_s"], r["cpu_s"], r["fd"]) for r in found][1:] == [
        (0.002869, 0.000306, 0.000304, 3), (0.003869, 0.0001, 9e-05, 4),
    ]  # fmt: skip
    assert (found[1]["data"], found[2]["err"], found[2]["ret"]) == ("ab\n", "ECONNREFUSED", -1)
    assert (found[0]["lwp"], found[0]["path"]) == (0x128F0, "/dev/dtracehelper")


def test_newer_systems_print_err():
    assert rows('SYSCALL(args) \t\t = return\nstat64("/x\\0", 0x7, 0x0)\t\t = -1 Err#2\n', DTRUSS)[0]["err"] == "ENOENT"


def test_without_a_header_three_numbers_are_known_and_two_are_not():
    bare = "".join(FULL.splitlines(keepends=True)[1:])
    assert [r["elapsed_s"] for r in rows(bare, DTRUSS)] == [0.000128, 0.000306, 0.0001]
    two = read(re.sub(r": +\d+ ", ": ", bare), DTRUSS)
    assert two.table("syscalls")["elapsed_s"].null_count() == 3
    assert [n.kind for n in two.account.notes] == ["remark"]


def test_relative_alone_reaches_to_the_next_call():
    text = "PID/THRD  RELATIVE SYSCALL(args) \t\t = return\n1/0x1:  10 close(0x3)\t\t = 0 0\n1/0x1:  35 close(0x4)\t\t = 0 0\n"
    assert [(r["dur_hi_s"], r["dur_kind"]) for r in rows(text, DTRUSS)] == [(2.5e-05, "gap"), (None, "none")]


def test_numbers_of_solaris_behind_pid_lwp():
    text = "PID/LWP    ELAPSD SYSCALL(args) \t\t = return\n 39/1:   41 connect(0x2, 0x1, 0x1)\t\t = -1 146\n"
    assert rows(text, DTRUSS)[0]["err"] == "ECONNREFUSED"


@pytest.mark.parametrize(
    ("call", "system", "err"),
    [("compat_50__lwp_park", "netbsd", "EAGAIN"), ("__clock_gettime50", "netbsd", "EAGAIN"), ("_lwp_wakeup", "netbsd", "EAGAIN"),
     ("freebsd11_stat", "freebsd", "EAGAIN"), ("lwp_park", "solaris", "ENOMSG"), ("__fstat64", "solaris", "ENOMSG")],
)  # fmt: skip
def test_the_systems_of_pid_lwp_are_told_apart_by_their_calls(call: str, system: str, err: str) -> None:
    text = f"PID/LWP    SYSCALL(args) \t\t = return\n 39/1:   {call}(0x2, 0x1)\t\t = 0 0\n 39/1:  read(0x2, 0x1, 0x1)\t\t = -1 35\n"
    reading = read(text, DTRUSS)
    assert reading.account.parts[0].facts["os"] == system
    assert reading.table("syscalls")["err"].to_list() == [None, err]


def test_counts_behind_the_calls():
    text = f"{FULL}\nCALL{' ' * 40}COUNT\nclose{' ' * 43}1\nread{' ' * 43}12\n"
    reading = read(text, DTRUSS)
    assert reading.table("syscall_totals").select("name", "n").rows() == [("close", 1), ("read", 12)]


def test_blocks_and_runs_give_the_same_rows():
    text = FULL.splitlines(keepends=True)[0] + "".join(FULL.splitlines(keepends=True)[1:]) * 40
    assert rows(text, DTRUSS) == rows(text, DTRUSS, run_bytes=900)
    free = STAMPED * 50
    assert rows(free, FREE) == rows(free, FREE, run_bytes=900)


@given(
    lwp=st.integers(1, 2**20), numbers=st.tuples(*[st.integers(0, 10**9)] * 3), ret=st.integers(-1, 10**6),
    name=st.from_regex(r"[a-z_][a-z0-9_]{0,10}", fullmatch=True), args=st.lists(st.sampled_from(['"a b\\0"', "0x3", "0x0"]), max_size=4),
)  # fmt: skip
@settings(max_examples=examples(40), deadline=None, database=None)
def test_any_dtruss_call_comes_back(lwp, numbers, ret, name, args):
    a, b, c = numbers
    row = rows(
        f"{FULL.splitlines()[0]}\n 7/{lwp:#x}: {a:9} {b:7} {c:6} {name}({', '.join(args)})\t\t = {ret} 0\n", DTRUSS
    )[0]
    assert (row["lwp"], row["name"], row["args"], row["ret_text"]) == (lwp, name, ", ".join(args), f"{ret} 0")
    assert [row["t_local"], row["elapsed_s"], row["cpu_s"]] == pytest.approx([a / 1e6, b / 1e6, c / 1e6])


@pytest.mark.parametrize("path", sorted(CORPUS.glob("*.txt")), ids=lambda p: p.stem)
def test_claims(path):
    lines = path.read_text(encoding="utf-8").splitlines()
    head = Head(undressed_lines(lines, characters_of("\n".join(lines))))
    free, mac = truss_freebsd.claim(head), truss_dtruss.claim(head)
    assert (free is not None) == ("freebsd" in path.stem)
    assert (mac is not None) == ("dtruss" in path.stem)
    assert (truss_kdump.claim(head) is not None) == ("kdump" in path.stem)
