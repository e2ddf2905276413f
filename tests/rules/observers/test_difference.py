"""The same measure between phases or hosts of one artifact stands out if it moved; all else is normal."""

from __future__ import annotations

from typing import Any

import pytest

from rules.case.case import Case
from rules.observers.difference import NEW_SHARE, observe
from rules.observers.observer import Sighting


def seen(table: str, *rows: dict[str, Any]) -> list[Sighting]:
    return list(observe(Case.of_tables({table: [{"line_no": n, **row} for n, row in enumerate(rows, 1)]})))


def samples(where: dict[str, Any], column: str, *values: float | None) -> list[dict[str, Any]]:
    return [{**where, column: value} for value in values]


GOOD, BAD = {"phase": "good", "host": "db"}, {"phase": "bad", "host": "db"}
SDA = {"device": "sda"}


def test_a_device_that_answers_ten_times_as_late_stands_out() -> None:
    made = seen("iostat", *samples(GOOD | SDA, "resp_ms", 3, 4, 5), *samples(BAD | SDA, "resp_ms", 30, 40, 50))
    assert [(s.subject, s.value, s.against, s.against_value) for s in made] == [
        ("sda resp_ms", 40.0, "phase good", 4.0)
    ]
    assert made[0].headline == "sda resp_ms: 40 ms in the median of phase bad, 4 ms in phase good"
    assert [(c.line_from, c.role) for c in made[0].lines] == [(6, "highest of phase bad"), (1, "lowest of phase good")]


@pytest.mark.parametrize(("bad", "stands"), [(60.0, True), (59.9, False)])
def test_half_as_much_again_stands_out(bad: float, stands: bool) -> None:
    made = seen("vmstat", *samples(GOOD, "usr", 40, 40, 40), *samples(BAD, "usr", bad, bad, bad))
    assert bool(made) is stands


@pytest.mark.parametrize(("bad", "stands"), [(6.0, True), (5.9, False)])
def test_what_moves_less_than_a_person_would_look_at_is_normal(bad: float, stands: bool) -> None:
    made = seen("vmstat", *samples(GOOD, "usr", 1, 1, 1), *samples(BAD, "usr", bad, bad, bad))
    assert bool(made) is stands


@pytest.mark.parametrize(("high", "stands"), [(81, True), (80, False)])
def test_the_middle_halves_may_not_overlap(high: float, stands: bool) -> None:
    good, bad = samples(GOOD, "cs", 10, 10, 80, 80, 80), samples(BAD, "cs", high, high, 200, 200, 200)
    assert bool(seen("vmstat", *good, *bad)) is stands


@pytest.mark.parametrize(("n", "stands"), [(3, True), (2, False)])
def test_two_values_have_no_middle(n: int, stands: bool) -> None:
    made = seen("conn_times", *samples(GOOD, "elapsed_s", *[0.1] * 3), *samples(BAD, "elapsed_s", *[2.0] * n))
    assert bool(made) is stands


@pytest.mark.parametrize(("series", "words"), [("login", "login"), (None, "elapsed time")])
def test_a_series_of_times_is_called_what_it_is_called(series: str | None, words: str) -> None:
    good, bad = GOOD | {"series": series}, BAD | {"series": series}
    (made,) = seen("conn_times", *samples(good, "elapsed_s", *[0.1] * 3), *samples(bad, "elapsed_s", *[2.0] * 3))
    assert made.headline == f"{words}: 2.000 s in the median of phase bad, 0.100 s in phase good"


def test_the_largest_ratio_comes_first_and_what_is_new_before_it() -> None:
    rows = [{**where, "usr": usr, "sys": sys, "so_kbps": so}
            for where, usr, sys, so in ((GOOD, 10, 10, 0), (BAD, 90, 20, 500)) for _ in range(3)]  # fmt: skip
    made = seen("vmstat", *rows)
    assert [s.subject for s in made] == ["so_kbps", "usr", "sys"]
    assert [s.share for s in made] == [NEW_SHARE, None, None]


def test_hosts_are_compared_where_each_has_one_phase() -> None:
    a, b = samples({"host": "a"}, "usr", 5, 5, 5), samples({"host": "b"}, "usr", 50, 50, 50)
    assert [s.headline for s in seen("vmstat", *a, *b)] == ["usr: 50 % in the median of host b, 5 % in host a"]


def test_phases_of_one_host_are_not_compared_with_those_of_another() -> None:
    here = [*samples(GOOD, "usr", 5, 5, 5), *samples(BAD, "usr", 5, 5, 5)]
    assert seen("vmstat", *here, *samples({"host": "other", "phase": "bad"}, "usr", 50, 50, 50)) == []


def test_counters_are_compared_by_what_they_grow_in_a_second() -> None:
    rows = [
        {**where, "grp": "tcp", "name": "RetransSegs", "mode": "total", "value": 1e6, "delta": grows, "interval_s": 10.0}
        for where, grows in ((GOOD, 10.0), (BAD, 900.0)) for _ in range(3)
    ]  # fmt: skip
    made = seen("counters", *rows, *({**r, "mode": "level", "name": "CurrEstab"} for r in rows))
    assert [(s.subject, s.value, s.against_value, s.seen) for s in made] == [
        ("tcp RetransSegs", 90.0, 1.0, ({"counter": "RetransSegs"},))
    ]


def test_samples_since_boot_and_odd_values_do_not_count() -> None:
    odd = samples(BAD, "usr", float("nan"), float("inf"), -5, None)
    boot = samples({**BAD, "first": True}, "usr", 90, 90, 90)
    assert seen("vmstat", *samples(GOOD, "usr", 5, 5, 5), *odd, *boot) == []


def test_one_phase_and_nothing_give_nothing() -> None:
    assert seen("vmstat") == []
    assert seen("vmstat", *samples(GOOD, "usr", 5, 50, 95)) == []


def test_phases_of_one_host_are_compared_across_artifacts() -> None:
    good = samples({**GOOD, "artifact_id": 1}, "usr", 10, 10, 10)
    bad = samples({**BAD, "artifact_id": 2}, "usr", 90, 90, 90)
    (made,) = seen("vmstat", *good, *bad)
    assert made.headline == "usr: 90 % in the median of phase bad, 10 % in phase good"
    assert [(c.artifact, c.role) for c in made.lines] == [(2, "highest of phase bad"), (1, "lowest of phase good")]


def test_artifacts_of_unknown_hosts_are_not_compared() -> None:
    good, bad = (
        samples({"phase": p, "artifact_id": a}, "usr", v, v, v) for p, a, v in (("good", 1, 9), ("bad", 2, 90))
    )
    assert seen("vmstat", *good, *bad) == []


def test_hosts_of_two_artifacts_have_different_work() -> None:
    a, b = (samples({"host": h, "artifact_id": n}, "usr", v, v, v) for h, n, v in (("a", 1, 9), ("b", 2, 90)))
    assert seen("vmstat", *a, *b) == []
