"""Tests of the comparison that pages and reports print: the published tables digit by digit, and the limits for small
samples.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rules.statistics import contrast as contrasts
from rules.statistics.contrast import sample
from tests.rules.statistics.test_statistics import A, B, C

contrast: Any = contrasts.contrast  # figures of an empty side are unknown; few are so here


def percent(value):
    return round(100 * value, 1)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (A, (21, 0.6438, 0.31, 0.22, 3.94, 2, 0.3037)),
        (B, (20, 0.1385, 0.13, 0.11, 0.17, 0, 0.1385)),
        (C, (27, 0.0444, 0.05, 0.03, 0.06, 0, 0.0444)),
    ],
)
def test_each_side_of_seed001(values, expected):
    s = sample(values)
    assert (s.n, round(s.mean, 4), s.median, s.least, s.most, s.tail_n, round(s.base_mean, 4)) == expected


def test_a_to_b_of_seed001():
    c = contrast(A, B, "s")
    assert (percent(c.median_change), percent(c.mean_change)) == (-58.1, -78.5)
    assert [round(v, 2) for v in (c.shift, c.shift_lo, c.shift_hi)] == [-0.17, -0.19, -0.15]
    assert (round(c.ratio, 3), c.cliff, f"{c.p:.1e}") == (0.433, -1.0, "4.0e-08")
    assert (c.median_diff_lo, c.median_diff_hi) == pytest.approx((-0.20, -0.15), abs=1e-9)
    assert round(c.mean_diff, 4) == -0.5053
    assert (c.mean_diff_lo, c.mean_diff_hi) == pytest.approx((-1.017, -0.159), abs=2e-3)
    tail = c.tail
    assert (tail.tail1, tail.tail2, tail.n_needed) == (2, 0, 30)
    assert (percent(tail.tail1 / c.n1), percent(tail.wilson1.lo), percent(tail.wilson1.hi)) == (9.5, 2.7, 28.9)
    assert (tail.wilson2.lo, percent(tail.wilson2.hi)) == (0.0, 16.1)
    assert (round(tail.p_zero, 3), round(tail.fisher_p, 3)) == (0.135, 0.488)
    assert percent(c.first.tail_share) == 57.3
    assert c.verdict == "lower"


def test_two_populations_have_no_average_in_the_headline():
    c = contrast(A, B, "s", ("before", "after-1"))
    assert c.two_populations
    assert c.headline == "Two populations; before: 19 around 0.3 s and 2 around 3.875 s, after-1: 20 around 0.13 s"
    assert "not proven gone; 30 values without one" in c.words[-1]


def test_b_to_c_and_a_to_c_of_seed001():
    c = contrast(B, C, "s")
    assert (percent(c.median_change), round(c.ratio, 3), f"{c.p:.1e}") == (-61.5, 0.333, "3.6e-09")
    assert [round(v, 2) for v in (c.shift, c.shift_lo, c.shift_hi)] == [-0.09, -0.10, -0.08]
    assert c.headline == "Median 0.13 s → 0.05 s"
    assert len(c.words) == 1
    c = contrast(A, C, "s")
    assert percent(c.median_change) == -83.9
    assert [round(v, 2) for v in (c.shift, c.shift_lo, c.shift_hi)] == [-0.26, -0.28, -0.25]
    assert percent(c.tail.wilson2.hi) == 12.5


def test_a_against_both_later_phases():
    c = contrast(A, [*B, *C], "s")
    assert round(c.tail.fisher_p, 3) == 0.092
    assert "uncertain" in c.words[-1]


@pytest.mark.parametrize(
    ("before", "after", "verdict", "word"),
    [
        ([], [0.3], "nothing", "no value of this series in before"),
        ([], [], "nothing", "before nor in after"),
        ([0.3], [0.1] * 20, "single", "one value says nothing"),
        ([0.3] * 7 + [0.4], [0.1] * 7, "too few", "nothing is claimed"),
        ([0.3] * 8, [0.3] * 8, "same", "All 8 and 8 values are 0.3 s"),
    ],
)
def test_small_samples_claim_nothing(before, after, verdict, word):
    c = contrast(before, after, "s")
    assert c.verdict == verdict
    assert word in c.words[0]
    assert len(c.words) == 1
    if verdict == "single":
        assert (c.first.median, c.second.median, c.p, c.shift_lo) == (0.3, 0.1, None, None)


def test_eight_a_side_are_judged():
    assert contrast([0.3 + k / 100 for k in range(8)], [0.1 + k / 100 for k in range(8)], "s").verdict == "lower"


def test_an_interval_with_zero_in_it_is_no_shift_and_no_proof():
    chance = np.random.default_rng(3)
    c = contrast(chance.lognormal(size=30), chance.lognormal(size=30), "%")
    assert c.verdict == "no shift"
    assert "no proof that nothing changed" in c.words[0]


def test_a_certain_but_small_shift_is_called_small():
    x = [1 + k / 1000 for k in range(50)]
    assert contrast(x, [v + 0.06 for v in x], "s").verdict == "small"


def test_seconds_are_longer_and_other_things_higher():
    x = [1 + k / 100 for k in range(20)]
    assert "after is longer than before" in contrast(x, [v * 2 for v in x], "s").words[0]
    c = contrast(x, [v * 2 for v in x], "%")
    assert (c.verdict, "after is higher than before" in c.words[0]) == ("higher", True)


def test_a_tail_that_appears_and_one_that_is_gone():
    x = [1 + k / 100 for k in range(40)]
    new = contrast(x, [*x, 50.0, 60.0], "s")
    assert "none of them in before" in new.words[-1]
    gone = contrast([*x, *x, *[50.0] * 12], [*x, *x], "s")
    assert "they are gone" in gone.words[-1]


def test_long_samples_need_no_resampling_and_agree_with_it():
    chance = np.random.default_rng(4)
    x, y = chance.lognormal(size=5_000), chance.lognormal(size=5_000) * 1.2
    c = contrast(x, y, "s")
    assert c.first.median_lo < 1 < c.first.median_hi
    assert c.mean_diff_lo < c.mean_diff < c.mean_diff_hi
    assert c.median_diff_lo < 0.2 < c.median_diff_hi
    assert c.verdict == "higher"
