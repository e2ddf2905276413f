"""Classes of a heap: the largest, what grew between two lists, and a heap in which none is large."""

from __future__ import annotations

import pytest

from rules.case.case import Case
from rules.observers import heap_classes
from rules.observers.heap_classes import observe
from rules.observers.observer import Sighting
from rules.signatures.signatures import recognise
from tests.rules.observers.of_text import told

JAVA = ["num", "#instances", "#bytes", "class name"]


def made(*lists: list[tuple[int, int, str]]) -> list[Sighting]:
    rows = [
        {
            "table_no": t,
            "row_no": n,
            "line_no": 100 * t + n,
            "heading": JAVA,
            "cells": [str(n), str(objects), str(size), name],
        }
        for t, held in enumerate(lists, 1)
        for n, (objects, size, name) in enumerate(held, 1)
    ]
    return list(observe(Case.of_tables({"rows": rows}).with_text()))


FIRST = [
    (900_000, 72_000_000, "[B (java.base@17.0.2)"),
    (700_000, 21_000_000, "shop.cart.Line"),
    (9, 1_000_000, "java.lang.Class"),
]
LATER = [(2_900_000, 232_000_000, "[B (java.base@17.0.2)"), (2_100_000, 63_000_000, "shop.cart.Line")]


def test_the_largest_class_and_the_largest_of_the_program() -> None:
    buffers, lines = made(FIRST)
    assert buffers.headline == "[B holds 72 MB of the 94 MB that the list of classes names (76.6 %), in 900,000 objects"
    assert lines.headline == (
        "shop.cart.Line holds 21 MB of the 94 MB that the list of classes names (22.3 %), in 700,000 objects:"
        " the most of any class of the program's own"
    )
    assert not lines.normal
    assert lines.seen == ()


def test_a_class_that_grew_between_two_lists() -> None:
    grown = [s for s in made(FIRST, LATER) if s.kind == "growing"]
    assert [s.subject for s in grown] == ["shop.cart.Line", "[B"]
    assert grown[0].headline == (
        "shop.cart.Line holds 63 MB in the last list of classes, 3.0 times as much as in the first (21 MB)"
    )
    assert recognise(**grown[0].seen[0])[0].mechanism == "memory-leak"
    assert [c.line_from for c in grown[0].lines] == [102, 202]


def test_a_heap_of_many_small_classes_is_normal() -> None:
    even = [(10, 1_000_000, f"shop.Thing{n}") for n in range(9)]
    (one,) = made(even)
    assert one.normal
    assert [s.kind for s in made(even, even)] == ["heap"]


LIST = """ num     #instances         #bytes  class name (module)
-------------------------------------------------------
{cut}   1:      {arrays}     {bytes}  [B (java.base@11)
   2:       912011      21888264  shop.till.Receipt
   3:        12011         88264  java.lang.Class (java.base@11)
"""


@pytest.mark.parametrize(
    ("arrays", "size", "kept"),
    [(1_012_011, 4_812_011_220, True), (91_012_011, 4_812_011_220, False), (1_012_011, 412_011_220, False)],
)
def test_arrays_that_are_as_many_as_objects_of_the_program_are_its_own(arrays: int, size: int, kept: bool) -> None:
    """Rows of classes are none of /proc/interrupts, also without the heading of the list."""
    text = LIST.format(cut="", arrays=arrays, bytes=size)
    for one in (text, "\n".join(text.splitlines()[2:])):
        found = [s for s in told(heap_classes, one) if s.kind == "heap"]
        assert [s.subject for s in found] == ["[B", "shop.till.Receipt"]
        assert [bool(s.seen) for s in found] == [kept, kept]
