"""What a listing of functions tells of callers: those with much below them, and the calls that lead to where the time goes.

Such listings repeat the same stacks below each function, so that their weights must not be added up: the largest stands for
all. Percents of a graph count from the whole, or from the function above it where a tool prints them so (`fractal`): then the
topmost is larger than its function's own figure.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.frames import NAMED_FRAMES, bare, named, names_of, names_of_leaf
from rules.observers.observer import MOST_LINES, Lines, Sighting, figure, lines_of, place
from rules.signatures.signatures import Seen

HALF_PCT = 50.0
"""Minimum part of a profile that passes through a caller, in percent."""

ITSELF_PCT = 10.0
"""Maximum part that such a caller has itself: one with more is told as the owner of these samples."""

NARROWEST = 2
"""Number of callers that are told: those further out only contain them."""

SHOWN = 4
"""Number of calls of a path that are told, from the leaf."""

ROUNDED = 1.0
"""Maximum difference of two percents that are the same."""

STARTS = (
    r"^(?:_*start(?:_main|_thread|_kernel|_routine)?|main|_*libc_start.*|_*clone3?|thread_start|thread_native_entry|java_start"
    r"|JavaMain|entry_SYSCALL.*|do_syscall.*|system_call.*|syscall.*|x64_sys_call|el0t?_.*|ret_from_fork.*|kthread|worker_thread"
    r"|runtime[.](?:goexit|main|mcall|morestack).*|_PyEval_.*|PyEval_.*|Py_(?:Run)?Main|_PyObject_.*|call_stub|JavaCalls::.*"
    r"|JavaThread::.*|Thread::call_run|Interpreter|secondary_startup.*|cpu_startup_entry|BaseThreadInitThunk|RtlUserThreadStart)$"
)
"""Functions in which every program, thread or system call begins."""


def callers(case: CaseTables) -> Iterator[Sighting]:
    """Yield functions with half of the samples or more in their callees, of each listing those with the fewest."""
    group = [*PLACE_COLUMNS, "part", "event"]
    both = pl.col("pct").is_between(HALF_PCT, 100) & pl.col("self_pct").is_between(0, ITSELF_PCT)
    rows = case.scan("profile_symbols", [*group, "line_no", "line_end", "pct", "self_pct", "symbol"], both)
    name = pl.col("symbol").fill_null("").str.replace(r"^.*[`!]", "")
    made = (
        rows.filter(~name.str.contains(STARTS) & (name != ""))
        .sort("pct", "line_no")
        .unique([*group, "symbol"], keep="first", maintain_order=True)
        .group_by(group, maintain_order=True)
        .head(NARROWEST)
        .collect(engine="streaming")
    )
    for row in made.iter_rows(named=True):
        if not named(row["symbol"]):
            continue
        yield Sighting(
            "caller",
            bare(row["symbol"]),
            f"{figure(row['pct'], '%')} of the samples are below {bare(row['symbol'])}, {figure(row['self_pct'], '%')} in itself",
            "total_pct",
            row["pct"],
            "%",
            lines_of(row, "with what it calls"),
            **place(row),
            against="half of the profile",
            against_value=HALF_PCT,
            # Its callee has a sighting of its own, so this caller gets half the weight.
            share=row["pct"] / 200,
            seen=names_of(row["symbol"]),
        )


def paths(case: CaseTables) -> Iterator[Sighting]:
    """Yield the calls below functions of a listing that lead to half of its samples, one path per leaf."""
    group = [*PLACE_COLUMNS, "part", "event"]
    columns = [*group, "line_no", "line_end", "weight", "frames", "pcts", "leaf", "kernel"]
    pct = (pl.col("unit") == "pct") & pl.col("weight").is_between(HALF_PCT, 100)
    stacks = case.scan("profile_stacks", [*columns, "unit"], pct).filter(pl.col("frames").list.len() > 1)
    held = stacks.sort("weight", "line_no", descending=[True, False]).head(200).collect(engine="streaming")
    if held.is_empty():
        return
    listed = case.scan("profile_symbols", ["artifact_id", "part", "line_no", "pct"]).sort("line_no").collect()
    if listed.is_empty():
        return
    above = held.sort("line_no").join_asof(
        listed.rename({"pct": "of"}), on="line_no", by=["artifact_id", "part"], check_sortedness=False
    )
    told: set[tuple[int, str]] = set()
    found: list[tuple[float, Sighting]] = []
    for row in above.iter_rows(named=True):
        made = _path(row)
        if made is not None:
            found.append(made)
    for _, made_ in sorted(found, key=lambda x: -x[0]):
        key = (made_.lines[0].artifact, made_.subject)
        if key not in told:
            told.add(key)
            yield made_


def _path(row: dict[str, Any]) -> tuple[float, Sighting] | None:
    frames, pcts, of = row["frames"], row["pcts"], row["of"]
    if of is None or not pcts or len(pcts) != len(frames) or any(p is None or not 0 <= p <= 100 for p in pcts):
        return None
    part = of / 100 if pcts[-1] > of + ROUNDED else 1.0
    share = part * row["weight"] / 100
    steps = [(bare(f), part * p) for f, p in zip(frames, pcts, strict=True) if named(f)][:SHOWN]
    if share < HALF_PCT / 100 or len(steps) < 2:
        return None
    text = ", which calls ".join(f"{name} ({figure(pct, '%')})" for name, pct in reversed(steps))
    first = max(1, row["line_no"] - min(len(frames), MOST_LINES) + 1)
    seen: tuple[Seen, ...] = tuple(
        s for i, f in enumerate(frames[:NAMED_FRAMES]) for s in (names_of(f) if i else names_of_leaf(f, row["kernel"]))
    )
    return share, Sighting(
        "path",
        steps[0][0],
        f"Most samples come to {text}",
        "total_pct",
        100 * share,
        "%",
        (Lines(row["artifact_id"], first, row["line_no"], "path of calls"),),
        **place(row),
        against="half of the profile",
        against_value=HALF_PCT,
        share=share,
        seen=seen,
    )
