"""Tests of templates: plain fields, formats and filters, and nothing else."""

from __future__ import annotations

import pytest

from rules.writing.messages import BadTemplate, duration, fields, percent, render, size


def test_fields_formats_and_filters() -> None:
    values = {"a": 2.4734, "n": 12345, "s": "x{y}", "b": 19193135104, "p": 0.9573}
    assert (
        render("{a:.3f} {n:,d} {s} {b|bytes} {p|pct} {a|dur}", values) == "2.473 12,345 x{y} 17.875 GiB 95.7 % 2.473 s"
    )
    assert fields("{a:.3f} and {s}") == ["a", "s"]


@pytest.mark.parametrize(
    "template",
    ["{a.b}", "{a[0]}", "{a!r}", "{}", "{A}", "{a:>{n}}", "{a:e}", "{a:*^9}", "{a", "a}", "{{a}}", "{a|shout}"],
)
def test_anything_else_is_refused(template: str) -> None:
    with pytest.raises(BadTemplate):
        render(template, {"a": 1, "n": 2})


@pytest.mark.parametrize("value", [None, "", []])
def test_an_empty_value_is_refused(value: object) -> None:
    with pytest.raises(BadTemplate, match="empty or absent"):
        render("{a}", {"a": value})
    with pytest.raises(BadTemplate, match="empty or absent"):
        render("{b}", {"a": value})


def test_a_value_that_does_not_fit_its_format_is_refused() -> None:
    with pytest.raises(BadTemplate, match="a: "):
        render("{a:.2f}", {"a": "text"})


def test_the_filters() -> None:
    assert [duration(v) for v in (0.0003, 0.09, 2.4734, 252, 7260)] == [
        "0.3 ms",
        "90 ms",
        "2.473 s",
        "4 min 12 s",
        "2 h 1 min",
    ]
    assert [size(v) for v in (512, 2048, 2**60)] == ["512 B", "2.000 KiB", "1024.000 PiB"]
    assert percent(0.5) == "50.0 %"
