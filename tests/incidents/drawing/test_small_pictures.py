"""Tests of small pictures: they keep the proportions of the figures, and without figures there is no picture."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from incidents.drawing import small_pictures as small

POSITIVE = st.floats(0, 1e9, allow_nan=False)


def test_two_values_keep_their_proportion_and_the_odd_one_is_odd() -> None:
    made = small.pair(5.005, 0.1)
    assert made is not None
    usual, odd = made.rects
    assert (usual.tone, odd.tone) == ("usual", "odd")
    assert odd.width == small.WIDTH
    assert usual.width == small.LEAST, "too short to be seen otherwise"


@pytest.mark.parametrize(("odd", "usual"), [(0.0, 1.0), (1.0, 0.0), (-1.0, 1.0)])
def test_a_value_against_nothing_is_not_drawn(odd: float, usual: float) -> None:
    assert small.pair(odd, usual) is None


@given(part=st.floats(-1, 2, allow_nan=False), odd=POSITIVE, usual=POSITIVE)
def test_nothing_leaves_the_picture(part: float, odd: float, usual: float) -> None:
    drawn = [small.share(part), small.pair(odd, usual), small.sample()]
    for made in (picture for picture in drawn if picture is not None):
        assert all(r.x >= 0 and r.x + r.width <= small.WIDTH + 0.1 for r in made.rects)
        assert all(r.y >= 0 and r.y + r.height <= small.HEIGHT for r in made.rects)
        assert all(0 <= dot.x <= small.WIDTH and 0 <= dot.y <= small.HEIGHT for dot in made.dots)
