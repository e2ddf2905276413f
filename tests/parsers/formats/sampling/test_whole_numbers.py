"""Tests of lines of whole numbers parsed by bytes: the same lines match as with a pattern, with the same numbers."""

from __future__ import annotations

import re

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsers.columns import grid
from parsers.formats.sampling.shared import whole_numbers

NUMBERS = ["0", "7", "00012", "99999999", "100000000", "123456789012", "9" * 15]
STRANGE = ["-4", "1.5", "1,234", "x", "9" * 16, "12a", "\u0663", "--"]
WORDS = st.sampled_from(NUMBERS * 6 + STRANGE)
LINES = st.lists(st.tuples(WORDS, st.sampled_from([" ", "  ", "\t", " \t "])), max_size=5)


def line(words: list[tuple[str, str]], lead: str) -> str:
    return (lead + "".join(word + blank for word, blank in words)).rstrip()


@given(st.lists(LINES, max_size=8), st.sampled_from(["", " ", "\t "]), st.integers(1, 4), st.integers(0, 2))
def test_it_takes_what_a_pattern_takes(made, lead: str, width: int, first: int):
    texts = [line(words, lead) for words in made]
    names = [f"c{n}" for n in range(width)]
    rows = pl.DataFrame({"line_no": range(len(texts)), "line": texts}, schema={"line_no": pl.Int64, "line": pl.String})
    rows = rows.slice(first)  # a view of a longer column
    plain, others = whole_numbers.part(rows, names)
    pattern = rf"[ \t]*[0-9]{{1,15}}(?:[ \t]+[0-9]{{1,15}}){{{width - 1}}}"
    fits = [re.fullmatch(pattern, text) is not None for text in rows["line"]]
    assert plain["line_no"].to_list() == rows.filter(pl.Series(fits, dtype=pl.Boolean))["line_no"].to_list()
    assert plain.select(names).rows() == [tuple(map(float, text.split())) for text in plain["line"]]
    assert others.equals(rows.filter(~pl.Series(fits, dtype=pl.Boolean)))


def test_it_gives_what_cutting_and_casting_give():
    texts = [f" {n} {n * 7919 % 99_991}\t{10**n % 10**15:05}" for n in range(5000)]
    rows = pl.DataFrame({"line": texts})
    plain, others = whole_numbers.part(rows, ["a", "b", "c"])
    cut = grid.numbers(grid.cut(rows, dict.fromkeys("abc", grid.NUMBER)), "abc", {})
    assert others.is_empty()
    assert plain.equals(cut)


@pytest.mark.parametrize("texts", [[], [""], ["", ""], ["x"]])
def test_nothing_to_read_is_no_fault(texts):
    rows = pl.DataFrame({"line": texts}, schema={"line": pl.String})
    plain, others = whole_numbers.part(rows, ["a", "b"])
    assert plain.is_empty()
    assert plain.schema == {"line": pl.String, "a": pl.Float64, "b": pl.Float64}
    assert others.equals(rows)
