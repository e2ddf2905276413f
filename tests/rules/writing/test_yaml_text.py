"""Tests that no uploaded YAML, however deeply nested, ends the process that reads it."""

from __future__ import annotations

import pytest

from rules.errors import CaseInvalid
from rules.writing.yaml_text import MAX_DEPTH, load_yaml


def load(text: str) -> object:
    return load_yaml(text, CaseInvalid, limit=1024 * 1024)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 50_000,
        "{a: " * 50_000,
        "- " * 50_000 + "x",
        "? " * 50_000,
        "\n".join(" " * n + "a:" for n in range(500)),
        "[\n" * 50_000,
        "a: " + "[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1),
    ],
    ids=["lists", "mappings", "dashes", "keys", "indents", "lines", "one too deep"],
)
def test_a_text_that_is_too_deep_is_refused(text: str) -> None:
    with pytest.raises(CaseInvalid, match=f"more than {MAX_DEPTH} lists and mappings"):
        load(text)


def test_a_text_at_the_limit_and_one_with_many_signs_are_read() -> None:
    made = load("[" * MAX_DEPTH + "]" * MAX_DEPTH)
    assert isinstance(made, list)
    assert load("- [1, 2]\n" * 200) == [[1, 2]] * 200
    assert load("text: " + "'" + "[" * 500 + "'") == {"text": "[" * 500}
