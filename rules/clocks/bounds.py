"""Bounds on the offset of two clocks from the messages between them: theta(t) = a + b t, solved exactly by small linear
programs.

theta is clock L minus clock C. A message C -> L sent at c_s, received at l_r gives theta(c_s) <= l_r - c_s; a message L
-> C sent at l_s, received at c_r gives theta(c_r) >= l_s - c_r. Each bound belongs to a time of clock C. All feasible
(a, b) form a polygon; the interval at any t is the minimum and maximum of a + b t over it. This is the
exact form of the convex-hull and linear-programming skew estimators (Paxson 1998; Moon, Skelly, Towsley 1999; Zhang,
Liu, Xia 2002).
"""

from __future__ import annotations

import bisect
import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rules.statistics.robust import Interval

Array = npt.NDArray[np.float64]

MAX_DRIFT = 500e-6
MOST_DROPPED = 0.05
FITS = 1e-7  # s, tolerance of the solver


@dataclass(frozen=True)
class Bounds:
    """Pairs (t, theta), n rows of 2: upper bounds at times of sending and lower bounds at times of receiving, both of
    clock C.
    """

    uppers: Array
    lowers: Array

    @classmethod
    def of(cls, uppers: list[tuple[float, float]], lowers: list[tuple[float, float]]) -> Bounds:
        return cls(np.array(uppers, dtype=np.float64).reshape(-1, 2), np.array(lowers, dtype=np.float64).reshape(-1, 2))

    @property
    def times(self) -> Array:
        return np.unique(np.concatenate([self.uppers[:, 0], self.lowers[:, 0]]))

    def between(self, first: float, last: float) -> Bounds:
        """Return the bounds at times first <= t < last."""
        return Bounds(*(b[(b[:, 0] >= first) & (b[:, 0] < last)] for b in (self.uppers, self.lowers)))

    def without(self, upper: int | None, lower: int | None) -> Bounds:
        """Return the bounds without one of either kind, by its row."""
        return Bounds(
            self.uppers if upper is None else np.delete(self.uppers, upper, axis=0),
            self.lowers if lower is None else np.delete(self.lowers, lower, axis=0),
        )


@dataclass(frozen=True)
class Step:
    """A clock step: at `at` (s, clock C) theta moves by `size_s`."""

    at: float
    size_s: float


@dataclass(frozen=True)
class Fit:
    """Offset interval at `at`, slope interval (s per s), times of the first and last bound, number of dropped bounds,
    or the step found.
    """

    at: float
    offset: Interval
    slope: Interval
    first: float
    last: float
    dropped: int
    step: Step | None = None


def _solve(
    bounds: Bounds, goal: tuple[float, float], origin: float, drift: float | None, slack: bool
) -> tuple[float, Array] | None:
    """Minimise goal . (a, b in ppm), or with `slack` the sum of violations.

    Returns None if infeasible and -inf if unbounded.
    """
    n, m = len(bounds.uppers), len(bounds.lowers)
    upper = np.column_stack([np.ones(n), (bounds.uppers[:, 0] - origin) * 1e-6])
    lower = np.column_stack([-np.ones(m), -(bounds.lowers[:, 0] - origin) * 1e-6])
    limits = np.vstack([upper, lower])
    values = np.concatenate([bounds.uppers[:, 1], -bounds.lowers[:, 1]])
    ppm = None if drift is None else drift * 1e6
    free = [(None, None), (None if ppm is None else -ppm, ppm)]
    cost = np.array(goal)
    if slack:
        limits = np.hstack([limits, -np.eye(n + m)])
        free += [(0, None)] * (n + m)
        cost = np.concatenate([[0.0, 0.0], np.ones(n + m)])
    from scipy.optimize import linprog  # takes most of a second to import, so only where needed

    answer = linprog(cost, A_ub=limits, b_ub=values, bounds=free, method="highs")
    if answer.status == 2:
        return None
    if answer.status in (3, 4):
        return -math.inf, np.zeros(2)
    return float(answer.fun), np.asarray(answer.x, dtype=np.float64)


def offset_at(bounds: Bounds, t: float, drift: float | None = MAX_DRIFT) -> Interval | None:
    """Return the interval of theta at time `t` (s, clock C); None if no line satisfies the bounds. Ends may be
    infinite.
    """
    low, high = _solve(bounds, (1.0, 0.0), t, drift, False), _solve(bounds, (-1.0, 0.0), t, drift, False)
    return None if low is None or high is None else Interval(low[0], -high[0])


def slope(bounds: Bounds, drift: float | None = MAX_DRIFT) -> Interval | None:
    """Return the interval of the drift b (s per s); None if no line satisfies the bounds."""
    origin = float(bounds.times.mean())
    low, high = _solve(bounds, (0.0, 1.0), origin, drift, False), _solve(bounds, (0.0, -1.0), origin, drift, False)
    return None if low is None or high is None else Interval(low[0] * 1e-6, -high[0] * 1e-6)


def violation(bounds: Bounds, drift: float | None = MAX_DRIFT) -> tuple[float, Array]:
    """Return the smallest possible sum of violations (s) and each bound's share in it, uppers first."""
    solved = _solve(bounds, (0.0, 0.0), float(bounds.times.mean()), drift, True)
    assert solved is not None  # slack makes every system feasible
    return solved[0], solved[1][2:]


def find_step(bounds: Bounds, drift: float | None = MAX_DRIFT) -> Step | None:
    """Return the single split that makes both sides feasible, each with two bounds of each kind; if several exist, the
    middle one.

    Adding bounds never makes a side feasible again, so the last good left side and the first good right one are found
    by bisection.
    """
    times = bounds.times
    middles = (times[1:] + times[:-1]) / 2

    def side(k: int, left: bool) -> Bounds:
        at = float(middles[k])
        return bounds.between(-math.inf, at) if left else bounds.between(at, math.inf)

    def fits(k: int, left: bool) -> bool:
        return violation(side(k, left), drift)[0] <= FITS

    last = bisect.bisect_left(range(middles.size), True, key=lambda k: not fits(k, True)) - 1
    first = bisect.bisect_left(range(middles.size), True, key=lambda k: fits(k, False))
    good = [
        k
        for k in range(first, last + 1)
        if all(min(len(side(k, left).uppers), len(side(k, left).lowers)) >= 2 for left in (True, False))
    ]
    if not good:
        return None
    chosen = good[len(good) // 2]
    at = float(middles[chosen])
    before, after = offset_at(side(chosen, True), at, drift), offset_at(side(chosen, False), at, drift)
    assert before is not None  # both sides were feasible above
    assert after is not None
    return Step(at, (after.lo + after.hi - before.lo - before.hi) / 2)


def fit(bounds: Bounds, drift: float | None = MAX_DRIFT) -> Fit | None:
    """Fit all bounds; if they contradict each other, look for one step, else drop the worst bounds, 5 % at most.

    Returns None if they still contradict each other, or if bounds of one kind are missing. The offset is that at the
    middle of the bounds' times.
    """
    if not len(bounds.uppers) or not len(bounds.lowers):
        return None
    times = bounds.times
    middle = float((times[0] + times[-1]) / 2)
    most = math.floor(MOST_DROPPED * (len(bounds.uppers) + len(bounds.lowers)))
    remaining, dropped = bounds, 0
    total, shares = violation(remaining, drift)
    if total > FITS:
        step = find_step(bounds, drift)
        if step is not None:
            unknown = Interval(-math.inf, math.inf)
            return Fit(middle, unknown, unknown, float(times[0]), float(times[-1]), 0, step)
    while total > FITS and dropped < most:
        worst = int(np.argmax(shares))
        n = len(remaining.uppers)
        remaining = remaining.without(worst, None) if worst < n else remaining.without(None, worst - n)
        dropped += 1
        total, shares = violation(remaining, drift)
    offset, b = offset_at(remaining, middle, drift), slope(remaining, drift)
    if total > FITS or offset is None or b is None:
        return None
    return Fit(middle, offset, b, float(times[0]), float(times[-1]), dropped)
