"""Checks of the facts stored beside the corpus samples of tables that people made themselves."""

from __future__ import annotations

import pytest

from tests.parsers.formats.evidence import Reading

_VALUE = {"conn_times": "elapsed_s", "counters": "value"}


def _table(reading: Reading) -> str:
    (name,) = set(reading.tables) & set(_VALUE)
    return name


def table(reading: Reading, value: str) -> None:
    assert _table(reading) == value


def rows(reading: Reading, value: int) -> None:
    assert len(reading.table(_table(reading))) == value


def values(reading: Reading, value: list[float]) -> None:
    """Check the cells from left to right and from top to bottom."""
    name = _table(reading)
    found = reading.table(name)
    order = [c for c in ("line_no", "name") if c in found.columns]
    assert found.sort(order, maintain_order=True)[_VALUE[name]].to_list() == pytest.approx(value, nan_ok=True)


def names(reading: Reading, value: list[str]) -> None:
    assert sorted(reading.table("counters")["name"].unique()) == sorted(value)


def series(reading: Reading, value: list[str]) -> None:
    assert sorted(reading.table("conn_times")["series"].unique()) == value


def clock(reading: Reading, value: str) -> None:
    assert [d.kind for d in reading.account.parts[0].domains] == [value]


def t_first(reading: Reading, value: float) -> None:
    assert reading.table(_table(reading))["t_local"].min() == value


def t_last(reading: Reading, value: float) -> None:
    assert reading.table(_table(reading))["t_local"].max() == value


def asked(reading: Reading, value: list[str]) -> None:
    found = [q["ask"] for q in reading.account.parts[0].facts["questions"]]
    assert [ask for ask in found if ask != "tz"] == value


def default(reading: Reading, value: str) -> None:
    assert reading.account.parts[0].facts["questions"][0]["default"] == value


CHECKERS = {f.__name__: f for f in (table, rows, values, names, series, clock, t_first, t_last, asked, default)}
WAIVED: dict[str, str] = {}
HEAD_DECIDES = True
"""The first 200 lines decide the meaning of the columns, the decimal sign and the order of day and month; a separate test of
this kind cuts after them.
"""
REPAIRED = True
"""The first run decides for all others; a run of a few lines would be too short for that."""
