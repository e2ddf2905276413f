"""Listings of tracers, profilers and run-times as people paste them: what stands out, what it is, and what is ordinary."""

from __future__ import annotations

from types import ModuleType

import pytest

from rules.observers import profile_weight, tool_tables
from rules.observers.observer import Sighting
from rules.signatures.signatures import recognise
from tests.rules.observers.of_text import told

PLOCKSTAT = """Mutex block

Count     nsec Lock                         Caller
-------------------------------------------------------------------------------
 4200 {ns} libfoo.so.1`tree_lock        shopd`tree_find+0x20
   31    20000 libc.so.1`_uberdata+0x1c0    libc.so.1`flockfile+0x20
"""
PERF_LOCK = """ contended   total wait     max wait     avg wait         type   caller

      6100      {total}      1.10 s      {mean}     rwsem:W   till_map+0x11a
       900      3.11 ms     12.11 us      3.45 us     spinlock   rcu_core+0xc
"""


def standing(module: ModuleType, text: str) -> list[tuple[str, str | None]]:
    """Return subject and mechanism of what stands out of a text."""
    made = [s for s in told(module, text) if not s.normal]
    return [(s.subject, _mechanism(s)) for s in made]


def _mechanism(sighting: Sighting) -> str | None:
    named = [found[0] for seen in sighting.seen if (found := recognise(**seen)) and found[0].mechanism]
    outright = [one for one in named if one.strength == "mechanism"]
    return (outright or named)[0].mechanism if named else None


@pytest.mark.parametrize(
    ("module", "text", "expected"),
    [
        (tool_tables, PLOCKSTAT.format(ns=31_000_000), [("libfoo.so.1`tree_lock", "lock-contention")]),
        (tool_tables, PLOCKSTAT.format(ns=3_000), []),
        (profile_weight, PERF_LOCK.format(total="5.08 m", mean="50.00 ms"), [("till_map", "kernel-lock")]),
    ],
)
def test_what_stands_out_is_named(module: ModuleType, text: str, expected: list[tuple[str, str | None]]) -> None:
    assert standing(module, text) == expected
