"""Checks of the facts stored beside the corpus samples of ping."""

from __future__ import annotations

import pytest

from tests.parsers.formats.evidence import Reading


def samples(reading: Reading, value: int) -> None:
    assert len(reading.table("conn_times")) == value
    assert reading.table("conn_times")["series"].unique().to_list() == ["ping"]


def ok(reading: Reading, value: int) -> None:
    assert reading.table("conn_times")["ok"].sum() == value


def smallest(reading: Reading, value: float) -> None:
    assert reading.table("conn_times")["elapsed_s"].min() == pytest.approx(value)


def largest(reading: Reading, value: float) -> None:
    assert reading.table("conn_times")["elapsed_s"].max() == pytest.approx(value)


def broken_lines(reading: Reading, value: list[int]) -> None:
    rows = reading.table("conn_times")
    assert rows.filter(rows["contiguous"] == "broken")["line_no"].to_list() == value


def failed_lines(reading: Reading, value: list[int]) -> None:
    rows = reading.table("conn_times")
    assert rows.filter(~rows["ok"])["line_no"].to_list() == value


def clock(reading: Reading, value: str | None) -> None:
    domains = reading.account.parts[0].domains
    assert [d.kind for d in domains] == [value or "none"]


CHECKERS = {f.__name__: f for f in (samples, ok, smallest, largest, broken_lines, failed_lines, clock)}
WAIVED: dict[str, str] = {}
