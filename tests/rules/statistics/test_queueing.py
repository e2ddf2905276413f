"""Tests of the queue formulas: published numbers, limits, and no result for too many arrivals."""

from __future__ import annotations

import pytest

from rules.statistics.queueing import waits

WAITED, BEFORE, AFTER = 3.9227, 0.2962, 0.2012  # s: an observed wait, the service time then, and the one after a change


def test_published_step_under_random_service():
    rate = WAITED / (WAITED + BEFORE) / BEFORE
    then, now = waits(BEFORE, rate), waits(AFTER, rate)
    assert then is not None
    assert now is not None
    assert (round(rate, 2), round(then.rho, 3), round(now.mm1_s, 3)) == (3.14, 0.930, 0.345)
    assert then.mm1_s == pytest.approx(WAITED)


def test_published_step_under_constant_service():
    rate = 2 * WAITED / (2 * WAITED + BEFORE) / BEFORE
    then, now = waits(BEFORE, rate), waits(AFTER, rate)
    assert then is not None
    assert now is not None
    assert (round(rate, 2), round(then.rho, 3), round(now.md1_s, 3)) == (3.25, 0.964, 0.191)
    assert then.md1_s == pytest.approx(WAITED)


def test_the_general_formula_holds_both_as_limits():
    constant, random = waits(0.1, 5, 0.0), waits(0.1, 5, 1.0)
    assert constant is not None
    assert random is not None
    assert constant.mg1_s == pytest.approx(constant.md1_s)
    assert random.mg1_s == pytest.approx(random.mm1_s)
    assert waits(0.1, 5).mg1_s is None


@pytest.mark.parametrize("rate", [10.0, 11.0])
def test_a_full_server_has_no_mean_wait(rate):
    assert waits(0.1, rate) is None


def test_scaling_all_times_scales_the_wait():
    slow, fast = waits(0.4, 1.5), waits(0.04, 15)
    assert slow is not None
    assert fast is not None
    assert slow.mm1_s == pytest.approx(10 * fast.mm1_s)
