"""Load the facts about each kind from `kind.py` in the kind's folder, without loading any format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path

import parsers.formats
from parsers.declarations import Kind


def folders() -> Iterator[Path]:
    """Yield the folder of every kind, `<family>/<kind>`, sorted."""
    for root in parsers.formats.__path__:
        yield from (file.parent for file in sorted(Path(root).glob("*/*/kind.py")))


@cache
def kinds() -> Mapping[str, Kind]:
    """Return every kind by name."""
    found = {f.name: import_module(f"parsers.formats.{f.parent.name}.{f.name}.kind").KIND for f in folders()}
    return dict(sorted(found.items()))


def kind_of(name: str | None) -> Kind:
    """Return the facts about a kind; an empty `Kind` for a name without a folder (`mixed`, an unknown one)."""
    return kinds().get(name or "", Kind())
