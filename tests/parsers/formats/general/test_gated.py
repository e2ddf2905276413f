"""What is told for a block at once is what each line would have been told by itself."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from parsers.formats.general.text import gates
from parsers.formats.general.text.gated import FEW, PATTERNS, STRIPPED, gates_of

CORPUS = Path(__file__).parents[3] / "corpus"


def lines_of_corpus() -> list[str]:
    texts = [path.read_text("utf-8", "replace") for path in sorted(CORPUS.glob("*/*.txt"))]
    return [line for text in texts for line in text.split("\n")]


@pytest.fixture(scope="module")
def told() -> list[tuple[str, int]]:
    lines = lines_of_corpus()
    assert len(lines) > 10_000
    return list(zip(lines, gates_of(pl.Series(lines)), strict=True))


@pytest.mark.parametrize("bit", PATTERNS)
def test_no_line_that_python_finds_is_left_out(bit: int, told: list[tuple[str, int]]) -> None:
    found = [(line, bits) for line, bits in told if PATTERNS[bit].search(line.strip() if bit & STRIPPED else line)]
    assert found or bit == gates.DRIVER
    assert [line for line, bits in found if not bits & bit] == []


def test_an_ordinary_line_of_a_log_is_tried_by_no_group_but_that_of_dates() -> None:
    lines = [
        f"2031-01-02 03:04:{n % 60:02d} INFO [w-{n}] shop.Cart - stored basket {n} in {n % 97} ms" for n in range(900)
    ]
    assert set(gates_of(pl.Series(lines))) == {gates.PLATFORM}


def test_a_short_block_is_left_to_the_groups_themselves() -> None:
    assert gates_of(pl.Series(["all is well"] * FEW)) == [gates.ALL] * FEW
