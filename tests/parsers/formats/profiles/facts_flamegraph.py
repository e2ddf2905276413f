"""Checks of the facts stored beside the corpus samples of collapsed stacks and flame graphs."""

from __future__ import annotations

from tests.parsers.formats.evidence import Reading


def stacks(reading: Reading, value: int) -> None:
    assert len(reading.table("profile_stacks")) == value


def samples(reading: Reading, value: int) -> None:
    assert reading.table("profile_stacks")["weight"].sum() == value


def heaviest(reading: Reading, value: list[object]) -> None:
    row = reading.table("profile_stacks").sort("weight", descending=True, maintain_order=True)
    assert [row["frames"][0].to_list(), row["weight"][0]] == value


def pids(reading: Reading, value: list[int]) -> None:
    assert sorted(reading.table("profile_stacks")["pid"].drop_nulls().unique().to_list()) == value


def kernel_leaves(reading: Reading, value: int) -> None:
    assert reading.table("profile_stacks")["kernel"].sum() == value


def total_samples(reading: Reading, value: int) -> None:
    assert reading.table("profile_meta")["total_samples"].to_list() == [value]


def unknown_lines(reading: Reading, value: int) -> None:
    assert reading.account.account.unknown == value


CHECKERS = {
    "stacks": stacks,
    "samples": samples,
    "heaviest": heaviest,
    "pids": pids,
    "kernel_leaves": kernel_leaves,
    "total_samples": total_samples,
    "unknown_lines": unknown_lines,
}
WAIVED: dict[str, str] = {}
