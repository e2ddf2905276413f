"""Checks of the facts stored beside the corpus samples of kernel settings and limits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl

from tests.parsers.formats.evidence import Reading


def _active(reading: Reading) -> pl.DataFrame:
    return reading.table("params").filter("active")


def _one(reading: Reading, name: str) -> dict[str, Any]:
    return _active(reading).row(by_predicate=pl.col("name") == name, named=True)


def settings(reading: Reading, value: dict[str, str] | int) -> None:
    rows = _active(reading)
    if isinstance(value, int):
        assert len(rows) == value
    else:
        assert dict(rows.select("name", "value").iter_rows()) == value


def _setting(name: str) -> Callable[[Reading, Any], None]:
    def check(reading: Reading, value: Any) -> None:
        row = _one(reading, name)
        if isinstance(value, dict):
            assert list(value) == ["SEMMSL", "SEMMNS", "SEMOPM", "SEMMNI"]
            value = list(value.values())
        if isinstance(value, list):
            assert row["list"] == [str(x) for x in value]
        elif isinstance(value, str):
            assert row["value"] == value
        else:
            assert row["num"] == value

    return check


def _line_of(name: str) -> Callable[[Reading, int], None]:
    def check(reading: Reading, value: int) -> None:
        assert _one(reading, name)["line_no"] == value

    return check


def comments(reading: Reading, value: int) -> None:
    """Check the number of lines that were read and gave no active setting."""
    rows = _active(reading)
    assert reading.account.account.read - len(rows) == value


def resources(reading: Reading, value: dict[str, dict[str, Any]]) -> None:
    rows = reading.table("params").select("name", "privilege", "value")
    found = {(n, p): v.split()[0] for n, p, v in rows.iter_rows()}
    for name, rights in value.items():
        for privilege, told in rights.items():
            if privilege == "usage":
                use = reading.table("resource_use").filter(pl.col("name") == name)
                assert use.select("scope", "used").rows()[-1] == ("project", float(str(told).removesuffix("B")))
            else:
                assert found[name, privilege] == str(told)


def wrapped(reading: Reading, value: bool) -> None:
    assert any("wrapped" in n.text for n in reading.account.notes) is value


def prompt_lines(reading: Reading, value: list[int]) -> None:
    assert reading.account.account.unknown == 0
    assert not {n.line_from for n in reading.account.notes} & set(value)


def params(reading: Reading, value: list[list[Any]]) -> None:
    """Check the active rows as [name, entity, privilege, value, num]."""
    rows = _active(reading).select("name", "entity", "privilege", "value", "num")
    assert [list(row) for row in rows.iter_rows()] == value


def inactive(reading: Reading, value: list[list[Any]]) -> None:
    rows = reading.table("params").filter(~pl.col("active"))
    assert [list(row) for row in rows.select("line_no", "name").iter_rows()] == value


def scope(reading: Reading, value: str) -> None:
    assert reading.table("params")["scope"].unique().to_list() == [value]


def use(reading: Reading, value: list[list[Any]]) -> None:
    rows = reading.table("resource_use").select("entity", "name", "used", "limit_num")
    assert [list(row) for row in rows.iter_rows()] == value


def words(reading: Reading, value: dict[str, list[str]]) -> None:
    assert dict(_active(reading).select("name", "list").iter_rows()) == value


def notes(reading: Reading, value: list[list[Any]]) -> None:
    assert [[n.line_from, n.line_to, n.kind] for n in reading.account.notes] == value


def separator(reading: Reading, value: str) -> None:
    """Check that the colon at the end of FreeBSD keys is in no name and in no value."""
    assert value == ": "
    assert not any(
        n.endswith(":") or v.startswith((":", " ")) for n, v in _active(reading)[["name", "value"]].iter_rows()
    )


def hexadecimal(reading: Reading, value: bool) -> None:
    assert any(v.startswith("0x") and n is not None for v, n in _active(reading)[["value", "num"]].iter_rows()) is value


CHECKERS = {
    "separator": separator,
    "hex": hexadecimal,
    "kernel.shmmax": _setting("kernel.shmmax"),
    "kernel.shmall": _setting("kernel.shmall"),
    "kern.ipc.shmmax": _setting("kern.ipc.shmmax"),
    "kern.ipc.semaem": _setting("kern.ipc.semaem"),
    "settings": settings,
    "comments": comments,
    "kernel.sem": _setting("kernel.sem"),
    "kernel.msgmni": _setting("kernel.msgmni"),
    "line_of_sem": _line_of("kernel.sem"),
    "shmsys:shminfo_shmmax": _setting("shmsys:shminfo_shmmax"),
    "semsys:seminfo_semmsl": _setting("semsys:seminfo_semmsl"),
    "semsys:seminfo_semmni": _setting("semsys:seminfo_semmni"),
    "resources": resources,
    "wrapped": wrapped,
    "prompt_lines": prompt_lines,
    "params": params,
    "inactive": inactive,
    "scope": scope,
    "use": use,
    "words": words,
    "notes": notes,
}
WAIVED: dict[str, str] = {}
AHEAD = ("active",)  # a later line for the same setting overrides an earlier one
REPAIRED = True  # overriding is decided within a run
