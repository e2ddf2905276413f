"""No observer raises on any rows that the types of the tables allow: NULL, NaN, infinite, negative, huge, empty."""

from __future__ import annotations

import math
from collections.abc import Mapping
from random import Random
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rules.case.case import Case, columns_of
from rules.derived import comparisons, observations
from rules.observers.observer import MOST_LINES, observers

WORDS = (
    "", " ", "read", "poll", "accept", "connect", "fsync", "execve", "exit_group", "clone", "wait4", "futex", "nanosleep", "openat", "/a/b", "127.0.0.1",
    "10.0.0.9", "ENOENT", "ECONNREFUSED", "done", "no_return", "start", "end", "elapsed", "gap", "proven", "broken", "entry", "exit", "total", "rate",
    "level", "tcp", "udp", "iface", "S", "S.", "P.", "time_model", "DB time", "DB CPU", "TcpRetransSegs", "TcpOutSegs", "RX dropped", "time_total",
    "time_connect", "time_namelookup", "pids.current", "pids.max", "open files", "limits", "soft", "MemTotal", "MemFree", "some avg10", "D", "sleeping",
    "took 5 s", "real=5 user=0.1", "total=nan s", "x" * 300, "\x00", "%n{}", "server", "client", "parse", "fetch", "sda", "0", "-1", "1e999",
    "Request id=7 received", "id=7 answered", "Node 0 Normal free:1kB min:2kB low:3kB", "DNS A? a.local", "DNS answer NXDomain", "wrong checksum",
    "Setting a_b to 99999999999999999", "Killed process 1 (a) anon-rss:9kB", "a b/c 0/5000/1/-1/5021 200 9 -", "icmp", "host a unreachable",
)  # fmt: skip
"""Texts that some observer looks for, and odd ones."""

HUGE = 2**62
NUMBERS = (
    0.0,
    1.0,
    -1.0,
    0.1,
    0.3,
    5.005,
    7.0,
    50.0,
    99.0,
    100.0,
    1e9,
    1e18,
    1e300,
    -1e300,
    math.nan,
    math.inf,
    -math.inf,
)
WHOLE = (0, 1, 2, 3, 4, 5, 53, 1521, 40000, -1, HUGE, -HUGE)
PLACED: Mapping[str, tuple[Any, ...]] = {
    "artifact_id": (1, 1, 2), "part": (1, 1, 2), "host": (None, "a", "b"), "phase": (None, "good", "bad"), "clock": (None, "1.1:1"),
}  # fmt: skip


def value_of(kind: pl.DataType, chance: Random) -> Any:
    """Return a value of a column's type, NULL in a quarter of the cases."""
    if chance.random() < 0.25:
        return None
    if isinstance(kind, pl.List):
        return [chance.choice(NUMBERS if kind.inner == pl.Float64 else WORDS) for _ in range(chance.randrange(4))]
    if kind == pl.Boolean:
        return chance.random() < 0.5
    if kind == pl.String:
        return chance.choice(WORDS)
    if kind == pl.UInt64:
        return chance.choice((0, 1, 2**63))
    return chance.choice(WHOLE if kind.is_integer() else NUMBERS)


def rows_of(table: str, chance: Random) -> list[dict[str, Any]]:
    """Return random rows of a table, with what every format guarantees: lines from 1 on, an artifact, a part."""
    columns = {c: k for c, k in columns_of(table).items() if c not in ("line_no", "line_end", "t", "t_err")}
    return [
        {
            "line_no": n,
            **{c: chance.choice(PLACED[c]) if c in PLACED else value_of(k, chance) for c, k in columns.items()},
        }
        for n in range(1, 1 + chance.randrange(12))
    ]


@pytest.mark.drawn(3)
@pytest.mark.parametrize("name", sorted(observers()))
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_no_observer_raises(name: str, seed: int) -> None:
    one, chance = observers()[name], Random(seed)
    case = Case.of_tables({table: rows_of(table, chance) for table in one.OBSERVER.tables})
    for sighting in one.observe(case):
        assert sighting.headline
        assert sighting.lines
        assert sum(c.line_to - c.line_from + 1 for c in sighting.lines) <= MOST_LINES
        assert all(1 <= c.line_from <= c.line_to for c in sighting.lines)
        for figure in (sighting.value, sighting.seconds, sighting.share, sighting.of_s):
            assert figure is None or math.isfinite(figure)
        assert sighting.share is None or 0 <= sighting.share <= 1
        assert sighting.seconds is None or sighting.seconds >= 0


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_rows_of_several_tables_are_recognised(seed: int) -> None:
    chance = Random(seed)
    tables = ("logs", "counters", "conn_times", "vmstat", "ps")
    case = Case.of_tables({table: rows_of(table, chance) for table in tables})
    for made in (observations.build(case), comparisons.build(case)):
        assert not made.filter(pl.col("kind") == "failed")["headline"].to_list()
