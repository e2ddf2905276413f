"""Listings of tracers, profilers and run-times as people paste them: what stands out, what it is, and what is ordinary."""

from __future__ import annotations

from types import ModuleType

import pytest

from rules.observers import (
    counted_calls,
    distributions,
    function_lists,
    profile_weight,
    standing_still,
    system_reports,
    tool_tables,
    tracer_lists,
)
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
IRQSOFF = """# tracer: irqsoff
#
# irqsoff latency trace v1.1.5 on 5.10.0
# latency: {us} us, #4/4, CPU#2 | (M:preempt VP:0, KP:0, SP:0 HP:0 #P:4)
#    | task: shopd-212 (uid:0 nice:0 policy:0 rt_prio:0)
#  => started at: till_watchdog
"""
HWLAT = """# tracer: hwlat
           <...>-1711  [001] d...   671.412449: #1     inner/outer(us):   12/{us}    ts:1581527690.143962693 count:6
"""
GRAPH = """ 3)               |  do_sys_open() {{
 3)   1.201 us    |    getname();
 3) $ {us} us  |      {function}();
 3) $ 1915201 us  |  }}
"""
CYCLIC = "T: 0 ( 9210) P:80 I:1000 C: 100000 Min:      3 Act:    5 Avg:    6 Max:   {us}\n"
FUTEX = "shopd[9282] lock 0x00bc7784 contended {n} times, {us} avg us\n"
HEAP = """garbage-first heap   total 2097152K, used {used}K [0x0000000700000000, 0x0000000800000000)
  region size 1024K, {young} young ({young_kb}K), 0 survivors (0K)
"""
JMAP = """PS Old Generation
   capacity = 1048576000 (1000.0MB)
   used     = {used} (999.0MB)
   free     = 9 (0.0MB)
   99.9% used
"""
CUT = " (concurrent mode failure): 90000K->{kb}K(91000K), {s} secs] 98000K->{kb}K(99000K), {s} secs] [Times: user=1.0 sys=0.2, real={s} secs]\n"
C2C = """            Shared Data Cache Line Table
#        ----------- Cacheline ----------    Total      Tot  ----- LLC Load Hitm -----
# Index             Address  Node  PA cnt  records     Hitm    Total      Lcl      Rmt
      0      {address}     0   12012   412013   {pct}%   102211    40110    62101
"""
SPINDUMP = """  Heaviest stack for the main thread of the target process:
  71  start + 1 (libdyld.dylib + 5549)
  71  main + 31 (Till + 1201)
  71  {wait} + 10 (libsystem_kernel.dylib + 72002)
"""
PPROF = """Showing nodes accounting for 41.20s, 82.40% of 50s total
      flat  flat%   sum%        cum   cum%
     {mark}.00s {mark2}.00% 14.00%     9.20s 18.40%  runtime.scanobject
     5.20s 10.40% 30.60%      5.90s 11.80%  runtime.greyobject
     7.10s 14.20% 40.80%      9.20s 18.40%  runtime.mallocgc
     5.10s 10.20% 49.00%      5.10s 10.20%  runtime.memclrNoHeapPointers
"""
PY_SPY = """Process 911: python3 till.py
Python v3.8.10 (/usr/bin/python3.8)

""" + "".join(
    f'Thread 91{n} (idle): "Thread-{n}"\n    {{leaf}} (threading.py:1048)\n    reserve (till.py:41)\n' for n in range(4)
)
GDB = "".join(
    f"Thread {n} (Thread 0x7f1{n} (LWP 81{n})):\n#0  {{leaf}} () at x.S:95\n#1  0x00007f in {way} () from /lib64/libtill.so\n#2  0x41 in till_{n} ()\n"
    for n, way in enumerate(("put_row", "drop_row", "find_row", "put_row"), 10)
)
STOPPED = "Total time for which application threads were stopped: {s} seconds, Stopping threads took: 0.001 seconds\n"
J9 = '<exclusive-end id="71" timestamp="2031-02-01T10:12:01.201" durationms="{ms}" />\n'
PYTHON = "gc: collecting generation 2...\ngc: done, 0 unreachable, 0 uncollectable, {s}s elapsed\n"
PERFVIEW = "Total GC Pause: 71,201.4 msec\n% Time paused for Garbage Collection: {pct}%\n"


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
        (
            system_reports,
            IRQSOFF.format(us=31_000),
            [("time with interrupts or preemption off: irqsoff", "kernel-stall")],
        ),
        (system_reports, IRQSOFF.format(us=90), []),
        (system_reports, HWLAT.format(us=2_900), [("time that the hardware took: hwlat", "kernel-stall")]),
        (system_reports, HWLAT.format(us=19), []),
        (
            system_reports,
            GRAPH.format(us=1_911_000, function="till_freeze"),
            [("function of the kernel: till_freeze", "kernel-work")],
        ),
        (
            system_reports,
            GRAPH.format(us=1_911_000, function="jbd2_log_wait_commit"),
            [("function of the kernel: jbd2_log_wait_commit", "journal-wait")],
        ),
        (system_reports, GRAPH.format(us=1_911, function="till_freeze"), []),
        (system_reports, CYCLIC.format(us=21_000), [("delay of a wake-up: real-time thread 0", "kernel-stall")]),
        (system_reports, CYCLIC.format(us=41), []),
        (system_reports, FUTEX.format(n=90, us=400_000), [("lock: shopd[9282] 0x00bc7784", "lock-contention")]),
        (system_reports, FUTEX.format(n=90, us=12), []),
        (
            system_reports,
            HEAP.format(used=2_096_000, young=2, young_kb=2048),
            [("old generation of Java: garbage-first heap", "heap-full")],
        ),
        (system_reports, HEAP.format(used=2_096_000, young=900, young_kb=921_600), []),
        (
            system_reports,
            JMAP.format(used=1_047_900_000),
            [("old generation of Java: PS Old Generation", "heap-full")],
        ),
        (
            system_reports,
            CUT.format(kb=89_000, s="12.5"),
            [("pause of a collector: the collector", "garbage-collection")],
        ),
        (system_reports, CUT.format(kb=89_000, s="0.2"), []),
        (system_reports, STOPPED.format(s="7.1"), [("pause of a collector: all threads", "garbage-collection")]),
        (system_reports, STOPPED.format(s="0.01"), []),
        (system_reports, J9.format(ms="7100.5"), [("pause of a collector: all threads", "garbage-collection")]),
        (system_reports, PYTHON.format(s="7.1"), [("pause of a collector: Python", "garbage-collection")]),
        (
            system_reports,
            PERFVIEW.format(pct="61.2"),
            [("time paused for collections: the program", "garbage-collection")],
        ),
        (system_reports, PERFVIEW.format(pct="2.2"), []),
        (
            system_reports,
            C2C.format(address="0x55d1fb1c0080", pct="61.20"),
            [("cache line that processors fight for: 0x55d1fb1c0080", "lock-contention")],
        ),
        (
            system_reports,
            C2C.format(address="0xffff8d3a5b1f6c40", pct="61.20"),
            [("cache line that processors fight for: 0xffff8d3a5b1f6c40", "kernel-lock")],
        ),
        (system_reports, C2C.format(address="0x55d1fb1c0080", pct="6.20"), []),
        (
            system_reports,
            SPINDUMP.format(wait="__psynch_mutexwait"),
            [("stack: __psynch_mutexwait", "lock-contention")],
        ),
        (
            standing_still,
            GDB.format(leaf="__lll_lock_wait_private"),
            [("__lll_lock_wait_private by 4 ways", "lock-contention")]
            + [("__lll_lock_wait_private", "lock-contention")] * 4,
        ),
        (standing_still, PY_SPY.format(leaf="acquire"), [("acquire (threading.py)", "lock-contention")]),
        (counted_calls, YIELDS.format(n=7_122_104), [("sched_yield", "busy-loop")]),
        (profile_weight, PERF_LOCK.format(total="5.08 m", mean="50.00 ms"), [("till_map", "kernel-lock")]),
    ],
)
def test_what_stands_out_is_named(module: ModuleType, text: str, expected: list[tuple[str, str | None]]) -> None:
    assert standing(module, text) == expected


def test_allocating_and_collecting_add_up() -> None:
    """Neither has half of the profile; what they have together is told beside each."""
    (both,) = (s for s in told(function_lists, PPROF.format(mark=7, mark2=14)) if s.n == 3)
    assert (both.kind, _mechanism(both)) == ("work", "garbage-collection")
    assert both.value == pytest.approx(38.6)
