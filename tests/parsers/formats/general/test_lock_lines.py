"""Lists of locks with their holders, threads by processor time and the pool of .NET, as debuggers and dumps print them."""

from __future__ import annotations

import pytest

from tests.parsers.formats.evidence import read_bytes

LOCKS = """0:007> !locks

CritSec till!g_stock+0 at 00007ff6`1c8a3310
WaiterWoken        No
LockCount          4
RecursionCount     1
OwningThread       2b1c
EntryCount         0
ContentionCount    c
*** Locked
"""
SECTION = """Critical section   = 0x0000000004d2b8a0 (till!g_queue+0x0)
LOCKED
LockCount          = 0x1A
OwningThread       = 0x0000000000001b54
"""
SYNC = """Index SyncBlock MonitorHeld Recursion Owning Thread Info  SyncBlock Owner
   17 00000238e7a1b0c8            7         1 00000238e7a3c6d0 2f44  11   00000238d0f0c2e8 Till.Stock
"""
CORE = """3LKMONOBJECT       com/example/till/Stock@0x00000000FBF1D0C8: Flat locked by "worker-8" (J9VMThread:0x0000000001B4BF00), entry count 1
3LKWAITERQ            Waiting to enter:
3LKWAITER                "worker-1" (J9VMThread:0x00000000006EB200)
3LKWAITER                "worker-3" (J9VMThread:0x0000000000718D00)
"""
POOL = """Worker Thread: Total: 40 Running: 40 Idle: 0 MaxLimit: 40 MinLimit: 8
Work Request in Queue: 512
"""
RUNAWAY = """ User Mode Time
  Thread       Time
  14:2b1c      1 days 0:47:12.812
 Kernel Mode Time
  Thread       Time
  14:2b1c      0 days 0:00:02.112
"""


def stated(text: str) -> list[list[str]]:
    rows = read_bytes(text.encode()).tables.get("rows")
    held = [] if rows is None else rows.to_dicts()
    return [row["cells"] for row in held if row["heading"] == ["system report"]]


@pytest.mark.parametrize(
    ("text", "last"),
    [
        (LOCKS, ["threads wait for a lock", "till!g_stock+0, which thread 2b1c holds", "4", ""]),
        (SECTION, ["threads wait for a lock", "till!g_queue+0x0, which thread 1b54 holds", "26", ""]),
        (SYNC, ["threads wait for a lock", "a Till.Stock, which thread 11 (2f44) holds", "3", ""]),
        (CORE, ["threads wait for a lock", 'com.example.till.Stock, which "worker-8" holds', "2", ""]),
        (POOL, ["work items of .NET's pool", "the thread pool of .NET", "512", ""]),
        (RUNAWAY, ["processor time of a thread", "thread 14:2b1c", "89232.812", ""]),
    ],
)
def test_what_is_stated_last(text: str, last: list[str]) -> None:
    assert stated(text)[-1] == last


def test_a_count_without_a_section_states_nothing() -> None:
    assert stated("LockCount 3\nOwningThread 12\n") == []
