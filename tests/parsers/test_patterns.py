"""Test that no pattern of Python's `re` backtracks badly and that Polars compiles its patterns, which are all linear."""

from __future__ import annotations

import re
import re._parser as sre  # type: ignore[import-not-found]  # a part of Python without types
import time
import warnings
from functools import cache
from itertools import pairwise

import polars as pl
import pytest

from parsers.registry import all_formats
from tests.parsers.patterns import Found, called, compiled

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it imports Python's pattern parser under its old name
    from regexploit.ast.sre import SreOpParser
    from regexploit.redos import find

QUADRATIC = 2
"""Maximum stars of regexploit: repeats that may compete for the same characters; 11 and more are exponential."""

ATTACK = 16_384
SECONDS = 6.0
"""Maximum seconds for one attack of 16 KB: a quadratic pattern needs one or two on a busy machine, a cubic one minutes.
"""

CUBIC = {
    "parsers.formats.memory.svmon.format": "blanks of a description; only lines that begin with two numbers and a word",
    "parsers.formats.tracing.perf.stat": "blanks behind `#`; only the first 100 lines of a head and rows of perf stat",
    "parsers.formats.tracing.truss.records": "letters in brackets, in marks of elision of small pastes",
}
"""Patterns known to be worse, by module; they must be rewritten, and no new ones may be added."""

ALWAYS = 32  # re.UNICODE, which every text pattern sets


@cache
def python_patterns() -> tuple[Found, ...]:
    """Return each pattern of `re` once."""
    found: dict[tuple[str, int], Found] = {}
    for one in (*compiled(), *called()[0]):
        found.setdefault((one.pattern, one.flags & ~ALWAYS), one)
    return tuple(found.values())


def test_patterns_are_found():
    _, columns, unknown = called()
    assert len(python_patterns()) > 400
    assert len(columns) > 500
    assert len(unknown) < 158, "calls whose pattern is made of local names are seen by nobody"
    assert any(one.where == "parsers.secrets.words._PATTERNS" for one in compiled()), "patterns in tuples of tuples"


def test_no_pattern_backtracks_more_than_quadratically():
    bad = []
    for one in python_patterns():
        for attack in find(SreOpParser().parse_sre(one.pattern, one.flags & ~ALWAYS)):
            if attack.starriness > QUADRATIC + any(one.where.startswith(name) for name in CUBIC):
                bad.append(f"{one.where}: {attack.starriness} stars, {attack.example()[:120]}: {one.pattern[:160]}")
                break
    assert not bad, "\n".join(bad)


def characters(pattern: str, flags: int) -> str:
    """Return a matching character for each place of a pattern, in order."""
    out: list[str] = []

    def walk(tokens):
        for op, value in tokens:
            name = str(op)
            if name == "LITERAL":
                out.append(chr(value))
            elif name in ("ANY", "NOT_LITERAL"):
                out.append("x")
            elif name == "IN":
                out.append(_of_class(value))
            elif name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
                walk(value[2])
            elif name == "SUBPATTERN":
                walk(value[3])
            elif name == "BRANCH":
                for branch in value[1]:
                    walk(branch)
            elif name in ("ASSERT", "ASSERT_NOT"):
                walk(value[1])

    walk(sre.parse(pattern, flags))
    return "".join(out)


def _of_class(members) -> str:
    categories = {"CATEGORY_DIGIT": "7", "CATEGORY_SPACE": " ", "CATEGORY_WORD": "w"}
    for op, value in members:
        if str(op) == "NEGATE":
            return "x"
        if str(op) == "LITERAL":
            return chr(value)
        if str(op) == "RANGE":
            return chr(value[0])
        if str(op) == "CATEGORY":
            return categories.get(str(value), "-")
    return "x"


def attacks(one: Found) -> set[str]:
    """Return texts to repeat: the most frequent characters and pairs in a matching text, and that text's beginning."""
    text = characters(one.pattern, one.flags & ~ALWAYS)
    often = sorted(set(text), key=text.count, reverse=True)
    pairs = [a + b for a, b in pairwise(text) if a != b]
    return {*often[:5], *sorted(set(pairs), key=pairs.count, reverse=True)[:4], text[:40]} - {""}


@pytest.mark.parametrize("part", range(8))
def test_repeats_of_its_own_characters_do_not_stop_a_pattern(part):
    slow = []
    for one in python_patterns()[part::8]:
        pattern = re.compile(one.pattern, one.flags & ~ALWAYS)
        for unit in sorted(attacks(one)):
            for size in (ATTACK // 64, ATTACK // 16, ATTACK // 4, ATTACK):
                text = (unit * (size // len(unit) + 1))[:size] + "\x00"
                began = time.thread_time()
                pattern.match(text)
                spent = time.thread_time() - began
                # A cubic pattern takes a second or more for 1,024 characters, a quadratic one with many choices 0.15.
                if spent > SECONDS * (size / ATTACK) ** 2 + 0.3:
                    slow.append(f"{one.where}: {spent:.2f} s for {size} characters of {unit!r}: {one.pattern[:160]}")
                    break
                # Quadratic: the next size shows nothing new and costs sixteen times as much.
                if spent > 0.03 and size >= ATTACK // 16:
                    break
    assert not slow, "\n".join(slow)


def test_patterns_for_columns_compile_there():
    refused = []
    for one in called()[1]:
        try:
            pl.Series([""]).str.contains(one.pattern)
        except pl.exceptions.ComputeError as error:
            refused.append(f"{one.where}: {one.pattern[:120]}: {str(error)[:120]}")
    assert not refused, "\n".join(refused)


WITHOUT_LINES = (("csv", "delimited"), ("text", "plain"), ("procfs", "wchan"))
"""Formats without own lines: tables of any tool, text of no tool, and a function name alone on its line."""


@pytest.mark.parametrize(("form", "module"), all_formats(), ids=lambda x: getattr(x, "variant", ""))
def test_each_format_says_what_its_lines_are(form, module):
    if (form.kind, form.variant) in WITHOUT_LINES:
        assert not form.own
        return
    assert form.own
    assert pl.Series(["", "The quick brown fox jumps over the lazy dog."]).str.contains(form.own).len() == 2
