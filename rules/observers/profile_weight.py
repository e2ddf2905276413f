"""What owns a profile: functions, the callers above them, contended locks, wait events of a database.

Standing out: a function that has a tenth of the samples itself, a caller with half of them below it where no single
callee has nearly all of these (the narrowest place that owns them), several functions that do one kind of work and have
a fifth together, a lock with a tenth of the waiting, a wait event
with a tenth of the time. Normal: flat profiles; idle loops and idle events are left out of the whole, and said once.
Stacks of one moment (a thread dump) are no profile: `standing-still` reads these. Callers in listings of functions and the
paths below them are looked at in `call_graphs`.
Worked example: 67.8 % `__ticket_spin_lock`, 1.0 % `ktime_get`: the first owns 68 % of the samples, the second nothing.
`db file sequential read` 750 s of 1,000 s: share 0.75.
Cost: one aggregation per table; of stacks, one pass over their frames and one over the calls between the largest.
Source: Gregg, Systems Performance 2.5 (profiling, flame graphs); perf-report(1), lockstat(1M); Oracle Performance
Tuning Guide (time model: idle events are no database time).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.call_graphs import callers, paths
from rules.observers.frames import (
    NAMED_FRAMES,
    bare,
    finite,
    idle_reason,
    known,
    moments,
    named,
    names_of,
    names_of_leaf,
)
from rules.observers.kindred import kindred
from rules.observers.observer import MOST_LINES, Lines, Observer, Sighting, figure, lines_of, place
from rules.signatures.signatures import Seen, Signature

OBSERVER = Observer(
    "profile-weight",
    "What owns the profile?",
    ("profile_symbols", "profile_stacks", "locks", "db_waits"),
    {
        "linux": "perf record -a -g -- sleep 10; perf report --no-children --stdio",
        "solaris": "dtrace -n 'profile-97 {@[stack()]=count();} tick-10s {exit(0);}'",
        "aix": "tprof -skex sleep 30",
    },
    alone=True,
)

BRIEF_MS = 1.0
"""Mean of a wait below which caches or flash answer it (0.1 to 0.5 ms), a disk that turns needs 5 ms and more."""

OWNS = 0.1
"""Minimum part of a profile that one function or event has to own: below a tenth, removing it changes little."""

OWNS_BELOW = 0.5
"""Minimum part of a profile below a caller: half of it passes through this one place."""

PASSES_ON = 0.9
"""Part of what is below a caller from which one callee has nearly all of it, so that the callee is the place."""

LOCK_ROWS = 5
"""Maximum number of rows of one lock that are cited."""

OWNS_LOCK = 0.1
"""Minimum part of all waiting for locks that one lock or caller has to own."""

LEAST_SAMPLES = 10.0
"""Minimum number of samples of a profile: of fewer, a tenth is chance."""

COUNTED_STACKS = 1_000.0
"""Minimum count of the only stack of an excerpt: people paste the last stack of an aggregation, which is its largest."""

CALLERS = 4
"""Maximum number of frames, leaf first, that name what a sample on the processor does."""

FELT_LOCK_S = 0.1
"""Minimum waiting for locks of one event, in seconds, if the listing tells it: less is felt by nobody."""

LONG_LOCK_S, LONG_LOCKS_S = 0.01, 10.0
"""Minimum mean seconds of a wait for a lock, and seconds of all of them, that somebody feels whatever the listing covers: a lock of
the kernel is held for microseconds, so that one that is waited for as long as a slice of the processor lasts is not free."""

LOCK_CLASS = re.compile(r"^&?(?:[A-Za-z_]\w*(?:->|\.))*(?P<name>[A-Za-z_]\w*?)(?:[#/][0-9]+|-[WR])*$")
"""Names of classes of locks as lockdep prints them: the member of the structure, its class and `-W` of a writer behind it."""

CITED_CALLERS = 2
"""Number of callers of a leaf whose lines are cited."""

TELLING_PCT, OTHER_WHOLE = 5.0, 0.5
"""Minimum percentage that tells of which time it is, and the part of the database's time below which it is of another one:
reports list the events of background processes with percentages of their own time."""

NAMED_CALLEES = 3
"""Maximum number of functions below a caller that are named."""

SEVERAL, MORE = 2, 1.1
"""Minimum number of functions that do one kind of work, and by how much they have to outweigh the largest of them."""

LEAST_WORK = 0.2
"""Minimum part of a profile that one kind of work has to own to be told beside its functions."""

CITED_WORK = 6
"""Maximum number of such functions that are cited, the largest first."""

OF_TIME = r"(?i)cycles|cpu|clock|^profile|^itimer|^instructions"
"""Events that count time on processors; a profile without a named event does so too."""

LARGEST = 200
"""Maximum number of functions of a profile that are looked at, by size."""

IDLE_LOOP = (
    r"(?i)^(?:.*`)?(?:do_idle|cpu_idle|cpu_idle_loop|cpuidle_.*|default_idle.*|native_safe_halt|mwait_idle.*|acpi_idle.*"
    r"|intel_idle.*|poll_idle|acpi_processor_ffh.*|acpi_safe_halt|cpu_startup_entry|pv_native_safe_halt|arch_cpu_idle"
    r"|i86_mwait|mach_cpu_idle|cpu_idle_adaptive|idle|disp_getwork|cpu_halt|waitproc|amd_e400_idle)(?:\+.*)?$"
)
"""Functions in which a processor of Linux, Solaris or AIX runs when nothing wants it."""

PROFILING = r"(?i)^profiling interrupt"
"""Sections of lockstat that are no locks: with -I it counts where a timer interrupt found each processor."""

KERNEL_TYPE = (
    r"^(?:spinlock|rwlock:[RW]|rwsem:[RW]|rwsem|mutex|rtmutex|semaphore|rt-mutex|pcpu-sem:[RW]|percpu-rwsem:?[RW]?)$"
)
"""Types of locks of the kernel in perf lock contention."""

BY_CLOCK = "sample"
"""Event of a call tree that counts all threads at each tick, whatever they do."""

PARKED_FRAMES, MOST_PLACES = 5, 2_000
"""Frames, the innermost first, by which a parked thread is recognised, and maximum number of different places that are looked at."""

IDLE_COMM = r"^(?:swapper(?:/\d+)?|\[?idle\]?|wait)$"
"""Names of the thread in which an idle processor runs."""

HOT, BUSY_PCT = "hot threads", 50.0
"""Event of stacks that are weighted by the share of a processor in %, and the share from which such a thread counts."""

IDLE_CLASS = "idle"
"""Class of wait events in which a session has nothing to do."""

IDLE_EVENT = (
    r"(?i)^(?:SQL\*Net (?:message|more data|vector data) from client|.* idle wait.*|rdbms ipc message|[ps]mon timer|class slave wait"
    r"|jobq slave wait|DIAG idle wait|Streams AQ: .*wait.*|PX Idle Wait|PX Deq: Execution Msg|VKTM .*|Space Manager: slave idle.*"
    r"|virtual circuit wait|dispatcher timer|ClientRead|Activity|.*(?:LauncherMain|WriterMain|ReceiverMain|ArchiverMain)|idle)$"
)
"""Names of wait events without work, where the listing has no class (Oracle reference: Idle Wait Events)."""


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield what owns each profile, the largest share first."""
    found = [*_symbols(case), *_stacks(case), *callers(case), *paths(case), *_locks(case), *_events(case)]
    found.sort(key=lambda s: (s.idle is not None, -(s.share or 0.0), s.lines[0].line_from, s.subject))
    return found


def _number(column: str) -> pl.Expr:
    value = pl.col(column)
    return pl.when(value.is_finite() & (value > 0)).then(value)


def _runs_idle(name: str) -> pl.Expr:
    return pl.col(name).str.contains(IDLE_LOOP).fill_null(False) | pl.col("comm").str.contains(IDLE_COMM).fill_null(
        False
    )


# --- functions --------------------------------------------------------------------------------------------------------


def _symbols(case: CaseTables) -> Iterator[Sighting]:
    """Yield functions of listings: the mean of their own share over the screens."""
    group = [*PLACE_COLUMNS, "part", "event"]
    columns = [*group, "line_no", "line_end", "frame", "pct", "self_pct", "comm", "symbol", "kernel", "dso"]
    listed = [case.scan("profile_symbols", columns), _interrupted(case, columns)]
    rows = pl.concat(listed, how="diagonal_relaxed").with_columns(
        pl.when(pl.col("self_pct").is_not_null()).then(_number("self_pct")).otherwise(_number("pct")).alias("own"),
        _runs_idle("symbol").alias("idle"),
    )
    screens = pl.col("frame").fill_null(0).n_unique()
    whole = rows.group_by(group).agg(
        screens.alias("screens"),
        pl.when("idle").then("own").sum().alias("idle_pct"),
        pl.col("own").sum().alias("listed"),
    )
    at = pl.col("own").fill_null(0.0).arg_max()
    made = (
        rows.filter(pl.col("own").is_not_null() & pl.col("symbol").is_not_null())
        .group_by([*group, "symbol", "idle"])
        .agg(
            pl.col("own").sum(),
            pl.len().alias("n"),
            *(pl.col(c).get(at) for c in ("line_no", "line_end", "kernel", "comm", "dso")),
            pl.col("own").max().alias("worst"),
        )
        .join(whole, on=group, nulls_equal=True)
        .with_columns(
            (pl.col("own") / pl.col("screens")).alias("pct"),
            (pl.col("idle_pct") / pl.col("screens")).clip(0, 100),
            (pl.col("listed") / pl.col("screens")).alias("listed"),
        )
        .sort("pct", descending=True)
        .head(LARGEST)
        .collect(engine="streaming")
    )
    small: dict[tuple[Any, ...], Mapping[str, Any]] = {}
    owners: list[tuple[Mapping[str, Any], float]] = []
    for row in made.iter_rows(named=True):
        base = max(100.0, row["listed"]) - row["idle_pct"]
        if row["idle"] or base <= 0 or not named(row["symbol"]):
            continue
        share = min(1.0, row["pct"] / base)
        if share < OWNS:
            small.setdefault(tuple(row[c] for c in group), row)
        else:
            owners.append((row, share))
    for one, share in owners:
        over = f", in the mean of {one['screens']} screens" if one["screens"] > 1 else ""
        owner = _function(one, one["symbol"], one["kernel"], one["pct"], share, over, one["idle_pct"])
        after = small.pop(tuple(one[c] for c in group), None)
        yield owner if after is None else _with_next(owner, after)
    yield from (_flat(one) for one in small.values() if one["idle_pct"] < 100 * OWNS_BELOW)
    for _, held in made.filter(~pl.col("idle")).group_by(group, maintain_order=True):
        yield from _same_work(list(held.iter_rows(named=True)))
    yield from _idle(made)


def _same_work(rows: Sequence[Mapping[str, Any]]) -> Iterator[Sighting]:
    """Yield the sum of functions in one listing that signatures assign to the same mechanism.

    Their own shares are parts of one whole. The largest function has its own sighting already, so the sum must be at
    least a tenth larger.
    """
    base = max(100.0, rows[0]["listed"]) - rows[0]["idle_pct"]
    works: dict[str, list[tuple[Mapping[str, Any], Signature]]] = {}
    for row in rows:
        found = known(names_of_leaf(row["symbol"], row["kernel"])) if named(row["symbol"]) else None
        if found is not None and found.mechanism is not None:
            works.setdefault(found.mechanism, []).append((row, found))
    for held in (*works.values(), *kindred(works)):
        pct = sum(row["pct"] for row, _ in held)
        if (
            len(held) < SEVERAL
            or base <= 0
            or pct < MORE * max(row["pct"] for row, _ in held)
            or pct < 100 * LEAST_WORK
        ):
            continue
        first = held[0][0]
        outright = [(row, found) for row, found in held if found.strength == "mechanism"]
        # A small function that names the mechanism does not make large ones that only fit it certain.
        weighty = sum(row["pct"] for row, _ in outright) >= 100 * OWNS
        asked = outright if weighty else [(row, found) for row, found in held if found.strength != "mechanism"]
        names = [f"{bare(row['symbol'])} {figure(row['pct'], '%')}" for row, _ in held[:NAMED_CALLEES]]
        more = f" and {len(held) - NAMED_CALLEES:,} more" if len(held) > NAMED_CALLEES else ""
        event = f" of {first['event']}" if first["event"] else ""
        yield Sighting(
            kind="work",
            subject=f"{bare(first['symbol'])} and {len(held) - 1:,} more",
            headline=f"{len(held):,} functions of one kind have {figure(pct, '%')} of the samples{event} together: {', '.join(names)}{more}",
            name="work_pct",
            value=pct,
            unit="%",
            lines=tuple(
                Lines(int(row["artifact_id"]), int(row["line_no"]), int(row["line_no"]), bare(row["symbol"]))
                for row, _ in held[:CITED_WORK]
            ),
            **place(first),
            against="the largest of them",
            against_value=first["pct"],
            share=min(1.0, pct / base),
            n=len(held),
            seen=tuple(name for row, _ in asked for name in names_of_leaf(row["symbol"], row["kernel"])),
        )


def _interrupted(case: CaseTables, columns: Sequence[str]) -> pl.LazyFrame:
    """Return the rows of `lockstat -I` as functions of a profile: the caller is what the interrupt interrupted.

    Sections with stacks are left out, since their leaves come from `_stacks`.
    """
    place_ = [c for c in columns if c in (*PLACE_COLUMNS, "part", "event", "line_no", "line_end")]
    of_part = ["artifact_id", "part"]
    return (
        case.scan("locks", [*place_, "pct", "caller"])
        .filter(pl.col("event").str.contains(PROFILING) & pl.col("caller").is_not_null())
        .join(case.scan("profile_stacks", of_part).unique(), on=of_part, how="anti", nulls_equal=True)
        .select(*place_, "pct", pl.col("caller").alias("symbol"), pl.lit(True).alias("kernel"))
    )


def _flat(row: Mapping[str, Any]) -> Sighting:
    """Return the largest function of a flat listing as a normal measure; a listing per thread has it several times."""
    base = max(100.0, row["listed"]) - row["idle_pct"]
    each = f", in {row['n']:,} lines, {figure(row['worst'], '%')} at most" if row["n"] > row["screens"] else ""
    one = _function(row, row["symbol"], row["kernel"], row["pct"], min(1.0, row["pct"] / base), each, row["idle_pct"])
    return replace(one, kind="flat", headline=f"{one.headline}: no function has a tenth", share=None, normal=True)


def _with_next(one: Sighting, after: Mapping[str, Any]) -> Sighting:
    """Add to the sighting of the largest function the largest one below a tenth, to show how far it stands out."""
    name = bare(after["symbol"])
    cited = Lines(int(after["artifact_id"]), int(after["line_no"]), int(after["line_no"]), f"the next: {name}")
    told = f"the largest below a tenth, {name}, has {figure(after['pct'], '%')}"
    return replace(one, lines=(*one.lines, cited)[:MOST_LINES], beside=told)


def _function(
    row: Mapping[str, Any], name: str, kernel: bool | None, pct: float, share: float, more: str, idle_pct: float
) -> Sighting:
    of = f" ({figure(100 * share, '%')} without the idle loop)" if idle_pct >= 1 else ""
    event = f" of {row['event']}" if row["event"] else ""
    names = names_of_leaf(name, kernel)
    return Sighting(
        kind="profile",
        subject=bare(name),
        headline=f"{bare(name)} itself has {figure(pct, '%')} of the samples{event}{of}{more}",
        name="self_pct",
        value=pct,
        unit="%",
        lines=lines_of(row, "largest"),
        **place(row),
        against="a flat profile, in which nothing has a tenth",
        against_value=100 * OWNS,
        share=share,
        n=row["n"],
        seen=(*names, *_whose(row, names)),
    )


def _whose(row: Mapping[str, Any], names: Sequence[Seen]) -> Iterator[Seen]:
    """Yield the event `function-of-kernel` or `function-of-program` for a function that no signature knows.

    Yield nothing unless the profile is one of processor time and shows to which side the function belongs.
    """
    if row["kernel"] is None or (row["event"] and not re.search(OF_TIME, row["event"])) or known(names):
        return
    one: Seen = {"event": "function-of-kernel" if row["kernel"] else "function-of-program"}
    if row["comm"] and not row["kernel"]:
        one["process"] = row["comm"]
    yield one


def _idle(made: pl.DataFrame) -> Iterator[Sighting]:
    """Yield once for each artifact how much of a profile is the idle loop."""
    idle = made.filter("idle")
    if not idle.height:
        return
    row = idle.row(0, named=True)
    if row["idle_pct"] < 1:
        return
    yield Sighting(
        kind="idle",
        subject=bare(row["symbol"]),
        headline=f"{figure(row['idle_pct'], '%')} of the samples are the idle loop",
        name="idle_pct",
        value=row["idle_pct"],
        unit="%",
        lines=lines_of(row, "idle loop"),
        **place(row),
        n=row["n"],
        seen=names_of(row["symbol"], True),
        idle="the processors had nothing to do",
    )


# --- stacks -----------------------------------------------------------------------------------------------------------


def _stacks(case: CaseTables) -> Iterator[Sighting]:
    """Yield leaves and callers of weighted stacks; leaves only if there is no listing of functions for them."""
    group = ["artifact_id", "part", "event"]
    columns = [
        *PLACE_COLUMNS,
        "part",
        "event",
        "line_no",
        "line_end",
        "weight",
        "unit",
        "frames",
        "leaf",
        "kernel",
        "comm",
        "frame_lines",
        "pcts",
    ]
    listed = case.scan("profile_symbols", group).unique()
    rows = (
        case.scan("profile_stacks", columns)
        .filter(_number("weight").is_not_null())
        # The busiest threads of a server at rest are not busy.
        .filter((pl.col("event") != HOT).fill_null(value=True) | (pl.col("weight") >= BUSY_PCT))
        .join(moments(case), on=["artifact_id", "part"], how="anti")
        # A call graph below functions has the same stacks again below each of them.
        .join(listed, on=group, how="anti", nulls_equal=True)
        .with_columns(_runs_idle("leaf").alias("idle"), pl.col("weight").cast(pl.Float64))
    )
    rows = _without_parked(rows)
    wholes = (
        rows.group_by(group)
        .agg(
            pl.col("weight").sum().alias("whole"),
            pl.when("idle").then("weight").sum().alias("idle_weight"),
            pl.len().alias("stacks"),
            pl.col("leaf").n_unique().alias("leaves"),
            pl.col("unit").first(),
            pl.col("frame_lines").is_not_null().any().alias("tree"),
        )
        .collect(engine="streaming")
    )
    for whole in wholes.iter_rows(named=True):
        # A piece of a call graph in percent is a part of the whole profile.
        sum_of_all = max(whole["whole"], 100.0) if whole["unit"] == "pct" else whole["whole"]
        base = sum_of_all - whole["idle_weight"]
        # One stack is an example that somebody printed, unless it is the only path of a call tree, or was counted again and again.
        counted = whole["unit"] == "count" and base >= COUNTED_STACKS
        if base <= 0 or not math.isfinite(base) or (whole["stacks"] < 2 and not whole["tree"] and not counted):
            continue
        if whole["unit"] in (None, "samples") and base < LEAST_SAMPLES:
            continue
        of = [pl.col(c).eq_missing(pl.lit(whole[c])) for c in group]
        yield from _of_stacks(rows.filter(*of, ~pl.col("idle")), base, whole)


def _without_parked(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Mark the stacks of parked threads as idle if all threads are sampled by the clock and any of them works.

    sample and spindump of macOS count a thread that waits for work as often as one that works: with twenty parked ones, a thread that is
    busy all the time had a twentieth.
    """
    near = pl.col("frames").list.head(PARKED_FRAMES).list.join("\n")
    by_clock = (pl.col("event") == BY_CLOCK).fill_null(value=False)
    places = rows.filter(by_clock & ~pl.col("idle")).select(near.alias("near")).unique().head(MOST_PLACES).collect()
    parked = [
        place
        for place in places["near"].drop_nulls().to_list()
        if idle_reason(seen for frame in place.split("\n") for seen in names_of(frame, kernel=False))
    ]
    if not parked or len(parked) == len(places):
        return rows
    return rows.with_columns(idle=pl.col("idle") | (by_clock & near.is_in(parked)))


def _of_stacks(rows: pl.LazyFrame, base: float, whole: Mapping[str, Any]) -> Iterator[Sighting]:
    at = pl.col("weight").arg_max()
    cited = [
        pl.col(c).get(at)
        for c in (*PLACE_COLUMNS[1:], "line_no", "line_end", "event", "frames", "frame_lines", "kernel", "comm")
    ]
    made = (
        rows.group_by("artifact_id", "leaf")
        .agg(pl.col("weight").sum().alias("own"), pl.len().alias("n"), *cited)
        .filter(pl.col("own") >= OWNS * base)
        .sort("own", descending=True)
        .collect(engine="streaming")
    )
    what = {"ns": "time", "count": "count"}.get(whole["unit"] or "", "samples")
    for row in made.iter_rows(named=True):
        share = min(1.0, row["own"] / base)
        if not named(row["leaf"]):
            continue
        frames = [f for f in row["frames"] or [row["leaf"]] if named(f)]
        below = f", called by {bare(frames[1])}" if len(frames) > 1 else ""
        amount = f" ({figure(row['own'], 'count')})" if whole["unit"] == "samples" else ""
        again = tuple(_within_itself(row)) if whole["tree"] else ()
        # Off the processor, the leaf is the switch to another thread, and its callers tell why.
        asked = frames if whole["unit"] == "ns" else frames[:CALLERS]
        seen = tuple(
            s
            for i, f in enumerate(asked[:NAMED_FRAMES])
            for s in (names_of(f) if i else names_of_leaf(f, row["kernel"]))
        )
        yield Sighting(
            kind="profile",
            subject=bare(row["leaf"]),
            headline=f"{bare(row['leaf'])} itself has {figure(100 * share, '%')} of the {what}{amount}{below}"
            + (f", in the thread {row['comm']}" if next(_thread_of(row), None) else ""),
            name="self_pct",
            value=100 * share,
            unit="%",
            lines=(*lines_of(row, "heaviest stack"), *_callers_of(row), *_thread_of(row), *again),
            **place(row),
            against="a flat profile, in which nothing has a tenth",
            against_value=100 * OWNS,
            share=share,
            n=row["n"],
            seen=(*seen, *_whose(row, seen)),
            beside=f"on the way to it {again[0].role} is called again within itself" if again else None,
        )
    yield from _callers(rows, base, what, {bare(row["leaf"]) for row in made.iter_rows(named=True) if row["leaf"]})


def _callers_of(row: Mapping[str, Any]) -> Iterator[Lines]:
    """Yield the lines of the nearest callers of a leaf, if the tool prints each frame on a line of its own."""
    if (row["line_end"] or row["line_no"]) > row["line_no"]:
        return
    held = zip(row["frames"] or (), row["frame_lines"] or (), strict=False)
    near = [(name, line) for name, line in list(held)[1:] if (line or 0) > 0 and named(name)]
    yield from (Lines(row["artifact_id"], line, line, bare(name)) for name, line in near[:CITED_CALLERS])


def _within_itself(row: Mapping[str, Any]) -> Iterator[Lines]:
    """Yield both lines of the nearest function that a path of a call tree enters twice, with others between."""
    last: dict[str, int] = {}
    held = [
        (n, bare(f), line)
        for n, (f, line) in enumerate(zip(row["frames"] or (), row["frame_lines"] or (), strict=False))
    ]
    for n, name, line in held:
        if not named(name) or not line:
            continue
        if name in last and n - last[name] > 1:
            inner = held[last[name]][2]
            yield Lines(row["artifact_id"], inner, inner, name)
            yield Lines(row["artifact_id"], line, line, f"{name}, the outer one")
            return
        last[name] = n


def _thread_of(row: Mapping[str, Any]) -> Iterator[Lines]:
    """Yield the line above the outermost function of a call tree: it names the thread."""
    lines = [line for line in row["frame_lines"] or () if line]
    if row["comm"] and lines and min(lines) > 1:
        yield Lines(row["artifact_id"], min(lines) - 1, min(lines) - 1, f"thread {row['comm']}")


def _callers(rows: pl.LazyFrame, base: float, what: str, told: set[str]) -> Iterator[Sighting]:
    """Yield the narrowest callers with half of the weight below them."""
    once = rows.with_columns(pl.col("frames").list.unique(maintain_order=True).alias("frame"))
    at = pl.col("weight").arg_max()
    big = (
        once.explode("frame")
        .filter(pl.col("frame").is_not_null())
        .group_by("artifact_id", "frame")
        .agg(
            pl.col("weight").sum().alias("below"),
            pl.when(pl.col("leaf") == pl.col("frame")).then("weight").sum().alias("own"),
            pl.len().alias("n"),
            *(pl.col(c).get(at) for c in (*PLACE_COLUMNS[1:], "line_no", "line_end", "event")),
            pl.col("frames").get(at).list.last().alias("root"),
        )
        # Everything passes through the place where a program or thread starts.
        .filter((pl.col("below") >= OWNS_BELOW * base) & (pl.col("frame") != pl.col("root")))
        .sort("below", descending=True)
        .head(LARGEST)
        .collect(engine="streaming")
    )
    names = big["frame"].to_list()
    if not names:
        return
    # The frame before one in a stack (leaf first) is what it calls.
    callee = pl.col("frames").list.slice(0, pl.col("frames").list.len() - 1)
    none = pl.col("frames").list.eval(pl.element().is_null().cast(pl.Float64) * 0.0)
    each = pl.col("pcts").list.len() == pl.col("frames").list.len()
    printed = pl.when(each).then("pcts").otherwise(none)
    heaviest = pl.col("line_no").get(pl.col("weight").arg_max())
    calls = (
        rows.filter(pl.col("frames").list.len() > 1)
        .select(
            "weight",
            "line_no",
            pl.col("frames").list.slice(1).alias("caller"),
            callee.alias("callee"),
            printed.list.slice(0, pl.col("frames").list.len() - 1).alias("printed"),
            printed.list.slice(1).alias("of_caller"),
        )
        .explode("caller", "callee", "printed", "of_caller")
        .filter(pl.col("caller").is_in(names))
        .group_by("caller", "callee")
        .agg(pl.col("weight").sum(), pl.col("printed", "of_caller").max(), heaviest)
        .sort("weight", "line_no", descending=[True, False])
        .group_by("caller", maintain_order=True)
        .agg(
            pl.col("weight").first().alias("largest"),
            pl.len().alias("callees"),
            pl.col("of_caller").max(),
            pl.struct("callee", "weight", "printed", "line_no").head(NAMED_CALLEES).alias("named"),
        )
        .collect(engine="streaming")
    )
    largest = {row["caller"]: row for row in calls.iter_rows(named=True)}
    for row in big.iter_rows(named=True):
        calls_of = largest.get(row["frame"])
        most, callees, parts = (
            (calls_of["largest"], calls_of["callees"], calls_of["named"]) if calls_of else (0.0, 0, [])
        )
        share = min(1.0, row["below"] / base)
        passes_on = most >= PASSES_ON * row["below"] or row["own"] >= PASSES_ON * row["below"]
        if passes_on or not named(row["frame"]) or bare(row["frame"]) in told or callees < 2:
            continue
        pct = (calls_of["of_caller"] if calls_of else None) or 100 * share
        yield Sighting(
            kind="caller",
            subject=bare(row["frame"]),
            headline=f"{figure(pct, '%')} of the {what} pass through {bare(row['frame'])}, spread over {callees:,} functions that it calls"
            + _parts(parts, base),
            name="total_pct",
            value=pct,
            unit="%",
            lines=(
                *lines_of(row, "heaviest stack below it"),
                *(
                    Lines(row["artifact_id"], p["line_no"], p["line_no"], f"heaviest stack of {bare(p['callee'])}")
                    for p in parts
                    if p["line_no"] != row["line_no"] and named(p["callee"])
                ),
            ),
            **place(row),
            against="half of the profile",
            against_value=100 * OWNS_BELOW,
            # Its callee has a sighting of its own, so this caller gets half the weight.
            share=share / 2,
            n=row["n"],
            seen=names_of(row["frame"]),
        )


def _parts(parts: Iterable[Mapping[str, Any]], base: float) -> str:
    """Describe the largest functions below a caller, each with its printed percent, else its share of the samples."""
    made = [(bare(p["callee"]), p["printed"] or 100 * p["weight"] / base) for p in parts if named(p["callee"])]
    words = ", ".join(f"{name} {figure(pct, '%')}" for name, pct in made if pct >= 100 * OWNS)
    return f": {words}" if words else ""


# --- locks ------------------------------------------------------------------------------------------------------------


def _locks(case: CaseTables) -> Iterator[Sighting]:
    """Yield locks and their callers that have a tenth of the waiting of their event."""
    group = [*PLACE_COLUMNS, "part", "event"]
    listing = [*PLACE_COLUMNS, "part", "of"]
    amount = pl.coalesce(_number("n") * _number("mean_ns"), _number("rate_ps") * _number("mean_ns"))
    rows = (
        case.scan(
            "locks", [*group, "line_no", "line_end", "n", "rate_ps", "mean_ns", "max_ns", "pct", "lock", "caller"]
        )
        .with_columns(pl.col("n").cast(pl.Float64))
        .with_columns(pl.when(amount.is_finite()).then(amount).alias("ns"))
        .filter(pl.col("lock").is_not_null() | pl.col("caller").is_not_null())
        .filter(~pl.col("event").fill_null("").str.contains(rf"(?i)\bhold|{PROFILING}"))
        # perf lock contention prints one list, with the type of each lock as its event.
        .with_columns(
            pl.when(pl.col("event").str.contains(KERNEL_TYPE)).then(pl.lit("all types")).otherwise("event").alias("of")
        )
    )
    whole = rows.group_by(listing).agg(pl.col("ns").sum().alias("whole_ns"), pl.len().alias("listed"))
    at = pl.coalesce("ns", "pct").fill_null(0.0).arg_max()
    made = (
        rows.group_by([*group, "of", "lock", "caller"])
        .agg(
            pl.col("ns").max().alias("largest_ns"),
            pl.col("ns").sum(),
            _number("max_ns").max(),
            pl.col("line_no").get(_number("max_ns").fill_null(0.0).arg_max()).alias("longest_line"),
            _number("pct").sum(),
            pl.col("n").sum(),
            pl.col("line_no").get(at),
            pl.col("line_end").get(at),
            pl.col("mean_ns").get(at),
            pl.col("line_no").sort().head(LOCK_ROWS).alias("lines"),
            pl.len().alias("rows"),
        )
        .join(whole, on=listing, nulls_equal=True)
        .with_columns(
            pl.when(pl.col("pct") > 0)
            .then(pl.col("pct") / 100)
            .when((pl.col("whole_ns") > 0) & (pl.col("listed") > 1))
            .then(pl.col("ns") / pl.col("whole_ns"))
            .alias("share")
        )
        .filter(
            (pl.col("share") >= OWNS_LOCK) & ((pl.col("whole_ns") <= 0) | (pl.col("whole_ns") >= FELT_LOCK_S * 1e9))
        )
        .sort("share", descending=True)
        .head(LARGEST)
        .collect(engine="streaming")
    )
    for row in made.iter_rows(named=True):
        share = min(1.0, row["share"])
        who = " from ".join(bare(row[c]) for c in ("lock", "caller") if row[c])
        n = f", {row['n']:,.0f} times" if row["n"] else ""
        mean = f" of {figure(row['mean_ns'] / 1e9, 's')}" if n and finite(row, "mean_ns") else ""
        sum_ = f", {figure(row['ns'] / 1e9, 's')} together" if finite(row, "ns") and row["ns"] > 0 else ""
        rows_ = f" in {row['rows']:,} rows" if row["rows"] > 1 else ""
        if rows_ and sum_ and finite(row, "largest_ns"):
            rows_ += f", the largest {figure(row['largest_ns'] / 1e9, 's')}"
        longest = finite(row, "max_ns")
        others = [line for line in row["lines"] if line != row["line_no"]]
        others += [row["longest_line"]] if longest and row["longest_line"] not in (row["line_no"], *others) else []
        names = [row[c] for c in ("lock", "caller") if row[c] and named(row[c])]
        seen: tuple[Seen, ...] = tuple(s for name in names for s in names_of(_member(name)))
        if row["event"] and re.fullmatch(KERNEL_TYPE, row["event"]):
            seen = (*seen, {"event": "kernel-lock-contended"})
        mean_s, sum_s = ((finite(row, c) or 0.0) / 1e9 for c in ("mean_ns", "ns"))
        long = mean_s >= LONG_LOCK_S and sum_s >= LONG_LOCKS_S
        if long:
            seen = (*seen, {"event": "kernel-lock-waits-long"})
        yield Sighting(
            kind="lock",
            subject=who,
            headline=f"{who} has {figure(100 * share, '%')} of the waiting for locks ({row['event'] or 'all'}){n}{mean}{sum_}{rows_}",
            name="lock_pct",
            value=100 * share,
            unit="%",
            lines=(
                *lines_of(row, "lock"),
                *(Lines(row["artifact_id"], line, line, "the same lock") for line in others),
            ),
            **place(row),
            against="waiting spread over the locks",
            against_value=100 * OWNS_LOCK,
            # How much of the time all this waiting is, a listing of locks does not tell, unless each wait is long.
            share=share if long else share / 2,
            n=max(1, min(int(row["n"] or 1), 2**62)),
            seen=seen,
            beside=f"the longest single wait was {figure(longest / 1e9, 's')}" if longest else None,
        )


def _member(lock: str) -> str:
    """Return the name of a lock without the structure that holds it: `mmap_lock` of `&mm->mmap_lock-W`."""
    found = LOCK_CLASS.match(lock)
    return found["name"] if found else lock


# --- wait events ------------------------------------------------------------------------------------------------------


def _events(case: CaseTables) -> Iterator[Sighting]:
    """Yield wait events with a tenth of the time of their listing, and once the idle ones."""
    group = [*PLACE_COLUMNS, "part"]
    rows = case.scan(
        "db_waits", [*group, "line_no", "line_end", "event", "wait_class", "n", "total_s", "avg_ms", "pct"]
    ).filter(pl.col("event").is_not_null())
    at = pl.coalesce("total_s", "pct").fill_null(0.0).arg_max()
    made = (
        rows.group_by([*group, "event"])
        .agg(
            *(pl.col(c).get(at) for c in ("line_no", "line_end", "wait_class", "total_s", "avg_ms", "n", "pct")),
            pl.len().alias("listed"),
        )
        .sort(*group, "line_no", nulls_last=True)
        .collect(engine="streaming")
    )
    for _, held in made.group_by(group, maintain_order=True):
        events = list(held.iter_rows(named=True))
        yield from _of_events(events)


def _is_idle(row: Mapping[str, Any]) -> str | None:
    if (row["wait_class"] or "").strip().lower() == IDLE_CLASS or pl.select(
        pl.lit(row["event"]).str.contains(IDLE_EVENT)
    ).item():
        return "a session that waits for its next request"
    return idle_reason([{"event": row["event"]}])


def _whole(row: Mapping[str, Any]) -> float:
    """Return the seconds that a wait event's percentage is a part of; 0.0 if it is too small to compute them."""
    total, pct = finite(row, "total_s"), finite(row, "pct")
    return 100 * total / pct if total and pct and pct >= TELLING_PCT else 0.0


def _of_events(events: list[dict[str, Any]]) -> Iterator[Sighting]:
    reasons = {row["event"]: _is_idle(row) for row in events}
    busy = [row for row in events if not reasons[row["event"]]]
    whole = sum(max(0.0, finite(row, "total_s") or 0.0) for row in busy)
    database = max((_whole(row) for row in busy), default=0.0)
    for row in busy:
        total, pct = finite(row, "total_s"), finite(row, "pct")
        if total and 0 < _whole(row) < OTHER_WHOLE * database:
            continue  # a share of the background processes' time, which is small beside that of the sessions
        if pct is not None and pct > 0:
            share, of = pct / 100, "of the time of the database"
        elif total is not None and total > 0 and whole > 0 and len(busy) > 1:
            share, of = total / whole, "of the waiting listed, idle events left out"
        else:
            continue
        if share < OWNS:
            continue
        spent = f", {figure(total, 's')}" if total else ""
        n, mean = row["n"], finite(row, "avg_ms")
        each = f" in {n:,} waits" if n and n > 0 else ""
        each += f" of {figure(mean / 1000, 's')}" if each and mean and mean > 0 else ""
        # Of waits alone something is always the largest part: one that ends within a millisecond holds nobody up.
        brief = pct is None and mean is not None and 0 < mean < BRIEF_MS
        yield Sighting(
            kind="wait-event",
            subject=row["event"],
            headline=f"{row['event']} has {figure(100 * share, '%')} {of}{spent}{each}",
            name="event_pct",
            value=100 * share,
            unit="%",
            lines=lines_of(row, "wait event"),
            **place(row),
            against="a tenth of the time",
            against_value=100 * OWNS,
            share=min(1.0, share),
            n=max(1, n or 1),
            seen=() if brief else ({"event": row["event"]},),
        )
    idle = [row for row in events if reasons[row["event"]] and (finite(row, "total_s") or finite(row, "pct"))]
    if idle:
        total = sum(max(0.0, finite(row, "total_s") or 0.0) for row in idle)
        most = max(idle, key=lambda r: (finite(r, "total_s") or 0.0, finite(r, "pct") or 0.0))
        yield Sighting(
            kind="idle",
            subject=most["event"],
            headline=f"{len(idle)} of {len(events)} wait events are idle ones ({figure(total, 's')}), most of all {most['event']}",
            name="idle_s",
            value=total,
            unit="s",
            lines=lines_of(most, "largest idle event"),
            **place(most),
            n=len(idle),
            seen=({"event": most["event"]},),
            idle=reasons[most["event"]],
        )
