"""Tests that values far above the median stand out if they hold half of the sum, or are long enough to be felt."""

from __future__ import annotations

from typing import Any

import pytest

from rules.case.case import Case
from rules.observers.distributions import observe
from rules.observers.observer import Sighting


def seen(*buckets: tuple[float, float | None, float], unit: str = "us", **more: Any) -> list[Sighting]:
    rows = [
        {"line_no": n, "agg": "usecs", "key1": "sda", "lo": lo, "hi": hi, "n": many, "unit": unit, **more}
        for n, (lo, hi, many) in enumerate(buckets, 3)
    ]
    return list(observe(Case.of_tables({"hist": rows})))


def test_values_far_out_that_hold_the_sum() -> None:
    (made,) = seen((128, 256, 934), (256, 512, 258), (524_288, 1_048_576, 12))
    assert made.headline == (
        "usecs sda: 12 of 1,204 values lie ten times and more beyond the middle one, 128 to 256 us,"
        " the slowest at 524,288 to 1,048,576 us; they make 97.1 % of the sum"
    )
    assert [(c.line_from, c.role) for c in made.lines] == [(3, "most values"), (5, "largest values")]
    assert made.share == pytest.approx(0.971, abs=0.001)


def test_a_hill_without_a_tail_is_a_measure() -> None:
    (made,) = seen((64, 128, 5), (128, 256, 40), (256, 512, 7))
    assert made.normal
    assert made.headline == "usecs sda: 40 of 52 values lie at 128 to 256 us, the largest at 256 to 512 us"


@pytest.mark.parametrize(("lowest", "stands"), [(100_000, True), (99_999, False)])
def test_a_time_that_a_person_feels_stands_out_however_small_its_part(lowest: float, stands: bool) -> None:
    (made,) = seen((1_000, 1_024, 10_000), (lowest, 110_000, 1))
    assert made.normal is not stands


def test_ticks_are_put_together_and_sums_from_below_left_out() -> None:
    (made,) = seen((0, 1, 2), (0, 1, 5), (1, 2, 1), unit="unknown")
    assert (made.headline, made.lines[0].line_from) == (
        "usecs sda: 7 of 8 values lie at 0 to 1, the largest at 1 to 2",
        4,
    )
    assert seen((0, 1, 2), (1, 2, 9), cumulative=True) == []


def test_an_open_edge_and_negative_values() -> None:
    (made,) = seen((0, 1, 2), (1, None, 9))
    assert made.headline.endswith("9 of 11 values lie at 1 us and more, the largest at 1 us and more")
    assert seen((-5, 0, 2), (0, 1, 9)) == []


@pytest.mark.parametrize(("lo", "stands"), [(16_000, True), (15_999, False)])
def test_reads_and_writes_of_disks_stand_out_if_half_are_late(lo: float, stands: bool) -> None:
    (made,) = seen((128, 256, 40), (lo, 32_768, 60), agg="block device I/O usecs")
    assert (not made.normal, made.seen == ({"event": "block-io-slow"},)) == (stands, stands)
    if stands:
        assert made.headline == (
            "block device I/O usecs sda: 60 of 100 reads and writes took 16,000 to 32,768 us and more,"
            " the slowest 16,000 to 32,768 us"
        )


@pytest.mark.parametrize(("lo", "stands"), [(1_000, True), (999, False)])
def test_ready_threads_stand_out_if_half_wait_for_a_processor(lo: float, stands: bool) -> None:
    (made,) = seen((512, 900, 40), (lo, 2_048, 60), agg="run queue latency usecs")
    assert bool(made.seen) is stands
    (other,) = seen((512, 900, 40), (lo, 2_048, 60), agg="usecs")
    assert other.normal


@pytest.mark.parametrize(
    ("agg", "lo", "known"),
    [
        ('1 functions for "compact_zone" msecs', 16, True),
        ('1 functions for "compact_zone" msecs', 8, False),  # shorter than anybody would chase
        ('2 functions for "vfs_*" msecs', 16, False),  # no single function
    ],
)
def test_a_function_that_somebody_timed_is_named_if_its_usual_call_is_long(agg: str, lo: float, known: bool) -> None:
    (made,) = seen((0, 2, 3), (lo, lo + 16, 9), unit="ms", agg=agg, key1=None)
    assert ({"stack": "compact_zone"} in made.seen) is known
    assert made.normal is not known


@pytest.mark.parametrize(("late", "stands"), [(20, True), (19, False)])
def test_a_fifth_of_the_waits_far_beyond_the_bound_stands_out(late: int, stands: bool) -> None:
    """The middle one is short, and every fifth thread waits ten milliseconds and more all the same."""
    (made,) = seen((8, 16, 100 - late), (10_000, 16_384, late), agg="run queue latency usecs")
    assert (made.seen == ({"event": "ready-threads-wait-long"},)) is stands
