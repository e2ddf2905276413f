"""Clock map of a case: which clocks may be drawn on one axis, how far apart they are, and why others may not.

Nothing is moved silently. An offset is always an interval: `clock` shows off_lo to off_hi seconds more than `ref` at
the same instant (differences between readings, see `rules.clocks.readings`). A tie comes from request/response pairs
(`wait_cover`), shared identifiers (`anchors`), start intervals of server processes, the common clock of one host, the
clock of a server that collectors on several hosts read, or a person's statement; refused ties stay in the map with
their reason in plain words. A tie that contradicts a stronger one is refused.
"""

from __future__ import annotations

import heapq
import itertools
import string
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

import polars as pl

from rules.case.case import Alignment, Case
from rules.clocks.bounds import MAX_DRIFT
from rules.clocks.readings import absolute, bases_of, epoch
from rules.clocks.ties import (
    Start,
    Tie,
    of_anchors,
    of_covers,
    of_hosts,
    of_servers,
    of_starts,
    of_statements,
    zone_checks,
)
from rules.model import Clock, ClockCheck, ClockRow
from rules.statistics.robust import Interval

CLOCK_MAP: Mapping[str, pl.DataType] = {
    "clock": pl.String(),
    "ref_clock": pl.String(),
    "off_lo": pl.Float64(),
    "off_hi": pl.Float64(),
    "drift_lo": pl.Float64(),
    "drift_hi": pl.Float64(),
    "n_pairs": pl.Int64(),
    "method": pl.String(),
    "accepted": pl.Boolean(),
    "reason": pl.String(),
}
CLOCK_CHECKS: Mapping[str, pl.DataType] = {
    "clock": pl.String(),
    "ref_clock": pl.String(),
    "test": pl.String(),
    "t_at": pl.Float64(),
    "size_s": pl.Float64(),
    "n_anchors": pl.Int64(),
}

DIGITS = 6


@dataclass(frozen=True)
class Place:
    """Position of a clock: t_local + add is the `t_local` of its frame's reference clock, with an error of at most
    `err` seconds.

    Adding `since` to that gives seconds since the incident's zero; it is 0 if the frame's own reference is the zero.
    """

    frame: str
    ref: str
    add: float
    err: float
    since: float = 0.0


@dataclass(frozen=True)
class ClockMap:
    """All ties, all checks and the place of every clock; `aligned` holds the places on the incident's own axis."""

    ties: tuple[Tie, ...]
    checks: tuple[ClockCheck, ...]
    places: Mapping[str, Place]
    main: str | None

    @property
    def aligned(self) -> dict[str, Alignment]:
        """Return the argument of `Case.align`.

        Clocks outside the main frame are left out, so their rows keep `t` NULL.
        """
        return {c: Alignment(p.frame, p.add + p.since, p.err) for c, p in self.places.items() if p.frame == self.main}

    @property
    def frames(self) -> dict[str, str]:
        """Return the frame letter by clock id."""
        return {clock: place.frame for clock, place in self.places.items()}

    def rows(self) -> pl.DataFrame:
        """Return the table `clock_map`."""
        return pl.DataFrame(
            [
                (t.clock, t.ref, *_ends(t.off), *_ends(t.drift), t.n_pairs, t.method, t.accepted, t.reason)
                for t in self.ties
            ],
            schema=dict(CLOCK_MAP),
            orient="row",
        )

    def reported(self) -> tuple[ClockRow, ...]:
        """Return the ties as rows for the report, each with the lines that bound its offset."""
        return tuple(
            ClockRow(
                t.clock,
                t.ref,
                *_ends(t.off),
                t.accepted,
                t.method,
                t.reason,
                t.n_pairs,
                *_ends(t.drift),
                tuple(replace(p, off_lo=round(p.off_lo, DIGITS), off_hi=round(p.off_hi, DIGITS)) for p in t.pairs),
            )
            for t in self.ties
        )

    def check_rows(self) -> pl.DataFrame:
        """Return the table `clock_checks`."""
        return pl.DataFrame(
            [(c.clock, c.ref, c.test, c.t_at, c.size_s, c.n_anchors) for c in self.checks],
            schema=dict(CLOCK_CHECKS),
            orient="row",
        )


def _ends(interval: Interval | None) -> tuple[float | None, float | None]:
    return (None, None) if interval is None else (round(interval.lo, DIGITS), round(interval.hi, DIGITS))


# --- ties -> frames ---------------------------------------------------------------------------------------------------


def settled(ties: Sequence[Tie]) -> list[Tie]:
    """Return the ties, with those refused that contradict a stronger one (earlier in the list) between the same two
    clocks.
    """
    checked: list[Tie] = []
    for tie in ties:
        rival = next(
            (k for k in checked if tie.accepted and k.accepted and {k.clock, k.ref} == {tie.clock, tie.ref}), None
        )
        if rival is not None and tie.off is not None and rival.off is not None:
            mine = tie.off if tie.ref == rival.ref else Interval(-tie.off.hi, -tie.off.lo)
            if mine.hi < rival.off.lo or mine.lo > rival.off.hi:
                ends = f"{rival.off.lo:.3f} to {rival.off.hi:.3f} s"
                tie = replace(tie, accepted=False, reason=f"{tie.reason}; contradicts {rival.method} ({ends})")
        checked.append(tie)
    return checked


def tightest(ref: str, ties: Sequence[Tie]) -> dict[str, list[tuple[Tie, bool]]]:
    """Return, for every clock that accepted ties connect to `ref`, the path with the smallest total width from it to
    `ref`.

    A step is (tie, forward): forward leads from the tie's clock to its ref.
    """
    edges: dict[str, list[tuple[str, Tie, bool]]] = defaultdict(list)
    for tie in ties:
        if tie.accepted and tie.off is not None:
            edges[tie.ref].append((tie.clock, tie, True))
            edges[tie.clock].append((tie.ref, tie, False))
    paths: dict[str, list[tuple[Tie, bool]]] = {}
    queue: list[tuple[float, int, str, list[tuple[Tie, bool]]]] = [(0.0, 0, ref, [])]
    order = itertools.count(1)
    while queue:
        width, _, clock, path = heapq.heappop(queue)
        if clock in paths:
            continue
        paths[clock] = path
        for other, tie, forward in edges[clock]:
            if other not in paths:
                heapq.heappush(queue, (width + tie.width, next(order), other, [(tie, forward), *path]))
    return paths


def along(path: Sequence[tuple[Tie, bool]]) -> Interval:
    """Add the offsets along a path (Minkowski sum): the first clock minus the last."""
    lo = hi = 0.0
    for tie, forward in path:
        assert tie.off is not None  # only accepted ties form paths
        lo += tie.off.lo if forward else -tie.off.hi
        hi += tie.off.hi if forward else -tie.off.lo
    return Interval(lo, hi)


def _far(path: Sequence[tuple[Tie, bool]], first: float, last: float) -> float:
    """Return the widening (s) for drift: 500 ppm of how far a span of readings extends beyond each tie's evidence."""
    beyond = 0.0
    for tie, forward in path:
        assert tie.off is not None
        middle = (tie.off.lo + tie.off.hi) / 2
        shift = middle if forward else -middle
        a, b = (first - shift, last - shift) if forward else (first, last)
        if tie.first is not None and tie.last is not None:
            half = (tie.last - tie.first) / 2 if tie.n_pairs > 1 else 0.0
            beyond += MAX_DRIFT * (half + max(tie.first - a, b - tie.last, 0.0))
        first, last = first - shift, last - shift
    return beyond


def place(
    clocks: Sequence[Clock], ties: Sequence[Tie], t_zero: str | None
) -> tuple[dict[str, Place], list[Tie], str | None]:
    """Group clocks into frames; return their places, the chained rows of the map and the main frame's letter.

    A frame's reference is an absolute clock if it has one, else the clock that most ties name, else the first. The main
    frame is the incident's axis: with `t_zero` the largest absolute frame, else the largest frame of several clocks,
    else the only clock.
    """
    by_id: dict[str, Clock] = {}
    for clock in clocks:
        by_id.setdefault(clock.clock, clock)
    base = bases_of(by_id.values())
    degree = {c: sum(t.accepted and c in (t.clock, t.ref) for t in ties) for c in by_id}
    asked = {c: sum(t.accepted and c == t.ref for t in ties) for c in by_id}
    rank = sorted(by_id, key=lambda c: (not absolute(by_id[c]), -degree[c], -asked[c], list(by_id).index(c)))
    groups: list[tuple[str, dict[str, list[tuple[Tie, bool]]]]] = []
    seen: set[str] = set()
    for ref in rank:
        if ref not in seen:
            paths = {c: p for c, p in tightest(ref, ties).items() if c in by_id}
            seen |= set(paths)
            groups.append((ref, paths))
    zero = epoch(t_zero) if t_zero else None
    main = _main(groups, by_id, zero)
    if main is not None:
        groups.insert(0, groups.pop(main))
    places: dict[str, Place] = {}
    chained = []
    for number, (ref, paths) in enumerate(groups):
        since = base[ref] - zero if zero is not None and absolute(by_id[ref]) else 0.0
        for name, path in paths.items():
            off = along(path)
            clock = by_id[name]
            first, last = ((clock.t_begin or 0.0) + base[name], (clock.t_end or clock.t_begin or 0.0) + base[name])
            err = (off.hi - off.lo) / 2 + _far(path, first, last)
            add = base[name] - (off.lo + off.hi) / 2 - base[ref]
            places[name] = Place(_letters(number), ref, round(add, DIGITS), round(err, DIGITS), since)
            if len(path) > 1:
                over = ", ".join(tie.ref if forward else tie.clock for tie, forward in path[:-1])
                chained.append(Tie(name, ref, off, "chain", True, min(t.n_pairs for t, _ in path), f"over {over}"))
    return places, chained, None if main is None else "A"


def _main(
    groups: Sequence[tuple[str, Mapping[str, object]]], by_id: Mapping[str, Clock], zero: float | None
) -> int | None:
    sizes = [(len(paths), -i) for i, (ref, paths) in enumerate(groups) if zero is None or absolute(by_id[ref])]
    if not sizes:
        return None
    size, place_ = max(sizes)
    return -place_ if zero is not None or size > 1 or len(groups) == 1 else None


def _letters(number: int) -> str:
    """Return the letters for a number counted from 0: A, B ... Z, AA, AB ..."""
    rest, last = divmod(number, 26)
    return (_letters(rest - 1) if rest else "") + string.ascii_uppercase[last]


# --- a whole case -----------------------------------------------------------------------------------------------------


def starts_of(case: Case) -> tuple[list[Start], list[Start]]:
    """Return the starts of server processes that traces show, and those that listeners waited for (readings, s)."""
    base = bases_of(case.clocks)
    pipes = case.derived("pipe_pairs").filter(pl.col("spawn_s").is_not_null() & pl.col("clock").is_not_null())
    traced = [
        Start(clock, host, spawn, at + base.get(clock, 0.0), (min(fork or read, read), read))
        for clock, host, spawn, at, fork, read in pipes.select(
            "clock", "host", "spawn_s", "t_read", "line_fork", "line_read"
        ).iter_rows()
    ]
    waits = case.derived("sqlnet_waits").filter(
        (pl.col("kind") == "spawn")
        & (pl.col("contiguous").fill_null("assumed") != "broken")
        & pl.col("clock").is_not_null()
    )
    ends = pl.col("line_no").is_in(waits["line_to"].unique().implode())
    at = (
        case.table("sqlnet", ["artifact_id", "line_no", "t_local"], ends)
        .rename({"line_no": "line_to"})
        .unique(["artifact_id", "line_to"], keep="first", maintain_order=True)
    )
    ended = waits.join(at, on=["artifact_id", "line_to"], how="inner").filter(pl.col("t_local").is_not_null())
    awaited = [
        Start(clock, host, length, end + base.get(clock, 0.0), (first, last))
        for clock, host, length, end, first, last in ended.select(
            "clock", "host", "wait_s", "t_local", "line_from", "line_to"
        ).iter_rows()
    ]
    return traced, awaited


_MADE: WeakKeyDictionary[Case, ClockMap] = WeakKeyDictionary()


def align(case: Case) -> ClockMap:
    """Return the clock map of a case, computed once.

    It reads `t_local` only, so it may run before `Case.align`.
    """
    if case not in _MADE:
        _MADE[case] = _aligned(case)
    return _MADE[case]


def _aligned(case: Case) -> ClockMap:
    covered, steps = of_covers(case.derived("wait_cover"))
    anchors = case.derived("anchors")
    found = [*covered, *of_anchors(anchors), *of_hosts(case.clocks), *of_servers(case.clocks, case.server_clocks)]
    tied = {frozenset((t.clock, t.ref)) for t in [*found, *of_statements(case.spec.offsets)] if t.accepted}
    ties = settled([*found, *of_starts(*starts_of(case), tied), *of_statements(case.spec.offsets)])
    places, chained, main = place(case.clocks, ties, case.spec.t_zero)
    return ClockMap((*ties, *chained), (*steps, *zone_checks(anchors, case.clocks)), places, main)
