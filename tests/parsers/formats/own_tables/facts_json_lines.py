"""What the facts beside JSON lines mean."""

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
"""Which keys there are and what they hold is decided by the first 200 lines."""
REPAIRED = True
"""The first run decides for all others; with runs of some lines it would see too little."""
