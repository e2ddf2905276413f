"""Read the CPU shares in the head of top: `%Cpu(s):  5.9 us,  5.9 sy, ...` of all, `%Cpu0  : ...` of one, or a small table.

CPU states:  cpu    user    nice  system    irq  softirq  iowait    idle
           total    2.0%    0.0%    7.6%   0.0%     0.0%  362.4%   27.2%
"""

from __future__ import annotations

import polars as pl

from parsers.tables.rows import Tables

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
ONE_CPU = r"^%?(?:Cpu|CPU ?)([0-9]+) *(?:states)?:[ \t]*[0-9]"

TABLE_ROW = r"^[ \t]+(?:total|cpu[0-9]+)(?:[ \t]+[0-9.,]+%){4,7}$"
_TABLES = {4: "usr nice sys idle", 5: "usr nice sys wa idle", 7: "usr nice sys irq soft wa idle"}
"""Columns of the table of procps 2.0, by their number."""


def shares_of(is_cpu: pl.Expr) -> dict[str, pl.Expr]:
    """Return the shares of a line of top by column: `5.9 us`, `5.9%us`, `5,9 us`, `0.4% user`."""
    shares: dict[str, list[pl.Expr]] = {}
    for word, name in _SHARES.items():
        found = pl.col("line").str.extract(rf"([0-9]+(?:[.,][0-9]+)?)%? ?{word}(?:,|$| )")
        shares.setdefault(name, []).append(found)
    return {
        n: pl.when(is_cpu).then(pl.coalesce(e)).str.replace(",", ".", literal=True).cast(pl.Float64, strict=False)
        for n, e in shares.items()
    }


def add_processors(lines: pl.DataFrame, out: Tables) -> None:
    """Write a row of mpstat for each CPU that top lists separately (key 1, or in the table); a wide screen has several on a line."""
    names = list(dict.fromkeys(_SHARES.values()))
    apart = pl.col("line").str.replace_all(r"[ \t]+(%?Cpu[0-9]+ *:)", "\n$1").str.split("\n")
    alone = lines.filter(pl.col("line").str.contains(ONE_CPU)).with_columns(line=apart).explode("line")
    alone = alone.with_columns(
        cpu=pl.col("line").str.extract(ONE_CPU).cast(pl.Int64, strict=False), **shares_of(pl.lit(True))
    )
    listed = lines.filter(pl.col("line").str.contains(TABLE_ROW))
    number = pl.col("line").str.extract(r"^[ \t]+cpu([0-9]+)").cast(pl.Int64, strict=False)
    listed = listed.with_columns(cpu=number, **dict.fromkeys(names, pl.lit(None, pl.Float64)))
    listed = listed.with_columns(**table_shares())
    known = pl.concat([alone, listed]).sort("line_no", maintain_order=True)
    known = known.filter(pl.col("cpu").is_not_null() & pl.any_horizontal(pl.col(names).is_not_null()))
    if not known.is_empty():
        out.add("mpstat", known.select("line_no", "sample", "t_local", "cpu", *names))


def table_shares() -> dict[str, pl.Expr]:
    """Return the shares of a row of the table of procps 2.0; some releases add up all CPUs in `total`."""
    row = pl.col("line").str.contains(TABLE_ROW)
    cells = pl.when(row).then(pl.col("line").str.extract_all(r"[0-9.,]+%"))
    number = pl.element().str.strip_chars("%").str.replace(",", ".", literal=True).cast(pl.Float64, strict=False)
    numbers = cells.list.eval(number)
    cpus = (numbers.list.sum() / 100).round().clip(1.0)
    shares: dict[str, list[pl.Expr]] = {}
    for count, names in _TABLES.items():
        for place, name in enumerate(names.split()):
            share = pl.when(cells.list.len() == count).then(numbers.list.get(place, null_on_oob=True) / cpus)
            shares.setdefault(name, []).append(share)
    return {name: pl.coalesce(found) for name, found in shares.items()}
