"""Read a text as an uploaded file, and say what an observer sees in the tables that it asks for."""

from __future__ import annotations

from types import ModuleType

from rules.case.case import Case
from rules.observers.observer import Sighting
from tests.parsers.formats.evidence import read_bytes


def told(observer: ModuleType, text: str) -> list[Sighting]:
    """Return what an observer yields for a text of any kind, rows of the general reader included."""
    made = read_bytes(text.encode())
    tables = {name: made.table(name).to_dicts() for name in observer.OBSERVER.tables if name in made.tables}
    return list(observer.observe(Case.of_tables(tables).with_text()))
