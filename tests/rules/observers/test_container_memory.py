"""Containers near their own limit of memory, those with room, and those whose limit is the host's."""

from __future__ import annotations

import pytest

from rules.case.case import Case
from rules.observers.container_memory import observe
from rules.observers.observer import Sighting
from rules.signatures.signatures import recognise

HEADING = ["CONTAINER ID", "NAME", "CPU %", "MEM USAGE / LIMIT", "MEM %", "PIDS"]


def made(*held: tuple[str, str, str]) -> list[Sighting]:
    rows = [
        {
            "table_no": 1,
            "row_no": n,
            "line_no": n + 1,
            "heading": HEADING,
            "cells": [f"0a{n}", name, "1.00%", use, pct, "7"],
        }
        for n, (name, use, pct) in enumerate(held, 1)
    ]
    return list(observe(Case.of_tables({"rows": rows})))


@pytest.mark.parametrize(("pct", "strength"), [("99.60%", "mechanism"), ("96.00%", "shape")])
def test_a_container_at_its_limit(pct: str, strength: str) -> None:
    (one,) = made(("mail", "31MiB / 7.7GiB", "0.39%"), ("shop", "1GiB / 1GiB", pct))
    assert one.headline == f"The container shop uses {float(pct[:-1]):.1f} % of its limit of 1GiB of memory".replace(
        "96.0", "96"
    )
    (found,) = recognise(**one.seen[0])
    assert (found.mechanism, found.strength, one.lines[0].line_from) == ("memory-limit", strength, 3)


def test_a_container_with_room_is_a_measure() -> None:
    (one,) = made(("mail", "31MiB / 7.7GiB", "0.39%"), ("shop", "512MiB / 1GiB", "50.00%"))
    assert (one.subject, one.normal, one.share) == ("memory of shop", True, None)


def test_the_limit_of_the_host_is_none_of_a_container() -> None:
    assert made(("mail", "7.6GiB / 7.7GiB", "98.70%"), ("shop", "31MiB / 7.7GiB", "0.39%")) == []
    assert made(("mail", "-- / --", "--")) == []
