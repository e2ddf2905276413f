"""Parse rows of perf report and perf top into columns: share, samples, program, object, mark, symbol.

Every reader takes rows of one heading and returns line_no, event, frame (the screen), pct, self_pct, samples, comm, dso, mark, symbol,
as far as the row shows them. Cells are recognised by the mark `[k]` before the symbol, by separators or by two blanks, never by position.
"""

from __future__ import annotations

import re

import polars as pl

PCT = r"[0-9]{1,3}\.[0-9]+%"
MARK = r"\[[.kguH]\]"
ROW = (
    rf"^[ \t]*(?:[+-][ \t]+)?({PCT})(?:[ \t]+({PCT}))*((?:[ \t]+[0-9]+)*)[ \t]+(\S.*?)[ \t]+({MARK})(?:[ \t]+(\S.*))?$"
)
OLD_ROW = r"^[ \t]*([0-9]+\.[0-9]{2})[ \t]+([0-9]{1,3}\.[0-9])%[ \t]+(\S.*?)[ \t]+(\S+)$"
SEPARATED = rf"^[ \t]*({PCT})[ \t]*([;|])(.*)$"
PLAIN_ROW = rf"^[ \t]*(?:[+-][ \t]+)?({PCT})(?:[ \t]+({PCT}))?((?:[ \t]+[0-9]+)*)[ \t]{{2,}}([^ \t;|-][^;|]*)$"


def columns_of(heading: str | None) -> list[str]:
    """Return the column names of a heading, in their order."""
    return re.findall(
        r"Overhead(?: (?:sys|usr))?|Children|Self|Samples|Period|Pid:Command|Command|Shared Object|Symbol",
        heading or "",
    )


def marked(rows: pl.DataFrame, names: list[str]) -> pl.DataFrame:
    """Parse rows with a mode mark (`[k]`) before the symbol: numbers, program and object stand before the mark."""
    text = pl.col("line")
    two = text.str.extract(rf"^[ \t]*(?:[+-][ \t]+)?{PCT}[ \t]+({PCT})", 1)
    middle = pl.col("middle")
    # Where blanks were collapsed, the last word is the object: names of programs contain blanks more often.
    wide = middle.str.contains(r"[ \t]{2,}")
    order = [n for n in names if n in ("Command", "Shared Object")]
    first = (
        pl.when(wide).then(middle.str.extract(r"^(.*?)[ \t]{2,}", 1)).otherwise(middle.str.extract(r"^(\S+)[ \t]", 1))
    )
    front = (
        pl.when(wide)
        .then(middle.str.extract(r"^(.*\S)[ \t]{2,}", 1))
        .otherwise(middle.str.extract(r"^(.*\S)[ \t]+\S+$", 1))
    )
    behind = pl.when(wide).then(middle.str.extract(r"[ \t]{2,}(\S.*?)$", 1)).otherwise(middle.str.extract(r"(\S+)$", 1))
    single = ~middle.str.contains(r"[ \t]")
    if order == ["Command"]:
        comm, dso = middle, pl.lit(None, pl.String)
    elif order == ["Shared Object"]:
        comm, dso = pl.lit(None, pl.String), middle
    elif order == ["Shared Object", "Command"]:
        comm, dso = middle.str.replace(r"^\S+[ \t]+", ""), first
    else:
        comm = pl.when(single).then(pl.lit(None, pl.String)).otherwise(front)
        dso = pl.when(single).then(middle).otherwise(behind)
    fields = text.str.extract_groups(ROW).struct.rename_fields(["pct", "second", "numbers", "middle", "mark", "symbol"])
    cut = rows.with_columns(fields.alias("g")).unnest("g")
    return cut.select(
        "line_no",
        "event",
        "frame",
        "mark",
        "symbol",
        pct=_share(pl.col("pct")),
        self_pct=_share(two) if "Self" in names or not names else pl.lit(None, pl.Float64),
        samples=_samples(names),
        comm=comm,
        dso=dso,
    )


def _samples(names: list[str]) -> pl.Expr:
    """Return the sample count among the whole numbers before the texts (Samples and Period, in the order of the heading)."""
    listed = [n for n in names if n in ("Samples", "Period")]
    if "Samples" not in listed:
        return pl.lit(None, pl.Float64)
    numbers = pl.col("numbers").str.extract_all(r"[0-9]+")
    return numbers.list.get(listed.index("Samples"), null_on_oob=True).cast(pl.Float64)


def _share(text: pl.Expr) -> pl.Expr:
    return text.str.strip_chars_end("%").cast(pl.Float64)


def plain(rows: pl.DataFrame, names: list[str]) -> pl.DataFrame:
    """Parse rows by program or object, without a symbol."""
    cut = rows.with_columns(
        pl.col("line")
        .str.extract_groups(PLAIN_ROW)
        .struct.rename_fields(["pct", "second", "numbers", "rest"])
        .alias("g")
    )
    cut = cut.unnest("g")
    texts = [n for n in names if n in ("Command", "Shared Object")]
    words = pl.col("rest").str.split_exact("  ", 1).struct.field("field_0").str.strip_chars()
    last = pl.col("rest").str.extract(r"[ \t]{2,}(\S.*)$", 1)
    found = {"Command": pl.lit(None, pl.String), "Shared Object": pl.lit(None, pl.String)}
    for place, name in enumerate(texts):
        found[name] = words if place == 0 else last
    return cut.select(
        "line_no",
        "event",
        "frame",
        mark=pl.lit(None, pl.String),
        symbol=pl.lit(None, pl.String),
        pct=_share(pl.col("pct")),
        self_pct=_share(pl.col("second")),
        samples=_samples(names),
        comm=found["Command"],
        dso=found["Shared Object"],
    )


def separated(rows: pl.DataFrame, names: list[str]) -> pl.DataFrame:
    """Parse rows of `-t SEP`: cells are padded, a mark stands before the symbol."""
    sign = pl.col("line").str.extract(SEPARATED, 2)
    names = names or ["Overhead", "Command", "Shared Object", "Symbol"]
    cells = pl.col("line").str.splitn(sign, len(names)).struct
    cut = rows.with_columns(cells.field(f"field_{i}").str.strip_chars().alias(n) for i, n in enumerate(names))
    none = pl.lit(None, pl.String)

    def cell(name: str) -> pl.Expr:
        return pl.col(name) if name in names else none

    return cut.select(
        "line_no",
        "event",
        "frame",
        mark=cell("Symbol").str.extract(rf"^({MARK})", 1),
        symbol=cell("Symbol").str.replace(rf"^{MARK}(?: |$)", "").replace("", None),
        pct=_share(cell("Overhead" if "Overhead" in names else "Children")),
        self_pct=_share(cell("Self")),
        samples=cell("Samples").cast(pl.Float64, strict=False),
        comm=cell("Command"),
        dso=cell("Shared Object"),
    )


def old(rows: pl.DataFrame, names: list[str]) -> pl.DataFrame:
    """Parse rows of perf top 2.6.3x: samples, share, function, object."""
    cut = rows.with_columns(
        pl.col("line").str.extract_groups(OLD_ROW).struct.rename_fields(["samples", "pct", "symbol", "dso"]).alias("g")
    )
    return cut.unnest("g").select(
        "line_no",
        "event",
        "frame",
        "symbol",
        "dso",
        samples=pl.col("samples").cast(pl.Float64),
        pct=pl.col("pct").cast(pl.Float64),
        mark=pl.lit(None, pl.String),
    )


CELLS = {"row": marked, "plain": plain, "separated": separated, "old": old}
"""The reader for each shape of row."""
