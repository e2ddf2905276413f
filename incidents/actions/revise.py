"""Two people change one row: nobody's words are lost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from incidents.errors import Overtaken


def settled(current: Mapping[str, Any], said: Mapping[str, Any], seen: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the fields of `said` that change something now.

    `seen` is what the person had before them: what they left as it was is not theirs to write, and a field that somebody
    else changed in between raises `Overtaken` with what it says now. Fields that only the other one changed stay. Without
    `seen` all of `said` is meant.

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
