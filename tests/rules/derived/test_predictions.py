"""Tests of what a shorter connect time predicts for the work finished."""

from __future__ import annotations

import pytest

from rules.case.case import Case
from tests.rules.derived.test_changes import MARKER, PHASES, series
from tests.rules.statistics.test_statistics import A, B

SAID = [
    {"name": "work_rate", "num": 40.0},
    {"name": "work_rate", "num": 60.0, "subject": "after-1"},
    {"name": "work_rate", "num": 100.0, "subject": "after-2"},
]


def predictions(statements, rows=None, markers=(MARKER,)):
    tables = {"conn_times": series() if rows is None else rows, "statements": statements, "markers": list(markers)}
    return Case.of_tables(tables).derived("predictions").to_dicts()


def test_predictions_seed001():
    # T = 60 / 40 = 1.5 s   |------------- item -------------|
    # before: connect .6438 |######.......|   after-1: .1385 |#.......|   after-2: .0444 |.......|
    first, second = predictions(SAID)
    assert (first["from_phase"], first["to_phase"], first["observed"]) == ("before", "after-1", 60)
    assert first["item_s"] == 1.5
    assert first["predicted"] == pytest.approx(60.3, abs=0.05)
    assert (round(first["lo"], 1), round(first["hi"])) == (44.7, 124)
    assert second["predicted"] == pytest.approx(66.6, abs=0.05)
    assert (round(second["lo"]), round(second["hi"])) == (48, 155)
    assert second["rest_s"] == pytest.approx(-0.30, abs=0.005)
    assert (second["n1"], second["n2"], second["n_said"]) == (21, 27, 0)


def test_every_prediction_is_against_the_baseline():
    assert {r["from_phase"] for r in predictions(SAID)} == {"before"}


def test_the_same_numbers_every_time():
    assert predictions(SAID) == predictions(SAID)


def test_without_a_rate_of_the_later_phase_nothing_is_compared():
    assert predictions(SAID[:1]) == []
    assert [r["to_phase"] for r in predictions([SAID[0], SAID[2]])] == ["after-2"]


def test_without_a_rate_of_the_baseline_the_next_phase_is_it():
    rows = predictions(SAID[1:])
    assert [(r["from_phase"], r["to_phase"]) for r in rows] == [("after-1", "after-2")]


def test_workers_and_connects_per_item_count():
    more = [*SAID[:2], {"name": "workers", "num": 2.0}, {"name": "connects_per_item", "num": 3.0}]
    (row,) = predictions(more)
    assert (row["item_s"], row["n_said"]) == (3.0, 2)
    assert row["predicted"] == pytest.approx(120 / (3.0 - 3 * (row["before_mean"] - row["after_mean"])))


def test_an_interval_that_would_take_all_the_time_has_no_upper_bound():
    fast = [
        {**SAID[0], "num": 90.0},
        {**SAID[1], "num": 95.0},
    ]  # T = 0.667 s, which is less than the possible drop of the mean
    (row,) = predictions(fast)
    assert (row["hi"], row["predicted"] is None, row["lo"] is None) == (None, False, False)


def test_long_series_are_resampled_by_their_order_statistics():
    many = series({"before": [0.5 + i % 10 / 10 for i in range(5000)], "after-1": [0.2] * 3000})
    (row,) = predictions(SAID[:2], many)
    assert row["lo"] < row["predicted"] < row["hi"]
    assert (row["n1"], row["n2"]) == (5000, 3000)


def test_slower_connects_predict_less_work():
    slower = series({"before": B, "after-1": A})
    (row,) = predictions(SAID[:2], slower)
    assert row["predicted"] < 40


def test_a_rate_of_zero_says_nothing():
    assert predictions([{**SAID[0], "num": 0.0}, SAID[1]]) == []


def test_hosts_are_never_mixed():
    here = series({"before": A})
    there = [{**r, "host": "app2"} for r in series({"after-1": PHASES["after-1"]})]
    assert predictions(SAID, [*here, *there]) == []
