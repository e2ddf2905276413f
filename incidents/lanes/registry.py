"""Find the lanes: every module of this folder that has a `LANE` is one."""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module

import incidents.lanes
from incidents.lanes.drawing import Draw, Lane


@cache
def lanes() -> dict[str, tuple[Lane, Draw]]:
    """Return name -> (lane, its draw function), sorted by name."""
    modules = (
        import_module(f"incidents.lanes.{entry.name}") for entry in pkgutil.iter_modules(incidents.lanes.__path__)
    )
    return {
        module.__name__.rpartition(".")[2]: (module.LANE, module.draw) for module in modules if hasattr(module, "LANE")
    }
