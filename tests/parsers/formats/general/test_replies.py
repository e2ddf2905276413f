"""Test nested replies of Redis: slow commands and latency events give rows of logs, other lists give none."""

from __future__ import annotations

import pytest

from tests.parsers.formats.evidence import read_bytes

SLOW = """\
 1) 1) (integer) 901
    2) (integer) 1735689660
    3) (integer) 250000
    4) 1) "hgetall"
       2) "basket:\\"9\\""
    5) "192.0.2.7:51000"
    6) "shop"
 2) 1) (integer) 900
    2) (integer) 1735689600
    3) (integer) 12000
    4) 1) "PING"
10) 1) (integer) 899
    2) (integer) 1735689500
    3) (integer) 11000
    4) 1) "SMEMBERS"
       2) "basket:all"
"""
LATEST = """\
192.0.2.9:6379> latency latest
1) 1) "fork"
   2) (integer) 1735689600
   3) (integer) 90
   4) (integer) 410
2) 1) "aof-fsync-always"
   2) (integer) 1735689610
   3) (integer) 15
   4) (integer) 15
(0.52s)
"""


def logs_of(text: str) -> list[tuple[object, ...]]:
    reading = read_bytes(text.encode())
    assert reading.account.kind == "text"
    rows = reading.tables.get("logs")
    return [] if rows is None else rows.select("line_no", "line_end", "t_local", "op", "elapsed_s", "text").rows()


def test_the_slow_commands_of_a_store():
    assert logs_of(SLOW) == [
        (1, 7, 1735689660.0, "command HGETALL", 0.25, 'hgetall basket:\\"9\\"'),
        (8, 11, 1735689600.0, "command PING", 0.012, "PING"),
        (12, 16, 1735689500.0, "command SMEMBERS", 0.011, "SMEMBERS basket:all"),
    ]


def test_the_latency_events_of_a_store():
    assert logs_of(LATEST) == [
        (2, 5, 1735689600.0, "latency event fork", 0.41, "fork: last 90 ms, at most 410 ms"),
        (6, 9, 1735689610.0, "latency event aof-fsync-always", 0.015, "aof-fsync-always: last 15 ms, at most 15 ms"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        '1) 1) "x"\n   2) (integer) 3\n2) 1) "y"\n   2) (integer) 4\n',
        '1) 1) "fork"\n   2) (integer) 1735689600\n   3) (nil)\n   4) (integer) 5\n',
        "1) 1) (integer) 4\n   2) (integer) 1735689600\n   3) (integer) -1\n   4) 1) \"GET\"\n",
        '1) "a"\n2) "b"\n3) "c"\n',
    ],
    ids=["pairs", "no time", "a time below 0", "flat"],
)  # fmt: skip
def test_other_lists_give_no_line_of_a_log(text):
    assert logs_of(text) == []


def test_an_entry_that_is_too_long_keeps_its_time():
    words = "".join(f'      {n:>3}) "k{n}"\n' for n in range(2, 900))
    ((*_, op, elapsed, text),) = logs_of(
        f'1) 1) (integer) 4\n   2) (integer) 1735689600\n   3) (integer) 70000\n   4)   1) "mget"\n{words}'
    )
    assert (op, elapsed, len(str(text))) == ("command MGET", 0.07, 200)
