"""Match lines against the patterns of each kind's own lines (`Format.own`).

Polars compiles a pattern anew each time, and compiling all of them takes 0.1 s; Python caches compiled patterns but is
slower on each line. So Python matches few lines and Polars matches many, and a pattern must mean the same to both.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache

import numpy as np
import numpy.typing as npt
import polars as pl

from parsers.kept_patterns import compile_own
from parsers.registry import all_formats

Bools = npt.NDArray[np.bool_]

INDENT = r"^(?:\t| {2})"

FEW, CHARACTERS = 600, 64_000
"""Maximum number of lines, and of characters in all of them, that Python matches."""

LONG, BLANKS = 2000, 100
"""Maximum length of a line, and of a run of blanks in it, for Python, whose patterns may take quadratic time.

Polars matches the rest; its patterns are linear.
"""

_GAP = re.compile(rf"[ \t]{{{BLANKS + 1}}}")

MANY = 1000
SAMPLE_STEP = 64
RARE = 0.02
"""Maximum share of matching lines in a sample for a first search for lines that match any kind.

Only done for more than MANY lines.
"""

TASTED = 32
"""Number of lines that decide which of a kind's patterns is tried first."""

AT_ONCE = 16

_Search = Callable[[str], re.Match[str] | None]


@cache
def patterns_by_kind() -> dict[str, tuple[str, ...]]:
    """Return the patterns of own lines by kind."""
    found: dict[str, list[str]] = {}
    for form, _ in all_formats():
        if form.own and form.own not in found.setdefault(form.kind, []):
            found[form.kind].append(form.own)
    return {kind: tuple(patterns) for kind, patterns in found.items()}


@cache
def kinds_without_patterns() -> frozenset[str]:
    """Return the kinds that declare no pattern of own lines: they are asked for a claim on any lines."""
    return frozenset(form.kind for form, _ in all_formats()) - patterns_by_kind().keys()


def patterns_of(kind: str) -> tuple[str, ...]:
    """Return the patterns of one kind's own lines, an empty tuple if it has none."""
    return patterns_by_kind().get(kind, ())


def all_hits(lines: pl.Series) -> Bools:
    """Match lines against all kinds: a row for each line, a column for each kind in the order of `patterns_by_kind`."""
    found = np.zeros((len(lines), len(patterns_by_kind())), np.bool_, order="F")
    sample = lines.gather_every(SAMPLE_STEP)
    if len(lines) > MANY and int(_hits_by_kind(sample).any(axis=1).sum()) <= RARE * len(sample):
        index = _lines_with_hits(lines)
        if len(index):
            found[index] = _hits_by_kind(lines.gather(index))
        return found
    return _hits_by_kind(lines)


def hits(lines: pl.Series, own: Sequence[str]) -> Bools:
    """Return a mask of the lines that match one of a kind's patterns, with or without their indent."""
    if (few := _as_short_texts(lines)) is not None:
        return _try_patterns(few, [_searches(tuple(own))])[:, 0]
    own = _likeliest_first(lines, own)
    found = _match(lines, own)
    index, bare = _indented(lines, ~found)
    if len(index):
        found[index] = _match(bare, own)
    return found


def _match(lines: pl.Series, own: Sequence[str]) -> Bools:
    """Return a mask of the lines that match one of the patterns; each pattern is tried on what is left by those before."""
    found = np.zeros(len(lines), np.bool_)
    index, left = np.arange(len(lines)), lines
    for pattern in own:
        fits = left.str.contains(pattern).fill_null(False).to_numpy()
        found[index[fits]] = True
        index = index[~fits]
        if not len(index):
            break
        left = lines.gather(index)
    return found


def _likeliest_first(lines: pl.Series, own: Sequence[str]) -> Sequence[str]:
    """Return the patterns in the order of how many of a few lines they match, so that most lines meet one pattern only.

    >>> _likeliest_first(pl.Series(["a", "b", "b"]), ["a", "b"])
    ['b', 'a']
    """
    few = _as_short_texts(lines.gather_every(len(lines) // TASTED + 1))
    if few is None or len(own) < 2:
        return own
    counts = {
        pattern: len([1 for text in few if search(text)])
        for pattern, search in zip(own, _searches(tuple(own)), strict=True)
    }
    return sorted(own, key=lambda pattern: -counts[pattern])


def _hits_by_kind(lines: pl.Series) -> Bools:
    """Match every line against every pattern, with and without its indent."""
    if (few := _as_short_texts(lines)) is not None:
        return _try_patterns(few, [_searches(patterns) for patterns in patterns_by_kind().values()])
    line = pl.col("line")
    fits = [
        pl.any_horizontal([line.str.contains(p).fill_null(False) for p in patterns]).alias(kind)
        for kind, patterns in patterns_by_kind().items()
    ]
    tried: Bools = lines.rename("line").to_frame().select_seq(fits).to_numpy()
    index, bare = _indented(lines)
    if len(index):
        tried = tried.copy()
        tried[index] |= bare.rename("line").to_frame().select_seq(fits).to_numpy()
    return tried


def _as_short_texts(lines: pl.Series) -> list[str] | None:
    """Return the lines as a list if Python should match them, else None: too many, or a line that would take it long."""
    if len(lines) > FEW or lines.null_count():
        return None
    texts: list[str] = lines.to_list()
    long = max(map(len, texts), default=0)
    if long > LONG or sum(map(len, texts)) > CHARACTERS or (long > BLANKS and any(map(_GAP.search, texts))):
        return None
    return texts


@cache
def _searches(patterns: tuple[str, ...]) -> tuple[_Search, ...]:
    return tuple(compile_own(pattern).search for pattern in patterns)


def _try_patterns(texts: Sequence[str], each: Iterable[tuple[_Search, ...]]) -> Bools:
    """Match a few lines in Python against the patterns of several kinds: a row for each line, a column for each kind."""
    # An empty line matches no kind; an indented one is tried twice.
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


def _indented(lines: pl.Series, left: Bools | None = None) -> tuple[npt.NDArray[np.int64], pl.Series]:
    """Return the indices of indented lines (among those in `left`), and their texts without the indent.

    Listings are indented, but patterns begin at the start of a line.
    """
    if left is None:
        index = np.flatnonzero(lines.str.contains(INDENT).fill_null(False).to_numpy())
    else:
        index = np.flatnonzero(left)
        index = index[lines.gather(index).str.contains(INDENT).fill_null(False).to_numpy()]
    return index, lines.gather(index).str.strip_chars_start(" \t")


@cache
def _many_at_once() -> tuple[str, ...]:
    patterns = [f"(?:{p})" for found in patterns_by_kind().values() for p in found]
    return tuple("|".join(patterns[at : at + AT_ONCE]) for at in range(0, len(patterns), AT_ONCE))


def _lines_with_hits(lines: pl.Series) -> npt.NDArray[np.int64]:
    """Return the indices of lines that match any pattern; fast where few do."""
    line = pl.col("line")
    fits = pl.any_horizontal([line.str.contains(p).fill_null(False) for p in _many_at_once()])
    index, bare = _indented(lines)
    some = [lines.rename("line").to_frame().select_seq(fits).to_series().to_numpy()]
    some.append(bare.rename("line").to_frame().select_seq(fits).to_series().to_numpy())
    return np.union1d(np.flatnonzero(some[0]), index[some[1]])
