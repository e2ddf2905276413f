"""Exported cells: none of them is a formula in a spreadsheet."""

from __future__ import annotations

import pytest

from incidents.drawing.exports.flat import guarded


@pytest.mark.parametrize("sign", ["=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20"])
def test_a_text_that_begins_a_formula_is_quoted(sign: str) -> None:
    assert guarded(f"{sign}cmd|x") == f"'{sign}cmd|x"


@pytest.mark.parametrize("value", ["read", "-3.5", "+4", "", None, -2.5, 7, "a=b", "10-20"])
def test_everything_else_stays(value: object) -> None:
    assert guarded(value) == value
