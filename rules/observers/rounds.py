"""Rounds: what a thread does over and over, step by step.

Stands out: a thread that makes the same sequence of at most `STEPS` calls at least `ROUNDS` times, each round ending with
the call that takes most of its time, or with one that is made once in each; the steps are told with their sizes, errors
and times. `ALL_ROUNDS` suffice where the thread does nothing else and has no times. Normal: fewer rounds, or a different
sequence in more than half of them. Rounds that end with a wait for the next request are a server at work: a measure that
is not shown unless little else is.
Worked example: write of 512 bytes (11 us) and fdatasync (64 ms) 25 times: rounds_count 25, share of the thread's time 0.96.
Cost: the calls of the `THREADS` threads with most time, at most `MOST_CALLS` of each. Source: as with `strace -c`, but the order
of calls shows who waits for what.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from statistics import median
from typing import Any

import polars as pl

from rules.derived.derived_table import CaseTables, nanoseconds
from rules.observers.observer import MOST_LINES, Lines, Observer, Sighting, figure, place
from rules.observers.traced import calls, on
from rules.walking.targets import ACCEPTS, CPU_TIME, POLLS, UNKNOWN_LOCK
from rules.walking.threads import OWN_S, READ_NAMES
from rules.writing.process_words import number_words

OBSERVER = Observer(
    "rounds",
    "What is done over and over?",
    ("syscalls",),
    {"linux": "perf record -g -p PID sleep 10; perf report --stdio", "solaris": "pstack PID, three times, 5 s apart"},
    wordless=True,
)

ROUNDS = 5
"""Minimum number of like rounds: fewer are how programs begin."""

ALL_ROUNDS = 3
"""Minimum number of like rounds of which nearly the whole trace of a thread consists that has no times: an excerpt."""

ALL = 0.75
"""Minimum part of a thread's calls that such rounds have; what is before the first end is none of a whole round."""

ENDS = 8
"""Maximum number of further calls that are tried as the end of a round."""

STEPS = 8
"""Maximum number of different calls in a row that a reader takes for one round."""

THREADS = 6
"""Number of threads that are looked at, those whose calls take most time."""

MOST_CALLS = 20_000
"""Maximum number of calls of a thread that are looked at, from its first."""

PART = 0.5
"""Factor of the share of the thread's time: the single calls are observed on their own and come first."""

LONGEST_S = 30 * 86400.0
"""Maximum believable time of a call in seconds."""

Step = tuple[str, str | None, str | None]
"""Name, target and error of a call."""


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield the rounds of threads, those with the largest part of their thread's time first."""
    found: dict[tuple[Any, ...], Sighting] = {}
    for rows in _threads(case):
        made = _rounds(rows)
        if made is None:
            continue
        key = (made.lines[0].artifact, *sorted(made.subject.split(" / ")))
        if key not in found or found[key].n < made.n:  # threads of a pool do the same
            found[key] = made
    yield from sorted(found.values(), key=lambda s: (s.normal, -(s.share or 0.0), -s.n))


def _threads(case: CaseTables) -> Iterator[list[dict[str, Any]]]:
    """Yield the calls of the threads with most time in calls, in order."""
    key = ["artifact_id", "pid", "lwp"]
    # Whole nanoseconds: a sum of floats depends on the order in which threads of the machine add it up.
    own = nanoseconds(pl.when(OWN_S.is_between(0, LONGEST_S)).then(OWN_S).fill_null(0.0)).sum().alias("own")
    busy = (
        case.scan("syscalls")
        .group_by(key)
        .agg(own, pl.len().alias("n"))
        .filter(pl.col("n") >= ROUNDS)
        .sort("own", "n", *key, descending=[True, True, False, False, False], nulls_last=True)
        .head(THREADS)
        .collect(engine="streaming")
    )
    threads = busy.select(key)
    mine = [
        pl.all_horizontal(pl.col(name).eq_missing(pl.lit(value, threads.schema[name])) for name, value in row.items())
        for row in threads.iter_rows(named=True)
    ]
    if not mine:
        return
    ends = (
        case.scan("syscalls", [*key, "line_no"], pl.any_horizontal(mine))
        .group_by(key)
        .agg(pl.col("line_no").bottom_k(MOST_CALLS).max().alias("last"))
        .collect(engine="streaming")
    )
    lasts = threads.join(ends, on=key, nulls_equal=True, maintain_order="left")["last"]
    among = pl.any_horizontal(one & (pl.col("line_no") <= last) for one, last in zip(mine, lasts, strict=True))
    found = pl.concat(calls(case, among))
    for one in mine:
        yield found.filter(one).sort("line_no").head(MOST_CALLS).to_dicts()


def _rounds(rows: list[dict[str, Any]]) -> Sighting | None:
    """Return the sighting of a thread's rounds, None if it does not repeat a sequence.

    A call that occurs twice in each round would divide it, so other calls are tried as the end too, the rarest first.
    """
    steps = [_step(r) for r in rows]
    least = ROUNDS if any(r["own_s"] is not None for r in rows) else ALL_ROUNDS
    best: tuple[list[range], tuple[Step, ...]] | None = None
    covers = 0
    for ends in _ends(rows, steps):
        at = [n for n, step in enumerate(steps) if step[:2] == ends[:2]]
        cut = [range(a + 1, b + 1) for a, b in zip([-1, *at], at, strict=False)][1:]
        shapes = Counter(tuple(_merged([steps[n] for n in one])) for one in cut)
        if not shapes:
            continue
        shape, n = shapes.most_common(1)[0]
        if 2 * n < len(cut) or not 1 < len(shape) <= STEPS:
            continue
        like = [one for one in cut if tuple(_merged([steps[i] for i in one])) == shape]
        whole = sum(map(len, like))
        if whole > covers and (n >= ROUNDS or (n >= least and whole >= ALL * len(rows))):
            best, covers = (like, shape), whole
        if covers >= ALL * len(rows):
            break
    return _told(rows, *best) if best else None


def _step(row: dict[str, Any]) -> Step:
    return row["name"], row["target"], row["err"]


def _ends(rows: list[dict[str, Any]], steps: Sequence[Step]) -> Iterator[Step]:
    """Yield the calls that may end a round: of the frequent calls the one with most time, then the rarest ones."""
    took: dict[Step, float] = {}
    made: Counter[Step] = Counter()
    for row, step in zip(rows, steps, strict=True):
        made[step[0], step[1], None] += 1
        own = row["own_s"]
        took[step[0], step[1], None] = took.get((step[0], step[1], None), 0.0) + (
            own if own is not None and 0 <= own < LONGEST_S else 0.0
        )
    often = [step for step, n in made.items() if n > ALL_ROUNDS]
    first = max(often, key=lambda step: (took[step], made[step]), default=None)
    if first is not None:
        yield first
    yield from sorted((step for step in often if step != first), key=lambda step: made[step])[:ENDS]


def _merged(steps: Sequence[Step]) -> list[Step]:
    """Return the steps, with consecutive equal ones as one."""
    return [step for n, step in enumerate(steps) if n == 0 or step != steps[n - 1]]


def _told(rows: list[dict[str, Any]], like: list[range], shape: tuple[Step, ...]) -> Sighting:
    """Return the sighting of rounds of one shape."""
    first, last = rows[like[0][0]], rows[like[-1][-1]]
    parts: list[str] = []
    round_s = 0.0
    targets = {target for _, target, _ in shape if target not in (None, UNKNOWN_LOCK, CPU_TIME)}
    common = next(iter(targets)) if len(targets) == 1 and len(shape) > 1 else None
    for n in range(len(shape)):
        held = [_run(rows, one, n) for one in like]
        took = [sum(r["own_s"] or 0.0 for r in run) for run in held if all(r["own_s"] is not None for r in run)]
        each = median(took) if took else None
        round_s += (each or 0.0) if each is not None and each < LONGEST_S else 0.0
        times = int(median(len(run) for run in held))
        sizes = [r["bytes"] for run in held for r in run if r["bytes"] is not None and r["bytes"] >= 0]
        row = held[0][0]
        text = (f"{times} x " if times > 1 else "") + (on(row) if common is None else row["name"])
        text += f" of {int(median(sizes)):,} bytes" if sizes else ""
        text += f", {row['err']}" if row["err"] else ""
        parts.append(text + (f" ({figure(each, 's')})" if each is not None and each < LONGEST_S else ""))
    middle = like[len(like) // 2]
    begin, end = rows[middle[0]]["line_no"], rows[middle[-1]]["line_end"] or rows[middle[-1]]["line_no"]
    artifact = first["artifact_id"]
    if end - begin < MOST_LINES - 2:
        lines = [Lines(artifact, begin, end, "a round")]
    else:
        lines = [
            Lines(artifact, rows[i]["line_no"], rows[i]["line_no"], rows[i]["name"]) for i in list(middle)[-STEPS:]
        ]
    lines += [Lines(artifact, row["line_no"], row["line_no"], role) for row, role in ((first, "first"), (last, "last"))]
    stamps = [rows[i]["done_s"] for one in like for i in one if rows[i]["done_s"] is not None]
    of = [r["done_s"] for r in rows if r["done_s"] is not None]
    span = max(of) - min(of) if of else 0.0
    share = min(1.0, len(like) * round_s / span) if span > 0 else 0.0
    whose = number_words(first["pid"]) if first["lwp"] in (None, first["pid"]) else f"thread {first['lwp']}"
    name = shape[-1][0]
    waits = name in ACCEPTS or name in POLLS or (name in READ_NAMES and rows[like[0][-1]]["side"] == "server")
    return Sighting(
        "rounds",
        " / ".join(step[0] for step in shape),
        f"{len(like):,} times {whose} did the same{f' on {common}' if common else ''}: {', '.join(parts)}",
        "rounds_count",
        float(len(like)),
        "count",
        tuple(lines),
        **place(first),
        t_from=min(stamps, default=None),
        t_to=max(stamps, default=None),
        share=PART * share,
        n=len(like),
        normal=waits,
    )


def _run(rows: list[dict[str, Any]], one: range, n: int) -> list[dict[str, Any]]:
    """Return the calls of the n-th step of a round."""
    found: list[list[dict[str, Any]]] = []
    for i in one:
        if found and _step(found[-1][-1]) == _step(rows[i]):
            found[-1].append(rows[i])
        else:
            found.append([rows[i]])
    return found[n]
