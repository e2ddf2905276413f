"""Tests of system logs beyond the corpus."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parsers.text.source import Hints
from tests.draw import examples
from tests.parsers.formats.evidence import read_bytes

FEW = settings(max_examples=examples(40), deadline=None, database=None)
WORDS = st.from_regex(r"[a-z]{1,8}( [a-z]{1,8}){0,4}", fullmatch=True)
PROGRAM = st.from_regex(r"[a-z][a-z0-9_-]{0,10}", fullmatch=True)
YEAR_2016 = st.datetimes(datetime(2016, 1, 1), datetime(2016, 12, 31)).map(lambda d: d.replace(microsecond=0))


@FEW
@given(rows=st.lists(st.tuples(YEAR_2016, PROGRAM, st.integers(1, 4194304), WORDS), min_size=1, max_size=6))
def test_tokens_of_a_line_come_out_of_the_columns(rows):
    rows = sorted(rows)
    text = "".join(f"{at:%b} {at.day:2} {at:%H:%M:%S} db1 {name}[{pid}]: {words}\n" for at, name, pid, words in rows)
    table = read_bytes(text.encode(), Hints(kind="syslog", variant="bsd", year=2016)).table("logs")
    assert table.select("t_local", "program", "pid", "text").rows() == [
        ((at - datetime(1970, 1, 1)).total_seconds(), name, pid, words) for at, name, pid, words in rows
    ]


@FEW
@given(rows=st.lists(st.tuples(YEAR_2016, st.integers(-11, 13), WORDS), min_size=1, max_size=6))
def test_stamps_with_an_offset_are_utc(rows):
    text, expected = "", []
    for at, hours, words in rows:
        stamp = at.replace(tzinfo=timezone(timedelta(hours=hours)))
        text += f"{stamp.isoformat()} db1 kernel: {words}\n"
        expected.append((stamp - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds())
    reading = read_bytes(text.encode(), Hints(kind="syslog", variant="iso"))
    assert reading.table("logs")["t_local"].to_list() == expected
    assert {d.kind for d in reading.account.parts[0].domains} == {"wall-utc"}


@FEW
@given(times=st.lists(st.integers(0, 10**12), min_size=1, max_size=6).map(sorted))
def test_seconds_since_boot(times):
    text = "".join(f"[{t // 10**6:5}.{t % 10**6:06}] eth0: link up\n" for t in times)
    table = read_bytes(text.encode(), Hints(kind="syslog", variant="dmesg")).table("logs")
    assert [round(t * 10**6) for t in table["t_local"]] == times


def test_an_hour_that_does_not_exist_has_no_time():
    text = b"Apr 14 25:58:39 db1 kernel: x\nApr 31 05:58:39 db1 kernel: y\nApr 14 05:58:39 db1 kernel: z\n"
    table = read_bytes(text, Hints(kind="syslog", variant="bsd", year=2016)).table("logs")
    assert table["t_local"].is_null().to_list() == [True, True, False]


def test_an_alert_log_is_no_system_log():
    text = b"2016-04-14T05:58:39.123456+02:00\nThread 1 advanced to log sequence 4711\n"
    assert read_bytes(text).account.kind != "syslog"


@FEW
@given(steps=st.lists(st.integers(1, 10**10), min_size=1, max_size=6))
def test_dmesg_e_adds_up_what_passed(steps):
    text = "[Nov22 05:06] first\n" + "".join(f"[{f'+{s // 10**6}.{s % 10**6:06}':>10}] later\n" for s in steps)
    table = read_bytes(text.encode(), Hints(kind="syslog", variant="dmesg_e", year=2026)).table("logs")
    base = (datetime(2026, 11, 22, 5, 6) - datetime(1970, 1, 1)).total_seconds()
    expected = [base + sum(steps[:n]) / 10**6 for n in range(len(steps) + 1)]
    assert table["t_local"].to_list() == pytest.approx(expected, abs=1e-5)


def test_a_named_zone_is_no_offset():
    text = b"Thu 2016-04-14 03:58:39 CEST db1 sshd[4711]: x\nThu 2016-04-14 03:58:40 CEST db1 sshd[4711]: y\n"
    reading = read_bytes(text)
    assert reading.table("logs")["program"].to_list() == ["sshd", "sshd"]
    assert {d.kind for d in reading.account.parts[0].domains} == {"wall-local"}
