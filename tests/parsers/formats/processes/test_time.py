"""Tests of timings of commands: the forms of all shells, signs, runs."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parsers.formats.processes.time import format as time
from parsers.text.source import Head, Hints, Limits
from tests.draw import examples
from tests.parsers.formats.evidence import read_bytes

TIME = Hints(kind="time")


def read(text: str, **limits: int):
    reading = read_bytes(text.encode(), TIME, Limits(**limits) if limits else None)
    assert reading.error is None
    assert reading.account.account.lines == len(text.splitlines())
    return reading


@pytest.mark.parametrize(
    ("text", "elapsed", "cpu"),
    [
        ("real\t0m2.471s\nuser\t0m0.010s\nsys\t0m0.020s\n", 2.471, 0.03),
        ("real    1h1m2.5s\nuser    0m0.01s\nsys     0m0.02s\n", 3662.5, 0.03),
        ("real 12.34\nuser 0.01\nsys 0.02\n", 12.34, 0.03),
        ("\nreal     1:02.3\nuser        0.0\nsys         0.1\n", 62.3, 0.1),
        ("    0m2.47s real     0m0.01s user     0m0.02s system\n", 2.47, 0.03),
        ("        0.50 real         0.45 user         0.04 sys\n", 0.5, 0.49),
        ("0.010u 0.020s 0:02.47 1.2%\t0+0k 0+0io 0pf+0w\n", 2.47, 0.03),
        ("ls -l  0.01s user 0.02s system 1% cpu 2.471 total\n", 2.471, 0.03),
        ("0.45user 0.04system 1:00:00.50elapsed 98%CPU (0avgtext+0avgdata 1maxresident)k\n", 3600.5, 0.49),
    ],
    ids=["bash", "hours", "posix", "solaris", "mksh", "bsd", "csh", "zsh", "gnu"],
)
def test_forms(text, elapsed, cpu):
    rows = read(text).table("conn_times").select("elapsed_s", "cpu_s", "seq").rows()
    assert rows == [(elapsed, cpu, 1)]
    claim = time.claim(Head(text.splitlines()))
    assert claim is not None
    assert claim.strength >= 0.9


def test_a_comma_that_may_be_either_gives_no_number():
    reading = read("real 1,234\nuser 0,010\nsys 0,020\n")
    assert reading.table("conn_times")["elapsed_s"].to_list() == [1.234]
    open_one = read("real 1,234\nuser 1,010\nsys 2,020\n")
    assert open_one.table("conn_times")["elapsed_s"].to_list() == [None]
    assert [n.kind for n in open_one.account.notes] == ["remark"]


def test_a_command_that_was_killed():
    text = (
        "Command terminated by signal 9\n0.00user 0.01system 0:03.02elapsed 0%CPU (0avgtext+0avgdata 1maxresident)k\n"
    )
    assert read(text).table("conn_times").select("ok", "err").rows() == [(False, "signal 9")]


def test_the_command_at_the_prompt_names_the_series():
    text = "db1$ time tnsping X\nreal\t0m2.471s\nuser\t0m0.010s\nsys\t0m0.020s\n"
    assert read(text).table("conn_times")["series"].to_list() == ["tnsping X"]
    hinted = read_bytes(text.split("\n", 1)[1].encode(), Hints(kind="time", command="time tnsping Y"))
    assert hinted.table("conn_times")["series"].to_list() == ["time tnsping Y"]


def test_runs_cut_anywhere_give_the_same_rows():
    text = (
        "".join(f"$ time c{n}\nreal\t0m{n}.500s\nuser\t0m0.010s\nsys\t0m0.020s\n\n" for n in range(30))
        + "...\nreal\t0m1.5s\n"
    )
    whole = read(text).table("conn_times")
    assert whole["contiguous"][-1] == "broken"
    for size in (90, 133, 200, 411):
        assert read(text, run_bytes=size).table("conn_times").equals(whole), size


def test_prose_is_no_timing():
    assert time.claim(Head(["The real reason is total confusion.", "user error"])) is None
    few = time.claim(Head([*["close(3) = 0"] * 60, "real 1.0", "user 0.1", "sys 0.1"]))
    assert few is None or few.strength < 0.3


@given(
    st.lists(
        st.tuples(st.integers(0, 600_000), st.integers(0, 59_000), st.integers(0, 59_000)), min_size=1, max_size=20
    )
)
@settings(max_examples=examples(30), deadline=None, database=None)
def test_any_timing_comes_back(values):
    def shown(ms: int) -> str:
        return f"{ms // 60_000}m{ms % 60_000 / 1000:.3f}s"

    text = "".join(f"\nreal\t{shown(a)}\nuser\t{shown(b)}\nsys\t{shown(c)}\n" for a, b, c in values)
    rows = read(text).table("conn_times").select("elapsed_s", "cpu_s", "seq").rows()
    expected = [(a / 1000, (b + c) / 1000, n) for n, (a, b, c) in enumerate(values, 1)]
    assert rows == [tuple(map(pytest.approx, row)) for row in expected]
