"""Find the derived tables by scanning their folder. Nothing registers itself, and no list is maintained by hand."""

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
    """Interface of a module of `rules/derived`.

    `NEEDS` names the tables (evidence or derived) it is built from; `SCOPE` is artifact, host or room; `VERSION` is
    raised when results change. A module whose table may have millions of rows also has `stream(case)`, which yields the
    same rows as data frames, in order.
    """

    TABLE: DerivedTable
    NEEDS: tuple[str, ...]
    SCOPE: Scope
    VERSION: str

    def build(self, case: Case) -> pl.DataFrame: ...


@functools.cache
def derived() -> Mapping[str, Derived]:
    """Return all modules of `rules/derived` by table name; modules without a `TABLE` are shared code and left out."""
    found: dict[str, Derived] = {}
    for entry in sorted(pkgutil.iter_modules(derived_package.__path__), key=lambda e: e.name):
        module: Any = importlib.import_module(f"{derived_package.__name__}.{entry.name}")
        if hasattr(module, "TABLE"):
            found[module.TABLE.name] = cast(Derived, module)
    return found
