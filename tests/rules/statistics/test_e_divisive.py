"""Tests of E-divisive: the published boundaries, nothing in noise, a change of spread."""

from __future__ import annotations

import numpy as np
import pytest

from rules.statistics.e_divisive import splits
from tests.rules.statistics.test_statistics import A, B, C


def test_seed001_has_the_published_boundaries():
    found = splits([*A, *B, *C])
    assert [(s.at, s.p) for s in found if s.taken] == [(41, 0.002), (21, 0.002)]
    assert found[-1].p > 0.3
    assert splits([*A, *B, *C]) == found


def test_a_spread_that_changes_is_seen_without_a_shift():
    chance = np.random.default_rng(5)
    values = [*chance.normal(10, 0.1, 40), *chance.normal(10, 3, 40)]
    assert [s.at for s in splits(values) if s.taken] == [pytest.approx(40, abs=3)]


@pytest.mark.parametrize("values", [[], [1.0] * 50, [1.0, 2.0] * 4])
def test_short_or_flat_series_have_none(values):
    assert splits(values) == []


def test_noise_is_not_split():
    chance = np.random.default_rng(7)
    assert [s for s in splits(chance.lognormal(size=80)) if s.taken] == []


def test_a_long_series_is_cut_into_runs():
    values = [1.0 + k % 7 / 100 for k in range(2_000)] + [2.0 + k % 7 / 100 for k in range(2_000)]
    assert 2_000 in [s.at for s in splits(values) if s.taken]
