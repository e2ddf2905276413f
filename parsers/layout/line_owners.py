"""Which lines are whose: the patterns of each kind's own lines (`Format.own`) tried on lines.

Polars compiles a pattern anew each time, and all of them take a tenth of a second; Python keeps them, and needs longer for
each line. So few lines are tried by Python, many by Polars, and a pattern has to mean the same to both.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache

import numpy as np
import numpy.typing as npt
import polars as pl

from parsers.registry import all_formats

Bools = npt.NDArray[np.bool_]

INDENT = r"^(?:\t| {2})"

FEW, CHARACTERS = 600, 64_000
"""So many lines of so many characters together are tried one by one."""

LONG, BLANKS = 2000, 100
"""A longer line, or one with more blanks in a row, is left to Polars, whose patterns are linear: Python's may need the square."""

_GAP = re.compile(rf"[ \t]{{{BLANKS + 1}}}")

MANY = 1000
SAMPLE_STEP = 64
RARE = 0.02
"""Where at most this share of a sample of more than MANY lines fits anything, lines are looked for that fit anything at all."""

AT_ONCE = 16

_Search = Callable[[str], re.Match[str] | None]


@cache
def owns() -> dict[str, tuple[str, ...]]:
    """Give the patterns of each kind's own lines."""
    found: dict[str, list[str]] = {}
    for form, _ in all_formats():
        if form.own and form.own not in found.setdefault(form.kind, []):
            found[form.kind].append(form.own)
    return {kind: tuple(patterns) for kind, patterns in found.items()}


@cache
def silent() -> frozenset[str]:
    """Kinds that say nothing of their own lines: they are asked about everything."""
    return frozenset(form.kind for form, _ in all_formats()) - owns().keys()


def own_of(kind: str) -> tuple[str, ...]:
    """Give the patterns of one kind's own lines, none if it has none."""
    return owns().get(kind, ())


def all_hits(lines: pl.Series) -> Bools:
    """Say which lines fit which kind: a row a line, a column a kind, in the order of `owns`."""
    found = np.zeros((len(lines), len(owns())), np.bool_, order="F")
    sample = lines.gather_every(SAMPLE_STEP)
    if len(lines) > MANY and int(_each(sample).any(axis=1).sum()) <= RARE * len(sample):
        index = _some_hit(lines)
        if len(index):
            found[index] = _each(lines.gather(index))
        return found
    return _each(lines)


def hits(lines: pl.Series, own: Sequence[str]) -> Bools:
    """Say which lines fit a kind's own patterns, as they stand or without their indent."""
    if (few := _few(lines)) is not None:
        return _tried(few, [_searches(tuple(own))])[:, 0]
    found = np.zeros(len(lines), np.bool_)
    for pattern in own:
        found |= lines.str.contains(pattern).fill_null(False).to_numpy()
    index, bare = _set_in(lines, ~found)
    for pattern in own if len(index) else ():
        found[index] |= bare.str.contains(pattern).fill_null(False).to_numpy()
    return found


def _each(lines: pl.Series) -> Bools:
    """Try every pattern on every line, as it stands and without its indent."""
    if (few := _few(lines)) is not None:
        return _tried(few, [_searches(patterns) for patterns in owns().values()])
    line = pl.col("line")
    fits = [
        pl.any_horizontal([line.str.contains(p).fill_null(False) for p in patterns]).alias(kind)
        for kind, patterns in owns().items()
    ]
    tried: Bools = lines.rename("line").to_frame().select_seq(fits).to_numpy()
    index, bare = _set_in(lines)
    if len(index):
        tried = tried.copy()
        tried[index] |= bare.rename("line").to_frame().select_seq(fits).to_numpy()
    return tried


def _few(lines: pl.Series) -> list[str] | None:
    """Give the lines as texts if they are few and no line is made to keep Python busy."""
    if len(lines) > FEW or lines.null_count():
        return None
    texts: list[str] = lines.to_list()
    long = max(map(len, texts), default=0)
    if long > LONG or sum(map(len, texts)) > CHARACTERS or (long > BLANKS and any(map(_GAP.search, texts))):
        return None
    return texts


@cache
def _searches(patterns: tuple[str, ...]) -> tuple[_Search, ...]:
    return tuple(re.compile(pattern).search for pattern in patterns)


def _tried(texts: Sequence[str], each: Iterable[tuple[_Search, ...]]) -> Bools:
    """Try the patterns of several kinds on a few lines: a row a line, a column a kind."""
    # An empty line is nobody's; one that is set in is tried twice.
    tried = [(i, text) for i, text in enumerate(texts) if text]
    tried += [(i, text.lstrip(" \t")) for i, text in tried if text[0] == "\t" or text[:2] == "  "]
    kinds = list(each)
    found = np.zeros((len(texts), len(kinds)), np.bool_, order="F")
    for column, searches in enumerate(kinds):
        for search in searches:
            fits = [i for i, text in tried if search(text)]
            if fits:
                found[fits, column] = True
    return found


def _set_in(lines: pl.Series, left: Bools | None = None) -> tuple[npt.NDArray[np.int64], pl.Series]:
    """Give the lines (of those that are left) that are set in as listings are, and what stands there: patterns begin with a line."""
    if left is None:
        index = np.flatnonzero(lines.str.contains(INDENT).fill_null(False).to_numpy())
    else:
        index = np.flatnonzero(left)
        index = index[lines.gather(index).str.contains(INDENT).fill_null(False).to_numpy()]
    return index, lines.gather(index).str.strip_chars_start(" \t")


@cache
def _many_at_once() -> tuple[str, ...]:
    patterns = [f"(?:{p})" for found in owns().values() for p in found]
    return tuple("|".join(patterns[at : at + AT_ONCE]) for at in range(0, len(patterns), AT_ONCE))


def _some_hit(lines: pl.Series) -> npt.NDArray[np.int64]:
    """Find the lines that fit any pattern, where few do."""
    line = pl.col("line")
    fits = pl.any_horizontal([line.str.contains(p).fill_null(False) for p in _many_at_once()])
    index, bare = _set_in(lines)
    some = [lines.rename("line").to_frame().select_seq(fits).to_series().to_numpy()]
    some.append(bare.rename("line").to_frame().select_seq(fits).to_series().to_numpy())
    return np.union1d(np.flatnonzero(some[0]), index[some[1]])
