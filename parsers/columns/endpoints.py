"""Split addresses with ports as tools print them: `10.0.0.1:1521`, `10.0.0.1.1521`, `[::1]:22`, `*.*`, `db1.ncube-lm`."""

from __future__ import annotations

import polars as pl

from parsers.columns.services import SERVICES

_SCOPE = r"%[^:\]]+"


def address(text: pl.Expr) -> pl.Expr:
    """Return the address without its port; NULL for `*` (`0.0.0.0` and `::` stay as printed)."""
    bare = text.str.replace(r"[:.](?:[0-9]{1,5}|\*|[a-z][0-9A-Za-z_-]*)$", "").str.replace(_SCOPE, "")
    return bare.str.strip_chars("[]").replace(["*", "-", ""], [None, None, None])


def port(text: pl.Expr) -> pl.Expr:
    """Return the port as a number, also for common names of services; NULL for others."""
    last = text.str.extract(r"[:.]([0-9]{1,5}|[a-z][0-9A-Za-z_-]*)$")
    number = last.str.extract(r"^([0-9]+)$").cast(pl.Int64, strict=False)
    return pl.coalesce(number, last.replace_strict(SERVICES, default=None, return_dtype=pl.Int64))
