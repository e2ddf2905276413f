"""E-divisive: a second method for where a series changes, which also detects a change of spread and assumes no
distribution.

Matteson and James (2014): the split with the largest energy distance between its two sides is accepted if a permutation
test confirms it, then each side is split again. Works on logarithms if all values are positive, so that two slow
outliers do not form a level of their own. Deterministic: the permutations have a fixed seed. It proposes, as
`robust.change_points` does.

Worked example (68 connects of three phases): 41 (p 0.002), then 21 (p 0.002), then nothing (p above 0.4).
Cost: n squared per permutation; a longer series is cut into at most 400 runs, each represented by its median.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rules.statistics.robust import MIN_SEGMENT, SEED, Array

MOST = 400
PERMUTATIONS = 499
SURE = 0.01
LEAST = 2 * MIN_SEGMENT


@dataclass(frozen=True)
class Split:
    """A boundary: the first index of the new level, and how often chance alone splits at least as well."""

    at: int
    p: float
    taken: bool


def splits(values: Sequence[float] | Array) -> list[Split]:
    """Return the boundaries in the order they were found; the last one is the rejected one that ended the search."""
    series = np.asarray(values, dtype=np.float64)
    run = max(1, math.ceil(series.size / MOST))
    if run > 1:
        whole = series.size // run * run
        series = np.median(series[:whole].reshape(-1, run), axis=1)
    if series.size < LEAST or series.min() == series.max():
        return []
    if (series > 0).all():
        series = np.log(series)
    chance = np.random.default_rng(SEED)
    found: list[Split] = []
    waiting = [(0, int(series.size))]
    while waiting:
        # The strongest split of all segments is tested first, as in the paper.
        offers = [(*best(distances(series[first:last])), first, last) for first, last in waiting]
        offers = [offer for offer in offers if offer[1] is not None]
        if not offers:
            break
        strength, place, first, last = max(offers, key=lambda offer: offer[0])
        p = permuted(distances(series[first:last]), strength, chance)
        taken = p <= SURE
        found.append(Split((first + int(place or 0)) * run, p, taken))
        waiting.remove((first, last))
        if not taken:
            break  # the remaining segments split even less
        at = first + int(place or 0)
        waiting += [(first, at), (at, last)]
    return found


def distances(values: Array) -> Array:
    return np.abs(values[:, None] - values[None, :])


def best(d: Array) -> tuple[float, int | None]:
    """Return the largest scaled energy distance of any split of a segment, and its index; None if the segment is too
    short.
    """
    n = d.shape[0]
    if n < LEAST:
        return 0.0, None
    m = np.arange(MIN_SEGMENT, n - MIN_SEGMENT + 1)
    below = np.tril(d, -1).sum(axis=1)  # distances of each value to those before it
    inside = np.concatenate(([0.0], np.cumsum(below)))[m]  # pairs within the left side
    left = np.concatenate(([0.0], np.cumsum(d.sum(axis=1))))[m]  # left side to everything
    across = left - 2 * inside
    right = float(below.sum()) - inside - across
    k = n - m
    energy = 2 * across / (m * k) - 2 * inside / (m * (m - 1)) - 2 * right / (k * (k - 1))
    scaled = m * k / n * energy
    place = int(np.argmax(scaled))
    return float(scaled[place]), int(m[place])


def permuted(d: Array, strength: float, chance: np.random.Generator) -> float:
    """Return the share of shuffled segments, this one included, that split at least as strongly."""
    order: npt.NDArray[np.int64] = np.arange(d.shape[0])
    beaten = 0
    for _ in range(PERMUTATIONS):
        chance.shuffle(order)
        beaten += best(d[np.ix_(order, order)])[0] >= strength
    return (1 + beaten) / (1 + PERMUTATIONS)
