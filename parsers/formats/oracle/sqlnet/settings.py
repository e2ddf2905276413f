"""Read settings from an Oracle Net trace: the parameter table of its header, and the values that a listener resolved.

[14-APR-2016 05:58:39:313] New trace level is 16
[14-APR-2016 05:58:39:313] TRACE_LEVEL_CLIENT = 16
2014-11-15 16:12:24.348291 : nsglldprm:Resolved "TRACE_LEVEL_LISTENER" to: 16
"""

from __future__ import annotations

import polars as pl

_LEVEL = r"^New trace level is ([0-9]+)"
_NAME, _VALUE = r"^([A-Za-z][A-Za-z0-9_.]*) = ", r"(?s)^[A-Za-z][A-Za-z0-9_.]* = (.*)$"
_RESOLVED_NAME, _RESOLVED_VALUE = r'^Resolved "([^"]+)" to: ', r'^Resolved "[^"]+" to: (.*)$'


def printing(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows that may contain a setting: line_no, line_end, table (text of a header row), resolved (text of a listener's row)."""
    func = pl.col("func")
    header = func.is_null() | func.str.starts_with("nlst")
    resolved = func == "nsglldprm"
    some = rows.select_seq("line_no", "line_end", "func", "text").filter(header | resolved)
    return some.select_seq(
        "line_no", "line_end", table=pl.when(header).then("text"), resolved=pl.when(resolved).then("text")
    )


def level(rows: pl.DataFrame) -> str | None:
    """Return the last trace level in rows from `printing`; None if there is none."""
    levels = rows["table"].str.extract(_LEVEL).drop_nulls()
    return levels[-1] if len(levels) else None


def params(rows: pl.DataFrame, scope: str) -> pl.DataFrame:
    """Return rows of table `params`, passwords masked. `scope` (sqlnet or listener) is for names that do not end in _LISTENER."""
    table, resolved = pl.col("table").str, pl.col("resolved").str
    settings = rows.select_seq(
        "line_no",
        "line_end",
        name=pl.coalesce(table.extract(_NAME), resolved.extract(_RESOLVED_NAME)),
        value=pl.coalesce(table.extract(_VALUE), resolved.extract(_RESOLVED_VALUE)),
    ).filter(pl.col("name").is_not_null())
    name, value = pl.col("name").str, pl.col("value").str
    return settings.with_columns_seq(
        scope=pl.when(name.to_uppercase().str.ends_with("_LISTENER")).then(pl.lit("listener")).otherwise(pl.lit(scope)),
        value=pl.when(name.contains("(?i)password")).then(value.replace_all(".", "*")).otherwise("value"),
        num=value.extract(r"^(-?[0-9]+(?:\.[0-9]+)?)$").cast(pl.Float64),
        active=pl.lit(True),
    )
