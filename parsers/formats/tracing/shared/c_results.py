"""Parse the text that strace and perf trace print after the last parenthesis of a call: value, error, elapsed time."""

from __future__ import annotations

import polars as pl

REST = pl.col("rest")

VALUE = r"(?:\?|0x[0-9a-f]+|-?[0-9]+)"
ANY_TAIL = (
    rf"\)[\t ]*= ({VALUE}(?:<[^\"]*?>)?(?: E[A-Z0-9]+)?(?: \([^\"]*\))?)?(?: <([0-9]+[.,][0-9]+)>| <unavailable>)?$"
)


def groups(column: pl.Expr, pattern: str, fields: list[str]) -> pl.Expr:
    return column.str.extract_groups(pattern).struct.rename_fields(fields).alias("groups")


def results(frame: pl.DataFrame) -> pl.DataFrame:
    """Split `rest` at its last parenthesis and parse the text after it; add tail, ret_text, val, err, elapsed."""
    frame = frame.with_columns_seq(
        REST.str.extract(ANY_TAIL, 0).alias("tail"), groups(REST, ANY_TAIL, ["ret_text", "took"])
    ).unnest("groups")
    return frame.with_columns_seq(
        pl.col("ret_text").str.extract(rf"^({VALUE})", 1).alias("val"),
        pl.col("ret_text").str.extract(rf"^{VALUE}(?:<[^\"]*?>)? (E[A-Z0-9]+)(?: |$)", 1).alias("err"),
        pl.col("took").str.replace(",", ".", literal=True).cast(pl.Float64).alias("elapsed"),
    )
