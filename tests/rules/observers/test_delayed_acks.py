"""Tests that small writes stand out if they wait for a delayed acknowledgement; late ones nobody waits for do not."""

from __future__ import annotations

from typing import Any

import pytest

from rules.case.case import Case
from rules.observers.delayed_acks import LEAST, observe
from rules.observers.observer import Sighting


def exchange(times: int, *, acknowledged_s: float, next_s: float, size: int = 8) -> list[Sighting]:
    """Return the sightings of a client that sends a head, waits for its acknowledgement, sends a body, gets a reply."""
    rows: list[dict[str, Any]] = []
    t = 0.0

    def packet(by_client: bool, size: int) -> None:
        ends = ("10.0.0.1", 40_000, "10.0.0.9", 6_400) if by_client else ("10.0.0.9", 6_400, "10.0.0.1", 40_000)
        made = dict(zip(("src", "sport", "dst", "dport"), ends, strict=True))
        rows.append(
            {
                "line_no": len(rows) + 1,
                "t_local": t,
                "proto": "tcp",
                "flags": "P." if size else ".",
                "len": size,
                **made,
            }
        )

    for _ in range(times):
        packet(True, size)
        t += acknowledged_s
        packet(False, 0)
        t += next_s
        packet(True, 120)
        t += 0.0003
        packet(False, 40)
        t += 0.0002
    return list(observe(Case.of_tables({"packets": rows})))


def test_a_sender_that_waits_for_a_delayed_acknowledgement() -> None:
    (made,) = exchange(4, acknowledged_s=0.041, next_s=0.0001)
    assert made.headline == (
        "10.0.0.1:40000 held its next segment back 4 times until 10.0.0.9:6400 had acknowledged the last one, after"
        " 41 ms (median): 0.164 s of 0.166 s"
    )
    assert made.share == pytest.approx(0.164 / 0.166, rel=0.01)
    assert [c.line_from for c in made.lines[:3]] == [1, 2, 3]


@pytest.mark.parametrize(
    ("acknowledged_s", "next_s", "size"), [(0.0004, 0.0001, 8), (0.041, 0.4, 8), (0.041, 0.0001, 1_448), (0.8, 0.0001, 8)]
)  # fmt: skip
def test_an_acknowledgement_in_time_or_one_that_nobody_waits_for_is_normal(
    acknowledged_s: float, next_s: float, size: int
) -> None:
    assert exchange(6, acknowledged_s=acknowledged_s, next_s=next_s, size=size) == []


def test_fewer_waits_may_be_chance() -> None:
    assert exchange(LEAST - 1, acknowledged_s=0.041, next_s=0.0001) == []
