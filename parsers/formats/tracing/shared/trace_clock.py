"""Derive clock domains, event order and intervals of a system-call trace (truss) from its stamps.

Terms. A *stretch* is a run of lines whose stamps are consistent as they stand. A new stretch begins where the stamp falls within one
LWP, at a new base line, where the number of stamps changes, or where the stamp falls after a separator (blank line, prose, gap mark).
Stretches that can be sorted onto one time line without contradiction and that something ties together (a fork edge, a pipe token, the
same base line) form one clock *domain*; a stretch without such a tie begins a new domain. A *seam* is where sorted events pass from one
stretch to another.

The data frames named `events` have one row for each line that a thread printed, in file order: `line_no`, `pid`, `lwp` (Int64, NULL = not
printed), `t` (end stamp in seconds, NULL = none), `delta` (the difference that the tool printed, NULL = none), `name`, `fresh` (no event
of this LWP can stand before: a returning child), `born` (process that this line shows to be created), `died` (its process ends here),
`token` (pipe token), `base` (number of base lines so far), `n` (number of stamps).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from parsers.text.inline_polars import neighbours, rows_or_null, without

Longs = npt.NDArray[np.int64]

ROUNDING_S = 0.00015
"""Tolerance in seconds for differences of stamps with four decimals, each of which was rounded separately."""

TIE_S = 0.001
"""Tolerance in seconds between two stamps of one event in two processes (fork and returning child, write and read of
a token)."""

MAX_STRETCHES = 200
"""Maximum number of stretches that are sorted; above it each stretch becomes a domain of its own."""

LWP = ("pid", "lwp")


def with_before(events: pl.DataFrame) -> pl.DataFrame:
    """Add `before`: the row of the LWP's previous stamped event; NULL if there is none or the line has no stamp."""
    stamped = np.flatnonzero(events["t"].is_not_null().to_numpy())
    before = np.full(len(events), -1)
    last, _ = neighbours(*(events[column].gather(stamped) for column in LWP))
    before[stamped] = np.where(last < 0, -1, stamped[last])
    return pl.DataFrame([rows_or_null("before", before), *events])


def falls(events: pl.DataFrame) -> pl.DataFrame:
    """Return the rows (`row`, `before`) whose stamp is below the last stamp of the same LWP; `events` have `before`."""
    fallen = pl.col("t") < pl.col("t").gather(pl.col("before")) - ROUNDING_S
    return events.select_seq(pl.int_range(pl.len()).filter(fallen).alias("row"), pl.col("before").filter(fallen))


@dataclass
class Stretch:
    """Rows [begin, end) of the events, with what can tie them to other stretches: births, deaths, tokens, span of each process."""

    begin: int
    end: int
    base: int
    born: dict[int, float] = field(default_factory=dict)
    died: dict[int, float] = field(default_factory=dict)
    tokens: dict[str, list[float]] = field(default_factory=dict)
    pids: dict[int, tuple[float, float]] = field(default_factory=dict)
    lwps: dict[tuple[Any, Any], tuple[float, float]] = field(default_factory=dict)
    gaps: dict[tuple[Any, Any], list[tuple[float, float]]] = field(default_factory=dict)
    times: dict[tuple[Any, Any], list[float]] = field(default_factory=dict)


def stretches(events: pl.DataFrame, separators: Longs) -> list[Stretch]:
    """Split events into stretches, in file order. `separators`: ascending numbers of lines that separate text (blank, prose, gap marks)."""
    rows = events.select_seq("line_no", "pid", "lwp", "t", "n", "base").rows()
    cuts = sorted(_cuts(rows, separators))
    parts = [Stretch(a, b, rows[a][5]) for a, b in pairwise([0, *cuts, len(rows)]) if b > a]
    if len(parts) <= MAX_STRETCHES:
        full = events.select_seq("pid", "lwp", "t", "delta", "fresh", "born", "died", "token")
        for part in parts:
            _describe(part, full.slice(part.begin, part.end - part.begin))
    return parts


def _cuts(rows: list[tuple[Any, ...]], separators: Longs) -> Iterator[int]:
    """Yield the row numbers at which a new stretch begins."""
    last: dict[tuple[Any, Any], int] = {}
    seen_t: int | None = None  # last stamped row of this stretch
    for i, (line, pid, lwp, t, n, base) in enumerate(rows):
        if t is None:
            continue
        if seen_t is not None:
            at: int | None = None
            before = last.get((pid, lwp))
            parted = _parted(separators, rows[seen_t][0], line)
            if base != rows[seen_t][5] or n != rows[seen_t][4] or (parted and t < rows[seen_t][3] - ROUNDING_S):
                at = i
            elif before is not None and t < rows[before][3] - ROUNDING_S:
                at = _deepest_fall(rows, before, i)
            if at is not None:
                yield at
                # Events between the cut and here belong to the new stretch.
                last = {(rows[k][1], rows[k][2]): k for k in range(at, i) if rows[k][3] is not None}
        last[(pid, lwp)] = i
        seen_t = i


def _parted(separators: Longs, line: int, until: int) -> bool:
    """Decide whether a separator stands between two lines."""
    return bool(np.searchsorted(separators, line) < np.searchsorted(separators, until))


def _deepest_fall(rows: list[tuple[Any, ...]], begin: int, end: int) -> int:
    """Return the row in (begin, end] where the stamp falls most from one line to the next: the new stretch begins there."""
    stamped = [k for k in range(begin, end + 1) if rows[k][3] is not None]
    return max(pairwise(stamped), key=lambda pair: (rows[pair[0]][3] - rows[pair[1]][3], pair[1]))[1]


def _describe(part: Stretch, events: pl.DataFrame) -> None:
    """Record births, deaths, tokens and spans of a stretch."""
    for pid, lwp, t, delta, fresh, born, died, token in events.rows():
        if t is None:
            continue
        key = (pid, lwp)
        lo, hi = part.pids.get(pid, (t, t))
        part.pids[pid] = (min(lo, t), max(hi, t))
        lo, hi = part.lwps.get(key, (t, t))
        part.lwps[key] = (min(lo, t), max(hi, t))
        part.times.setdefault(key, []).append(t)
        if born is not None:
            part.born.setdefault(born, t)
        if died:
            part.died[pid] = t
        if token is not None:
            part.tokens.setdefault(token, []).append(t)
        if delta is not None and not fresh and delta < t - ROUNDING_S:
            part.gaps.setdefault(key, []).append((t - delta, t))


def _tied(a: Stretch, b: Stretch, *, neighbours: bool) -> bool:
    """Decide whether two stretches belong to one trace; `neighbours`: b follows a in the file."""
    if a.base and a.base == b.base:
        return True
    if any(abs(t - b.born[pid]) <= TIE_S for pid, t in a.born.items() if pid in b.born):
        return True
    for x, y in ((a, b), (b, a)):
        if any(pid in y.pids and y.pids[pid][0] >= t - TIE_S for pid, t in x.born.items()):
            return True
    if any(abs(t - u) <= TIE_S for token, ts in a.tokens.items() for t in ts for u in b.tokens.get(token, ())):
        return True
    # At a separator, a fall between different LWPs has cut the stretches; a thread that continues in the next stretch ties them.
    shared = a.lwps.keys() & b.lwps.keys()
    goes_on = all(b.lwps[key][0] >= a.lwps[key][1] - ROUNDING_S for key in shared)
    return neighbours and bool(shared) and goes_on and a.base == b.base


def _contradict(a: Stretch, b: Stretch) -> bool:
    """Decide whether two stretches cannot stand on one time line."""
    if any(abs(t - b.born[pid]) > TIE_S for pid, t in a.born.items() if pid in b.born):
        return True
    for x, y in ((a, b), (b, a)):
        if any(pid in y.pids and y.pids[pid][0] < t - TIE_S for pid, t in x.born.items()):
            return True
        if any(pid in y.pids and y.pids[pid][1] > t + TIE_S for pid, t in x.died.items()):
            return True
        # The printed delta shows that the LWP had no event in this interval.
        for key, quiet in x.gaps.items():
            times = np.sort(np.array(y.times.get(key, ()), float))
            lo, hi = np.array(quiet, float).T
            if (np.searchsorted(times, lo + ROUNDING_S) < np.searchsorted(times, hi - ROUNDING_S)).any():
                return True
    # The same moments of the same thread twice: one excerpt was pasted twice; these are not two excerpts.
    return any(not set(a.times[key]).isdisjoint(b.times[key]) for key in a.times.keys() & b.times.keys())


def domains(parts: list[Stretch]) -> list[list[int]]:
    """Group stretches into clock domains: lists of stretch numbers, in the order of their first stretch."""
    if len(parts) > MAX_STRETCHES:
        return [[i] for i in range(len(parts))]
    groups: list[list[int]] = []
    for i, part in enumerate(parts):
        here = [i]
        rest = []
        for group in groups:
            tied = any(_tied(parts[k], part, neighbours=k == i - 1) for k in group)
            if tied and not any(_contradict(parts[k], parts[j]) for k in group for j in here):
                here = group + here
            else:
                rest.append(group)
        groups = sorted([*rest, here])
    return groups


def arrange(events: pl.DataFrame, parts: list[Stretch], groups: list[list[int]]) -> pl.DataFrame:
    """Add `stretch` and `domain` (from 1), sort by domain and stamp, add `before`; a line without a stamp stays after the one above it."""
    sizes = np.array([part.end - part.begin for part in parts], np.int64)
    domain_of = {k: number for number, group in enumerate(groups, 1) for k in group}
    stretch = np.repeat(np.arange(len(parts)), sizes)
    domain = np.repeat(np.array([domain_of[k] for k in range(len(parts))], np.int64), sizes)
    place = pl.col("t").forward_fill().backward_fill().over("stretch").alias("place")
    if len(groups) == len(parts):
        place = pl.lit(0.0).alias("place")  # nothing to sort: keep the file order whatever the stamps are
    return with_before(
        events.with_columns_seq(pl.Series("stretch", stretch), pl.Series("domain", domain))
        .with_columns_seq(place)
        .sort("domain", "place", maintain_order=True)
        .drop("place")
    )


@dataclass(frozen=True)
class Marks:
    """Lines that interrupt an interval: `gaps` show that lines are missing, `breaks` only that the text is not a raw trace file.

    Both are ascending. `raw_from`: the base line of an unedited trace file (NULL = a paste); after it nothing is missing except at marks.
    """

    gaps: Longs
    breaks: Longs
    raw_from: int | None = None


def _latest(marks: Longs, lines: pl.Series) -> pl.Expr:
    """Return for each line the last mark above it, -1 if there is none."""
    if not len(marks):
        return pl.lit(-1)
    padded = np.concatenate([np.array([-1], np.int64), marks])
    return pl.lit(pl.Series(padded[np.searchsorted(marks, lines.to_numpy())]))


def link(events: pl.DataFrame, marks: Marks) -> pl.DataFrame:
    """Add `prev_line`, `prev_name`, `gap_s`, `dur_hi_s`, `contiguous` to events in time order that have `domain`, `stretch`, `before`.

    gap_s is the stamp minus that of the LWP's previous event, rounded to microseconds. It is NULL for a first event: the first of its LWP
    here, the first of a returning child, or one whose printed delta equals its whole stamp. `dur_hi_s` is an upper bound of the call's
    duration (user time included): the gap, or the printed delta where that shows that lines are missing between the two events.
    """
    whole = (pl.col("delta") - pl.col("t")).abs() <= ROUNDING_S
    first = pl.col("fresh") | (whole & (pl.col("delta") > ROUNDING_S)).fill_null(False) | pl.col("t").is_null()
    elsewhere = (pl.col("domain") != pl.col("domain").gather(pl.col("before"))).fill_null(False)
    seams: pl.Expr = pl.lit(0)
    if events["stretch"].n_unique() > 1:
        keys = ["domain", *LWP]
        seams = (pl.col("stretch") != pl.col("stretch").shift(1).over(keys)).fill_null(False).cum_sum().over(keys)
    events = events.with_columns_seq(
        pl.when(~(first | elsewhere)).then("before").alias("before"),
        pl.when(~first).then("delta").alias("own_delta"),
        seams.alias("seams"),
    )
    back = {c: pl.col(c).gather(pl.col("before")) for c in ("line_no", "name", "t", "seams")}
    linked = events.with_columns_seq(
        back["line_no"].alias("prev_line"),
        back["name"].alias("prev_name"),
        (pl.col("t") - back["t"]).round(6).alias("gap_s"),
        (pl.col("seams") != back["seams"]).alias("seam"),
        _latest(marks.gaps, events["line_no"]).alias("gap_line"),
        _latest(marks.breaks, events["line_no"]).alias("break_line"),
    )
    agrees = (pl.col("gap_s") - pl.col("own_delta")).abs() <= ROUNDING_S
    contradicted = pl.col("own_delta").is_not_null() & ~agrees.fill_null(False)
    marked = pl.col("gap_line") > pl.col("prev_line")
    raw = pl.lit(False)
    if marks.raw_from is not None:
        raw = (pl.col("prev_line") > marks.raw_from) & (pl.col("gap_line") < marks.raw_from)
        raw &= pl.col("break_line") < pl.col("prev_line")
    linked = linked.with_columns_seq(
        pl.when(contradicted).then("own_delta").otherwise("gap_s").alias("dur_hi_s"),
        pl.when(contradicted)
        .then(pl.lit("broken"))
        .when(pl.col("gap_s").is_null())
        .then(None)
        .when(agrees)
        .then(pl.lit("proven"))
        .when(pl.col("seam") | marked)
        .then(pl.lit("broken"))
        .when(raw)
        .then(pl.lit("proven"))
        .otherwise(pl.lit("assumed"))
        .alias("contiguous"),
    )
    return without(linked, "before", "seam", "seams", "own_delta", "gap_line", "break_line")
