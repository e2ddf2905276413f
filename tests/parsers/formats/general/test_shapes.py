"""Tests that what is remembered of the shapes of lines changes nothing of what is read."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from parsers.formats.general.text.format import _written
from parsers.formats.general.text.gated import gates_of
from parsers.formats.general.text.paragraphs import Paragraphs
from tests.draw import drawn, seed

CORPUS = Path(__file__).parents[3] / "corpus"
KINDS = sorted(path.name for path in CORPUS.iterdir())
LINES = 2000
"""Number of shapes of lines that are tried by day, of some 20,000."""


def read(lines: list[str], state: dict[str, Any] | None = None) -> dict[str, Any]:
    texts = pl.Series(lines, dtype=pl.String)
    reader = Paragraphs(state or {})
    for no, (line, written, groups) in enumerate(zip(lines, _written(texts), gates_of(texts), strict=True), 1):
        reader.take(no, line, written, groups)
    reader.end_run(True)
    return {name: getattr(reader, name) for name in ("rows", "read", "prose", "remarks", "state")}


def texts_of(kind: str) -> list[list[str]]:
    return [path.read_text("utf-8", "replace").splitlines() for path in sorted((CORPUS / kind).glob("*.txt"))]


@pytest.fixture
def forgetful(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Return a patch that, if undone, lets readers remember again; until then they remember nothing."""
    monkeypatch.setattr(Paragraphs, "_shape", lambda *_: None)
    return monkeypatch


@pytest.mark.drawn(3)
@pytest.mark.parametrize("kind", KINDS)
def test_samples_give_the_same_twice_in_one_paragraph(kind: str, forgetful: pytest.MonkeyPatch) -> None:
    lines = [line for _ in range(2) for text in texts_of(kind) for line in text if line.strip()]
    without_memory = read(lines)
    forgetful.undo()
    assert read(lines) == without_memory


def changed(line: str, chance: random.Random) -> str:
    """Change the digits of a line: to any, to zero, or numbers of three digits to those of answers."""
    match chance.randrange(3):
        case 0:
            return re.sub("[0-9]", lambda _: chance.choice("0123456789"), line)
        case 1:
            return re.sub("[0-9]+", lambda found: chance.choice(("0", "7")) * len(found[0]), line)
    return re.sub("(?<![0-9])[0-9]{3}(?![0-9])", lambda _: chance.choice(("200", "404", "429", "502", "666")), line)


def test_lines_of_one_shape_are_read_alike(forgetful: pytest.MonkeyPatch) -> None:
    """Read each line after the same line with other digits, whose shape is remembered."""
    shapes = {re.sub("[0-9]+", "0", line): line for kind in KINDS for text in texts_of(kind) for line in text}
    chance = random.Random(seed())
    tried = []
    for line in drawn([line for line in shapes.values() if re.search("[0-9]", line)], LINES):
        tried.append([line, changed(line, chance), changed(line, chance), line])
    without_memory = [read(lines, {"mode": "lines"}) for lines in tried]
    forgetful.undo()
    for lines, expected in zip(tried, without_memory, strict=True):
        assert read(lines, {"mode": "lines"}) == expected, lines


@pytest.mark.parametrize(
    "line",
    [
        "2026-04-14 05:58:12,%03d INFO  [w-%d] a.b.Order - order %d was stored in %d steps",
        "worker %d has %d of %d places (%d left)",
    ],
)
def test_most_lines_of_a_log_are_looked_at_once(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[int] = []
    once = Paragraphs._is_read

    def counted(self: Paragraphs, no: int, text: str, groups: int) -> bool:
        looked.append(no)
        return once(self, no, text, groups)

    monkeypatch.setattr(Paragraphs, "_is_read", counted)
    read([line % (n % 1000, n % 7, n, n % 13) for n in range(5000)])
    assert len(looked) < 500
