"""Read the line that AIX prints above its samples: `System configuration: lcpu=8 mem=2048MB ent=0.20 mode=Uncapped`."""

from __future__ import annotations

import polars as pl

CONFIGURATION = r"^[ \t]*System [Cc]onfiguration:"


def hosts(lines: pl.DataFrame) -> pl.DataFrame:
    """Return rows of `hosts` for the lines (line_no, line) that match CONFIGURATION; a decimal comma in `ent` is accepted."""
    line = pl.col("line")

    def number(name: str) -> pl.Expr:
        text = line.str.extract(rf"\b{name}=([0-9]+(?:[.,][0-9]+)?)")
        return text.str.replace(",", ".", literal=True).cast(pl.Float64)

    mode = line.str.extract(r"\bmode=(\w+)").str.to_lowercase()
    few = lines.filter(line.str.contains("onfiguration:", literal=True))
    return few.filter(line.str.contains(CONFIGURATION)).select(
        "line_no",
        pl.lit("aix").alias("os"),
        number("lcpu").cast(pl.Int64, strict=False).alias("ncpu"),
        (number("mem") * 1024).cast(pl.Int64, strict=False).alias("mem_kb"),
        number("ent").alias("ent"),
        pl.when(mode == "capped").then(True).when(mode == "uncapped").then(False).alias("capped"),
    )
