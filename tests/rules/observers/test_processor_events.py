"""Tests of events that perf stat counts: they stand out by what they cost beside the time on processors."""

from __future__ import annotations

import pytest

from rules.observers import processor_events, still_counters
from rules.signatures.signatures import recognise
from tests.rules.observers.of_text import told

SCHEDULED = """ Performance counter stats for process id '9711':

       5012.411023      task-clock (msec)         #    0.981 CPUs utilized
         {switches}      context-switches          #    0.297 M/sec
         {faults}      page-faults               #    0.122 K/sec

       5.102113401 seconds time elapsed

       {user} seconds user
       {system} seconds sys
"""
MEMORY = """    38,211,901,221      cycles
     {done}      instructions
       812,002,113      cache-references
       {missed}      cache-misses              #   71.000 % of all cache refs
"""
QUIET = {"switches": "9,112", "faults": "9,112", "user": "3.1", "system": "1.1"}


@pytest.mark.parametrize(
    ("text", "mechanism"),
    [
        (SCHEDULED.format(**QUIET | {"switches": "1,911,203"}), "context-switch-storm"),
        (SCHEDULED.format(**QUIET | {"faults": "1,911,203", "system": "4.1", "user": "0.9"}), "page-fault-storm"),
        # The program itself computes most of the time, whatever memory it takes.
        (SCHEDULED.format(**QUIET | {"faults": "1,911,203", "system": "0.9", "user": "4.1"}), None),
        (SCHEDULED.format(**QUIET), None),
        (MEMORY.format(done="5,121,002,113", missed="576,521,500"), "program-compute"),
        (MEMORY.format(done="45,121,002,113", missed="576,521,500"), None),
        (MEMORY.format(done="5,121,002,113", missed="6,521,500"), None),
    ],
)
def test_what_the_events_of_a_program_cost(text: str, mechanism: str | None) -> None:
    found = [s for s in told(processor_events, text) if not s.normal]
    assert [recognise(**s.seen[0])[0].mechanism for s in found] == ([mechanism] if mechanism else [])


def test_a_part_in_percent_is_no_rate_in_time() -> None:
    assert told(still_counters, MEMORY.format(done="5,121,002,113", missed="576,521,500")) == []
