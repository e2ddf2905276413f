"""Checks of the facts stored beside the corpus samples of kernel lock statistics."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from tests.parsers.formats.evidence import Reading


def _locks(reading: Reading) -> pl.DataFrame:
    return reading.table("locks")


def events(reading: Reading, value: dict[str, int]) -> None:
    counts = _locks(reading).drop_nulls("event").group_by("event").len()
    assert dict(counts.iter_rows()) == value


def top(reading: Reading, value: list[Any]) -> None:
    assert list(_locks(reading).select("lock", "caller", "n", "mean_ns").row(0)) == value


def locks(reading: Reading, value: int) -> None:
    assert _locks(reading)["lock"].n_unique() == value


def n_sum(reading: Reading, value: int) -> None:
    assert _locks(reading)["n"].sum() == value


def buckets(reading: Reading, value: int) -> None:
    assert len(reading.table("hist")) == value


def bucket_total(reading: Reading, value: int) -> None:
    rows = reading.table("hist")
    assert rows["n"].sum() == value
    assert rows["complete"].all()


def stacks(reading: Reading, value: int) -> None:
    assert len(reading.table("profile_stacks")) == value


def first_stack(reading: Reading, value: list[str]) -> None:
    assert reading.table("profile_stacks")["frames"][0].to_list() == value


def classes(reading: Reading, value: int) -> None:
    assert len(_locks(reading).filter(event="wait")) == len(_locks(reading).filter(event="hold")) == value


def waits(reading: Reading, value: dict[str, int]) -> None:
    assert dict(_locks(reading).filter(event="wait").select("lock", "n").iter_rows()) == value


def mean_wait_us(reading: Reading, value: dict[str, float]) -> None:
    for lock, mean in value.items():
        row = _locks(reading).filter(event="wait", lock=lock)
        assert row["mean_ns"][0] / 1000 == pytest.approx(mean, abs=0.005)


def waiting_points(reading: Reading, value: int) -> None:
    assert len(_locks(reading).filter(event="wait point")) == value


def holding_points(reading: Reading, value: int) -> None:
    assert len(_locks(reading).filter(event="hold point")) == value


def wrapped_caller(reading: Reading, value: str) -> None:
    row = _locks(reading).filter(caller=value)
    assert (row["line_end"] - row["line_no"]).to_list() == [1]


CHECKERS = {
    "events": events,
    "top": top,
    "locks": locks,
    "n_sum": n_sum,
    "buckets": buckets,
    "bucket_total": bucket_total,
    "stacks": stacks,
    "first_stack": first_stack,
    "classes": classes,
    "waits": waits,
    "mean_wait_us": mean_wait_us,
    "waiting_points": waiting_points,
    "holding_points": holding_points,
    "wrapped_caller": wrapped_caller,
}
WAIVED: dict[str, str] = {}
AHEAD = ("complete",)
"""Columns that later lines decide: whether the buckets add up to the row is known after the last bucket."""
