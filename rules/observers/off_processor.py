"""Who stood ready and did not run? Calls that wait for nothing and were long all the same.

Stands out: at least `CALLS` calls of `NAMES` or more names in one process, each of `FELT_S` (0.1 s) or more, that need no
device, peer or lock, one of them a call that does nothing but read or set a word of the kernel (`INSTANT`). Such a call is
as long as its thread was kept off the processors: by others, by a quota, by a tracer that was late itself.
Normal: a single one, which may have met a page that had to be read; calls of one name, which may be slow for their own
reason (a clock, a lock of the address space).
Worked example: clock_gettime 0.299 s, newfstatat 0.300 s, brk 0.200 and 0.304 s, getrandom without waiting 0.346 s: five
calls of four names, 1.449 s together.
Cost: one pass over the calls of these names that were long. Source: sched(7); getrandom(2), GRND_NONBLOCK.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import polars as pl

from rules.derived.derived_table import CaseTables
from rules.observers.log_times import LONGEST_S
from rules.observers.observer import FELT_S, Lines, Observer, Sighting, figure, place
from rules.observers.traced import calls, union
from rules.walking.threads import OWN_S

OBSERVER = Observer(
    "off-processor",
    "Who stood ready and did not run?",
    ("syscalls",),
    {
        "linux": "pidstat -w -u -t -p PID 1 10; taskset -pc PID; cat /proc/PID/schedstat",
        "solaris": "prstat -mL -p PID 1 10 (LAT); psrinfo; pbind -q PID",
        "aix": "ps -o THREAD -p PID; bindprocessor -q; lparstat 1 10",
    },
)

INSTANT = [
    *("getpid", "getppid", "gettid", "getuid", "geteuid", "getgid", "getegid", "getpgrp", "getpgid", "getsid", "umask"),
    *("clock_gettime", "gettimeofday", "time", "times", "clock_getres", "sched_getaffinity", "sched_getparam"),
    *("rt_sigaction", "rt_sigprocmask", "sigaction", "sigprocmask", "lwp_sigmask", "sigaltstack", "arch_prctl"),
    *("set_robust_list", "set_tid_address", "rseq", "lwp_self", "getrlimit", "prlimit64", "getcpu"),
]
"""Calls that read or set a word of the kernel."""

SHORT = [
    *INSTANT,
    *("brk", "mprotect", "lseek", "llseek", "dup", "dup2", "dup3", "pipe", "pipe2", "fcntl", "uname", "sysinfo"),
    *(
        "stat",
        "lstat",
        "fstat",
        "stat64",
        "lstat64",
        "fstat64",
        "newfstatat",
        "fstatat",
        "statx",
        "access",
        "faccessat",
    ),
]
"""Calls that need no device as long as names and pages are in memory, no peer and no lock that is held for long."""

ASKED_NOT_TO_WAIT = (pl.col("name") == "getrandom") & pl.col("args").str.contains("GRND_NONBLOCK")

CALLS = 4
"""Minimum number of long calls: one or two may each have a reason of their own."""

NAMES = 3
"""Minimum number of different names among them."""

NAMED = 4
"""Maximum number of names that are told, each with its longest call."""

CITED = 6
"""Maximum number of calls that are cited, the longest first."""


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield the processes that were kept off the processors, the longest first."""
    return sorted(_processes(case), key=lambda s: -(s.seconds or 0.0))


def _processes(case: CaseTables) -> Iterator[Sighting]:
    long = OWN_S.is_between(FELT_S, LONGEST_S)
    key = ["artifact_id", "pid"]
    for rows in calls(case, long & (pl.col("name").is_in(SHORT) | ASKED_NOT_TO_WAIT), whole=True):
        enough = (pl.len() >= CALLS) & (pl.col("name").n_unique() >= NAMES) & pl.col("name").is_in(INSTANT).any()
        for _, one in rows.filter(enough.over(key)).group_by(key, maintain_order=True):
            yield _sighting(one.sort("own_s", descending=True))


def _sighting(rows: pl.DataFrame) -> Sighting:
    """Return the sighting of the long calls of one process, given longest first."""
    first = rows.row(0, named=True)
    longest = rows.unique("name", keep="first", maintain_order=True).head(NAMED)
    named = ", ".join(f"{name} {figure(own, 's')}" for name, own in longest.select("name", "own_s").iter_rows())
    seconds = union(rows)
    who = f"process {first['pid']}" if first["pid"] is not None else "the process"
    return Sighting(
        "off-processor",
        who,
        f"{rows.height:,} calls of {who} that wait for nothing took {figure(seconds, 's')} together ({named}):"
        " it was ready and did not run",
        "off_processor_s",
        seconds,
        "s",
        tuple(
            Lines(row["artifact_id"], line, line, f"{row['name']}: {figure(row['own_s'], 's')}")
            for row in rows.head(CITED).iter_rows(named=True)
            for line in dict.fromkeys((row["line_no"], row["line_end"] or row["line_no"]))
        ),
        **place(first),
        t_from=None if first["done_s"] is None else first["done_s"] - first["own_s"],
        t_to=first["done_s"],
        against="calls that end at once",
        seconds=seconds,
        n=rows.height,
        seen=({"counter": "off_processor_s"},),
    )
