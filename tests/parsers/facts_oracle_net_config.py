"""What the facts beside listener.ora, sqlnet.ora and tnsnames.ora mean."""

from __future__ import annotations

import polars as pl

from tests.parsers.evidence import Reading


def _rows(reading: Reading) -> pl.DataFrame:
    return reading.table("params")


def scopes(reading: Reading, value: list[str]) -> None:
    assert sorted(_rows(reading)["scope"].unique()) == value


def entities(reading: Reading, value: list[str]) -> None:
    assert sorted(_rows(reading)["entity"].drop_nulls().unique()) == value


def settings(reading: Reading, value: dict[str, str]) -> None:
    rows = _rows(reading).filter(pl.col("entity").is_null() & pl.col("active"))
    told = dict(rows.select("name", "value").rows())
    assert {name: told[name] for name in value} == value


def lists(reading: Reading, value: dict[str, list[str]]) -> None:
    for name, items in value.items():
        assert _rows(reading).filter(pl.col("name") == name)["list"].to_list() == [items]


def leaves(reading: Reading, value: dict[str, str]) -> None:
    told = {
        f"{e} {n}": v
        for e, n, v in _rows(reading).filter(pl.col("entity").is_not_null()).select("entity", "name", "value").rows()
    }
    assert {name: told[name] for name in value} == value


def commented_out(reading: Reading, value: list[str]) -> None:
    assert _rows(reading).filter(~pl.col("active"))["name"].to_list() == value


def masked(reading: Reading, value: list[str]) -> None:
    for name in value:
        found = _rows(reading).filter(pl.col("name") == name)["value"].to_list()
        assert found
        assert all(set(v.strip("()")) == {"*"} for v in found)


def rows(reading: Reading, value: int) -> None:
    assert len(_rows(reading)) == value


def unbalanced_at(reading: Reading, value: list[int]) -> None:
    assert [n.line_from for n in reading.account.notes if n.kind == "damaged"] == value


CHECKERS = {
    "scopes": scopes,
    "entities": entities,
    "settings": settings,
    "lists": lists,
    "leaves": leaves,
    "commented_out": commented_out,
    "masked": masked,
    "rows": rows,
    "unbalanced_at": unbalanced_at,
}
WAIVED: dict[str, str] = {}
