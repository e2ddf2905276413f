"""Merge concurrent changes of one row, so that nobody's text is lost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from incidents.errors import Overtaken


def settled(current: Mapping[str, Any], said: Mapping[str, Any], seen: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the fields of `said` that differ from `current` and must be written.

    `seen` holds the values that the person saw. Fields they left unchanged are not written, so changes by others stay.
    A field that both changed raises `Overtaken` with its present value. Without `seen` all fields of `said` count as
    changed.

    >>> settled({"a": 1, "b": 9}, {"a": 2, "b": 3}, {"a": 1, "b": 3})
    {'a': 2}
    """
    meant = said if seen is None else {name: value for name, value in said.items() if value != seen.get(name)}
    if seen is not None:
        beaten = {
            name: current[name]
            for name, value in meant.items()
            if current[name] != seen.get(name) and current[name] != value
        }
        if beaten:
            raise Overtaken(beaten)
    return {name: value for name, value in meant.items() if current[name] != value}
