"""Tests of a wait under both queue models, the same arrivals at another service time, and the mechanism check in words."""

from __future__ import annotations

from typing import Any

import pytest

from rules.statistics import queue_step

step: Any = queue_step.step  # most of its figures may be unknown; none is so here
mechanism_words: Any = queue_step.mechanism_words


def test_the_published_plausibility_of_seed000():
    s = step(3.9227, 0.2962, 0.2012)
    assert (round(s.ahead, 1), round(s.rho_mm1, 3), round(s.arrivals_mm1, 2)) == (13.2, 0.930, 3.14)
    assert (round(s.rho_md1, 3), round(s.arrivals_md1, 2)) == (0.964, 3.25)
    assert (round(s.new_mm1_s, 3), round(s.new_md1_s, 3), round(s.in_queue, 1)) == (0.345, 0.191, 12.3)
    assert "(-32 %)" in s.words[1]
    assert "roughly 11 to 20 times less" in s.words[1]
    assert "not a forecast" in s.words[2]


def test_a_service_that_cannot_keep_up_has_no_wait():
    s = step(0.1, 0.2, 0.9)
    assert (s.new_mm1_s, s.new_md1_s) == (None, None)
    assert "backlog grows" in s.words[1]
    assert len(s.words) == 2


@pytest.mark.parametrize("given", [(0, 1, 1), (1, 0, 1), (1, 1, 0)])
def test_without_a_wait_or_a_service_nothing_is_said(given):
    assert step(*given) is None


ROW = {
    "from_phase": "before",
    "to_phase": "after-2",
    "workers": 1.0,
    "per_item": 1.0,
    "item_s": 1.5,
    "predicted": 66.6,
    "lo": 48.1,
    "hi": 155.0,
    "observed": 100.0,
    "rest_s": -0.30,
}


def test_the_published_mechanism_of_seed001():
    text = mechanism_words(ROW)
    assert "66.6 a minute would be expected [48.1, 155]; 100 were reported" in text
    assert "0.30 s an item more were gained than connect time explains, within its interval" in text


def test_a_gain_below_what_connects_bring_and_one_that_they_explain():
    assert "less were gained" in mechanism_words({**ROW, "observed": 45.0, "rest_s": 0.4})
    assert "The connects explain it" in mechanism_words({**ROW, "rest_s": 0.001, "hi": None})
    assert "no upper bound" in mechanism_words({**ROW, "hi": None})
    assert "cannot be the whole" in mechanism_words({**ROW, "predicted": None, "workers": 2.0, "per_item": 3.0})
