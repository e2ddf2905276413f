"""Checks of the facts stored beside the samples of text that no format knows."""

from __future__ import annotations

from tests.parsers.formats.evidence import Reading


def rows(reading: Reading, value: int) -> None:
    assert len(reading.table("rows")) == value


def heading(reading: Reading, value: list[str]) -> None:
    assert reading.table("rows")["heading"][0].to_list() == value


def threads(reading: Reading, value: int) -> None:
    assert len(reading.table("profile_stacks")) == value


def leaves(reading: Reading, value: list[str]) -> None:
    assert reading.table("profile_stacks")["leaf"].to_list() == value


def lwps(reading: Reading, value: list[int]) -> None:
    assert reading.table("profile_stacks")["lwp"].to_list() == value


def counter(reading: Reading, value: dict[str, float]) -> None:
    counters = dict(reading.table("counters").select("name", "value").rows())
    assert {name: counters[name] for name in value} == value


def param(reading: Reading, value: dict[str, str]) -> None:
    params = dict(reading.table("params").select("name", "value").rows())
    assert {name: params[name] for name in value} == value


def logs(reading: Reading, value: int) -> None:
    assert len(reading.table("logs")) == value


def severities(reading: Reading, value: list[str]) -> None:
    assert reading.table("logs")["severity"].to_list() == value


CHECKERS = {
    "rows": rows,
    "heading": heading,
    "threads": threads,
    "leaves": leaves,
    "lwps": lwps,
    "counter": counter,
    "param": param,
    "logs": logs,
    "severities": severities,
}
WAIVED: dict[str, str] = {}
HEAD_DECIDES = True
"""The first lines of a paragraph decide whether it is a table; `test_text.py` cuts texts between paragraphs and within."""
