"""Finds what the folders hold: derived tables and rules. Nothing registers itself, no list is kept by hand."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from rules import derived as derived_package
from rules.derived.derived_table import DerivedTable, Scope

if TYPE_CHECKING:
    import polars as pl

    from rules.case.case import Case

LIBRARY = Path(__file__).parent / "library"


class Derived(Protocol):
    """What a module of `rules/derived` offers.

    NEEDS: tables (evidence or derived) it is built of; SCOPE: artifact, host or room; VERSION: raised when results change. One whose
    rows may be millions also has `stream(case)`, which yields the same rows in frames, in order.
    """

    TABLE: DerivedTable
    NEEDS: tuple[str, ...]
    SCOPE: Scope
    VERSION: str

    def build(self, case: Case) -> pl.DataFrame: ...


@functools.cache
def derived() -> Mapping[str, Derived]:
    """Return all modules of `rules/derived` by the name of their table (modules that have none are shared code)."""
    found: dict[str, Derived] = {}
    for entry in sorted(pkgutil.iter_modules(derived_package.__path__), key=lambda e: e.name):
        module: Any = importlib.import_module(f"{derived_package.__name__}.{entry.name}")
        if hasattr(module, "TABLE"):
            found[module.TABLE.name] = cast(Derived, module)
    return found
