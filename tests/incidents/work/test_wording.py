"""Tests of the function behind the indexes for pieces of words, and that PostgreSQL uses these indexes."""

from __future__ import annotations

import pytest
from django.db import connection

pytestmark = pytest.mark.django_db


def grams(text: str | None) -> list[str] | None:
    with connection.cursor() as cursor:
        cursor.execute("select incidents_grams(%s)", [text])
        [[found]] = cursor.fetchall()
    return None if found is None else sorted(found)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Shmat", ["hma", "mat", "shm"]),
        ("0x7F", ["0x7", "x7f"]),
        ("aaaa", ["aaa"]),
        ("ab", []),
        ("", []),
        ("пам", ["пам"]),
        ("a\nb", ["a\nb"]),
        (None, None),
    ],
)
def test_a_text_has_its_groups_of_three_once(text: str | None, found: list[str] | None) -> None:
    assert grams(text) == found
