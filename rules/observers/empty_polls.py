"""What is asked for without waiting? Polls with a time-out of 0 that find nothing, or that find what nobody takes.

Stands out: a thread that made at least `LOOP` such polls and hardly anything else: reads of clocks, timers, signals and
calls that would have waited (EAGAIN) bring it no further. Normal: fewer, which are told as a measure from `FEW` on; a thread
that also waits, or that moves data between its polls, looks whether more has come while it works (an event loop with work).
A poll that says at once that descriptors are ready brings no further either if nothing is read, written or closed between
the polls: it will say so again. That needs other calls in the trace, which may show polls alone.
Worked example: 40 times `epoll_wait(7, [], 64, 0) = 0` and 80 times clock_gettime: 40 polls, share 1.0 of the calls.
Cost: one aggregation over the polls, and one over the calls of threads that poll so.
Source: epoll_wait(2), poll(2), select(2): a time-out of 0 returns at once;
read(2), EAGAIN.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import Lines, Observer, Sighting, place
from rules.walking.targets import POLLS
from rules.walking.threads import READ_NAMES
from rules.writing.process_words import number_words

OBSERVER = Observer(
    "empty-polls",
    "What is asked for without waiting?",
    ("syscalls",),
    {
        "linux": "gdb -p PID -batch -ex 'thread apply all bt'; perf top -g -p PID",
        "solaris": "pstack PID, three times, 5 s apart",
    },
    like="rounds",
)

FEW = 2
"""Minimum number of polls that are told at all: one is how a loop looks for more work."""

LOOP = 5
"""Minimum number of polls of a loop, as many as rounds need: fewer are how an event loop ends its work."""

IN_BETWEEN = 0.1
"""Maximum part of other calls than empty polls, clocks and timers: who moves data once in ten polls gets somewhere."""

THREADS = 3
"""Maximum number of threads that are told, those with most polls first."""

CITED = 4
"""Number of first polls that are cited, so that a reader sees what stands between them."""

ZERO = r"^-?[^,]*, .*, (?:0|0x0)(?:, (?:NULL|0x0|0|\[[^\]]*\])(?:, \d+)?)?$|, \{(?:tv_sec=)?0, (?:tv_[un]sec=)?0\}(?:, .*)?$"
"""Arguments of a poll that end with a time-out of 0, before a set of signals and its size where the call has them."""

NOTHING = [
    *(
        "clock_gettime",
        "clock_gettime64",
        "gettimeofday",
        "time",
        "times",
        "getrusage",
        "clock_getres",
        "getpid",
        "gettid",
    ),
    *("timer_settime", "timer_gettime", "setitimer", "rt_sigreturn", "sigreturn", "rt_sigprocmask", "sigprocmask"),
    *("sched_yield", "sched_getaffinity", "getcpu", "lwp_sigmask", "yield"),
]
"""Calls that bring a program no further: they read clocks, set timers, come back from signals, or yield."""


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield threads that poll without waiting, those with most polls first."""
    polls, done = pl.col("name").is_in(POLLS), pl.col("err").is_null()
    empty = polls & done & (pl.col("ret") == 0) & pl.col("args").str.contains(ZERO)
    yield from _loops(case, empty.fill_null(value=False), "nothing", _found_nothing, "poll-without-waiting")
    ready = (polls & done & (pl.col("ret") > 0)).fill_null(value=False)
    yield from (
        made
        for made in _loops(case, ready, "something is ready", _took_nothing, "poll-ready-ignored", 1)
        if not made.normal
    )


def _calls_of(case: CaseTables, columns: list[str], threads: pl.DataFrame) -> pl.LazyFrame:
    """Return the named calls of some threads."""
    calls = case.scan("syscalls", columns, pl.col("name").is_not_null())
    return calls.join(threads.lazy(), on=threads.columns, how="semi", nulls_equal=True)


def _found_nothing(row: Mapping[str, Any]) -> str:
    return f"called {row['call']} {row['n']:,} times with a time-out of 0 and found nothing each time"


def _took_nothing(row: Mapping[str, Any]) -> str:
    return f"called {row['call']} {row['n']:,} times, was told each time that something is ready, and took nothing"


def _loops(
    case: CaseTables,
    futile: pl.Expr,
    role: str,
    words: Callable[[Mapping[str, Any]], str],
    event: str,
    least: int = 0,
) -> Iterator[Sighting]:
    """Yield threads whose calls are nearly all `futile` polls; `least` is the minimum number of their other calls."""
    name, line = pl.col("name"), pl.col("line_no")
    at_end = name.is_in(READ_NAMES) & (pl.col("ret") == 0) & pl.col("err").is_null()
    nothing = name.is_in(NOTHING) | pl.col("err").is_in(["EAGAIN", "EWOULDBLOCK"]).fill_null(value=False)
    nothing |= at_end.fill_null(value=False)  # a read at the end of a file brings nothing either
    key = [*PLACE_COLUMNS, "pid", "lwp"]
    # First the polls alone, then numbers of calls, then all about the few threads that are told: most threads of a
    # large trace are out after the first look, which reads no other calls.
    columns = [*key, "name", "args", "ret", "err"]
    polling = (
        case.scan("syscalls", columns, name.is_in(POLLS))
        .group_by(key)
        .agg(futile.sum().alias("n"))
        .filter(pl.col("n") >= FEW)
    ).collect(engine="streaming")
    if polling.is_empty():
        return
    chosen = (
        _calls_of(case, columns, polling.select(key))
        .group_by(key)
        .agg(
            futile.sum().alias("n"),
            (~futile & ~nothing).sum().alias("others"),
            pl.len().alias("all"),
        )
        .filter((pl.col("others") <= IN_BETWEEN * pl.col("n")) & (pl.col("all") - pl.col("n") >= least))
        .sort("n", *key, descending=[True, *[False] * len(key)], nulls_last=True)
        .head(THREADS)
        .collect(engine="streaming")
    )
    if chosen.is_empty():
        return
    details = (
        _calls_of(case, [*columns, "line_no", "t_local"], chosen.select(key))
        .group_by(key)
        .agg(
            name.filter(futile).mode().sort().first().alias("call"),
            name.filter(~futile).mode().sort().first().alias("other"),
            line.filter(futile).bottom_k(CITED).sort().alias("firsts"),
            line.filter(futile).max().alias("last"),
            pl.col("t_local").filter(futile).min().alias("t_from"),
            pl.col("t_local").filter(futile).max().alias("t_to"),
        )
        .collect(engine="streaming")
    )
    found = chosen.join(details, on=key, how="left", nulls_equal=True, maintain_order="left")
    for row in found.iter_rows(named=True):
        whose = number_words(row["pid"]) if row["lwp"] in (None, row["pid"]) else f"thread {row['lwp']}"
        between = row["all"] - row["n"]
        beside = f"of its {between:,} other calls most are {row['other']}" if between else "it made no other call"
        cited = [*row["firsts"], *([row["last"]] if row["last"] not in row["firsts"] else [])]
        yield Sighting(
            "poll",
            row["call"],
            f"{whose} {words(row)}; {beside}",
            "empty_polls_count",
            float(row["n"]),
            "count",
            tuple(Lines(row["artifact_id"], no, no, f"{row['call']}, {role}") for no in cited),
            **place(row),
            t_from=row["t_from"],
            t_to=row["t_to"],
            against="a look before a wait",
            against_value=float(LOOP),
            share=(row["all"] - row["others"]) / row["all"],
            n=row["n"],
            seen=({"event": event},) if row["n"] >= LOOP else (),
            normal=row["n"] < LOOP,
        )
