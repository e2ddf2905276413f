"""Convert values of Oracle's parameters (sizes, lists, quotes) in parameter listings, start-up lists and reports.

memory_target = 240M        control_files = "/u01/a.ctl", "/u02/b.ctl"        dispatchers = "(PROTOCOL=TCP) (SERVICE=XEXDB)"
"""

from __future__ import annotations

import polars as pl

_SIZE = r"^([0-9]+) *([KMGTkmgt]?)$"
_FACTORS = {"": 1.0, "K": 1024.0, "M": 1048576.0, "G": 1073741824.0, "T": 1099511627776.0}
_SECRET = r"(?i)password$|passwd|wallet_(?:location|password)|^remote_login_password$"
_LIST = r"""^(?:'[^']*'|"[^"]*"|[^,'"()]*)(?:, *(?:'[^']*'|"[^"]*"|[^,'"()]*))+$"""


def number(value: pl.Expr) -> pl.Expr:
    """Convert `8G`, `12000M`, `300` to a number, sizes to bytes; NULL for any other value."""
    bare = value.str.strip_chars("'\" ")
    factor = (
        bare.str.extract(_SIZE, 2).str.to_uppercase().replace_strict(_FACTORS, default=None, return_dtype=pl.Float64)
    )
    return bare.str.extract(_SIZE, 1).cast(pl.Float64) * factor


def unquoted(value: pl.Expr) -> pl.Expr:
    """Remove the quotes of a value that is quoted as a whole; NULL for an empty value."""
    inner = pl.coalesce(value.str.extract(r"^'([^']*)'$"), value.str.extract(r'^"([^"]*)"$'), value).str.strip_chars()
    return pl.when(inner != "").then(inner)


def items(value: pl.Expr) -> pl.Expr:
    """Split a value at commas outside quotes and brackets into a list; NULL for a single value."""
    parts = value.str.split(",").list.eval(pl.element().str.strip_chars(" '\""))
    return pl.when(value.str.contains(_LIST)).then(parts)


def is_secret(name: pl.Expr) -> pl.Expr:
    """Return whether a parameter's value is secret."""
    return name.str.contains(_SECRET)
