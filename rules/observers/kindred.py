"""Kinds of work that are halves of one: what is asked for in turns by the same cause adds up where no half owns a profile."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeVar

KIN = (frozenset({"garbage-collection", "allocator"}),)
"""Mechanisms of one cause and layer: who allocates makes the collector work, and its share of either depends on the collector."""

T = TypeVar("T")


def kindred(works: Mapping[str, list[T]]) -> Iterator[list[T]]:
    """Yield what the members of one kin did together, those of the member with most functions first.

    >>> list(kindred({"allocator": [1], "garbage-collection": [2, 3], "lock-contention": [4]}))
    [[2, 3, 1]]
    """
    for kin in KIN:
        held = sorted((works[name] for name in kin if name in works), key=len, reverse=True)
        if len(held) > 1:
            yield [one for of in held for one in of]
