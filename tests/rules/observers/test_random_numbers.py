"""Tests of random numbers that came late: somebody must have wanted them."""

from __future__ import annotations

import pytest

from rules.observers import random_numbers
from tests.rules.observers.of_text import told

ASKED = "[   {:.6f}] random: tilld: uninitialized urandom read (16 bytes read)\n"
READY = "[  {:.6f}] random: crng init done\n"


def test_a_late_generator_after_which_somebody_goes_on() -> None:
    text = "[    2.100000] shelf9: ready\n" + READY.format(171.5) + "[  171.700000] tilld[71]: up at last\n"
    [made] = told(random_numbers, text)
    assert (made.value, made.seen) == (171.5, ({"event": "random-numbers-late"},))


def test_programs_that_ask_late_wanted_numbers() -> None:
    [made] = told(random_numbers, ASKED.format(1.1) + ASKED.format(19.4) + READY.format(99.9))
    assert [line.line_from for line in made.lines] == [3, 1, 2]


@pytest.mark.parametrize(
    "text",
    [
        ASKED.format(1.1) + READY.format(754.8),  # nobody waits for it
        ASKED.format(6.1) + READY.format(9.9) + "[   10.000000] tilld[71]: up\n",
    ],
)
def test_early_or_not_wanted_is_normal(text: str) -> None:
    assert told(random_numbers, text) == []
