"""Test that the processor time of reading grows linearly with the size of the text, also for texts built to be slow.

No other test measures processor time. Here the growth counts: for four times the text, a quadratic step takes sixteen
times as long. By day a random sample of the attacks is tried, at night all of them.
"""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

import pytest

from parsers.errors import ParserError
from parsers.reading import read
from parsers.registry import all_formats
from parsers.secrets.masks import _starred, _starred_at_once
from parsers.text.source import Hints
from tests.draw import drawn
from tests.parsers.growth import Attack, of_any_kind, of_kind

SIZE = 160_000
CHEAP_S = 0.6
"""Processor time in seconds for SIZE characters below which the growth is not measured."""

MOST = 9.0
"""Maximum growth for four times the text, between 4 of a linear and 16 of a quadratic step."""

KINDS = sorted({form.kind for form, _ in all_formats()})
ATTACKS = [*drawn(of_any_kind(), 9), *drawn([attack for kind in KINDS for attack in of_kind(kind)], 12)]


def cost(attack: Attack, size: int, folder: Path) -> float:
    """Return the processor time in seconds of reading an attack of about `size` characters."""
    file = folder / f"{size}-{time.monotonic_ns()}.txt"
    file.write_text(attack.text(size), encoding="utf-8")
    began = time.process_time()
    with suppress(ParserError):  # a text of unknown kind and a file that is no text take time too
        read(file, Hints(), file.with_suffix(".out"))
    return time.process_time() - began


@pytest.mark.parametrize("attack", ATTACKS, ids=str)
def test_reading_grows_with_the_size(attack: Attack, tmp_path: Path):
    large = cost(attack, SIZE, tmp_path)
    if large < CHEAP_S:
        return
    grown = min(cost(attack, SIZE, tmp_path) / cost(attack, SIZE // 4, tmp_path) for _ in range(2))
    assert grown < MOST, f"{grown:.1f} times for four times the text; {large:.1f} s for {SIZE} characters"


def test_every_kind_is_attacked():
    without = [kind for kind in KINDS if not of_kind(kind)]
    assert without == [], "a kind without a sample"


def test_many_secrets_are_masked_at_once_wherever_they_stand():
    secrets = {f"Secret{n}x" for n in range(300)} | {"et1", "ü9ß", "x Secret7"}
    text = " ".join(f"aü{n % 7} Secret{n}x ü9ß" for n in range(350))
    hidden = [False] * len(text)
    for secret in secrets:
        at = text.find(secret)
        while at >= 0:
            hidden[at : at + len(secret)] = [True] * len(secret)
            at = text.find(secret, at + 1)
    assert _starred_at_once(text, secrets) == "".join("*" if h else c for c, h in zip(text, hidden, strict=True))
    few = {"Secret1x", "et1", "ü9ß", "aü3"}
    assert _starred_at_once(text, few) == _starred(text, few)
