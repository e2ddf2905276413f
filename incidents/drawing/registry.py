"""Find the lanes: every module of the folder `lanes` with a `LANE`, or with `LANES` by name."""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module

import incidents.drawing.lanes
from incidents.drawing.lane import Draw, Lane


@cache
def lanes() -> dict[str, tuple[Lane, Draw]]:
    """Return name -> (lane, its draw function), sorted by name."""
    found: dict[str, tuple[Lane, Draw]] = {}
    for entry in pkgutil.iter_modules(incidents.drawing.lanes.__path__):
        module = import_module(f"incidents.drawing.lanes.{entry.name}")
        if hasattr(module, "LANE"):
            found[entry.name] = (module.LANE, module.draw)
        for name, lane in getattr(module, "LANES", {}).items():
            found[name] = (lane, module.drawer(name))
    return found
