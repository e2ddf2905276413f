"""Tests of robust slopes of process sizes."""

from __future__ import annotations

import pytest

from rules.case.case import Case
from rules.derived import trends as module

HOUR = 3600.0


def trends(rows, artifacts=(), metric="ps.rss_kb"):
    made = Case.of_tables({"ps": rows, "artifacts": list(artifacts)}).derived("trends").to_dicts()
    return [r for r in made if r["metric"] == metric]


def samples(values, step=HOUR, pid=10, comm="tnslsnr", first_line=1, **more):
    return [
        {"line_no": first_line + i, "sample": i + 1, "t_local": i * step, "pid": pid, "comm": comm, "rss_kb": v, **more}
        for i, v in enumerate(values)
    ]


def test_a_leak_is_a_line():
    # 100 . 110 . 120 ... 200 MB, an hour apart: doubles in ten hours, equally fast at the start and at the end.
    (row,) = trends(samples([102400 + i * 10240 for i in range(11)]))
    assert (row["subject"], row["comm"], row["n"], row["line_no"], row["line_end"]) == ("pid 10", "tnslsnr", 11, 1, 11)
    assert row["slope_ps"] == pytest.approx(10240 / HOUR)
    assert row["late_slope_ps"] == pytest.approx(row["slope_ps"])
    assert (row["span_s"], row["p"] < 0.001, row["ci_lo"] > 0) == (10 * HOUR, True, True)
    assert row["growth_pct"] == pytest.approx(95.2, abs=0.1)  # relative to the median of the first quarter: 105 MB
    assert row["doubling_s"] == pytest.approx(10.5 * HOUR)


def test_a_cache_that_fills_flattens():
    (row,) = trends(samples([100, 120, 135, 145, 150, 150, 150, 150, 150, 150, 150]))
    assert (row["late_slope_ps"], row["slope_ps"] > 0) == (0, True)


def test_one_wild_sample_bends_nothing():
    calm = samples([100, 100, 100, 9000, 100, 100, 100, 100])
    (row,) = trends(calm)
    assert (row["slope_ps"], row["doubling_s"], row["ci_lo"], row["ci_hi"]) == (0, None, 0, 0)


def test_a_constant_size_has_no_trend():
    (row,) = trends(samples([100] * 6))
    assert (row["slope_ps"], row["p"], row["growth_pct"]) == (0, 1, 0)


def test_scaling_time_scales_the_slope_and_nothing_else():
    values = [100, 130, 110, 160, 170, 150, 190, 220]
    (slow,), (fast,) = trends(samples(values)), trends(samples(values, HOUR / 3))
    assert fast["slope_ps"] == pytest.approx(3 * slow["slope_ps"])
    assert fast["growth_pct"] == pytest.approx(slow["growth_pct"])
    assert fast["p"] == pytest.approx(slow["p"])


def test_two_points_are_no_trend():
    assert trends(samples([400, 23])) == []


def test_a_pid_that_returns_is_another_process():
    rows = samples([100, 110, 120]) + samples([500, 510, 520], comm="awk", first_line=4)
    assert {(r["comm"], r["n"]) for r in trends(rows)} == {("tnslsnr", 3), ("awk", 3)}
    again = samples([100, 110, 120], start_text="May 01") + samples([5, 6, 7], start_text="May 02", first_line=4)
    assert [r["n"] for r in trends(again)] == [3, 3]


def test_threads_and_since_boot_rows_are_left_out():
    assert trends(samples([100, 110, 120], lwp=1)) == []
    assert trends(samples([100, 110, 120], first=True)) == []


def test_samples_without_stamps_take_the_interval():
    rows = [{**r, "t_local": None} for r in samples([100, 110, 120])]
    assert trends(rows) == []
    (row,) = trends(rows, [{"interval_s": 10.0}])
    assert row["slope_ps"] == pytest.approx(1.0)


def test_artifacts_are_never_joined_to_one_series():
    assert trends(samples([100, 110]) + samples([120, 130], artifact_id=2)) == []


def test_a_very_long_series_is_thinned_and_keeps_its_slope():
    (row,) = trends(samples([100 + i for i in range(3000)], 1.0))
    assert (row["slope_ps"], row["n"]) == (pytest.approx(1.0), 3000)


def test_of_very_long_listings_every_nth_sample_is_taken(monkeypatch):
    monkeypatch.setattr(module, "MOST_ROWS", 10)
    (row,) = trends(samples([100 + i for i in range(30)], 1.0))
    assert (row["slope_ps"], row["n"]) == (pytest.approx(1.0), 10)


def test_every_metric_has_its_own_rows():
    rows = [{**r, "nlwp": 5 + i, "vsz_kb": 7} for i, r in enumerate(samples([100, 110, 120]))]
    (row,) = trends(rows, metric="ps.nlwp")
    assert row["slope_ps"] == pytest.approx(1 / HOUR)
    assert len(trends(rows, metric="ps.vsz_kb")) == 1
