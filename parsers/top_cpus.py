"""Shares of processors in the head of top: `%Cpu(s):  5.9 us,  5.9 sy, ...` of all, `%Cpu0  : ...` of one."""

from __future__ import annotations

import polars as pl

from parsers.tables import Tables

_SHARES = {
    "us": "usr",
    "sy": "sys",
    "ni": "nice",
    "id": "idle",
    "wa": "wa",
    "hi": "irq",
    "si": "soft",
    "st": "st",
    "user": "usr",
    "nice": "nice",
    "system": "sys",
    "interrupt": "irq",
    "idle": "idle",
    "kernel": "sys",
    "iowait": "wa",
    "usr": "usr",
    "sys": "sys",
    "nic": "nice",
    "io": "wa",
    "irq": "irq",
    "sirq": "soft",
}
ONE_CPU = r"^%?(?:Cpu|CPU ?)([0-9]+) *:[ \t]+[0-9]"


def shares_of(is_cpu: pl.Expr) -> dict[str, pl.Expr]:
    """Give the shares of a line of top by column: `5.9 us`, `5.9%us`, `5,9 us`, `0.4% user`."""
    shares: dict[str, list[pl.Expr]] = {}
    for word, name in _SHARES.items():
        found = pl.col("line").str.extract(rf"([0-9]+(?:[.,][0-9]+)?)%? ?{word}(?:,|$| )")
        shares.setdefault(name, []).append(found)
    return {
        n: pl.when(is_cpu).then(pl.coalesce(e)).str.replace(",", ".", literal=True).cast(pl.Float64, strict=False)
        for n, e in shares.items()
    }


def add_processors(lines: pl.DataFrame, out: Tables) -> None:
    """Write a row of mpstat for each CPU that top lists by itself (key 1); a wide screen has several on a line."""
    alone = lines.filter(pl.col("line").str.contains(ONE_CPU))
    if alone.is_empty():
        return
    apart = pl.col("line").str.replace_all(r"[ \t]+(%?Cpu[0-9]+ *:)", "\n$1").str.split("\n")
    alone = alone.with_columns(line=apart).explode("line")
    alone = alone.with_columns(cpu=pl.col("line").str.extract(ONE_CPU).cast(pl.Int64), **shares_of(pl.lit(True)))
    names = list(dict.fromkeys(_SHARES.values()))
    known = alone.filter(pl.col("cpu").is_not_null() & pl.any_horizontal(pl.col(names).is_not_null()))
    out.add("mpstat", known.select("line_no", "sample", "t_local", "cpu", *names))
