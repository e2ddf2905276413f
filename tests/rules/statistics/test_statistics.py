"""Tests of the statistics against the published numbers of one incident, brute force, and series without a change."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest

from rules.statistics import robust as statistics

# Connect times in seconds of three phases: before, after the first change, after the second.
A = [
    0.31,
    0.31,
    3.94,
    0.33,
    0.30,
    0.33,
    0.36,
    0.30,
    0.34,
    0.25,
    0.22,
    0.34,
    0.36,
    0.30,
    0.31,
    0.28,
    0.28,
    0.27,
    0.30,
    3.81,
    0.28,
]
B = [
    0.13,
    0.16,
    0.17,
    0.14,
    0.13,
    0.14,
    0.12,
    0.13,
    0.13,
    0.13,
    0.13,
    0.13,
    0.11,
    0.15,
    0.17,
    0.13,
    0.12,
    0.15,
    0.15,
    0.15,
]
C = [0.03, 0.05, 0.05, 0.03, 0.06, 0.04, 0.03, 0.03, 0.05, 0.05, 0.05, 0.05, 0.03, 0.06, 0.05, 0.05, 0.06, 0.05, 0.05, 0.05, 0.05, 0.03, 0.03, 0.03,
0.03, 0.06, 0.05]  # fmt: skip


@pytest.mark.parametrize(
    ("first", "second", "medians", "shift", "ratio", "p"),
    [
        (A, B, (0.31, 0.13), (-0.17, -0.19, -0.15), 0.433, 4.0e-8),
        (B, C, (0.13, 0.05), (-0.09, -0.10, -0.08), 0.333, 3.6e-9),
        (A, C, (0.31, 0.05), (-0.26, -0.28, -0.25), None, None),
    ],
)
def test_compare_gives_the_published_numbers(first, second, medians, shift, ratio, p):
    found = statistics.compare(first, second)
    assert (found.before_med, found.after_med) == pytest.approx(medians)
    assert (found.shift.value, found.shift.lo, found.shift.hi) == pytest.approx(shift)
    assert found.cliff == -1
    if ratio:
        assert found.ratio == pytest.approx(ratio, abs=5e-4)
        assert found.p == pytest.approx(p, rel=0.02)


def test_means_stand_beside_medians():
    found = statistics.compare(A, B)
    assert (found.before_mean, found.after_mean) == pytest.approx((0.6438, 0.1385), abs=5e-5)
    assert statistics.compare(B, C).after_mean == pytest.approx(0.0444, abs=5e-5)
    assert np.mean([v for v in A if v <= statistics.tail_limit(np.array(A))]) == pytest.approx(0.3037, abs=5e-5)


def test_the_vanished_tail_is_not_proven():
    found = statistics.tail(A, B)
    assert (found.tail1, found.tail2, found.n_needed) == (2, 0, 30)
    assert (found.wilson1.lo, found.wilson1.hi) == pytest.approx((0.027, 0.289), abs=5e-4)
    assert (found.wilson2.lo, found.wilson2.hi) == pytest.approx((0.0, 0.161), abs=5e-4)
    assert found.p_zero == pytest.approx(0.135, abs=5e-4)
    assert found.fisher_p == pytest.approx(0.488, abs=5e-4)
    assert statistics.tail(A, B + C).fisher_p == pytest.approx(0.092, abs=5e-4)
    assert statistics.tail(A, C).wilson2.hi == pytest.approx(0.125, abs=5e-4)


def test_without_a_tail_nothing_is_asked_of_it():
    found = statistics.tail(B, C)
    assert (found.tail1, found.p_zero, found.n_needed) == (0, None, None)


def test_all_slow_needs_no_sample_size():
    found = statistics.tail([1.0, 1.0, 1.0, 1.0, 9.0], [1.0])
    assert found.tail1 == 1
    assert found.n_needed == 14  # ln 0.05 / ln 0.8


def test_bootstrap_repeats_and_gives_the_published_intervals():
    medians, means = statistics.bootstrap(A, B, np.median), statistics.bootstrap(A, B, np.mean)
    assert (medians.lo, medians.hi) == pytest.approx((-0.20, -0.15), abs=0.005)
    assert (means.lo, means.hi) == pytest.approx((-1.017, -0.159), abs=0.005)
    assert statistics.bootstrap(A, B, np.mean) == means


def test_equal_values_have_no_p_and_no_shift():
    found = statistics.compare([0.2] * 9, [0.2] * 9)
    assert (found.p, found.cliff, found.shift.value) == (None, 0.0, 0.0)


def test_a_ratio_of_values_that_are_not_positive_means_nothing():
    assert statistics.compare([0.0, 1.0], [1.0, 2.0]).ratio is None


def test_an_empty_phase_is_refused():
    with pytest.raises(ValueError, match="at least one value"):
        statistics.compare([], [1.0])


def test_large_samples_keep_their_shift_and_memory():
    chance = np.random.default_rng(1)
    x, y = chance.normal(1.0, 0.1, 30_000), chance.normal(1.5, 0.1, 20_000)
    found = statistics.compare(x, y)
    assert found.shift.value == pytest.approx(0.5, abs=0.005)
    assert found.shift.lo < 0.5 < found.shift.hi
    assert found.shift.hi - found.shift.lo < 0.01


def test_changes_seed001():
    assert statistics.change_points(A + B + C) == [21, 41]


@pytest.mark.parametrize("seed", range(20))
def test_pelt_equals_brute_force(seed):
    chance = np.random.default_rng(seed)
    values = chance.normal(size=24)
    values[9:] += 2 * chance.normal()
    values[16:] += 2 * chance.normal()

    def cost(cut):
        edges = [0, *cut, values.size]
        parts = [values[a:b] for a, b in pairwise(edges)]
        return sum(((p - p.mean()) ** 2).sum() for p in parts) + 3.0 * len(cut)

    cuts = [
        c for k in range(4) for c in combinations(range(1, 24), k) if all(b - a >= 5 for a, b in pairwise([0, *c, 24]))
    ]
    assert statistics.pelt(values, 3.0) == list(min(cuts, key=cost))


def test_series_without_a_change_seldom_get_one():
    false = sum(bool(statistics.change_points(np.random.default_rng(s).lognormal(size=68))) for s in range(100))
    assert false <= 3


@pytest.mark.parametrize("values", [[], [1.0] * 50, [1.0, 2.0, 3.0] * 3])
def test_short_or_flat_series_have_no_boundary(values):
    assert statistics.change_points(values) == []


def test_a_small_but_certain_step_is_not_proposed():
    chance = np.random.default_rng(3)
    values = np.concatenate([chance.normal(1.0, 0.005, 200), chance.normal(1.05, 0.005, 200)])
    assert statistics.change_points(values) == []  # 5 % of the median, however certain
    values[200:] += 0.1
    assert statistics.change_points(values) == [200]


def test_long_series_are_thinned_and_still_found():
    chance = np.random.default_rng(4)
    values = np.concatenate([chance.lognormal(0, 0.3, 9_000), chance.lognormal(1, 0.3, 6_000)])
    assert statistics.change_points(values) == pytest.approx([9_000], abs=3)


def test_a_proportion_of_nothing_is_anything():
    assert statistics.wilson(0, 0) == statistics.Interval(0.0, 1.0)
