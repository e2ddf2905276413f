"""Checks of the facts stored beside the samples of files of /proc."""

from __future__ import annotations

from tests.parsers.formats.evidence import Reading


def _processes(reading: Reading) -> str:
    return "ps" if "ps" in reading.tables else "profile_stacks"


def pids(reading: Reading, value: list[int]) -> None:
    assert reading.table(_processes(reading))["pid"].to_list() == value


def state(reading: Reading, value: list[str]) -> None:
    assert reading.table("ps")["state"].to_list() == value


def leaves(reading: Reading, value: list[str]) -> None:
    assert reading.table("profile_stacks")["leaf"].to_list() == value


def counter(reading: Reading, value: dict[str, float]) -> None:
    counters = dict(reading.table("counters").select("name", "value").rows())
    assert {name: counters[name] for name in value} == value


def counter_of(reading: Reading, value: dict[str, dict[str, float]]) -> None:
    counters = {
        (item, name): number for item, name, number in reading.table("counters").select("item", "name", "value").rows()
    }
    assert {item: {name: counters[item, name] for name in names} for item, names in value.items()} == value


def param(reading: Reading, value: dict[str, str]) -> None:
    assert dict(reading.table("params").select("name", "value").rows()) == value


CHECKERS = {
    "pids": pids,
    "state": state,
    "leaves": leaves,
    "counter": counter,
    "counter_of": counter_of,
    "param": param,
}
WAIVED: dict[str, str] = {}
