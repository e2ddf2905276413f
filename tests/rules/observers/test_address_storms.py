"""Tests of storms of ARP, and of lists of tshark's expert."""

from __future__ import annotations

import pytest

from rules.observers import address_storms
from tests.rules.observers.of_text import told


def capture(apart_s: float, *, answered: bool = False) -> str:
    lines = []
    for n in range(12):
        at = f"09:00:{n * apart_s:09.6f}"
        lines.append(f"{at} ARP, Request who-has 192.0.2.{90 + n % 2} tell 192.0.2.9, length 46")
        if answered:
            lines.append(f"{at} ARP, Reply 192.0.2.{90 + n % 2} is-at 02:00:00:00:00:09, length 46")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(("apart_s", "answered", "n"), [(0.001, False, 1), (1.0, False, 0), (0.001, True, 0)])
def test_requests_that_come_again_at_once(apart_s: float, answered: bool, n: int) -> None:
    made = told(address_storms, capture(apart_s, answered=answered))
    assert [s.seen for s in made] == [({"event": "link-addresses-asked-at-once"},)] * n


EXPERT = """Notes (9000)
=============
   Frequency      Group           Protocol  Summary
        {again}   Sequence                TCP  This frame is a (suspected) retransmission
         90   Sequence                TCP  TCP keep-alive segment
       3000   Sequence                TCP  Connection finish (FIN)
"""


@pytest.mark.parametrize(("again", "named"), [(9000, True), (900, False)])
def test_what_an_expert_counts(again: int, named: bool) -> None:
    (made,) = told(address_storms, EXPERT.format(again=again))
    assert made.seen == (({"event": "expert-counts-segments-again"},) if named else ())
