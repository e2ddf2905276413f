"""Checks of the facts stored beside the corpus samples of JSON lines."""

from __future__ import annotations

from tests.parsers.formats.evidence import Reading
from tests.parsers.formats.own_tables import facts_csv


def table(reading: Reading, value: str) -> None:
    assert set(reading.tables) & {"conn_times", "counters", "logs"} == {value}


def rows(reading: Reading, value: int) -> None:
    (name,) = set(reading.tables) & {"conn_times", "counters", "logs"}
    assert len(reading.table(name)) == value


def texts(reading: Reading, value: list[str]) -> None:
    assert reading.table("logs")["text"].to_list() == value


def t_first(reading: Reading, value: float) -> None:
    (name,) = set(reading.tables) & {"conn_times", "counters", "logs"}
    assert reading.table(name)["t_local"].min() == value


CHECKERS = facts_csv.CHECKERS | {f.__name__: f for f in (table, rows, texts, t_first)}
WAIVED: dict[str, str] = {}
HEAD_DECIDES = True
"""The first 200 lines decide the keys and their meaning."""
REPAIRED = True
"""The first run decides for all others; a run of a few lines would be too short for that."""
