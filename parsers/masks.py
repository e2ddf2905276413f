"""Secrets: passwords, accounts, keys. Tables, notes and quotes hold asterisks of the same length; only the original
holds the rest.
"""

from __future__ import annotations

from typing import Any

import polars as pl

SECRETS = pl.Schema({"line_no": pl.Int64(), "from": pl.Int64(), "to": pl.Int64(), "kind": pl.String()})
"""Half-open character positions within the decoded line."""

SHORT = 4
"""A shorter secret is masked in the rows of its own line only: elsewhere it would blot out ordinary words."""


def mask_text(text: str, spans: list[tuple[int, int]]) -> str:
    """Put asterisks over half-open character ranges.

    >>> mask_text("user=scott", [(5, 10)])
    'user=*****'
    """
    for begin, end in spans:
        inside = text[begin:end]
        text = text[:begin] + "*" * len(inside) + text[end:]
    return text


class Masks:
    """The secrets met in one block run, and how to take them out of what is stored."""

    def __init__(self) -> None:
        self.spans: list[tuple[int, int, int, str]] = []
        self._places: list[pl.DataFrame] = []
        self._everywhere: dict[str, str] = {}
        self._in_line: list[tuple[int, str]] = []

    def __bool__(self) -> bool:
        return bool(self.spans)

    def keep(self, line_no: int, begin: int, end: int, kind: str, line: str) -> None:
        """Note a secret at characters [begin, end) of `line`."""
        secret = line[begin:end]
        self.spans.append((line_no, begin, end, kind))
        if len(secret) >= SHORT:
            self._everywhere[secret] = "*" * len(secret)
        elif secret:
            self._in_line.append((line_no, secret))

    @property
    def found(self) -> bool:
        return bool(self.spans or self._places)

    def keep_places(self, frame: pl.DataFrame) -> None:
        """Note secrets that are masked where they stand and nowhere else; columns of `SECRETS`."""
        if len(frame):
            self._places.append(frame.select(pl.col(c).cast(t) for c, t in SECRETS.items()))

    def apply(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Mask all text columns of rows that have `line_no` and `line_end`."""
        for name, dtype in frame.schema.items():
            if dtype == pl.String:
                frame = frame.with_columns(self._masked(pl.col(name)).alias(name))
            elif dtype == pl.List(pl.String):
                frame = frame.with_columns(self._masked_list(name).alias(name))
        return frame

    def _many(self, column: pl.Expr) -> pl.Expr:
        longest_first = sorted(self._everywhere, key=len, reverse=True)
        if not longest_first:
            return column
        return column.str.replace_many(longest_first, [self._everywhere[s] for s in longest_first], leftmost=True)

    def _masked(self, column: pl.Expr) -> pl.Expr:
        result = self._many(column)
        for line_no, secret in self._in_line:
            here = (pl.col("line_no") <= line_no) & (pl.col("line_end") >= line_no)
            plain = result.str.replace_all(secret, "*" * len(secret), literal=True)
            result = pl.when(here).then(plain).otherwise(result)
        return result

    def _masked_list(self, name: str) -> pl.Expr:
        result = pl.col(name).list.eval(self._many(pl.element()))
        for line_no, secret in self._in_line:
            here = (pl.col("line_no") <= line_no) & (pl.col("line_end") >= line_no)
            plain = result.list.eval(pl.element().str.replace_all(secret, "*" * len(secret), literal=True))
            result = pl.when(here).then(plain).otherwise(result)
        return result

    def apply_json(self, value: Any) -> Any:
        """Mask the long secrets in all texts of a JSON value (a format's state, facts)."""
        if isinstance(value, str):
            for secret in sorted(self._everywhere, key=len, reverse=True):
                value = value.replace(secret, self._everywhere[secret])
            return value
        if isinstance(value, list):
            return [self.apply_json(v) for v in value]
        if isinstance(value, dict):
            return {k: self.apply_json(v) for k, v in value.items()}
        return value

    def frame(self) -> pl.DataFrame:
        single = pl.DataFrame(self.spans, schema=SECRETS, orient="row").unique(maintain_order=True)
        return pl.concat([single, *self._places], rechunk=False)
