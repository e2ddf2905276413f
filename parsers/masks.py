"""Secrets: passwords, accounts, keys. Tables, notes and quotes hold asterisks of the same length; only the original
holds the rest.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

SECRETS = pl.Schema({"line_no": pl.Int64(), "from": pl.Int64(), "to": pl.Int64(), "kind": pl.String()})
"""Half-open character positions within the decoded line."""

SHORT = 4
"""A shorter secret is masked in the rows of its own lines only: elsewhere it would blot out ordinary words."""


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
        self._in_line: dict[int, set[str]] = {}

    def __bool__(self) -> bool:
        return bool(self.spans)

    def keep(self, line_no: int, begin: int, end: int, kind: str, line: str, *, everywhere: bool = True) -> None:
        """Note a secret at characters [begin, end) of `line`; its text is masked in all rows of the run, or (short ones,
        and names of people) in the rows of its line.
        """
        secret = line[begin:end]
        self.spans.append((line_no, begin, end, kind))
        if everywhere and len(secret) >= SHORT:
            self._everywhere[secret] = "*" * len(secret)
            # A buffer of truss: tables hold it without the blank before each character.
            if set(secret[1::2]) == {" "} and len(secret) >= 2 * SHORT:
                self._everywhere[secret[::2]] = "*" * len(secret[::2])
        elif secret:
            self._in_line.setdefault(line_no, set()).add(secret)

    @property
    def found(self) -> bool:
        return bool(self.spans or self._places)

    def keep_places(self, frame: pl.DataFrame) -> None:
        """Note secrets that are masked where they stand and nowhere else; columns of `SECRETS`."""
        if len(frame):
            self._places.append(frame.select(pl.col(c).cast(t) for c, t in SECRETS.items()))

    def apply(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Mask all text columns of rows that have `line_no` and `line_end`."""
        longest_first = sorted(self._everywhere, key=len, reverse=True)
        if longest_first:
            stars = [self._everywhere[s] for s in longest_first]
            for name, dtype in frame.schema.items():
                if dtype == pl.String:
                    frame = frame.with_columns(pl.col(name).str.replace_many(longest_first, stars, leftmost=True))
                elif dtype == pl.List(pl.String):
                    inner = pl.element().str.replace_many(longest_first, stars, leftmost=True)
                    frame = frame.with_columns(pl.col(name).list.eval(inner))
        return self._by_line(frame) if self._in_line and len(frame) else frame

    def _by_line(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Mask what is bound to its line: Python looks at the few rows that hold such a line."""
        lines = np.array(sorted(self._in_line))
        first = np.searchsorted(lines, frame["line_no"].to_numpy(), "left")
        behind = np.searchsorted(lines, frame["line_end"].to_numpy(), "right")
        touched = np.flatnonzero(behind > first)
        if not len(touched):
            return frame
        rows = frame[touched]
        secrets = [set().union(*(self._in_line[n] for n in lines[first[i] : behind[i]])) for i in touched]
        for name, dtype in frame.schema.items():
            if dtype == pl.String:
                masked: list[Any] = [_starred(v, s) for v, s in zip(rows[name], secrets, strict=True)]
            elif dtype == pl.List(pl.String):
                cells = zip(rows[name].to_list(), secrets, strict=True)
                masked = [None if v is None else [_starred(x, s) for x in v] for v, s in cells]
            else:
                continue
            frame = frame.with_columns(_put(frame[name], touched, masked))
        return frame

    def apply_json(self, value: Any) -> Any:
        """Mask the long secrets in all texts of a JSON value (a format's state, facts): a line may be carried in it."""
        bound = {s for secrets in self._in_line.values() for s in secrets if len(s) >= SHORT}
        return _without(value, set(self._everywhere) | bound) if self._everywhere or bound else value

    def frame(self) -> pl.DataFrame:
        single = pl.DataFrame(self.spans, schema=SECRETS, orient="row").unique(maintain_order=True)
        return pl.concat([single, *self._places], rechunk=False)


def _without(value: Any, secrets: set[str]) -> Any:
    if isinstance(value, str):
        return _starred(value, secrets)
    if isinstance(value, list):
        return [_without(v, secrets) for v in value]
    if isinstance(value, dict):
        return {k: _without(v, secrets) for k, v in value.items()}
    return value


def _starred(text: str | None, secrets: set[str]) -> str | None:
    if text is None:
        return None
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, "*" * len(secret))
    return text


def _put(column: pl.Series, at: npt.NDArray[np.int64], values: list[Any]) -> pl.Series:
    """Replace elements of a column."""
    new = pl.DataFrame({"at": at, "new": pl.Series(values, dtype=column.dtype), "hit": True})
    both = pl.DataFrame({"at": np.arange(len(column)), "old": column}).join(
        new, on="at", how="left", maintain_order="left"
    )
    return both.select(pl.when("hit").then("new").otherwise("old").alias(column.name)).to_series()
