from __future__ import annotations

import pytest

from rules.case.case import Case

# A loop that finds nothing to do ends in the first bucket; one that serves a connection lies beyond the gap.
#
#   value   0   1   2 ... 8  9  10 11 12 13 14      (of 10 ms)
#   old   206   .   .     1 10  67 90 41  3  1      213 loops of 108.1 to 118.1 ms
#   new   162   .  71  87                            158 loops of 25.5 to 35.5 ms
OLD = {0: 206, 1: 0, 2: 0, 3: 0, 4: 0, 5: 0, 6: 0, 7: 0, 8: 1, 9: 10, 10: 67, 11: 90, 12: 41, 13: 3, 14: 1, 15: 0}
NEW = {0: 162, 1: 0, 2: 71, 3: 87, 4: 0}


def rows(counts, key2, first_line=1, **more):
    below = [{"lo": None, "hi": 0.0, "n": 0.0}]
    found = below + [{"lo": float(at), "hi": float(at + 1), "n": float(n)} for at, n in counts.items()]
    return [
        {
            "agg": "1",
            "key1": "tnslsnr",
            "key2": key2,
            "unit": "unknown",
            "complete": True,
            "line_no": first_line + k,
            "line_end": first_line + k,
            **row,
            **more,
        }
        for k, row in enumerate(found)
    ]


def told(num=0.01, subject=None):
    return [{"name": "hist_unit_s", "num": num, "subject": subject}]


def modes(hist, statements=()):
    return Case.of_tables({"hist": hist, "statements": statements}).derived("hist_modes").to_dicts()


def test_old_and_new_listener_as_published():
    old, new = modes([*rows(OLD, "15697"), *rows(NEW, "25351", 30)], told())
    assert (old["pid"], old["n_all"], old["n_busy"], old["gap"], old["said"]) == (15697, 419, 213, True, True)
    assert (old["line_no"], old["line_end"]) == (1, 17)
    assert [old[c] for c in ("sum_lo_s", "sum_s", "sum_hi_s")] == pytest.approx([23.03, 24.095, 25.16])
    assert [old[c] for c in ("mean_lo_s", "mean_s", "mean_hi_s")] == pytest.approx([0.1081, 0.1131, 0.1181], abs=5e-5)
    assert (new["n_busy"], new["sum_s"]) == (158, pytest.approx(4.82, abs=5e-3))
    assert [new[c] for c in ("mean_lo_s", "mean_hi_s")] == pytest.approx([0.0255, 0.0355], abs=1e-4)


def test_a_printed_unit_needs_no_word_and_outweighs_one():
    (only,) = modes(rows(NEW, "25351", unit="ms"), told(0.01))
    assert (only["unit_s"], only["said"]) == (0.001, False)


def test_without_a_unit_there_are_no_seconds():
    (only,) = modes(rows(NEW, "25351"))
    assert (only["n_busy"], only["unit_s"], only["mean_s"], only["said"]) == (158, None, None, False)


def test_a_word_on_one_key_holds_for_that_key():
    old, new = modes([*rows(OLD, "15697"), *rows(NEW, "25351", 30)], told(0.01, "tnslsnr 15697"))
    assert (old["unit_s"], new["unit_s"]) == (0.01, None)


def test_without_a_gap_all_buckets_count():
    (only,) = modes(rows({0: 10, 1: 10, 2: 0}, "1"), told(1.0))
    assert (only["gap"], only["n_busy"], only["sum_s"]) == (False, 20, 20.0)


def test_a_tool_that_prints_filled_buckets_only_shows_the_gap_by_edges():
    (only,) = modes(rows({0: 10, 8: 5}, "1"), told(1.0))
    assert (only["gap"], only["n_busy"], only["mean_s"]) == (True, 5, 8.5)


def test_an_open_bucket_with_values_bounds_nothing():
    hist = [
        *rows(NEW, "1"),
        {"agg": "1", "key1": "tnslsnr", "key2": "1", "unit": "unknown", "lo": 5.0, "hi": None, "n": 1.0, "line_no": 40},
    ]
    (only,) = modes(hist, told())
    assert (only["n_busy"], only["sum_s"], only["mean_s"]) == (159, None, None)


def test_twice_the_unit_is_twice_the_time():
    (one,), (two,) = modes(rows(OLD, "1"), told(0.01)), modes(rows(OLD, "1"), told(0.02))
    assert two["sum_s"] == pytest.approx(2 * one["sum_s"])
    assert two["n_busy"] == one["n_busy"]


def test_a_distribution_that_adds_up_is_left_out():
    assert modes(rows(NEW, "1", cumulative=True), told()) == []
