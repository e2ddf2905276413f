"""Test months, wall clocks, zones and decimal signs."""

from __future__ import annotations

from zoneinfo import ZoneInfoNotFoundError

import polars as pl
import pytest

from parsers.tables import clock_domains as clocks
from parsers.text.times import decimal, decimal_sign, month, wall_seconds, wall_text, zone_trouble


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("AUG", 8),
        ("Dez", 12),
        ("févr.", 2),
        ("2월 ", 2),
        ("10月", 10),
        ("07", 7),
        ("мая", 5),
        ("0", None),
        ("", None),
        ("²", None),
    ],
)
def test_months(text, number):
    assert month(text) == number


def test_wall_clocks():
    assert wall_seconds(2015, 8, 10, 13, 36, 5) == 1439213765
    assert wall_text(1439213765) == "2015-08-10T13:36:05"
    for wrong in ((2015, 13, 1), (2015, 1, 1, 24), (2015, 1, 1, 0, 0, 61.0), (0, 1, 1)):
        assert wall_seconds(*wrong) is None


@pytest.mark.parametrize(
    ("at", "zone", "trouble"),
    [
        ((2016, 10, 30, 2, 30), "Europe/Warsaw", "ambiguous"),
        ((2016, 10, 30, 3, 0), "Europe/Warsaw", None),
        ((2016, 10, 30, 1, 59), "Europe/Warsaw", None),
        ((2016, 3, 27, 2, 0), "Europe/Warsaw", "missing"),
        ((2016, 3, 27, 2, 30), "Asia/Seoul", None),
    ],
)
def test_hours_that_come_twice_or_never(at, zone, trouble):
    seconds = wall_seconds(*at)
    assert seconds is not None
    assert zone_trouble(seconds, zone) == trouble


def test_an_unknown_zone_is_an_error():
    with pytest.raises(ZoneInfoNotFoundError):
        zone_trouble(0.0, "Mars/Olympus")


@pytest.mark.parametrize(
    ("numbers", "sign", "values"),
    [
        (["0,31", "3,94"], ",", [0.31, 3.94]),
        (["0,310", "1,234"], ",", [0.31, 1.234]),
        (["1,234"], None, [None]),
        (["1.234", "2"], ".", [1.234, 2.0]),
        (["1.234", "0,5"], ",", [1234.0, 0.5]),
        (["1.234,56", "1,234.56"], ".", [1234.56, 1234.56]),
        (["1,234.5", "1,234"], ".", [1234.5, 1234.0]),
        (["1,234,567", "2,5", "3,5"], ",", [1234567.0, 2.5, 3.5]),
        (["1.234.567"], ",", [1234567.0]),
        (["12,34", "1.5", "2.5"], ".", [12.34, 1.5, 2.5]),
        (["1,2,3"], None, [None]),
        ([], ".", []),
    ],
)
def test_the_sign_is_decided_once_from_all(numbers, sign, values):
    frame = pl.DataFrame({"number": pl.Series(numbers, dtype=pl.String)})
    assert decimal_sign(frame["number"]) == sign
    assert frame.select(decimal("number", sign))["number"].to_list() == values


def test_a_stamp_beyond_all_calendars_is_one_quarter_of_an_hour():
    seen = clocks.Seen()
    seen.see("logs", pl.DataFrame({"line_no": [1, 2, 3], "t_local": [1e25, 1e25, 0.0]}))
    assert seen.quarters == [(1, 2, 1e25), (3, 3, 0.0)]
