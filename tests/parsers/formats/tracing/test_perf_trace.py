"""Tests of perf trace: stamps, durations, interrupted calls, tables."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parsers.formats.tracing.perf import trace as perf_trace
from parsers.text.source import Head, Hints, Limits
from tests.draw import examples
from tests.parsers.formats.evidence import read_bytes

PERF = Hints(kind="perf", variant="trace")


def read(text: str, **limits: int):
    reading = read_bytes(text.encode(), PERF, Limits(**limits) if limits else None)
    assert reading.error is None
    assert reading.account.account.lines == len(text.splitlines())
    return reading


TRACE = (
    "         ? (         ): my prog/31362  ... [continued]: execve())                                 = 0\n"
    "     0.636 ( 0.018 ms): my prog/31362 access(filename: 0x38ef02a0, mode: R)       = -1 ENOENT (No such file or directory)\n"
    '     0.710 ( 0.019 ms): my prog/31362 openat(dfd: CWD, filename: "/etc/hosts", flags: RDONLY|CLOEXEC)  = 4\n'
    "     0.746 (         ): my prog/31362 futex(uaddr: 0x7ffe23d45610, op: WAIT|PRIVATE_FLAG) ...\n"
    "     0.800 ( 0.015 ms): other/7 read(fd: 4, buf: 0x7ffe23d45778, count: 832)     = 832\n"
    "     0.746 ( 9.254 ms): my prog/31362  ... [continued]: futex())                                  = 0\n"
    "    11.000 ( 0.004 ms): my prog/31362 semctl(semid: 9, semnum: 3, cmd: SETVAL)    = 0\n"
)


def test_calls_and_their_arguments():
    reading = read(TRACE)
    rows = reading.table("syscalls").select("lwp", "comm", "name", "t_local", "elapsed_s", "fd", "path", "err").rows()
    assert rows[0] == (31362, "my prog", "execve", None, None, None, None, None)
    assert rows[1] == (31362, "my prog", "access", 0.000636, 1.8e-05, None, None, "ENOENT")
    assert rows[2][6] == "/etc/hosts"
    assert rows[4] == (31362, "my prog", "futex", 0.000746, 0.009254, None, None, None)
    last = reading.table("syscalls").row(5, named=True)
    assert (last["arg_id"], last["sem_num"], last["prev_name"]) == (9, 3, "futex")
    assert reading.account.account.read == 7


def test_an_interrupted_call_is_open_until_it_goes_on():
    assert read(TRACE).table("open_calls").select("line_no", "lwp", "name", "done_line", "state").rows() == [
        (4, 31362, "futex", 6, "unfinished")
    ]
    cut = "".join(TRACE.splitlines(keepends=True)[:5])
    assert read(cut).table("open_calls")["done_line"].to_list() == [None]


def test_runs_give_the_same_rows():
    text = TRACE * 60
    one, many = read(text), read(text, run_bytes=3000)
    for table in ("syscalls", "open_calls"):
        assert one.table(table).equals(many.table(table)), table


SUMMARY = (
    "\n Summary of events:\n\n ls (31362), 140 events, 95.2%\n\n"
    "   syscall            calls  errors  total       min       avg       max       stddev\n"
    "                                     (msec)    (msec)    (msec)    (msec)        (%)\n"
    "   --------------- --------  ------ -------- --------- --------- ---------     ------\n"
    "   mmap                  18      0     0.151     0.005     0.008     0.018     10.2%\n"
    "   openat                 5      2     0.100     0.005     0.008     0.050     10.2%\n\n"
)


def test_a_summary_by_thread():
    reading = read(SUMMARY)
    assert reading.table("syscall_totals").select("comm", "pid", "name", "n", "errors", "total_s", "max_s", "total_kind").rows() == [
        ("ls", 31362, "mmap", 18, 0, 0.000151, 1.8e-05, "wall"), ("ls", 31362, "openat", 5, 2, 0.0001, 5e-05, "wall"),
    ]  # fmt: skip
    assert reading.account.account.unknown == 0


def test_a_summary_of_old_versions_has_no_errors():
    text = (
        SUMMARY.replace("  errors", "")
        .replace("      0     0.151", "     0.151")
        .replace("      2     0.100", "     0.100")
    )
    assert read(text).table("syscall_totals").select("n", "errors").rows() == [(18, None), (5, None)]


def test_damage_and_stamps_since_boot():
    reading = read("12345678.100 ( 0.018 ms): a/1 close(fd: 3) = 0\n   0.710 ( 0.0\n")
    assert reading.account.account.unknown == 1
    assert reading.account.parts[0].domains[0].kind == "boot-relative"


def test_claims():
    for text in (TRACE, SUMMARY):
        claim = perf_trace.claim(Head(text.splitlines()))
        assert claim is not None
        assert (claim.variant, claim.strength >= 0.9) == ("trace", True)
    assert perf_trace.claim(Head(["close(3) = 0"])) is None


@given(
    start=st.integers(0, 10**9), took=st.integers(0, 10**8), tid=st.integers(1, 2**22), comm=st.from_regex(r"[a-z][a-z /:-]{0,8}[a-z]", fullmatch=True),
    name=st.from_regex(r"[a-z_][a-z0-9_]{0,10}", fullmatch=True), args=st.lists(st.sampled_from(["fd: 4", 'name: "a b"', "flags: A|B"]), max_size=4),
)  # fmt: skip
@settings(max_examples=examples(40), deadline=None, database=None)
def test_any_call_comes_back(start, took, tid, comm, name, args):
    line = f"{start / 1000:10.3f} ({took / 1000:6.3f} ms): {comm}/{tid} {name}({', '.join(args)})     = 3\n"
    row = read(line).table("syscalls").row(0, named=True)
    assert (row["comm"], row["lwp"], row["name"], row["args"], row["ret"]) == (comm, tid, name, ", ".join(args), 3)
    assert [row["t_local"], row["elapsed_s"]] == pytest.approx([start / 1e6, took / 1e6])
