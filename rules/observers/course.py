"""The course of a traced program: what was started, how long it ran, what it started itself, what its calls set, what it
left open.

Stands out: nothing by itself; a reader wants to know what a trace is of before its details. What calls set (limits,
scheduling, timers, time-outs, sizes of queues and segments) is told as the lines have it. Descriptors that were made and
not closed stand out from `LEFT` on if they are most of all that were made: a leak, or a program that keeps what it needs.
Normal: fewer of them.
Worked example: `execve("/usr/bin/python3", ["python3", "convoy.py"])`, 8 clones with CLONE_THREAD, exit_group(0) 1.247 s later:
"The trace is of python3 convoy.py: 1.247 s, 8 threads started".
Cost: four aggregations over the calls. Source: strace(1), truss(1): -f follows what is started.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import Lines, Observer, Sighting, figure, place
from rules.walking.targets import ACCEPTS, OPENS
from rules.walking.threads import EXEC_NAMES, FORK_NAME, SUCCEEDED

OBSERVER = Observer(
    "course",
    "What is the trace of?",
    ("syscalls",),
    wordless=True,
)

SHARE = 0.05
"""Share of what stands out by nothing, as with settings."""

LEFT = 20
"""Minimum number of descriptors that stay open to be worth a word: programs keep a handful."""

QUOTED = 120
"""Maximum number of characters of a command in a headline."""

LONGEST_S = 30 * 86400.0
"""Maximum believable length of a trace in seconds."""

SETTERS = (
    "setrlimit", "sched_setscheduler", "sched_setaffinity", "sched_setattr", "sched_setparam", "setpriority", "nice", "priocntl",
    "ioprio_set", "setitimer", "timer_settime", "alarm", "listen", "semget", "shmget", "mlockall",
)  # fmt: skip
"""Calls by which a program sets limits, scheduling, timers or the size of something."""

OPTIONS = r"SO_(SND|RCV)(TIMEO|BUF)|SO_LINGER|TCP_(NODELAY|USER_TIMEOUT|QUICKACK|CORK|SYNCNT)|SO_BUSY_POLL"
"""Options of sockets that change when or how long a program waits."""

OPENING = r"^0, |, 0x[0-9a-f]+$"
"""Arguments that say nothing: the process itself, an address."""

CALLS = 6
"""Maximum number of different calls that set something and are told per trace, the first ones."""

THREAD = r"CLONE_THREAD|CLONE_SIGHAND"
THREAD_NAMES = ["lwp_create", "thr_new", "thr_create", "pthread_create", "thread_create"]
MAKES = [*OPENS, *ACCEPTS, "socket", "dup", "fcntl", "epoll_create1", "eventfd2", "timerfd_create", "shm_open"]
"""Calls that return a new descriptor; of `fcntl` those that duplicate one."""


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield what each trace is of, and descriptors that were left open."""
    yield from _course(case)
    yield from _left_open(case)


def _course(case: CaseTables) -> Iterator[Sighting]:
    name, args = pl.col("name"), pl.col("args").fill_null("")
    born = name.str.contains(FORK_NAME) | name.is_in(THREAD_NAMES)
    threads = born & (args.str.contains(THREAD) | name.is_in(THREAD_NAMES))
    columns = [*PLACE_COLUMNS, "line_no", "name", "args", "err", "state", "ret"]
    line = pl.col("line_no")
    t = pl.when(pl.col("t_local").is_finite()).then("t_local")
    whole = (
        case.scan("syscalls", [*PLACE_COLUMNS, "line_no", "t_local"])
        .group_by(PLACE_COLUMNS)
        .agg((t.max() - t.min()).alias("span"), line.max().alias("last"), pl.len().alias("n"))
        .collect(engine="streaming")
    )
    started = (
        case.scan("syscalls", columns, born & SUCCEEDED)
        .with_columns(threads.alias("thread"))
        .group_by(PLACE_COLUMNS)
        .agg(
            pl.col("thread").sum().alias("threads"),
            line.filter(pl.col("thread")).min().alias("thread_line"),
            (~pl.col("thread")).sum().alias("processes"),
            line.filter(~pl.col("thread")).min().alias("process_line"),
        )
        .collect(engine="streaming")
    )
    execs = (
        case.scan("syscalls", columns, name.is_in(EXEC_NAMES) & SUCCEEDED)
        .group_by(PLACE_COLUMNS)
        .agg(pl.struct("line_no", "args").bottom_k_by("line_no", 1).alias("execs"))
        .collect(engine="streaming")
    )
    made = (
        whole.join(started, on=PLACE_COLUMNS, how="left", nulls_equal=True)
        .join(execs, on=PLACE_COLUMNS, how="left", nulls_equal=True)
        .with_columns(pl.col("threads", "processes").fill_null(0))
        .sort(PLACE_COLUMNS, nulls_last=True)
    )
    sets = _set_by_calls(case)
    for row in made.iter_rows(named=True):
        said = sets.get(tuple(row[c] for c in PLACE_COLUMNS), [])
        if not row["execs"] and not row["threads"] and not row["processes"] and not said:
            continue
        start = row["execs"][0] if row["execs"] else None
        command = command_of(start["args"]) if start else None
        artifact = row["artifact_id"]
        lines = [Lines(artifact, start["line_no"], start["line_no"], f"start: {command}")] if start else []
        parts = []
        if row["span"] is not None and 0 < row["span"] < LONGEST_S:
            parts.append(figure(row["span"], "s"))
        for n, at, what in (
            (row["threads"], row["thread_line"], "thread"),
            (row["processes"], row["process_line"], "process"),
        ):
            if n:
                parts.append(f"{n:,} {what if n == 1 else what + ('es' if what == 'process' else 's')} started")
                lines.append(Lines(artifact, at, at, f"first {what} started"))
        told = ", ".join(parts) or ("its start" if start else "")
        yield Sighting(
            "course",
            command or "a running program",
            f"The trace is of {command or 'a running program'}{f': {told}' if told else ''}",
            "calls_count",
            float(row["n"]),
            "count",
            (*lines, *(Lines(artifact, r["line_no"], r["line_no"], _word(r)) for r in said)),
            **place(row),
            share=SHARE,
            n=1,
            beside=f"its calls set {'; '.join(map(_word, said))}" if said else None,
        )


def _set_by_calls(case: CaseTables) -> dict[tuple[Any, ...], list[dict[str, Any]]]:
    """Return place -> calls that set something; equal calls once, with their number and first line."""
    name, args = pl.col("name"), pl.col("args").fill_null("")
    sets = (
        name.is_in(SETTERS)
        | (name.is_in(["prlimit64", "prlimit"]) & args.str.contains(r"RLIMIT_\w+, \{"))
        | ((name == "setsockopt") & args.str.contains(OPTIONS))
    )
    done = pl.col("err").is_null() & pl.col("args").is_not_null()
    rows = case.scan("syscalls", [*PLACE_COLUMNS, "line_no", "name", "args"], sets & done)
    first = (
        rows.with_columns(args.str.replace_all(OPENING, "").str.slice(0, QUOTED).alias("what"))
        .group_by([*PLACE_COLUMNS, "name", "what"])
        .agg(pl.len().alias("n"), pl.col("line_no").min())
        .sort("line_no", nulls_last=True)
        .group_by(PLACE_COLUMNS, maintain_order=True)
        .head(CALLS)
        .collect(engine="streaming")
    )
    return {key: held.to_dicts() for key, held in first.group_by(PLACE_COLUMNS, maintain_order=True)}


def _word(row: dict[str, Any]) -> str:
    return f"{row['name']}({row['what']})" + (f", {row['n']:,} times" if row["n"] > 1 else "")


def command_of(args: str | None) -> str:
    r"""Return the command line from the arguments of an exec call.

    >>> command_of('"/usr/bin/getent", ["getent", "hosts", "db1"], 0x7ffc /* 20 vars */')
    'getent hosts db1'
    """
    words = re.findall(r'"((?:[^"\\]|\\.)*)"', args or "")
    return (" ".join(words[1:] or words) or args or "")[:QUOTED]


def _left_open(case: CaseTables) -> Iterator[Sighting]:
    """Yield descriptors of a process that were made and never closed."""
    name = pl.col("name")
    duplicates = (name != "fcntl") | pl.col("args").fill_null("").str.contains("F_DUPFD")
    makes = name.is_in(MAKES) & duplicates & SUCCEEDED & (pl.col("ret") >= 0)
    closes = (name == "close") & SUCCEEDED
    key = [*PLACE_COLUMNS, "pid"]
    columns = [*key, "line_no", "name", "args", "fd", "ret", "err", "state"]
    made, line = ~pl.col("closed"), pl.col("line_no")
    descriptors = (
        case.scan("syscalls", columns, makes | closes)
        .with_columns(pl.when(closes).then("fd").otherwise("ret").alias("descriptor"), closes.alias("closed"))
        .group_by([*key, "descriptor"])
        .agg(
            made.sum().alias("made"),
            pl.when(made).then(line).max().alias("line_no"),
            pl.when(~made).then(line).max().fill_null(-1).alias("closed_at"),
        )
        .collect(engine="streaming")
    )
    left = pl.col("line_no") > pl.col("closed_at")
    counted = (
        descriptors.group_by(key)
        .agg(
            pl.col("made").sum(),
            left.sum().alias("left"),
            pl.col("descriptor").filter(left).max().alias("highest"),
            pl.col("line_no").filter(left).min().alias("first"),
            pl.col("line_no").filter(left).max().alias("last"),
            pl.col("line_no").filter(left).alias("lines"),
        )
        .filter((pl.col("left") >= LEFT) & (2 * pl.col("left") >= pl.col("made")))
        .sort("left", *key, descending=[True, *[False] * len(key)], nulls_last=True)
        .head(3)
    )
    for row in counted.iter_rows(named=True):
        here = (pl.col("artifact_id") == row["artifact_id"]) & pl.col("line_no").is_in(row["lines"])
        paths = case.table("syscalls", ["path"], here)["path"].drop_nulls()
        yield _kept(row, paths.mode().sort().first())


def _kept(row: dict[str, Any], path: Any) -> Sighting:
    """Return the sighting of a process's descriptors that stay open; `path` is what most of them refer to, if known."""
    who = f"process {row['pid']}" if row["pid"] is not None else "a process"
    most = f", most of {path}" if path else ""
    return Sighting(
        "descriptors",
        f"descriptors of {who}",
        f"{who} made {row['made']:,} descriptors and closed all but {row['left']:,} of them{most}; the highest is {row['highest']:,}",
        "descriptors_count",
        float(row["left"]),
        "count",
        (
            Lines(row["artifact_id"], row["last"], row["last"], "the last that stays open"),
            Lines(row["artifact_id"], row["first"], row["first"], "the first that stays open"),
        ),
        **place(row),
        against="all that were made",
        against_value=float(row["made"]),
        share=row["left"] / row["made"] / 2,
        n=row["left"],
    )
