"""Derive ties between clocks from evidence: pairs of waits, shared identifiers, one host's clock, process starts,
statements.

A tie's offset is an interval: `clock` shows off.lo to off.hi seconds more than `ref` at the same instant. A refused tie
is a Tie too, with its reason in plain words.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from rules.clocks.bounds import Bounds, Step, fit
from rules.clocks.readings import WALL, absolute
from rules.model import Clock, ClockCheck, ClockPair, Offset
from rules.statistics.robust import Interval

SAME_EVENT_S = 0.020  # one event, printed by two programs of one host
TOLERANCE = 0.02  # share of an interval by which two measurements of it may differ
LEAST_ANCHORS = 3
MOST_ACCIDENTS = 0.01
ZONE_STEP_S, ZONE_SLACK_S = 900.0, 90.0
SAME_HOST_S = 0.001
DIGITS = 6
MOST_PAIRS = 20


@dataclass(frozen=True)
class Tie:
    """One row of the clock map.

    `first`, `last` are the readings of `ref` between which the evidence is; None: valid at any time. `pairs` are the
    first of the pairs that bound it.
    """

    clock: str
    ref: str
    off: Interval | None
    method: str
    accepted: bool
    n_pairs: int = 0
    reason: str = ""
    drift: Interval | None = None
    first: float | None = None
    last: float | None = None
    pairs: tuple[ClockPair, ...] = ()

    @property
    def width(self) -> float:
        return math.inf if self.off is None else self.off.hi - self.off.lo


def of_statements(offsets: Iterable[Offset]) -> list[Tie]:
    """Return the offsets that people stated as ties."""
    return [
        Tie(
            o.clock,
            o.ref,
            Interval(min(o.lo, o.hi), max(o.lo, o.hi)),
            "statement",
            True,
            0,
            f"stated by {o.author or 'somebody'}" + (f": {o.text}" if o.text else ""),
        )
        for o in offsets
    ]


def of_covers(covers: pl.DataFrame) -> tuple[list[Tie], list[ClockCheck]]:
    """Tie server clocks to client clocks by their covered waits: one pair gives its interval, several a line with
    drift.

    Only pairs whose connection is identified and whose server wait is residence time give bounds.
    """
    ties: list[Tie] = []
    checks: list[ClockCheck] = []
    usable = covers.filter(
        (pl.col("same_conn") != "none")
        & (pl.col("residence") != "none")
        & pl.col("client_clock").is_not_null()
        & pl.col("server_clock").is_not_null()
        & (pl.col("client_clock") != pl.col("server_clock"))
    )
    for (server, client), pairs in usable.group_by("server_clock", "client_clock", maintain_order=True):
        clock, ref, n = str(server), str(client), pairs.height
        cited = tuple(
            ClockPair((s0, s1), (c0, c1), lo, hi)
            for s0, s1, c0, c1, lo, hi in pairs.select(
                "server_from", "server_to", "client_from", "client_to", "off_lo", "off_hi"
            )
            .head(MOST_PAIRS)
            .iter_rows()
        )
        by_statement = " (same connection by statement)" if (pairs["same_conn"] == "statement").any() else ""
        first, last = _number(pairs["c0"].min()), _number(pairs["c1"].max())
        method = "request/response"
        if n == 1:
            off = Interval(_number(pairs["off_lo"][0]), _number(pairs["off_hi"][0]))
            reason = f"from 1 request/response pair{by_statement}"
            ties.append(Tie(clock, ref, off, method, True, 1, reason, None, first, last, cited))
            continue
        bounds = Bounds.of(pairs.select("c0", "off_hi").rows(), pairs.select("c1", "off_lo").rows())
        line = fit(bounds)
        if line is None:
            reason = f"the {n} request/response pairs contradict each other for every offset and drift up to 500 ppm"
            ties.append(Tie(clock, ref, None, method, False, n, reason, pairs=cited))
        elif line.step is not None:
            checks.append(_step(clock, ref, line.step, n))
            reason = f"a clock was set: the offset moves by {line.step.size_s:.3f} s between the {n} pairs"
            ties.append(Tie(clock, ref, None, method, False, n, reason, pairs=cited))
        else:
            left = f", {line.dropped} bounds left out" if line.dropped else ""
            reason = f"from {n} request/response pairs{by_statement}{left}"
            ties.append(Tie(clock, ref, line.offset, method, True, n, reason, line.slope, line.first, line.last, cited))
    return ties, checks


def _step(clock: str, ref: str, step: Step, n: int) -> ClockCheck:
    return ClockCheck(clock, ref, "step", step.at, round(step.size_s, DIGITS), n)


def of_anchors(anchors: pl.DataFrame) -> list[Tie]:
    """Tie clocks by events that both print with an identifier.

    These are pids and addresses in an Oracle Net trace; two prints of one host's event lie within 20 ms.
    """
    ties = []
    usable = anchors.filter(
        (pl.col("clock_a") != pl.col("clock_b"))
        & (pl.col("p_accident") <= MOST_ACCIDENTS)
        & pl.col("method").is_in(["pid", "address"])
    )
    for (a, b), rows in usable.group_by("clock_a", "clock_b", maintain_order=True):
        lows = (rows["t_a"] - rows["t_b"]).to_list()
        off = Interval(max(lows), min(lows) + SAME_EVENT_S)
        names = ", ".join(f"{m} {t}" for m, t in rows.select("method", "token").head(3).iter_rows())
        times = _number(rows["t_b"].min()), _number(rows["t_b"].max())
        cited = tuple(
            ClockPair((x, x), (y, y), round(t_a - t_b, DIGITS), round(t_a - t_b + SAME_EVENT_S, DIGITS))
            for x, y, t_a, t_b in rows.select("line_a", "line_b", "t_a", "t_b").head(MOST_PAIRS).iter_rows()
        )
        if off.lo <= off.hi:
            reason = f"both show {names}"
            ties.append(
                Tie(str(a), str(b), off, "shared identifier", True, rows.height, reason, None, *times, pairs=cited)
            )
        else:
            reason = (
                f"{rows.height} shared identifiers ({names}) give offsets {off.lo - off.hi + SAME_EVENT_S:.3f} s apart"
            )
            ties.append(Tie(str(a), str(b), None, "shared identifier", False, rows.height, reason, pairs=cited))
    return ties


def of_hosts(clocks: Sequence[Clock]) -> list[Tie]:
    """Tie wall clocks of one known host, which has one clock.

    Local times without a zone are tied only to each other; so are times of day without a date, and days without a year,
    since their readings count from a day that nobody knows.
    """
    kinds: dict[tuple[str, bool, str | None], list[Clock]] = defaultdict(list)
    for clock in clocks:
        if clock.host is not None and (clock.kind in WALL or absolute(clock)):
            kinds[clock.host, absolute(clock), clock.lacks].append(clock)
    ties = []
    for (host, known, _), group in kinds.items():
        names = list(dict.fromkeys(c.clock for c in group))
        for other in names[1:]:
            reason = f"both are {'' if known else 'local '}times of {host}'s own clock"
            ties.append(Tie(other, names[0], Interval(-SAME_HOST_S, SAME_HOST_S), "same host", True, 0, reason))
    return ties


def of_servers(clocks: Sequence[Clock], compared: Mapping[tuple[int, int], tuple[str, float, float]]) -> list[Tie]:
    """Tie clocks of different hosts that a collector compared with the clock of one server.

    `compared`: (artifact, part) -> the server, and by how many seconds, at least and at most, the host's clock is ahead.
    One clock of each host is tied to that of the first host; `of_hosts` ties the other clocks of a host to it.
    """
    first: dict[str, dict[str, tuple[Clock, Interval]]] = defaultdict(dict)
    for clock in clocks:
        known = compared.get((clock.artifact, clock.part))
        if known is not None and clock.host is not None and absolute(clock):
            server, least, most = known
            first[server].setdefault(clock.host, (clock, Interval(least, most)))
    ties = []
    for server, hosts in first.items():
        (name, (ref, ahead)), *others = hosts.items()
        for host, (clock, off) in others:
            reason = f"collectors on {host} and {name} both read the clock of {server}"
            between = Interval(off.lo - ahead.hi, off.hi - ahead.lo)
            ties.append(Tie(clock.clock, ref.clock, between, "server clock", True, 1, reason))
    return ties


def tolerance(interval_s: float) -> float:
    """Return by how much two measurements of one interval may differ: 20 ms or 2 %.

    >>> round(tolerance(3.3326), 3)
    0.067
    """
    return max(SAME_EVENT_S, TOLERANCE * interval_s)


@dataclass(frozen=True)
class Start:
    """The start of a server process as one clock saw it: it took `length` s, ended at reading `end`, on these lines."""

    clock: str
    host: str | None
    length: float
    end: float
    lines: tuple[int, int] | None = None


def of_starts(traced: Sequence[Start], awaited: Sequence[Start], tied: set[frozenset[str]]) -> list[Tie]:
    """Compare starts of server processes in system call traces with the listener's waits for them in Oracle Net traces.

    Only their length shows that two are the same, so a single match is never accepted: three with one offset are, and
    if none has the same length, the two saw different connections. Pairs of clocks in `tied` are skipped.
    """
    ties = []
    by_trace, by_wait = _by_clock(traced), _by_clock(awaited)
    for (a, ours), (b, theirs) in itertools.product(by_trace.items(), by_wait.items()):
        hosts = {s.host for s in (*ours, *theirs) if s.host is not None}
        if frozenset((a, b)) in tied or len(hosts) > 1:
            continue
        fitting = [(x, y) for x in ours for y in theirs if abs(x.length - y.length) <= tolerance(x.length)]
        if not fitting:
            x, y = min(itertools.product(ours, theirs), key=lambda pair: abs(pair[0].length - pair[1].length))
            reason = (
                f"interval mismatch, a different connection: the process start took {x.length:.4f} s here, "
                f"the listener's wait {y.length:.3f} s; "
                f"they differ by {abs(x.length - y.length):.4f} s, tolerance {tolerance(x.length):.3f} s"
            )
            off = Interval(x.end - y.end, x.end - y.end)
            ties.append(Tie(a, b, off, "process start", False, 1, reason, pairs=_pairs([(x, y)], 0.0)))
            continue
        chosen = _one_offset(fitting)
        offsets = [x.end - y.end for x, y in chosen]
        off = Interval(min(offsets) - SAME_EVENT_S, max(offsets) + SAME_EVENT_S)
        span = max(x.end for x in ours) - min(x.end - x.length for x in ours)
        chance = len(ours) * len(theirs) * 2 * SAME_EVENT_S / span
        if len(chosen) >= LEAST_ANCHORS and chance ** (len(chosen) - 1) <= MOST_ACCIDENTS:
            reason = f"{len(chosen)} process starts of equal length agree on one offset"
            ties.append(
                Tie(
                    a,
                    b,
                    off,
                    "process start",
                    True,
                    len(chosen),
                    reason,
                    None,
                    min(y.end for _, y in chosen),
                    max(y.end for _, y in chosen),
                    _pairs(chosen, SAME_EVENT_S),
                )
            )
        else:
            reason = (
                f"{len(chosen)} process start(s) of equal length agree, {LEAST_ANCHORS} are needed; "
                "or a base line of the trace, the process number or a port in both"
            )
            cited = _pairs(chosen, SAME_EVENT_S)
            ties.append(Tie(a, b, off, "process start", False, len(chosen), reason, pairs=cited))
    return ties


def _pairs(chosen: Sequence[tuple[Start, Start]], slack: float) -> tuple[ClockPair, ...]:
    return tuple(
        ClockPair(x.lines, y.lines, round(x.end - y.end - slack, DIGITS), round(x.end - y.end + slack, DIGITS))
        for x, y in chosen[:MOST_PAIRS]
        if x.lines and y.lines
    )


def _by_clock(starts: Sequence[Start]) -> dict[str, list[Start]]:
    found: dict[str, list[Start]] = defaultdict(list)
    for start in starts:
        found[start.clock].append(start)
    return found


def _one_offset(fitting: list[tuple[Start, Start]]) -> list[tuple[Start, Start]]:
    """Return the largest set of pairs, each start used once, whose offsets are within 20 ms."""
    ordered = sorted(fitting, key=lambda pair: pair[0].end - pair[1].end)
    best: list[tuple[Start, Start]] = []
    for i, (x0, y0) in enumerate(ordered):
        used: set[Start] = set()
        chosen = []
        for x, y in ordered[i:]:
            if x.end - y.end > x0.end - y0.end + SAME_EVENT_S:
                break
            if x not in used and y not in used:
                used |= {x, y}
                chosen.append((x, y))
        if len(chosen) > len(best):
            best = chosen
    return best


def zone_guess(pairs: Sequence[tuple[float, float]]) -> float | None:
    """Return the zone shift (s, a multiple of 15 minutes) that matched readings (a, b) of two wall clocks suggest, else
    None.

    Needs three pairs, all within 90 s of the same multiple, which must not be 0. It is a proposal for people and never
    applied.

    >>> zone_guess([(7200.4, 0.0), (7300.4, 100.0), (7400.4, 200.0)])
    7200.0
    """
    multiples = {round((a - b) / ZONE_STEP_S) for a, b in pairs}
    if len(pairs) < LEAST_ANCHORS or len(multiples) != 1:
        return None
    shift = multiples.pop() * ZONE_STEP_S
    near = all(abs(a - b - shift) <= ZONE_SLACK_S for a, b in pairs)
    return shift if shift and near else None


def zone_checks(anchors: pl.DataFrame, clocks: Sequence[Clock]) -> list[ClockCheck]:
    """Return proposed zone shifts between wall clocks that share anchors."""
    wall = {c.clock for c in clocks if c.kind in WALL or absolute(c)}
    found = []
    rows = anchors.filter((pl.col("clock_a") != pl.col("clock_b")) & (pl.col("p_accident") <= MOST_ACCIDENTS))
    for (a, b), pairs in rows.group_by("clock_a", "clock_b", maintain_order=True):
        if a in wall and b in wall:
            shift = zone_guess(pairs.select("t_a", "t_b").rows())
            if shift is not None:
                found.append(ClockCheck(str(a), str(b), "zone", None, shift, pairs.height))
    return found


def _number(value: object) -> float:
    assert isinstance(value, (int, float))
    return float(value)
