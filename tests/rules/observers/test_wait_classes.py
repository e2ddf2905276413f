"""Tests of classes of waits: several events of one class are told together where none has half by itself."""

from __future__ import annotations

from rules.observers import wait_classes
from tests.rules.observers.of_text import told

WAITS = """wait_type               wait_time_s  waiting_tasks
LCK_M_X                 {x}        {n}
LCK_M_S                 3900.00        400
LCK_M_U                 2900.00        300
SOS_SCHEDULER_YIELD     1900.00        90000
"""

READS = """wait_type               wait_time_s  waiting_tasks
PAGEIOLATCH_SH          4000.00        {n}
WRITELOG                3000.00        {n}
PAGEIOLATCH_EX          2000.00        {n}
LCK_M_S                 1000.00        90
"""


def test_locks_have_most_of_the_time_together() -> None:
    made = told(wait_classes, WAITS.format(x="4100.00", n=500))
    assert [(s.seen, s.n) for s in made] == [(({"event": "LCK_M_X"},), 3)]
    assert "85.2 %" in made[0].headline


def test_one_event_with_half_is_told_by_its_own_listing() -> None:
    assert told(wait_classes, WAITS.format(x="91000.00", n=500)) == []


def test_many_quick_reads_accuse_no_disk() -> None:
    slow, quick = (told(wait_classes, READS.format(n=n))[0] for n in (90_000, 9_000_000))
    assert slow.seen == ({"event": "PAGEIOLATCH_SH"},)
    assert quick.seen == ()


def test_times_below_their_total() -> None:
    text = "TOTAL_WAIT_TIME = 91000\nLOCK_WAIT_TIME = {}\nPOOL_READ_TIME = 900\n"
    assert [s.seen for s in told(wait_classes, text.format(81000))] == [({"event": "lock_wait_time"},)]
    assert told(wait_classes, text.format(9000)) == []
