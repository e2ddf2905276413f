"""Comparison of two samples: numbers, tails, populations, and a verdict in words.

The compare page, its export and `python -m rules --json` all use this module, so that they cannot disagree. The numbers
are those of `rules.statistics.robust`; this module decides which of them may appear in a sentence: below 8 values per
side nothing is claimed, and for a sample of two populations no single average is given.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from rules.statistics import robust as statistics
from rules.statistics.robust import Array, Interval

MIN_N = 8
# Maximum sample size for resampled intervals; above it they come from order statistics and the normal law, which then
# agree.
RESAMPLED = 500
SHORT = 200
# Minimum ratio of the smallest tail value to the largest base value from which the sample counts as two populations.
GAP = 2.0
# Minimum shift as a share of the median; smaller ones also occur between hours of a day (rule CMP-001).
LEAST_SHIFT = 0.1
SURE = 0.05

# Codes of the verdict, from no values at all to a difference.
NOTHING, SINGLE, FEW, SAME, NO_SHIFT, SMALL, LOWER, HIGHER = (
    "nothing",
    "single",
    "too few",
    "same",
    "no shift",
    "small",
    "lower",
    "higher",
)
TITLES = {
    NOTHING: "Nothing to compare",
    SINGLE: "One value is no sample",
    FEW: "Too few values to judge",
    SAME: "Every value is the same",
    NO_SHIFT: "No shift that chance could not make",
    SMALL: "A shift too small to matter",
    LOWER: "Lower",
    HIGHER: "Higher",
}


def title(verdict: str, unit: str) -> str:
    """Return a verdict in a word or two; seconds are shorter and longer, everything else lower and higher.

    >>> title("lower", "s"), title("lower", "%")
    ('Shorter', 'Lower')
    """
    return {LOWER: "Shorter", HIGHER: "Longer"}.get(verdict, TITLES[verdict]) if unit == "s" else TITLES[verdict]


@dataclass(frozen=True)
class Sample:
    """One side: its size, median, mean, extremes, and the values far above its own base (Q3 + 3 IQR)."""

    n: int
    median: float
    median_lo: float
    median_hi: float
    mean: float
    least: float
    most: float
    tail_n: int
    base_n: int
    base_median: float
    base_mean: float
    tail_median: float | None
    tail_least: float | None
    tail_share: float | None  # of the sum of all values, 0 to 1
    gap: float | None  # smallest tail value over largest base value

    @property
    def two_populations(self) -> bool:
        return self.gap is not None and self.gap > GAP


@dataclass(frozen=True)
class Contrast:
    """Two samples compared; fields that need both sides are None if one of them is empty."""

    names: tuple[str, str]
    unit: str
    n1: int
    n2: int
    first: Sample | None
    second: Sample | None
    shift: float | None
    shift_lo: float | None
    shift_hi: float | None
    ratio: float | None
    cliff: float | None
    p: float | None
    median_change: float | None  # as a share of the first median
    mean_change: float | None
    median_diff: float | None
    median_diff_lo: float | None
    median_diff_hi: float | None
    mean_diff: float | None
    mean_diff_lo: float | None
    mean_diff_hi: float | None
    tail: statistics.Tail | None
    verdict: str
    headline: str
    words: tuple[str, ...]

    @property
    def two_populations(self) -> bool:
        return any(side is not None and side.two_populations for side in (self.first, self.second))


def number(value: float) -> str:
    """Format a number with four significant digits, and whole numbers without decimals.

    >>> [number(v) for v in (0.31, 0.64381, 129074.0, 12.3456, -0.17, 0.0)]
    ['0.31', '0.6438', '129\u2009074', '12.35', '-0.17', '0']
    """
    if abs(value) >= 1000:
        return f"{value:,.0f}".replace(",", "\u2009")
    return f"{value:.4g}"


def amount(value: float, unit: str) -> str:
    """Format a value with its unit.

    >>> amount(0.31, "s"), amount(12.0, "%"), amount(3.0, "")
    ('0.31 s', '12 %', '3')
    """
    return f"{number(value)} {unit}".rstrip()


def chance(p: float) -> str:
    """Format a probability.

    >>> chance(4e-8), chance(0.1352), chance(1.0)
    ('< 0.0001', '0.135', '1')
    """
    return "< 0.0001" if p < 0.0001 else f"{p:.3g}"


def sample(values: Sequence[float] | Array) -> Sample | None:
    """Describe one side; return None if it has no values."""
    x = np.asarray(values, dtype=np.float64)
    if not x.size:
        return None
    limit = statistics.tail_limit(x)
    base, tail = x[x <= limit], x[x > limit]
    between = median_interval(x)
    total = float(x.sum())
    largest = float(base.max())
    return Sample(
        n=int(x.size),
        median=float(np.median(x)),
        median_lo=between.lo,
        median_hi=between.hi,
        mean=float(x.mean()),
        least=float(x.min()),
        most=float(x.max()),
        tail_n=int(tail.size),
        base_n=int(base.size),
        base_median=float(np.median(base)),
        base_mean=float(base.mean()),
        tail_median=float(np.median(tail)) if tail.size else None,
        tail_least=float(tail.min()) if tail.size else None,
        tail_share=float(tail.sum()) / total if tail.size and total > 0 else None,
        gap=float(tail.min()) / largest if tail.size and largest > 0 else None,
    )


def median_interval(values: Array) -> Interval:
    """Return the 95 % interval of the median: resampled with a fixed seed, for long samples from order statistics."""
    n = values.size
    if n > RESAMPLED:
        half = statistics.Z95 * math.sqrt(n) / 2
        ordered = np.sort(values)
        return Interval(
            float(ordered[max(0, math.floor(n / 2 - half))]), float(ordered[min(n - 1, math.ceil(n / 2 + half))])
        )
    return statistics.bootstrap(np.zeros(1), values, np.median)


def difference(x: Array, y: Array, statistic: Callable[..., Array]) -> Interval:
    """Return the 95 % interval of statistic(y) - statistic(x)."""
    if max(x.size, y.size) <= RESAMPLED:
        # For short samples the third digit of a mean's bound still moves with 10,000 resamples.
        many = statistic is np.mean and max(x.size, y.size) <= SHORT
        return statistics.bootstrap(x, y, statistic, 100_000 if many else 10_000)
    middle = float(statistic(y, axis=0) - statistic(x, axis=0))
    if statistic is np.mean:
        half = statistics.Z95 * math.sqrt(float(x.var()) / x.size + float(y.var()) / y.size)
        return Interval(middle - half, middle + half)
    med_x, med_y, of_x, of_y = float(np.median(x)), float(np.median(y)), median_interval(x), median_interval(y)
    lower, upper = math.hypot(med_y - of_y.lo, of_x.hi - med_x), math.hypot(of_y.hi - med_y, med_x - of_x.lo)
    return Interval(middle - lower, middle + upper)


def contrast(
    before: Sequence[float] | Array,
    after: Sequence[float] | Array,
    unit: str = "",
    names: tuple[str, str] = ("before", "after"),
) -> Contrast:
    """Compare two samples of one metric, whatever their sizes.

    An empty side and a single value have their own verdicts.
    """
    x, y = np.asarray(before, dtype=np.float64), np.asarray(after, dtype=np.float64)
    first, second = sample(x), sample(y)
    if first is None or second is None:
        return _without(first, second, unit, names)
    c, tail = statistics.compare(x, y), statistics.tail(x, y)
    medians, means = difference(x, y, np.median), difference(x, y, np.mean)
    enough = min(x.size, y.size) > 1  # the interval of a single value is that value
    verdict = _verdict(c, x, y)
    return Contrast(
        names=names,
        unit=unit,
        n1=c.n1,
        n2=c.n2,
        first=first,
        second=second,
        shift=c.shift.value,
        shift_lo=c.shift.lo if enough else None,
        shift_hi=c.shift.hi if enough else None,
        ratio=c.ratio,
        cliff=c.cliff,
        p=c.p if enough else None,
        median_change=_change(c.before_med, c.after_med),
        mean_change=_change(c.before_mean, c.after_mean),
        median_diff=c.after_med - c.before_med,
        median_diff_lo=medians.lo if enough else None,
        median_diff_hi=medians.hi if enough else None,
        mean_diff=c.after_mean - c.before_mean,
        mean_diff_lo=means.lo if enough else None,
        mean_diff_hi=means.hi if enough else None,
        tail=tail,
        verdict=verdict,
        headline=headline(first, second, unit, names),
        words=(
            verdict_sentence(verdict, c, unit, names),
            *(() if verdict in (SINGLE, FEW) else tail_words(tail, first, second, unit, names)),
        ),
    )


def _without(first: Sample | None, second: Sample | None, unit: str, names: tuple[str, str]) -> Contrast:
    """Return a comparison of which one side has no values; the other side is still described."""
    missing = [name for name, side in zip(names, (first, second), strict=True) if side is None]
    words = f"There is no value of this series in {' nor in '.join(missing)}: add evidence of it, or choose another."
    nothing = dict.fromkeys(
        ("shift", "shift_lo", "shift_hi", "ratio", "cliff", "p", "median_change", "mean_change", "median_diff")
    ) | dict.fromkeys(("median_diff_lo", "median_diff_hi", "mean_diff", "mean_diff_lo", "mean_diff_hi"))
    return Contrast(
        names,
        unit,
        first.n if first else 0,
        second.n if second else 0,
        first,
        second,
        tail=None,
        verdict=NOTHING,
        headline=f"No values in {' and '.join(missing)}",
        words=(words,),
        **nothing,
    )


def _change(before: float, after: float) -> float | None:
    return after / before - 1 if before > 0 else None


def _verdict(c: statistics.Comparison, x: Array, y: Array) -> str:
    same = bool(x.min() == x.max() == y.min() == y.max())
    return verdict_of(c.n1, c.n2, c.before_med, c.shift.value, c.shift.lo, c.shift.hi, same=same)


def verdict_of(n1: int, n2: int, before_med: float, shift: float, lo: float, hi: float, *, same: bool = False) -> str:
    """Return the verdict on a shift from its size, its interval and the numbers of values.

    >>> verdict_of(21, 20, 0.31, -0.17, -0.19, -0.15), verdict_of(7, 20, 0.31, -0.17, -0.19, -0.15)
    ('lower', 'too few')
    """
    if min(n1, n2) == 0:
        return NOTHING
    if min(n1, n2) == 1:
        return SINGLE
    if min(n1, n2) < MIN_N:
        return FEW
    if same:
        return SAME
    if lo <= 0 <= hi:
        return NO_SHIFT
    if abs(shift) < LEAST_SHIFT * abs(before_med):
        return SMALL
    return LOWER if shift < 0 else HIGHER


def headline(first: Sample, second: Sample, unit: str, names: tuple[str, str]) -> str:
    """Describe the medians of both sides in one line; for two populations both medians and no average of them."""
    sides = (first, second)
    if first.n == second.n == 1:
        return f"One value each: {amount(first.median, unit)}, then {amount(second.median, unit)}"
    if not any(side.two_populations for side in sides):
        return f"Median {amount(first.median, unit)} → {amount(second.median, unit)}"
    parts = []
    for name, side in zip(names, sides, strict=True):
        text = f"{name}: {side.base_n} around {amount(side.base_median, unit)}"
        if side.two_populations and side.tail_median is not None:
            text += f" and {side.tail_n} around {amount(side.tail_median, unit)}"
        elif side is not first or not side.two_populations:
            text = f"{name}: {side.n} around {amount(side.median, unit)}"
        parts.append(text)
    return f"Two populations; {', '.join(parts)}"


def verdict_sentence(verdict: str, c: statistics.Comparison, unit: str, names: tuple[str, str]) -> str:
    """Describe the verdict on the shift in one sentence."""
    first, second = names
    low, high = sorted((abs(c.shift.lo), abs(c.shift.hi)))
    interval = f"{amount(c.shift.lo, unit)} to {amount(c.shift.hi, unit)}"
    counts = f"{c.n1} and {c.n2} values"
    if verdict == SINGLE:
        return f"With {counts} there is a number on each side and no comparison: one value says nothing of how values vary."
    if verdict == FEW:
        return (
            f"With {counts} nothing is claimed: {MIN_N} on each side are the least. The numbers stand for themselves."
        )
    if verdict == SAME:
        return f"All {counts} are {amount(c.before_med, unit)}."
    if verdict == NO_SHIFT:
        return f"The shift may be zero: its 95 % interval goes from {interval}. That is no proof that nothing changed."
    size = f"by {amount(low, unit)} to {amount(high, unit)} (95 %), most likely {amount(abs(c.shift.value), unit)}"
    side = {True: "lower", False: "higher"}[c.shift.value < 0]
    if unit == "s":
        side = {"lower": "shorter", "higher": "longer"}[side]
    if verdict == SMALL:
        return f"{second} is {side} than {first} {size}; below a tenth of the median, as hours of the day make it."
    p = "" if c.p is None else f" (p {chance(c.p)})"
    return f"{second} is {side} than {first} {size}. Chance alone does not make that{p}."


def percent(share: float) -> str:
    """Format a share as a percentage.

    >>> percent(0.0952), percent(0.0), percent(1.0)
    ('9.5 %', '0 %', '100 %')
    """
    return f"{100 * share:.1f}".removesuffix(".0") + " %"


def tail_words(
    tail: statistics.Tail, first: Sample, second: Sample, unit: str, names: tuple[str, str]
) -> tuple[str, ...]:
    """Describe what became of the values far above the first side's base; empty if neither side has any."""
    if not tail.tail1 and not tail.tail2:
        return ()
    w1, w2 = tail.wilson1, tail.wilson2
    shares = (
        f"Above {amount(tail.limit, unit)} lie {tail.tail1} of {first.n} in {names[0]} "
        f"({percent(tail.tail1 / first.n)}, 95 %: {percent(w1.lo)} to {percent(w1.hi)}) and {tail.tail2} of {second.n} in "
        f"{names[1]} ({percent(tail.tail2 / second.n)}, 95 %: {percent(w2.lo)} to {percent(w2.hi)}), Fisher p {chance(tail.fisher_p)}."
    )
    words = [shares]
    if first.tail_share is not None and first.tail_share >= 0.25:
        words.append(f"In {names[0]} they are {percent(first.tail_share)} of all {'time' if unit == 's' else 'of it'}.")
    if tail.tail1 and not tail.tail2 and tail.p_zero is not None:
        words.append(
            f"That {second.n} values show none happens with probability {chance(tail.p_zero)} at the old rate: "
            + _gone(tail, first.n, second.n)
        )
    elif not tail.tail1 and tail.tail2:
        words.append(f"There was none of them in {names[0]}.")
    return tuple(words)


def _gone(tail: statistics.Tail, n1: int, n2: int) -> str:
    """Describe whether the second side has lost the tail, both at the old rate and given how uncertain that rate is."""
    if tail.n_needed is None or n2 < tail.n_needed:
        return f"not proven gone; {tail.n_needed} values without one would show it (95 %)."
    if tail.fisher_p >= SURE:
        return f"likely gone, but {tail.tail1} of {n1} leave the old rate uncertain (Fisher p {chance(tail.fisher_p)})."
    return "they are gone."
