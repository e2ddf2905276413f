"""Who stands still, where, how many, and for how long: sleepers that no signal wakes, thread dumps, open calls, lockups.

Standing out: processes in uninterruptible sleep (several of a program at once, or the same one in several samples, or at
least `TOGETHER` of different programs), by the wait channel where the listing has one; the functions in
which the threads of one moment stand; calls of a trace that were never seen to end; tasks that the kernel reports as
hung and processors that it reports as stuck. Normal: one sleeper in one sample (it may be reading a block), threads
that run, calls open for less than a tenth of a second. Idle places (accept, event loops, parked workers) are known by
signature and told as one sighting of each artifact.
Worked example: 16 threads, 14 in `epoll_wait`, 2 in `pthread_mutex_lock` called by `log_write`: "2 of 2 threads that
are not idle stand in pthread_mutex_lock, called by log_write" with share 1, and "14 of 16 threads are idle".
`INFO: task cp:7 blocked for more than 120 seconds`: 120 s, with the functions of the call trace below it.
Cost: one aggregation per table, and one pass over the lines after a kernel's report. Source: ps(1), proc_pid_stack(5);
Linux kernel/hung_task.c (reports: see `kernel_reports`); strace(1) and truss(1) for unfinished calls.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.cut_names import uncut
from rules.observers.frames import bare, idle_reason, names_of
from rules.observers.kernel_reports import kernel_reports
from rules.observers.observer import FELT_S, Lines, Observer, Sighting, figure, place
from rules.observers.thread_stacks import EXCERPT, threads
from rules.signatures.signatures import Seen

OBSERVER = Observer(
    "standing-still",
    "Who stands still, and where?",
    ("ps", "profile_stacks", "logs", "open_calls"),
    {
        "linux": "cat /proc/PID/stack three times, 5 s apart; dmesg -T",
        "solaris": "pstack PID three times, 5 s apart",
        "aix": "procstack PID three times, 5 s apart",
        "*": "the stacks of all threads three times, 5 s apart",
    },
)

ROWS = 20_000
"""Maximum number of threads, sleepers or open calls of one artifact that are looked at."""

CITED = 3
"""Maximum number of rows that a sighting cites."""

CITED_LINES = 6
"""Maximum number of lines of one cited stack: three of them stay below the limit of a sighting."""

PARKED = "at rest alone in its call while others worked"
"""Why an open call is idle that no signature knows: it was open when the trace began, or it is one of `PARKS`.

Several threads in the same call with the same lock are not idle.
"""

PARKS = frozenset(
    {
        "futex",
        "lwp_park",
        "_umtx_op",
        "ulock_wait",
        "thread_wait",
        "lwp_cond_wait",
        "_lwp_park",
        "nanosleep",
        "clock_nanosleep",
    }
)
"""Calls in which threads without work are parked on a word of their own, or sleep until their next round."""

STUCK_S = 1.0
"""Minimum seconds in an open call that waits for a mutex after which it is no wait in passing, if the thread worked before."""

EXITS = frozenset({"exit", "_exit", "exit_group", "thr_exit", "lwp_exit"})
"""Calls that end a thread or process, and so do not return."""

RESUMED = "restart_syscall"
"""The call that Linux shows for one that was interrupted by the tracer; its arguments do not name a lock."""

JOIN = re.compile(r"0x[0-9a-f]+, FUTEX_WAIT(?:_BITSET\|FUTEX_CLOCK_REALTIME)?, (?P<tid>[1-9][0-9]{1,6}), NULL(?:, |$)")
"""A wait of glibc for the end of a thread: the word holds its number until the kernel clears it (pthread_join.c)."""

HELD_MUTEX = re.compile(r"0x[0-9a-f]+, FUTEX_WAIT(?:_PRIVATE)?, 2(?:, NULL|$)")
"""A wait of glibc for a mutex that somebody holds: 2 means taken, and others wait (nptl/lowlevellock.c)."""

ONE_SHARE = 0.2
"""Share of the only process of a listing: one moment does not tell whether it reads a block or stands."""

TOGETHER = 3
"""Minimum number of processes of different programs in uninterruptible sleep at once that are worth a word: one or two read
a block at any moment of a host that works (proc(5), state D); three that share nothing else share what they wait for."""

NAMED_PROGRAMS = 5
"""Maximum number of programs that a sentence names."""

MOST_SLEEPERS = 10
"""Maximum number of sleepers of different programs that are cited."""

WRITES = "pipe_write"
"""Wait channel of Linux of those who write to a pipe that is full (fs/pipe.c)."""

SLEEPS = r"^[<+]?[DU]"
"""State letters of a sleep that no signal ends: D of Linux and the BSDs, U of macOS."""

BUSY = r"^[<+]?[DURO]"
"""State letters of those that have something to do: sleeping in that way, running (R, O of Solaris)."""

WAITS_OF_BSD = (
    r"^(?:swread|swwrt|pfault|vmwait|vmpfw|vmopar|biord|biowr|getblk|bo_wwait|wdrain|newbuf|vlruwk|ufs|zfs"
    r"|zio->i\w{0,5}|tx->tx\w{0,5}|db->db\w{0,5})$"
)
"""Where a thread of FreeBSD sleeps uninterruptibly, as top(1) prints it (cut off) in its column STATE instead of a letter."""


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield reports of the kernel, then standing threads, sleepers and open calls, the idle ones last."""
    found = [*kernel_reports(case), *threads(case), *_sleepers(case), *_open(case)]
    found.sort(key=lambda s: (s.idle is not None, -(s.seconds or 0.0), -(s.share or 0.0), s.lines[0].line_from))
    return found


def _cited(rows: Iterable[Mapping[str, Any]], role: str) -> tuple[Lines, ...]:
    made: dict[tuple[int, int], Lines] = {}
    for row in rows:
        if len(made) == CITED:
            break
        first = int(row["line_no"])
        last = max(first, min(int(row["line_end"] or first), first + CITED_LINES - 1))
        made.setdefault((int(row["artifact_id"]), first), Lines(int(row["artifact_id"]), first, last, role))
    return tuple(made.values())


# --- sleepers of ps ---------------------------------------------------------------------------------------------------


def _sleepers(case: CaseTables) -> Iterator[Sighting]:
    """Yield the programs whose processes sleep uninterruptibly."""
    columns = [*PLACE_COLUMNS, "part", "line_no", "line_end", "sample", "first", "pid", "lwp", "state", "comm", "args"]
    columns += ["wchan", "ppid"]
    rows = case.scan("ps", columns, pl.col("state").is_not_null() & pl.col("pid").is_not_null())
    of_bsd = pl.col("state").str.contains(WAITS_OF_BSD)
    rows = rows.with_columns(
        wchan=pl.coalesce("wchan", pl.when(of_bsd).then("state")),
        state=pl.when(of_bsd).then(pl.lit("D")).otherwise("state"),
    )
    whole = (
        rows.group_by("artifact_id")
        .agg(
            pl.col("state").str.contains(BUSY).sum().alias("busy"),
            pl.struct("part", "sample").n_unique().alias("samples"),
            pl.len().alias("listed"),
        )
        .collect(engine="streaming")
    )
    wholes = {row["artifact_id"]: row for row in whole.iter_rows(named=True)}
    held = rows.filter(pl.col("state").str.contains(SLEEPS)).head(ROWS).collect(engine="streaming")
    groups: dict[tuple[int, str | None, str], list[dict[str, Any]]] = {}
    for row in held.iter_rows(named=True):
        groups.setdefault((row["artifact_id"], row["host"], _program(row)), []).append(row)
    yield from _of_several_names(groups, wholes)
    yield from _by_place(rows, held, wholes)
    for (artifact, _, program), sleeping in sorted(groups.items(), key=lambda g: -len(g[1])):
        of = wholes[artifact]
        threads = Counter((row["pid"], row["lwp"]) for row in sleeping)
        seen_in = len({(row["part"], row["sample"]) for row in sleeping})
        if of["listed"] == 1:
            yield _only(sleeping[0], program)
            continue
        if len(sleeping) > 1 and all(row["wchan"] for row in sleeping):
            continue  # told by where they sleep
        if len(threads) == 1 and max(threads.values()) < 2:
            continue  # one sleeper in one sample may be reading a block
        again = f", in {seen_in} of {of['samples']} samples" if of["samples"] > 1 else ""
        who = f"{program} ({sleeping[0]['pid']})" if len(threads) == 1 else program
        count = "1 process" if len(threads) == 1 else f"{len(threads):,} processes"
        yield Sighting(
            kind="uninterruptible",
            subject=who,
            headline=f"{count} of {program} stood in uninterruptible sleep{again}",
            name="sleeping_count",
            value=float(len(threads)),
            unit="count",
            lines=_cited(sleeping, "uninterruptible sleep"),
            **place(sleeping[0]),
            against="a moment of sleep while a block is read",
            against_value=0.0,
            share=min(1.0, len(sleeping) / max(1, of["busy"])) * seen_in / max(1, of["samples"]),
            n=len(sleeping),
            seen=({"process": program, "event": "uninterruptible-sleep"}, {"process": program}),
        )


def _by_place(rows: pl.LazyFrame, held: pl.DataFrame, wholes: Mapping[int, Mapping[str, Any]]) -> Iterator[Sighting]:
    """Yield the wait channels in which processes sleep: uninterruptible ones, or all processes of a short excerpt."""
    few = pl.DataFrame(
        {"artifact_id": [a for a, of in wholes.items() if of["listed"] <= EXCERPT]}, {"artifact_id": pl.Int64}
    )
    chosen = rows.join(few.lazy(), on="artifact_id", how="semi").filter(pl.col("wchan").is_not_null())
    both = pl.concat([held, chosen.collect(engine="streaming")], how="diagonal_relaxed").unique(maintain_order=True)
    slept = both.filter(pl.col("wchan").is_not_null()).sort("line_no")
    places: dict[tuple[int, str | None, str], list[dict[str, Any]]] = {}
    for row in slept.iter_rows(named=True):
        if not idle_reason(names_of(uncut(row["wchan"]), True)):
            places.setdefault((row["artifact_id"], row["host"], row["wchan"]), []).append(row)
    for (artifact, _, wchan), sleeping in sorted(places.items(), key=lambda g: -len(g[1])):
        of = wholes[artifact]
        asked = of["listed"] <= EXCERPT
        processes = {(row["pid"], row["lwp"]): row for row in sleeping}
        if not asked and len(sleeping) < 2:
            continue  # one sleeper in one sample may be reading a block
        names = Counter(_program(row) for row in processes.values())
        said = ", ".join(list(names)[:NAMED_PROGRAMS]) + (" ..." if len(names) > NAMED_PROGRAMS else "")
        count = f"{len(processes):,} process{'es' if len(processes) > 1 else ''} ({said})"
        how = " uninterruptibly" if all(re.match(SLEEPS, row["state"]) for row in sleeping) else ""
        again = f", in {len(sleeping):,} rows" if len(sleeping) > len(processes) else ""
        whole = of["listed"] if asked else max(of["busy"], len(sleeping))
        circle = _write_to_each_other(sleeping) if wchan == WRITES else None
        if circle:
            again += f"; {circle[0]} is the parent of {circle[1]}: what each writes, the other does not read"
        yield Sighting(
            kind="asleep",
            subject=bare(wchan),
            headline=f"{count} {'sleep' if len(processes) > 1 else 'sleeps'}{how} in {wchan}{again}",
            name="sleeping_count",
            value=float(len(processes)),
            unit="count",
            lines=_cited(sleeping, f"sleeps in {wchan}"),
            **place(sleeping[0]),
            against="the processes that were listed" if asked else "processes that run or sleep so",
            against_value=float(whole),
            share=min(1.0, len(sleeping) / max(1, whole)),
            n=len(sleeping),
            seen=(*(({"event": "parent-and-child-write"},) if circle else ()), *names_of(uncut(wchan), True)),
        )


def _write_to_each_other(sleeping: Iterable[Mapping[str, Any]]) -> tuple[int, int] | None:
    """Return the pids of a parent and its child, if both are among the processes that wait to write to a pipe."""
    held = {row["pid"]: row for row in sleeping}
    return next(((row["ppid"], pid) for pid, row in held.items() if row["ppid"] in held and row["ppid"] != pid), None)


def _of_several_names(
    groups: Mapping[tuple[int, str | None, str], list[dict[str, Any]]], wholes: Mapping[int, Mapping[str, Any]]
) -> Iterator[Sighting]:
    """Yield the largest number of processes of different programs that slept uninterruptibly at one moment."""
    moments: dict[tuple[int, str | None], dict[tuple[Any, ...], list[tuple[str, dict[str, Any]]]]] = {}
    for (artifact, host, program), sleeping in groups.items():
        for row in sleeping:
            at = moments.setdefault((artifact, host), {})
            at.setdefault((row["part"], row["sample"]), []).append((program, row))
    for (artifact, _), at in moments.items():
        held = max(at.values(), key=len)
        processes = {row["pid"]: (program, row) for program, row in held}
        names = Counter(program for program, _ in processes.values())
        if len(processes) < TOGETHER or max(names.values()) > len(processes) / 2:
            continue
        others = len(names) - NAMED_PROGRAMS
        named = ", ".join(list(names)[:NAMED_PROGRAMS]) + (f" and {others:,} more" if others > 0 else "")
        rows = [row for _, row in processes.values()]
        of = wholes[artifact]
        yield Sighting(
            kind="uninterruptible",
            subject="processes in uninterruptible sleep",
            headline=f"{len(processes):,} processes of {len(names):,} programs stood in uninterruptible sleep at the same time: {named}",
            name="sleeping_count",
            value=float(len(processes)),
            unit="count",
            lines=tuple(
                Lines(artifact, row["line_no"], row["line_no"], program)
                for program, row in list(processes.values())[:MOST_SLEEPERS]
            ),
            **place(rows[0]),
            against="one or two that read a block",
            against_value=float(TOGETHER - 1),
            share=ONE_SHARE * min(1.0, len(processes) / max(1, of["busy"])),
            n=len(processes),
        )


def _only(row: Mapping[str, Any], program: str) -> Sighting:
    """Return the sighting of a listing's only process, which somebody asked for and which sleeps uninterruptibly."""
    who = program if row["pid"] is None else f"{program} ({row['pid']})"
    return Sighting(
        kind="uninterruptible",
        subject=who,
        headline=f"{who}, the only process that is listed, stood in uninterruptible sleep",
        name="sleeping_count",
        value=1.0,
        unit="count",
        lines=_cited([row], "uninterruptible sleep"),
        **place(row),
        share=ONE_SHARE,
    )


def _program(row: Mapping[str, Any]) -> str:
    """Return a program's name: the command, or the first word of its command line without folders."""
    text = str(row["comm"] or row["args"] or "?").strip()
    word = text if text.startswith("[") or row["comm"] else text.split()[0] if text else "?"
    return word.rsplit("/", 1)[-1] if word.startswith("/") else word


# --- open calls of traces ---------------------------------------------------------------------------------------------


def _open(case: CaseTables) -> Iterator[Sighting]:
    """Yield calls that were never seen to end, by call and arguments; those that are idle as one."""
    group = ["artifact_id", "part", "pid", "lwp"]
    columns = [*PLACE_COLUMNS, "part", "line_no", "line_end", "t_local", "pid", "lwp", "name", "args", "state"]
    never = (
        pl.col("done_line").is_null() & (pl.col("state").fill_null("") != "truncated") & pl.col("name").is_not_null()
    )
    rows = case.scan("open_calls", columns, never).head(ROWS).collect(engine="streaming")
    if not rows.height:
        return
    line, end = pl.col("line_no"), pl.coalesce("line_end", "line_no")
    span = (
        case.scan("syscalls", [*group, "line_no", "line_end"])
        .group_by(group)
        .agg(end.max().alias("thread_last"), (end - line).max().alias("lines_each"))
        .join(_spans(case), on="artifact_id", how="left")
        .with_columns(pl.lit(True).alias("worked"))
        .collect(engine="streaming")
    )
    top = span.sort("thread_last", descending=True).group_by("artifact_id", maintain_order=True).head(2)
    lasts: dict[int, list[dict[str, Any]]] = {}
    for row in top.iter_rows(named=True):
        lasts.setdefault(row["artifact_id"], []).append(row)
    # Several open calls of one thread: the last one is where it stands.
    last = (
        rows.sort("line_no")
        .unique(group, keep="last", maintain_order=True)
        .join(span, on=group, how="left", nulls_equal=True)
    )
    at_work = set(span["artifact_id"].to_list())
    both = pl.concat([span.select(group), last.select(group)]).unique()
    traced = Counter(both["artifact_id"].to_list())
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    idle: dict[int, list[tuple[str, dict[str, Any]]]] = {}
    for row in last.iter_rows(named=True):
        reason = idle_reason(_call_names(row["name"]))
        if reason:
            idle.setdefault(row["artifact_id"], []).append((reason, row))
        else:
            groups.setdefault((row["artifact_id"], row["name"], row["args"]), []).append(row)
    for (artifact, name, args), held in groups.items():
        at_rest = name in PARKS or not any(row["worked"] for row in held)
        if traced[artifact] > 1 and artifact in at_work and at_rest and (len(held) == 1 or name == RESUMED):
            parked = [(PARKED, row) for row in held if not _in_its_round(row, lasts.get(artifact, []))]
            if parked:
                idle.setdefault(artifact, []).extend(parked)
            continue
        made = _open_call(name, args, held, traced[artifact])
        if made:
            yield made
    for pairs in idle.values():
        first = pairs[0][1]
        yield Sighting(
            kind="idle",
            subject=first["name"],
            headline=f"{len(pairs):,} of {traced[first['artifact_id']]:,} threads were idle in an open call, one of them in {first['name']}",
            name="idle_count",
            value=float(len(pairs)),
            unit="count",
            lines=_cited([row for _, row in pairs], "idle call"),
            **place(first),
            n=len(pairs),
            seen=({"call": first["name"]},),
            idle=pairs[0][0],
        )


def _in_its_round(row: Mapping[str, Any], lasts: list[dict[str, Any]]) -> bool:
    """Return whether a call without a stamp is open only because the trace ends there.

    This is so if its thread worked before, and other threads did not go on for more lines than a call of this one
    takes.
    """
    if not row["worked"] or row["t_local"] is not None:
        return False
    others = [r["thread_last"] for r in lasts if (r["pid"], r["lwp"]) != (row["pid"], row["lwp"])]
    return bool(max(others, default=0) - row["line_no"] <= row["lines_each"])


def _spans(case: CaseTables) -> pl.LazyFrame:
    stamp = pl.col("t_local")
    rows = case.scan("syscalls", ["artifact_id", "t_local"], stamp.is_finite())
    return rows.group_by("artifact_id").agg(stamp.min().alias("begins"), stamp.max().alias("ends"))


def _call_names(name: str) -> tuple[Seen, ...]:
    """Return the names for signatures of a call, and of the library and kernel functions named after it."""
    return ({"call": name}, {"symbol": name}, {"stack": f"do_{name}"}, {"stack": f"sys_{name}"})


def _open_call(name: str, args: str | None, held: list[dict[str, Any]], threads: int) -> Sighting | None:
    """Return the sighting of a call that never ended.

    It has seconds only if its thread worked before: then the wait began with the call. A call that was open when the
    trace began may be idle, so only its share of the threads is given.
    """
    stamped = [r for r in held if r["t_local"] is not None and r["ends"] is not None]
    longest = max((r["ends"] - r["t_local"] for r in stamped), default=None)
    if longest is not None and not longest >= FELT_S:
        return None  # the trace was stopped right after it began
    if longest is None and name in EXITS:
        return None  # it never returns; only its time would tell that the process is slow to go
    row = max(stamped, key=lambda r: r["ends"] - r["t_local"]) if stamped else held[0]
    who = f"{name}({(args or '')[:80].rstrip(', ')})"
    joins = JOIN.match(args or "") if name == "futex" else None
    if joins:
        who += f", which waits for the end of thread {joins['tid']},"
    count = f" in {len(held):,} threads" if len(held) > 1 else ""
    lasted = f", for at least {figure(longest, 's')} until the trace ends" if longest is not None else ""
    path = re.search(r'"(/[^"]*)"', args or "")
    seen: Seen = {"call": name}
    if path:
        seen["path"] = path[1]
    timed: tuple[Seen, ...] = ({**seen, "seconds": longest},) if longest is not None else ()
    worked = longest is not None and bool(row["worked"])
    mutex = name == "futex" and HELD_MUTEX.match(args or "") and (not row["worked"] or (longest or 0.0) >= STUCK_S)
    told: tuple[Seen, ...] = ({"event": "waits-for-held-mutex"},) if mutex else ()
    if joins:
        told = ({"event": "waits-for-end-of-thread"},)
    return Sighting(
        kind="open-call",
        subject=who.rstrip(","),
        headline=f"{who} was not seen to end{count}{lasted}",
        name="open_s" if longest is not None else "open_count",
        value=longest if longest is not None else float(len(held)),
        unit="s" if longest is not None else "count",
        lines=_cited([row, *(r for r in held if r is not row)], "open call"),
        **place(row),
        t_from=row["t_local"],
        t_to=row["ends"],
        against="calls that end",
        against_value=0.0,
        seconds=longest if worked else None,
        of_s=max(longest, row["ends"] - row["begins"]) if worked and longest is not None else None,
        share=None if worked else min(1.0, len(held) / max(1, threads)),
        n=len(held),
        seen=(*told, *timed, seen, {"call": name}),
        joins=name,
        short=f"line {row['line_no']}",
    )
