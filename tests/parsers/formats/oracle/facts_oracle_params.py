"""Checks of the facts stored beside the corpus samples of Oracle parameters."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from tests.parsers.formats.evidence import Reading

UNITS = {"K": 1024, "M": 1024**2, "G": 1024**3}


def _rows(reading: Reading, *, active: bool = True) -> pl.DataFrame:
    return reading.table("params").filter(pl.col("active") == active)


def setting(name: str) -> Callable[[Reading, str | int | None], None]:
    """Check the value in force; None means that it is not set, even if a commented line has it."""

    def check(reading: Reading, value: str | int | None) -> None:
        rows = _rows(reading).filter((pl.col("name") == name) & pl.col("privilege").ne_missing("auto"))
        if value is None:
            assert rows.is_empty()
            return
        wanted = (
            value if isinstance(value, int) else int(value[:-1]) * UNITS[value[-1]] if value[:-1].isdecimal() else None
        )
        assert len(rows) == 1
        assert rows["num"][0] == wanted if wanted is not None else rows["value"][0] == value

    return check


def commented_out(reading: Reading, value: list[str]) -> None:
    assert sorted(_rows(reading, active=False)["name"]) == value


def trailing_comment(reading: Reading, value: str) -> None:
    row = _rows(reading).filter(pl.col("name") == value).row(0, named=True)
    assert row["num"] is not None
    assert "#" not in row["value"]


def double_underscore(reading: Reading, value: int) -> None:
    rows = _rows(reading).filter(pl.col("name").is_in(["__sga_target", "__pga_aggregate_target"]))
    assert rows["num"].sum() == value


def history(reading: Reading, value: bool) -> None:
    rows = reading.table("params").filter(pl.col("name").str.starts_with("__"))
    assert bool((rows["privilege"] == "auto").all() and len(rows)) is value


def empty_values(reading: Reading, value: list[str]) -> None:
    assert _rows(reading).filter(pl.col("value").is_null())["name"].to_list() == value


def parameters(reading: Reading, value: int) -> None:
    assert len(reading.table("params")) == value


def management(reading: Reading, value: str) -> None:
    assert value == "automatic memory management"
    assert _rows(reading).filter(pl.col("name") == "memory_target")["num"][0] > 0


def sga_bytes(reading: Reading, value: int) -> None:
    rows = reading.table("params").filter(pl.col("name") == "Total System Global Area")
    assert rows["num"].to_list() == [value]


def sum_of_parts(reading: Reading, value: int) -> None:
    rows = reading.table("params").filter((pl.col("entity") == "SGA") & (pl.col("name") != "Total System Global Area"))
    assert rows["num"].sum() == value


def value_below(reading: Reading, value: bool) -> None:
    row = reading.table("params").row(0, named=True)
    assert (row["line_end"] == row["line_no"] + 1) is value


def blank_in_type(reading: Reading, value: str) -> None:
    assert value == "big integer"
    assert not reading.table("params")["value"].str.contains("integer").any()


def repaired(reading: Reading, value: int) -> None:
    assert sum(n.kind == "repaired" for n in reading.account.notes) == value


def hidden(reading: Reading, value: list[str]) -> None:
    assert reading.table("params").filter(pl.col("privilege") == "hidden")["name"].to_list() == value


def entities(reading: Reading, value: list[str]) -> None:
    assert reading.table("params")["entity"].drop_nulls().unique(maintain_order=True).to_list() == value


def names(reading: Reading, value: list[str]) -> None:
    assert set(value) <= set(reading.table("params")["name"])


_SETTINGS = ("memory_target", "memory_max_target", "sga_target", "sga_max_size", "pga_aggregate_target", "processes", "sessions",
             "shared_servers", "service_names", "control_files", "_sem_per_sem_id")  # fmt: skip
CHECKERS: dict[str, Callable[..., None]] = {
    **{name: setting(name) for name in _SETTINGS},
    "commented_out": commented_out,
    "trailing_comment_with_blank": trailing_comment,
    "sum_of_double_underscore_targets": double_underscore,
    "double_underscore_values_are_history_not_settings": history,
    "empty_value": empty_values,
    "parameters": parameters,
    "management": management,
    "type_has_a_blank": blank_in_type,
    "sga_bytes": sga_bytes,
    "sum_of_parts": sum_of_parts,
    "value_on_the_line_after_name_and_type": value_below,
    "repaired_places": repaired,
    "hidden": hidden,
    "entities": entities,
    "names": names,
}
WAIVED = {"tabs": "how the paste is written; the rows show that it is read"}
