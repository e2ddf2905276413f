"""A pattern is skipped only where it cannot match."""

from __future__ import annotations

import re

import pytest

from rules.signatures import signatures
from rules.signatures.needed_words import needed_words


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("out of memory", ("out of memory",)),
        ("(?:Deadlock|lock wait) found", ("deadlock", "lock wait")),
        ("connect(?:ion)? refused|timed out", (" refused", "timed out")),
        ("a(?:bc)?d", ("a",)),
        ("x*", ()),
        ("error|[0-9]+", ()),
        ("(?:kill){2,3}ed", ("kill",)),
        ("^oom(?=-killer)-", ("oom-",)),
        ("[oO]ut", ("ut",)),
        ("stra\N{LATIN SMALL LETTER SHARP S}e", ("stra",)),
    ],
)
def test_words_of_a_pattern(pattern: str, words: tuple[str, ...]) -> None:
    assert needed_words(pattern) == words


@pytest.mark.parametrize(("key", "area"), signatures.areas())
def test_each_example_holds_a_word_of_its_pattern(key: str, area: str) -> None:
    for one in signatures.signatures(key, area):
        pattern, example = str(one.match[key]), one.example
        text = str(example.get(key, "") if isinstance(example, dict) else example)
        if key in signatures.NUMBERS or not text.isascii() or not re.search(pattern, text, re.IGNORECASE):
            continue
        words = needed_words(pattern)
        assert not words or any(word in text.lower() for word in words), (pattern, text)


def test_another_case_of_an_ascii_letter_is_found() -> None:
    # The sign of Kelvin is a k regardless of case, but not in lower case of ASCII.
    assert signatures.recognise(log="tas\N{KELVIN SIGN} blocked for more than 120 seconds") == signatures.recognise(
        log="task blocked for more than 120 seconds"
    )
