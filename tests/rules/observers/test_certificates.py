"""Tests that the validity of a certificate is a measure with its two lines, and never stands out."""

from __future__ import annotations

from rules.case.case import Case
from rules.observers.certificates import observe
from rules.observers.observer import Sighting

DAY_S = 86_400.0


def dated(*ends: tuple[int, str, float | None]) -> list[Sighting]:
    rows = [
        {
            "line_no": n,
            "name": name,
            "scope": "text",
            "value": f"day {day}",
            "num": None if day is None else day * DAY_S,
        }
        for n, name, day in ends
    ]
    return list(observe(Case.of_tables({"params": rows}).with_text()))


def test_the_certificate_that_ends_first() -> None:
    (made,) = dated((1, "NotBefore", 10.0), (2, "NotAfter", 400.0), (30, "NotBefore", 20.0), (31, "NotAfter", 110.0))
    assert made.headline == "A certificate is valid from day 20.0 to day 110.0, the first to end of 2: 90 days"
    assert ([line.line_from for line in made.lines], made.normal) == ([30, 31], True)


def test_a_certificate_that_is_printed_twice_is_one() -> None:
    (made,) = dated((1, "NotBefore", 10.0), (1, "NotAfter", 40.0), (9, "NotBefore", 10.0), (9, "NotAfter", 40.0))
    assert made.headline == "A certificate is valid from day 10.0 to day 40.0: 30 days"
    assert len(made.lines) == 1


def test_half_a_validity_says_nothing() -> None:
    assert dated((1, "NotAfter", 40.0)) == []
    assert dated((1, "NotBefore", 10.0), (12, "NotAfter", 40.0)) == [], "too far apart"
    assert dated((1, "NotBefore", 50.0), (2, "NotAfter", 40.0)) == []
    assert dated((1, "NotBefore", None), (2, "NotAfter", 40.0)) == []
