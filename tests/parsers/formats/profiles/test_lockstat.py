"""Tests of kernel lock statistics beyond the corpus."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parsers.text.source import Hints, Limits
from tests.draw import examples
from tests.parsers.formats.evidence import parse_bytes, read_bytes

SETTINGS = settings(max_examples=examples(50), deadline=None, database=None)
LOCK = st.sampled_from(["0x3000a7f2fa8", "cpu[13]", "pvh_global_lock", "vm_dom+0x80", "cpu[2]+11"])
CALLER = st.from_regex(r"[a-z_]{1,12}(\+0x[0-9a-f]{1,3})?", fullmatch=True)
ROW = st.tuples(st.integers(1, 10**7), st.integers(0, 100), st.integers(0, 10**9), LOCK, CALLER)
HEAD = "Count indv cuml rcnt     nsec Lock                   Caller\n" + "-" * 79 + "\n"


@SETTINGS
@given(rows=st.lists(ROW, min_size=1, max_size=8), narrow=st.booleans())
def test_a_row_comes_back_from_its_columns(rows, narrow):
    form = "{} {}% {}% 0.00 {} {} {}\n" if narrow else "{:5d} {:3d}% {:3d}% 0.00 {:8d} {:<22} {}\n"
    text = "Spin lock spin: 12 events in 2.000 seconds (6 events/sec)\n\n" + HEAD
    text += "".join(form.format(n, pct, pct, ns, lock, caller) for n, pct, ns, lock, caller in rows)
    found = parse_bytes(text.encode(), "lockstat", "solaris").tables["locks"]
    expected = [(n, float(pct), float(ns), lock, caller, "spin lock spin", n / 2) for n, pct, ns, lock, caller in rows]
    assert found.select("n", "pct", "mean_ns", "lock", "caller", "event", "rate_ps").rows() == expected


POINT = st.tuples(
    st.integers(1, 10**9), st.from_regex(r"[a-z_]{1,12}\+0x[0-9a-f]{1,3}/0x[0-9a-f]{1,3}", fullmatch=True)
)


@SETTINGS
@given(
    waits=st.lists(POINT, min_size=1, max_size=4),
    holds=st.lists(POINT, min_size=1, max_size=4),
    size=st.integers(100, 700),
)
def test_points_know_on_which_side_they_stood(waits, holds, size):
    text = "lock_stat version 0.4\n class name    con-bounces    contentions   waittime-min   waittime-max waittime-total   waittime-avg\n"
    text += " &rq->__lock-W: 210 200 0.10 3.04 180.00 0.90 797 1000 0.03 20.69 500.00 0.50\n -----------\n"
    text += "".join(f" &rq->__lock {n:>10} [<ffffffff811502a7>] {f}\n" for n, f in waits) + " -----------\n"
    text += "".join(f" &rq->__lock {n:>10} [<ffffffff811502a7>] {f}\n" for n, f in holds)
    hints = Hints(kind="lockstat", variant="linux")
    rows = read_bytes(text.encode(), hints).table("locks")
    assert rows.filter(event="wait point").select("n", "caller").rows() == waits
    assert rows.filter(event="hold point").select("n", "caller").rows() == holds
    assert rows.filter(event="wait")["mean_ns"].to_list() == pytest.approx([900.0])
    assert rows.filter(event="hold")["mean_ns"].to_list() == pytest.approx([500.0])
    assert read_bytes(text.encode(), hints, Limits(run_bytes=size)).table("locks").equals(rows)


def test_basic_statistics_have_no_mean():
    text = "Adaptive mutex block: 3 events in 1.000 seconds (3 events/sec)\n\nCount indv cuml rcnt Lock                   Caller\n"
    text += "    3 100% 100% 0.00 0x60012ab3c00          as_map+0x40\n"
    rows = read_bytes(text.encode()).table("locks")
    assert rows.select("n", "mean_ns", "lock", "caller").rows() == [(3, None, "0x60012ab3c00", "as_map+0x40")]


def test_buckets_that_do_not_add_up_are_not_whole():
    text = "Spin lock hold: 9 events in 1.000 seconds (9 events/sec)\n" + HEAD + "    9 100% 100% 0.00 900 a b\n\n"
    text += "      nsec ------ Time Distribution ------ count     Stack\n      1024 |@@@@@@  4        f+0x1\n"
    reading = read_bytes(text.encode())
    assert reading.table("hist").select("lo", "hi", "n", "complete").rows() == [(512.0, 1024.0, 4.0, False)]
    assert reading.table("profile_stacks")["frames"].to_list() == [["b", "f+0x1"]]
