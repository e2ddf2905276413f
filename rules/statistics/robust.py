"""Robust statistics for small samples: comparison of two phases, tails, change points, resampling.

Plain numpy arrays in, numbers out; no tables, no clocks. Every function is deterministic: resampling takes a fixed
seed. Sources: Hodges and Lehmann (1963) for the shift, Wilson (1927) for the interval of a proportion, Killick,
Fearnhead and Eckley (2012) for PELT, Cliff (1993) for dominance.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

Array = npt.NDArray[np.float64]

Z95 = 1.959963984540054
MAX_PAIRS = 4_000_000  # pairwise differences in memory at once: 32 MB
MAX_SERIES = 5_000  # PELT is quadratic on a series without a change: 5,000 points take about a second
MIN_SEGMENT = 5
CONFIRM_P = 0.001
CONFIRM_SHIFT = 0.10
SEED = 20170120


@dataclass(frozen=True)
class Interval:
    lo: float
    hi: float


@dataclass(frozen=True)
class Shift:
    """How far the second sample lies from the first; all fields are in the unit of the samples."""

    value: float
    lo: float
    hi: float


@dataclass(frozen=True)
class Comparison:
    """Two samples of one metric compared. `shift` and `cliff` are negative if the second is lower; `ratio` is second
    over first.
    """

    n1: int
    n2: int
    before_med: float
    after_med: float
    before_mean: float
    after_mean: float
    shift: Shift
    ratio: float | None  # None if a value is not positive: a ratio of such samples means nothing
    cliff: float
    p: float | None  # None if all values are equal


@dataclass(frozen=True)
class Tail:
    """Values far above the base of the first sample, and the values of the second above the same limit."""

    limit: float  # Q3 + 3 IQR of the first sample
    tail1: int
    tail2: int
    wilson1: Interval
    wilson2: Interval
    p_zero: float | None  # chance of no tail value in n2 at the first sample's rate; None without a tail
    fisher_p: float
    n_needed: int | None  # number of values after which none seen means "gone" with 95 %


def spread(values: Array, most: int) -> Array:
    """Return at most `most` order statistics that preserve the shape of the sample (quantiles at equal distances)."""
    ordered = np.sort(values)
    if ordered.size <= most:
        return ordered
    return ordered[np.linspace(0, ordered.size - 1, most).round().astype(np.int64)]


def hodges_lehmann(before: Array, after: Array) -> Shift:
    """Return the median of all differences after - before with its 95 % interval from the Mann-Whitney quantile.

    Above 2,000 values per side the differences are taken between 2,000 quantiles of each; the interval uses the full
    counts.
    """
    n1, n2 = before.size, after.size
    most = math.isqrt(MAX_PAIRS)
    x, y = spread(before, most), spread(after, most)
    differences = np.sort((y[:, None] - x[None, :]).ravel())
    tail = n1 * n2 / 2 - Z95 * math.sqrt(n1 * n2 * (n1 + n2 + 1) / 12)
    k = math.floor(max(tail, 1) / (n1 * n2) * differences.size) if differences.size < n1 * n2 else math.floor(tail)
    k = min(max(k, 1), differences.size)
    return Shift(float(np.median(differences)), float(differences[k - 1]), float(differences[-k]))


def cliff(before: Array, after: Array) -> float:
    """Return P(after > before) - P(after < before) over all pairs, -1 to 1. O(n log n).

    >>> cliff(np.array([2.0, 3.0]), np.array([1.0, 1.0]))
    -1.0
    """
    ordered = np.sort(before)
    below = np.searchsorted(ordered, after, side="left").sum()
    not_above = np.searchsorted(ordered, after, side="right").sum()
    above = before.size * after.size - not_above
    return float((below - above) / (before.size * after.size))


def u_test(before: Array, after: Array) -> float | None:
    """Return the two-sided Mann-Whitney p, tie-corrected with continuity; None if all values are the same."""
    if before.min() == before.max() == after.min() == after.max():
        return None
    from scipy import stats  # takes most of a second to import, so only where needed

    return float(stats.mannwhitneyu(after, before, method="asymptotic", use_continuity=True).pvalue)


def compare(before: Sequence[float] | Array, after: Sequence[float] | Array) -> Comparison:
    """Compare two samples of at least one value each; ValueError otherwise.

    Means are given besides medians because load follows means.
    """
    x, y = np.asarray(before, dtype=np.float64), np.asarray(after, dtype=np.float64)
    if not x.size or not y.size:
        raise ValueError("a comparison needs at least one value on each side")
    positive = bool((x > 0).all() and (y > 0).all())
    return Comparison(
        n1=int(x.size),
        n2=int(y.size),
        before_med=float(np.median(x)),
        after_med=float(np.median(y)),
        before_mean=float(x.mean()),
        after_mean=float(y.mean()),
        shift=hodges_lehmann(x, y),
        ratio=math.exp(hodges_lehmann(np.log(x), np.log(y)).value) if positive else None,
        cliff=cliff(x, y),
        p=u_test(x, y),
    )


def wilson(k: int, n: int) -> Interval:
    """Return the 95 % Wilson score interval of a proportion, 0 to 1.

    >>> low = wilson(2, 21)
    >>> round(low.lo, 3), round(low.hi, 3)
    (0.027, 0.289)
    """
    if n == 0:
        return Interval(0.0, 1.0)
    share, z2 = k / n, Z95 * Z95
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = Z95 / (1 + z2 / n) * math.sqrt(share * (1 - share) / n + z2 / (4 * n * n))
    return Interval(max(middle - half, 0.0), min(middle + half, 1.0))


def tail_limit(values: Array) -> float:
    """Return Q3 + 3 IQR; values above it belong to the tail and not to the base."""
    low, high = np.percentile(values, [25, 75])
    return float(high + 3 * (high - low))


def tail(before: Sequence[float] | Array, after: Sequence[float] | Array) -> Tail:
    """Separate the first sample's tail and test whether the second sample, with the same limit, has lost it."""
    from scipy import stats  # takes most of a second to import, so only where needed

    x, y = np.asarray(before, dtype=np.float64), np.asarray(after, dtype=np.float64)
    limit = tail_limit(x)
    k1, k2, n1, n2 = int((x > limit).sum()), int((y > limit).sum()), int(x.size), int(y.size)
    rate = k1 / n1
    return Tail(
        limit=limit,
        tail1=k1,
        tail2=k2,
        wilson1=wilson(k1, n1),
        wilson2=wilson(k2, n2),
        p_zero=(1 - rate) ** n2 if k1 else None,
        fisher_p=float(stats.fisher_exact([[k1, n1 - k1], [k2, n2 - k2]]).pvalue),
        n_needed=math.ceil(math.log(0.05) / math.log(1 - rate)) if 0 < rate < 1 else None,
    )


def bootstrap(
    before: Sequence[float] | Array,
    after: Sequence[float] | Array,
    statistic: Callable[..., Array],
    resamples: int = 10_000,
) -> Interval:
    """Return the 95 % percentile interval of statistic(after) - statistic(before), with a fixed seed.

    `statistic` takes axis=1.
    """
    x, y = np.asarray(before, dtype=np.float64), np.asarray(after, dtype=np.float64)
    chance = np.random.default_rng(SEED)
    step = max(1, MAX_PAIRS // max(x.size, y.size))
    found: list[Array] = []
    for first in range(0, resamples, step):
        rows = min(step, resamples - first)
        of_x = statistic(chance.choice(x, (rows, x.size)), axis=1)
        of_y = statistic(chance.choice(y, (rows, y.size)), axis=1)
        found.append(of_y - of_x)
    lo, hi = np.percentile(np.concatenate(found), [2.5, 97.5])
    return Interval(float(lo), float(hi))


def pelt(values: Array, penalty: float, min_segment: int = MIN_SEGMENT) -> list[int]:
    """Return the first index of each new segment that minimises the sum of squares plus `penalty` per boundary; exact.

    Killick, Fearnhead, Eckley (2012). A candidate is pruned `min_segment` steps later than in the paper, without which
    short segments would make the result inexact.
    """
    n = values.size
    total = np.concatenate(([0.0], np.cumsum(values)))
    square = np.concatenate(([0.0], np.cumsum(values * values)))
    best = np.full(n + 1, np.inf)
    best[0] = -penalty
    came_from = np.zeros(n + 1, dtype=np.int64)
    starts = np.array([0], dtype=np.int64)
    pending: list[tuple[int, npt.NDArray[np.int64]]] = []
    for end in range(min_segment, n + 1):
        if end - min_segment >= min_segment:
            starts = np.append(starts, end - min_segment)
        length = end - starts
        cost = square[end] - square[starts] - (total[end] - total[starts]) ** 2 / length
        whole = best[starts] + cost + penalty
        chosen = int(np.argmin(whole))
        best[end], came_from[end] = whole[chosen], starts[chosen]
        pending.append((end + min_segment, starts[best[starts] + cost > best[end] + 1e-12]))
        if pending[0][0] <= end + 1:
            starts = np.setdiff1d(starts, pending.pop(0)[1], assume_unique=True)
    boundaries: list[int] = []
    at = int(came_from[n])
    while at > 0:
        boundaries.append(at)
        at = int(came_from[at])
    return boundaries[::-1]


def change_points(values: Sequence[float] | Array) -> list[int]:
    """Return proposed level changes of a series: first indices of the new levels, confirmed, ascending.

    PELT on standardised average ranks, penalty 2 ln n, then each boundary must pass a two-sided Mann-Whitney test
    between its neighbouring segments (Holm, p <= 0.001: the split was chosen by the data) and move the level by 10 %
    of the median. Above 5,000 values the series is first cut into runs of equal length, each represented by its
    median.
    """
    series = np.asarray(values, dtype=np.float64)
    run = max(1, math.ceil(series.size / MAX_SERIES))
    if run > 1:
        whole = series.size // run * run
        series = np.median(series[:whole].reshape(-1, run), axis=1)
    n = series.size
    if n < 2 * MIN_SEGMENT or series.min() == series.max():
        return []
    ranks = pl.Series(series).rank("average").to_numpy()  # as SciPy's, which takes most of a second to import
    found = pelt((ranks - ranks.mean()) / ranks.std(), 2 * math.log(n))
    edges = [0, *found, n]
    tested: list[tuple[float, int, bool]] = []
    for left, at, right in zip(edges, edges[1:], edges[2:], strict=False):
        x, y = series[left:at], series[at:right]
        p = u_test(x, y)
        moved = abs(hodges_lehmann(x, y).value) >= CONFIRM_SHIFT * abs(float(np.median(x)))
        tested.append((1.0 if p is None else p, at, moved))
    tested.sort()
    confirmed: list[int] = []
    for place, (p, at, moved) in enumerate(tested):
        if p * (len(tested) - place) > CONFIRM_P:
            break
        if moved:
            confirmed.append(at * run)
    return sorted(confirmed)
