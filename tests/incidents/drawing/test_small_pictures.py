"""Small pictures: what is drawn keeps the proportions of the figures, and nothing is drawn where there are none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from incidents.drawing import small_pictures as small

VALUES = st.lists(st.floats(0, 1e9, allow_nan=False), min_size=2, max_size=200)


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


def test_one_value_has_no_course_and_no_dots() -> None:
    assert small.series([1.0]) is None
    assert small.requests([1.0]) is None
    assert small.ticks([1.0]) is None
    assert small.ticks([1.0, 1.0]) is None
    assert small.histogram([0, 7, 0]) is None


def test_slow_requests_are_odd_dots() -> None:
    made = small.requests([0.3, 0.3, 3.9, 0.3], slow=3.0)
    assert made is not None
    assert [dot.tone for dot in made.dots] == ["usual", "usual", "odd", "usual"]
    assert made.dots[2].y == small.TOP


def test_many_values_are_thinned_to_their_largest() -> None:
    made = small.requests([0.1] * 500 + [9.0] + [0.1] * 500, slow=9.0)
    assert made is not None
    assert len(made.dots) == small.MOST_POINTS
    assert sum(dot.tone == "odd" for dot in made.dots) == 1


def test_ticks_that_fall_on_one_place_are_drawn_once() -> None:
    made = small.ticks([0.0, 0.01, 10.0])
    assert made is not None
    assert [tick.x for tick in made.rects] == [0.0, 66.0]


def test_a_class_of_one_among_thousands_is_seen() -> None:
    made = small.histogram([5000, 0, 1], odd_from=2)
    assert made is not None
    assert made.rects[1].height == 0
    assert (made.rects[2].height, made.rects[2].tone) == (small.LEAST, "odd")


@given(values=VALUES, part=st.floats(-1, 2, allow_nan=False))
def test_nothing_leaves_the_picture(values: list[float], part: float) -> None:
    drawn = [small.share(part), small.requests(values), small.ticks(values), small.series(values)]
    for made in (picture for picture in drawn if picture is not None):
        assert all(r.x >= 0 and r.x + r.width <= small.WIDTH + 0.1 for r in made.rects)
        assert all(r.y >= 0 and r.y + r.height <= small.HEIGHT for r in made.rects)
        assert all(0 <= dot.x <= small.WIDTH and 0 <= dot.y <= small.HEIGHT for dot in made.dots)
        points = [tuple(map(float, point.split(","))) for point in made.course.split()]
        assert all(0 <= x <= small.WIDTH and 0 <= y <= small.HEIGHT for x, y in points)
