"""Tests of bounds on offset and drift: the published vector, steps, false bounds."""

from __future__ import annotations

import math

import pytest

from rules.clocks import bounds as clock_bounds
from rules.clocks.bounds import Bounds

#  C -> L (sent on C, received on L)                    L -> C (sent on L, received on C)
FORWARD = [(0.0, 0.250), (100.0, 100.245), (200.0, 200.270)]
BACKWARD = [(1.000, 0.860), (101.000, 100.850), (201.000, 200.840)]
VECTOR = Bounds.of([(s, r - s) for s, r in FORWARD], [(r, s - r) for s, r in BACKWARD])


def sure(value):
    assert value is not None
    return value


@pytest.mark.parametrize(("t", "lo", "hi"), [(0, 0.1394, 0.2500), (100, 0.1499, 0.2450), (200, 0.1599, 0.2700)])
def test_align_lp_vector(t, lo, hi):
    found = sure(clock_bounds.offset_at(VECTOR, t, drift=None))
    assert (found.lo, found.hi) == pytest.approx((lo, hi), abs=5e-5)


def test_align_lp_vector_slope():
    found = sure(clock_bounds.slope(VECTOR, drift=None))
    assert (found.lo * 1e6, found.hi * 1e6) == pytest.approx((-448, 653), abs=0.5)
    limited = sure(clock_bounds.slope(VECTOR))
    assert (limited.lo * 1e6, limited.hi * 1e6) == pytest.approx((-448, 500), abs=0.5)


def test_far_from_the_pairs_the_drift_widens_the_interval():
    near, far = sure(clock_bounds.offset_at(VECTOR, 200)), sure(clock_bounds.offset_at(VECTOR, 1200))
    assert far.hi == pytest.approx(0.2700 + 500e-6 * 1000)
    assert far.hi - far.lo > near.hi - near.lo


def test_wall_times_are_as_good_as_small_ones():
    moved = Bounds.of([(s + 1.46e9, r - s) for s, r in FORWARD], [(r + 1.46e9, s - r) for s, r in BACKWARD])
    found = sure(clock_bounds.offset_at(moved, 100 + 1.46e9, drift=None))
    assert (found.lo, found.hi) == pytest.approx((0.1499, 0.2450), abs=5e-5)


def test_one_kind_of_bound_leaves_the_other_end_open():
    found = sure(clock_bounds.offset_at(Bounds.of([(0.0, 0.25)], []), 0.0))
    assert (found.lo, found.hi) == (-math.inf, pytest.approx(0.25))
    assert clock_bounds.fit(Bounds.of([(0.0, 0.25)], [])) is None


def test_contradicting_bounds_have_no_offset():
    liar = Bounds.of([(0.0, 0.1)], [(0.0, 0.2)])
    assert clock_bounds.offset_at(liar, 0.0) is None
    assert clock_bounds.slope(liar) is None
    assert clock_bounds.fit(liar) is None


def bounds(offset, n=20):
    return Bounds.of([(t, offset(t) + 0.05) for t in range(n)], [(t + 0.5, offset(t)) for t in range(n)])


def test_a_step_is_named_with_its_place_and_size():
    found = sure(clock_bounds.fit(bounds(lambda t: 0.2 if t < 10 else 5.2)))
    assert sure(found.step).size_s == pytest.approx(5.0, abs=0.01)
    assert 9 < sure(found.step).at < 11


def test_one_liar_of_forty_is_left_out():
    found = sure(clock_bounds.fit(bounds(lambda t: 0.9 if t == 7 else 0.2)))
    assert (found.dropped, found.step) == (1, None)
    assert (found.offset.lo, found.offset.hi) == pytest.approx((0.2, 0.25), abs=0.01)


def test_many_liars_are_no_offset():
    assert clock_bounds.fit(bounds(lambda t: 0.9 if t % 3 == 0 else 0.2)) is None


def test_a_steady_drift_is_found_and_not_called_a_step():
    assert clock_bounds.fit(bounds(lambda t: 0.2 + 100e-6 * t * 100, 20)) is None  # a drift of 1 % a second is no clock
    slow = Bounds.of(
        [(100.0 * t, 0.25 + 0.01 * t) for t in range(20)], [(100.0 * t + 1, 0.2 + 0.01 * t) for t in range(20)]
    )
    fitted = sure(clock_bounds.fit(slow))
    assert fitted.step is None
    assert fitted.slope.lo <= 100e-6 <= fitted.slope.hi


def test_a_step_in_a_long_series_is_bisected():
    found = sure(clock_bounds.fit(bounds(lambda t: 0.2 if t < 60 else 3.2, 120)))
    assert sure(found.step).size_s == pytest.approx(3.0, abs=0.02)
