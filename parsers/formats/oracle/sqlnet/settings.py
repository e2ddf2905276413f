"""Settings that an Oracle Net trace prints: the parameter table of its header, and what a listener resolved.

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
    """Give the rows that may print a setting: line_no, line_end, table (text of the header's kind), resolved (a listener's)."""
    func = pl.col("func")
    header = func.is_null() | func.str.starts_with("nlst")
    resolved = func == "nsglldprm"
    some = rows.select_seq("line_no", "line_end", "func", "text").filter(header | resolved)
    return some.select_seq(
        "line_no", "line_end", table=pl.when(header).then("text"), resolved=pl.when(resolved).then("text")
    )


def level(rows: pl.DataFrame) -> str | None:
    """Give the last trace level that is named in rows from `printing`."""
    found = rows["table"].str.extract(_LEVEL).drop_nulls()
    return found[-1] if len(found) else None


def params(rows: pl.DataFrame, scope: str) -> pl.DataFrame:
    """Give the rows of table `params`; passwords are masked. `scope` (sqlnet or listener) is that of names that do not tell."""
    table, resolved = pl.col("table").str, pl.col("resolved").str
    found = rows.select_seq(
        "line_no",
        "line_end",
        name=pl.coalesce(table.extract(_NAME), resolved.extract(_RESOLVED_NAME)),
        value=pl.coalesce(table.extract(_VALUE), resolved.extract(_RESOLVED_VALUE)),
    ).filter(pl.col("name").is_not_null())
    name, value = pl.col("name").str, pl.col("value").str
    return found.with_columns_seq(
        scope=pl.when(name.to_uppercase().str.ends_with("_LISTENER")).then(pl.lit("listener")).otherwise(pl.lit(scope)),
        value=pl.when(name.contains("(?i)password")).then(value.replace_all(".", "*")).otherwise("value"),
        num=value.extract(r"^(-?[0-9]+(?:\.[0-9]+)?)$").cast(pl.Float64),
        active=pl.lit(True),
    )
