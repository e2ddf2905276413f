"""Test the matching of own lines: Python and Polars agree, and no line takes Python long."""

from __future__ import annotations

import re
import time
from functools import cache
from pathlib import Path

import polars as pl
import pytest

from parsers.layout import line_owners
from parsers.layout.line_owners import BLANKS, CHARACTERS, FEW, LONG, all_hits, hits, patterns_by_kind, patterns_of
from tests.parsers.patterns import Found
from tests.parsers.test_patterns import attacks

CORPUS = Path(__file__).parents[2] / "corpus"
STEP = 9
SECONDS = 0.25
"""Maximum seconds for matching a line that is built to slow down one pattern; a quadratic pattern takes 1 % of it."""


@cache
def some_lines() -> pl.Series:
    """Return every ninth distinct line of the corpus."""
    texts = (path.read_text(encoding="utf-8", errors="replace") for path in sorted(CORPUS.glob("*/*.txt")))
    lines = {line.rstrip(" \t\r")[:LONG] for text in texts for line in text.split("\n")}
    return pl.Series("line", sorted(lines)[::STEP])


@pytest.mark.parametrize("kind", patterns_by_kind())
def test_a_pattern_means_the_same_to_both_engines(kind):
    lines = some_lines()
    assert len(lines) > 3000
    for pattern in patterns_of(kind):
        search = re.compile(pattern).search
        assert [search(line) is not None for line in lines] == lines.str.contains(pattern).to_list()
        assert search("") is None, "an empty line is nobody's"


def test_few_lines_are_tried_as_many_are(monkeypatch):
    lines = some_lines().filter(~some_lines().str.contains(line_owners._GAP.pattern)).gather_every(40)
    lines = pl.concat([lines, pl.Series("line", ["", "   ", "\t 1 2", "    r b swpd free"])])
    assert line_owners._as_short_texts(lines) is not None
    few, of_one = all_hits(lines), {kind: hits(lines, patterns_of(kind)) for kind in patterns_by_kind()}
    monkeypatch.setattr(line_owners, "FEW", 0)
    assert line_owners._as_short_texts(lines) is None
    assert (few == all_hits(lines)).all()
    assert few.any(axis=1).sum() > 20
    for kind, found in of_one.items():
        assert (found == hits(lines, patterns_of(kind))).all()


@pytest.mark.parametrize(
    "lines",
    [
        ["a"] * (FEW + 1),
        ["a" * (LONG + 1)],
        ["a" * (LONG // 2)] * (2 * CHARACTERS // LONG + 1),
        ["a" + " " * (BLANKS + 1) + "b"],
        ["a", None],
    ],
)
def test_what_might_keep_python_busy_is_left_to_polars(lines):
    assert line_owners._as_short_texts(pl.Series(lines, dtype=pl.String)) is None


@pytest.mark.parametrize("kind", patterns_by_kind())
def test_no_line_that_python_gets_keeps_it_busy(kind):
    gap = " " * BLANKS
    made = [f"{gap}x{gap}1{gap}:{gap}.", "x" + f"{gap}1" * (LONG // (BLANKS + 1))]
    for pattern in patterns_of(kind):
        search = re.compile(pattern).search
        repeated = ((unit * LONG)[: LONG - 1] + "\x00" for unit in attacks(Found(kind, pattern, 0)))
        for text in (*made, *repeated):
            if line_owners._as_short_texts(pl.Series([text])) is None:
                continue
            began = time.thread_time()
            search(text)
            assert time.thread_time() - began < SECONDS, (pattern[:200], text[:60])


@pytest.mark.parametrize("own", [("a$", "b", "^c"), ("^c", "b", "a$"), ("b",), (), ("x", "y")])
def test_whatever_pattern_comes_first_the_same_lines_match(own):
    texts = [*["a", "cb", "  c", "", None, "d", "\tba"] * FEW, "x" * (LONG + 1), "c"]
    lines = pl.Series(texts, dtype=pl.String)
    expected = [t is not None and any(re.search(p, s) for p in own for s in (t, t.lstrip(" \t"))) for t in texts]
    assert hits(lines, own).tolist() == expected
    assert hits(lines[:-2], own).tolist() == expected[:-2]
