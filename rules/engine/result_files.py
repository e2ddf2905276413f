"""Write the answer to a question as a Parquet file.

This is a module of its own because it needs Polars.
"""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from typing import Any

import polars as pl

_KINDS: dict[str, pl.DataType] = {
    "BIGINT": pl.Int64(),
    "INTEGER": pl.Int64(),
    "SMALLINT": pl.Int64(),
    "TINYINT": pl.Int64(),
    "UINTEGER": pl.Int64(),
    "UBIGINT": pl.UInt64(),
    "DOUBLE": pl.Float64(),
    "FLOAT": pl.Float64(),
    "BOOLEAN": pl.Boolean(),
    "VARCHAR": pl.String(),
}


def cell(value: Any) -> Any:
    """Return lists and structures as JSON text; everything else as it is."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, (list, dict)) else value


def parquet(columns: Sequence[str], types: Sequence[str], rows: Sequence[Sequence[Any]]) -> bytes:
    """Return rows as the bytes of a Parquet file. Columns of types without a plain counterpart become text."""
    series = []
    for place, (name, kind) in enumerate(zip(columns, types, strict=True)):
        values = [row[place] for row in rows]
        if kind.startswith(("DECIMAL", "HUGEINT")):
            series.append(pl.Series(name, values, pl.Float64(), strict=False))
        elif kind.endswith("[]") and kind[:-2] in _KINDS:
            series.append(pl.Series(name, values, pl.List(_KINDS[kind[:-2]]), strict=False))
        elif kind in _KINDS:
            series.append(pl.Series(name, values, _KINDS[kind], strict=False))
        else:
            series.append(pl.Series(name, [None if v is None else str(cell(v)) for v in values], pl.String()))
    out = io.BytesIO()
    pl.DataFrame(series).write_parquet(out, compression="zstd")
    return out.getvalue()
