r"""Lines in which debuggers and dumps list locks with their holders: `!locks`, `!cs -l` and `!syncblk` of WinDbg, LOCKS of a javacore;
the processor time of threads (`!runaway`), and the thread pool of .NET (`!threadpool`).

Each becomes a row as those of `stated_lines` do: what is counted, of whom, how much, of how much. `state` keeps what the lines above
said. The figure of a lock stands on the line of its holder, or on that of its last waiter. LockCount is read as it is printed: how
many more wait for the section (`!locks` of Windows Server 2003 SP1 and later; LOCKED sections without waiters count 0).
Source: Microsoft Learn, !locks (!ntsdexts.locks), !cs, !runaway, SOS !syncblk and !threadpool; IBM SDK, Locks, monitors, and
deadlocks (LOCKS) in a javacore.
"""

from __future__ import annotations

import re
from typing import Any

Stated = tuple[str, str, float, float | None]

WAITERS = "threads wait for a lock"
SPENT = "processor time of a thread"
BUSY = "workers of .NET's pool busy"
QUEUED = "work items of .NET's pool"

_SECTION = re.compile(
    r"CritSec (?P<who>\S{1,200}) at [0-9a-f`]{8,17}.*|Critical section[ \t]+= 0x[0-9a-f`]{4,17}(?: \((?P<who2>[^()]{1,200})\))?[ \t]*"
)
_COUNT = re.compile(r"LockCount[ \t]+(?:= )?(?:0x(?P<hex>[0-9A-Fa-f]{1,8})|(?P<n>-?[0-9]{1,9}))[ \t]*")
_OWNER = re.compile(r"OwningThread[ \t]+(?:= )?(?:0x)?0*(?P<who>[0-9a-fA-F]{1,16})\b.*")
_OF_SECTION = re.compile(
    r"(?:WaiterWoken|RecursionCount|EntryCount|ContentionCount|LockSemaphore|SpinCount|DebugInfo)[ \t]+(?:= )?\S+.*"
    r"|\*\*\* Locked|LOCKED|Scanned [0-9]{1,9} critical sections"
)
_SYNC = re.compile(
    r"Index[ \t]+SyncBlock[ \t]+MonitorHeld[ \t]+Recursion[ \t]+Owning Thread Info[ \t]+SyncBlock Owner[ \t]*"
)
_SYNC_ROW = re.compile(
    r"[ \t]*[0-9]{1,9}[ \t]+[0-9a-fA-F]{8,16}[ \t]+(?P<held>[0-9]{1,9})[ \t]+[0-9]{1,9}[ \t]+[0-9a-fA-F]{8,16}[ \t]+(?P<os>[0-9a-f]{1,8})"
    r"[ \t]+(?P<thread>[0-9]{1,6}|XXX)[ \t]+[0-9a-fA-F]{8,16}[ \t]+(?P<who>\S{1,200}).*"
)
_MONITOR = re.compile(
    r'3LKMONOBJECT[ \t]+(?P<who>[^@\s]{1,200})(?:@\S{1,40})?: (?:(?:Flat|Inflated) locked by|owner) "(?P<owner>[^"]{0,200})".*'
)
_WAITER = re.compile(r'3LKWAITER[ \t]+"[^"]{0,200}".*')
_OF_LOCKS = re.compile(
    r"[123]LK(?:WAITERQ|NOTIFYQ|WAITNOTIFY|MONINUSE|MONPOOLINFO|MONPOOLTOTAL|POOLINFO|MONUNNAMED|REGVMMON|REGMON)\b.*|3LKWAITNOTIFY[ \t].*"
)
_MODE = re.compile(r"[ \t]*(?P<mode>User|Kernel) Mode Time[ \t]*")
_SPENT = re.compile(
    r"[ \t]*(?P<who>[0-9]{1,5}:[0-9a-f]{1,8})[ \t]+(?P<d>[0-9]{1,5}) days (?P<h>[0-9]{1,2}):(?P<m>[0-9]{2}):(?P<s>[0-9]{2}\.[0-9]{1,7})[ \t]*"
)
_WORKERS = re.compile(
    r"(?:Worker Thread:[ \t]*Total:|Workers Total:)[ \t]*(?P<total>[0-9]{1,6})(?:[ \t]+Running:[ \t]*(?P<busy>[0-9]{1,6}))?.*"
)
_RUNNING = re.compile(r"Workers Running:[ \t]*(?P<busy>[0-9]{1,6})[ \t]*")
_QUEUE = re.compile(r"Work Request in Queue:[ \t]*(?P<n>[0-9]{1,9})[ \t]*")


def stated(line: str, state: dict[str, Any]) -> list[Stated] | None:
    """Return what a line states, an empty list for one that only belongs to a list, None for any other.

    >>> state = {}
    >>> [stated(x, state) for x in ("CritSec till!g_stock+0 at 77fa5340", "LockCount          3")]
    [[], []]
    >>> stated("OwningThread       1e84", state)
    [('threads wait for a lock', 'till!g_stock+0, which thread 1e84 holds', 3.0, None)]
    >>> stated("Work Request in Queue: 341", {}), stated("LockCount 3", {})
    ([("work items of .NET's pool", 'the thread pool of .NET', 341.0, None)], None)
    """
    first = line.lstrip(" \t")[:1]
    if not first or first not in "CLODWRES*I0123456789UK":
        return None
    if first in "123" and (made := _of_javacore(line, state)) is not None:
        return made
    if first.isdigit():
        return _of_rows(line, state)
    if found := _SECTION.fullmatch(line):
        state["section"] = {"who": found["who"] or found["who2"] or "a critical section", "n": 0.0}
        return []
    if (section := state.get("section")) is not None:
        if found := _COUNT.fullmatch(line):
            section["n"] = float(int(found["hex"], 16) if found["hex"] else int(found["n"]))
            return []
        if found := _OWNER.fullmatch(line):
            return [(WAITERS, f"{section['who']}, which thread {found['who']} holds", max(0.0, section["n"]), None)]
        if _OF_SECTION.fullmatch(line):
            return []
        state.pop("section")
    if _SYNC.fullmatch(line):
        state["sync"] = True
        return []
    if found := _MODE.fullmatch(line):
        state["spent"] = found["mode"]
        return []
    return _of_pool(line, state)


def _of_rows(line: str, state: dict[str, Any]) -> list[Stated] | None:
    """Return what a row of `!syncblk` or of `!runaway` states."""
    if state.get("sync") and (found := _SYNC_ROW.fullmatch(line)):
        waiters = max(0, (int(found["held"]) - 1) // 2)  # the holder counts one, each waiter two
        return [
            (WAITERS, f"a {found['who']}, which thread {found['thread']} ({found['os']}) holds", float(waiters), None)
        ]
    if state.get("spent") == "User" and (found := _SPENT.fullmatch(line)):
        seconds = 86400.0 * int(found["d"]) + 3600.0 * int(found["h"]) + 60.0 * int(found["m"]) + float(found["s"])
        return [(SPENT, f"thread {found['who']}", seconds, None)]
    return [] if "spent" in state and _SPENT.fullmatch(line) else None


def _of_javacore(line: str, state: dict[str, Any]) -> list[Stated] | None:
    """Return what a line of the locks of a javacore states: each waiter one more for the monitor above it."""
    if found := _MONITOR.fullmatch(line):
        state["monitor"] = {"who": found["who"].replace("/", "."), "owner": found["owner"], "n": 0.0}
        return []
    if "monitor" in state and _WAITER.fullmatch(line):
        monitor = state["monitor"]
        monitor["n"] += 1.0
        return [(WAITERS, f'{monitor["who"]}, which "{monitor["owner"]}" holds', monitor["n"], None)]
    return [] if _OF_LOCKS.fullmatch(line) else None


def _of_pool(line: str, state: dict[str, Any]) -> list[Stated] | None:
    """Return what a line of `!threadpool` states."""
    whose = "the thread pool of .NET"
    if found := _QUEUE.fullmatch(line):
        return [(QUEUED, whose, float(found["n"]), None)]
    if found := _WORKERS.fullmatch(line):
        state["workers"] = float(found["total"])
        return [(BUSY, whose, float(found["busy"]), float(found["total"]))] if found["busy"] else []
    if "workers" in state and (found := _RUNNING.fullmatch(line)):
        return [(BUSY, whose, float(found["busy"]), float(state["workers"]))]
    return None
