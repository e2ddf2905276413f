"""Checks of the facts stored beside the corpus samples of thread stacks."""

from __future__ import annotations

import polars as pl

from tests.parsers.formats.evidence import Reading


def _stacks(reading: Reading) -> pl.DataFrame:
    return reading.table("profile_stacks")


def pid(reading: Reading, value: int) -> None:
    assert _stacks(reading)["pid"].unique().to_list() == [value]


def frames(reading: Reading, value: int) -> None:
    assert _stacks(reading)["frames"].list.len().sum() == value


def leaf(reading: Reading, value: str) -> None:
    assert _stacks(reading)["leaf"][0] == value


def threads(reading: Reading, value: int) -> None:
    assert len(_stacks(reading)) == value


def lwps(reading: Reading, value: list[int]) -> None:
    assert _stacks(reading)["lwp"].to_list() == value


def leaves(reading: Reading, value: list[str]) -> None:
    assert _stacks(reading)["leaf"].to_list() == value


def comms(reading: Reading, value: list[str]) -> None:
    assert _stacks(reading)["comm"].to_list() == value


def incomplete(reading: Reading, value: int) -> None:
    assert len(_stacks(reading).filter(~pl.col("complete"))) == value


def repaired(reading: Reading, value: int) -> None:
    assert sum(n.kind == "repaired" for n in reading.account.notes) == value


CHECKERS = {
    "pid": pid,
    "frames": frames,
    "leaf": leaf,
    "threads": threads,
    "lwps": lwps,
    "leaves": leaves,
    "comms": comms,
    "incomplete": incomplete,
    "repaired": repaired,
}
WAIVED: dict[str, str] = {}
AHEAD = ("complete",)
"""Columns that a later line decides: a stack is complete if the next line shows it."""
