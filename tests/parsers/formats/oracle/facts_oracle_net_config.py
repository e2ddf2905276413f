"""Checks of the facts stored beside the corpus samples of listener.ora, sqlnet.ora, tnsnames.ora and lsnrctl."""

from __future__ import annotations

import polars as pl

from tests.parsers.formats.evidence import Reading


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


def instances(reading: Reading, value: list[list[str]]) -> None:
    rows = _rows(reading).filter(pl.col("name").str.starts_with("instance."))
    assert [[e, n.removeprefix("instance."), v] for e, n, v in rows.select("entity", "name", "value").rows()] == value


def handlers(reading: Reading, value: dict[str, dict[str, float]]) -> None:
    rows = reading.table("counters").filter(pl.col("grp") == "handlers")
    for item, told in value.items():
        assert dict(rows.filter(pl.col("item") == item).select("name", "value").unique().rows()) == told


def ports(reading: Reading, value: list[float | None]) -> None:
    assert _rows(reading).filter(pl.col("name") == "listener.endpoint")["num"].to_list() == value


def uptime(reading: Reading, value: float) -> None:
    assert _rows(reading).filter(pl.col("name") == "listener.uptime")["num"].to_list() == [value]


def clock(reading: Reading, value: dict[str, str]) -> None:
    (domain,) = reading.account.parts[0].domains
    assert domain.kind == value["kind"]
    for name, at in (("first", domain.t_begin), ("last", domain.t_end)):
        assert at == (pl.Series([value[name]]).str.to_datetime().dt.epoch("s")[0] if name in value else None)


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
    "instances": instances,
    "handlers": handlers,
    "ports": ports,
    "uptime_s": uptime,
    "clock": clock,
}
WAIVED: dict[str, str] = {}
