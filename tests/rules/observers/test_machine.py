"""Tests of the description of the machine: processors, memory and memory nodes, measures without a bound."""

from __future__ import annotations

from typing import Any

import pytest

from rules.case.case import Case
from rules.observers.machine import MOST_NODES, observe
from rules.observers.observer import CONTEXT, Sighting


def seen(**tables: list[dict[str, Any]]) -> list[Sighting]:
    rows = {name: [{"line_no": n, **row} for n, row in enumerate(held, 2)] for name, held in tables.items()}
    return list(observe(Case.of_tables(rows)))


@pytest.mark.parametrize(
    ("row", "headline"),
    [
        ({"ncpu": 1}, "The machine has 1 processor"),
        ({"ncpu": 64, "cores": 8, "mem_kb": 33_554_432}, "The machine has 64 processors (8 cores) and 33,554,432 kB of memory"),
    ],
)  # fmt: skip
def test_a_listing_of_the_machine_is_context(row: dict[str, Any], headline: str) -> None:
    (made,) = seen(hosts=[row, row])
    assert (made.kind, made.normal, made.headline, made.against_value) == (CONTEXT, True, headline, None)


def test_a_listing_that_names_no_processors_says_nothing() -> None:
    assert seen(hosts=[{"os": "SunOS"}], numa=[{"node": 0, "metric": "free_kb", "value": 1.0}]) == []


def nodes(n: int) -> list[dict[str, Any]]:
    rows = [
        {"node": node, "metric": metric, "value": value}
        for node in range(n)
        for metric, value in (("mem_kb", 1000.0), ("free_kb", 900.0 - node))
    ]
    far = [{"node": 0, "node2": other, "metric": "distance", "value": 20.0 if other else 10.0} for other in range(n)]
    return [*rows, *far]


def test_memory_nodes_are_told_with_their_free_part_and_distance() -> None:
    (made,) = seen(numa=nodes(2))
    assert made.headline == (
        "2 memory nodes: 900 kB of 1,000 kB free on node 0, 899 kB of 1,000 kB free on node 1;"
        " a distance of 20 to another node, of 10 within one"
    )
    assert [c.role for c in made.lines] == ["free on node 0", "free on node 1", "node distances"]


def test_of_many_nodes_the_one_with_the_least_free_is_told() -> None:
    (made,) = seen(numa=nodes(MOST_NODES + 1))
    assert made.headline.startswith(f"5 memory nodes: 896 kB of 1,000 kB free on node {MOST_NODES};")
