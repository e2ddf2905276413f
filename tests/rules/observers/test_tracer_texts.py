"""Listings of tracers, profilers and run-times as people paste them: what stands out, what it is, and what is ordinary."""

from __future__ import annotations

from types import ModuleType

import pytest

from rules.observers import counted_calls, distributions, profile_weight, tool_tables, tracer_lists
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
BIOLATENCY = """Attaching 4 probes...
Tracing block device I/O... Hit Ctrl-C to end.
@usecs:
[{lo}, {hi})         210 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|
[1M, 2M)               9 |@@                                                  |
"""
OFF = """{what}-off:
         msecs           : count     distribution
        {bucket}       : 7        |****************************************|
       320 -> 639        : 1        |*****                                   |
"""
OF_DISK = """  nvme2n1
           value  ------------- Distribution ------------- count
        {lo} |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@           311
        {hi} |@@@@                                     40
"""
RUNQSLOWER = """TIME     COMM             TID           LAT(us)
14:11:02 shopd            1211            {late}
14:11:02 shopd            1212            {late}
14:11:03 tilld            2211            {late}
"""
SOFTIRQS = """SOFTIRQ          TOTAL_usecs
net_rx             {us}
rcu                     7122
timer                   1312
"""
EXECSNOOP = "PCOMM            PID    PPID   RET ARGS\n" + "".join(
    f"which            99{n}   2210     0 /usr/bin/which {{}}\n" for n in range(10, 16)
)
RETRANS = "TIME     PID    IP LADDR:LPORT          T> RADDR:RPORT          STATE\n" + "".join(
    f"01:55:0{n} 0      4  198.51.100.1:22    R> 198.51.100.9:{{}}      ESTABLISHED\n" for n in range(4)
)
SYSCOUNT = """SYSCALL                   COUNT        TIME (us)
futex                       901     91211902.121
fdatasync                   {n}     {us}.121
pwrite64                   8022        78121.203
"""
YIELDS = """Tracing syscalls, printing top 10... Ctrl+C to quit.
SYSCALL                   COUNT
sched_yield             {n}
read                      11001
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
        (distributions, BIOLATENCY.format(lo="64K", hi="128K"), [("block device I/O @usecs", "disk-latency")]),
        (distributions, OFF.format(what="hardirq", bucket="40 -> 79  "), [("hardirq-off msecs", "kernel-stall")]),
        (distributions, OF_DISK.format(lo="33554432", hi="67108864"), [("1 nvme2n1", "disk-latency")]),
        (distributions, OF_DISK.format(lo="   65536", hi="  131072"), []),
        (tracer_lists, RUNQSLOWER.format(late=41_000), [("run queue", "cpu-saturated")]),
        (tracer_lists, RUNQSLOWER.format(late=1_000), []),
        (tracer_lists, SOFTIRQS.format(us=8_122_104), [("net_rx", "interrupt-load")]),
        (tracer_lists, SOFTIRQS.format(us=122_104), []),
        (tracer_lists, EXECSNOOP.format(*["till"] * 6), [("/usr/bin/which till", "fork-storm")]),
        (tracer_lists, EXECSNOOP.format(*"abcdef"), []),
        (tracer_lists, RETRANS.format(*["443"] * 4), [("198.51.100.9:443", "packet-loss")]),
        (tracer_lists, SYSCOUNT.format(n=340, us=18_122_104), [("fdatasync", "flush-wait")]),
        (tracer_lists, SYSCOUNT.format(n=340, us=122_104), []),
        (counted_calls, YIELDS.format(n=7_122_104), [("sched_yield", "busy-loop")]),
        (profile_weight, PERF_LOCK.format(total="5.08 m", mean="50.00 ms"), [("till_map", "kernel-lock")]),
    ],
)
def test_what_stands_out_is_named(module: ModuleType, text: str, expected: list[tuple[str, str | None]]) -> None:
    assert standing(module, text) == expected
