"""Tests of lists that were cut to the names of the waits."""

from __future__ import annotations

import pytest

from rules.observers import listed_names
from tests.rules.observers.of_text import told


@pytest.mark.parametrize(
    ("text", "n"),
    [
        ("sessions wait in\n" + "LCK_M_U\n" * 4, 4),
        ("LCK_M_U\n" * 2, 0),
        ("LCK_M_U\n" * 3 + "WRITELOG_X\n" + "OTHER_NAME\n" * 3, 0),
        ("LCK_M_U\n" * 3 + "OTHER_NAME\n" * 3, 3),
        ("TOTAL_COUNT\n" * 5, 0),
    ],
)
def test_the_name_on_most_lines(text: str, n: int) -> None:
    assert [(s.subject, s.n) for s in told(listed_names, text)] == ([("LCK_M_U", n)] if n else [])
