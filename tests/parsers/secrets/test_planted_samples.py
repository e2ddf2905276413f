"""Test that secrets planted into real samples of every kind are shown nowhere, and that masks change nothing else."""

from __future__ import annotations

import contextlib
import re
import zlib

import polars as pl
import pytest

from parsers.errors import ParserError
from parsers.reading import read
from parsers.registry import all_formats
from parsers.secrets.scan import Scanner
from parsers.tables import rows as tables
from parsers.text.source import Hints
from tests.parsers.formats.evidence import all_tables, read_sample
from tests.parsers.secrets.planting import SENTENCES, WORD_LIKE, gives_away, plant, samples, shown

KINDS = sorted({form.kind for form, _ in all_formats()})
FOLDERS = {"perf_trace": "perf"}
SAMPLES = 2
"""Number of samples of each kind in one run of the suite; there are about 400 in all."""


def folder(kind: str) -> str:
    return FOLDERS.get(kind, kind)


def planted_samples(kind: str):
    start = zlib.crc32(kind.encode()) % 5000
    for path in samples(folder(kind), SAMPLES):
        lines = path.read_bytes().decode("utf-8", "replace").split("\n")
        text, plants = plant(lines, read_sample(path).tables, start)
        start = (start + len(plants)) % 9000
        yield path, "\n".join(text).encode(), plants


@pytest.mark.drawn(3)
@pytest.mark.parametrize("kind", KINDS)
def test_no_secret_planted_into_a_sample_is_shown_anywhere(kind, tmp_path, caplog):
    count = 0
    for path, content, plants in planted_samples(kind):
        original = tmp_path / path.name
        original.write_bytes(content)
        places = shown(original, Hints(), tmp_path / f"read-{path.name}")
        places["log"] = caplog.text
        for one in plants:
            given = [place for place, text in places.items() if gives_away(one.secret, text)]
            assert not given, f"{path.name}: {one} is shown in {given}"
        assert places["lines"].count("\n") == content.decode().rstrip("\n").count("\n")
        count += len(plants)
    assert count >= 5


class Blind(Scanner):
    """A scanner that finds nothing, for a reading without masks."""

    def scan(self, frame):
        return iter(())


@pytest.mark.drawn(3)
@pytest.mark.parametrize("kind", KINDS)
def test_masks_change_no_line_number_no_other_column_and_no_other_character(kind, tmp_path, monkeypatch):
    """With and without the scanner the same planted text gives equal rows, numbers and texts, except for the secrets."""
    for path, content, plants in planted_samples(kind):
        original = tmp_path / path.name
        original.write_bytes(content)
        with_masks = _tables(original, tmp_path / f"masked-{path.name}")
        with monkeypatch.context() as patch:
            patch.setattr(tables, "Scanner", Blind)
            without = _tables(original, tmp_path / f"plain-{path.name}")
        assert with_masks.keys() == without.keys()
        lines = content.decode().split("\n")
        for name, masked in with_masks.items():
            plain = without[name]
            textual = [c for c, t in masked.schema.items() if t == pl.String]
            lists = [c for c, t in masked.schema.items() if t == pl.List(pl.String)]
            assert masked.drop(textual, lists).equals(plain.drop(textual, lists)), (path.name, name)
            for column in textual:
                _only_secrets_are_masked(masked, plain, column, lines, f"{path.name} {name}.{column}")
        assert plants


def _tables(original, out):
    with contextlib.suppress(ParserError):  # a planted line between the first lines may leave no kind recognised
        read(original, Hints(), out)
    return all_tables(out)


def _only_secrets_are_masked(masked, plain, column, lines, where):
    assert masked[column].str.len_chars().equals(plain[column].str.len_chars()), where
    changed = masked.with_columns(plain=plain[column]).filter(pl.col(column) != pl.col("plain"))
    for row in changed.iter_rows(named=True):
        text = row[column]
        for run in re.finditer(r"\*+", text):
            assert run[0] == text[run.start() : run.end()]
        kept = "".join(b for a, b in zip(text, row["plain"], strict=True) if a == b)
        hidden = "".join(b for a, b in zip(text, row["plain"], strict=True) if a != b)
        assert text.replace("*", "") == kept.replace("*", ""), where
        # A masked text is a secret of the line, or a secret of the text that is no ordinary word.
        assert any(gives_away(s, hidden) or hidden.lower() in s.lower() for s in _secrets(lines)), (where, hidden)


_CACHE: dict[int, list[str]] = {}


def _secrets(lines):
    if id(lines) not in _CACHE:
        frame = pl.DataFrame({"line_no": range(1, len(lines) + 1), "line": lines})
        _CACHE.clear()
        _CACHE[id(lines)] = [lines[n - 1][begin:end] for n, begin, end, _ in Scanner().scan(frame)]
    return _CACHE[id(lines)]


@pytest.mark.parametrize("form", [*SENTENCES, *WORD_LIKE])
def test_every_form_is_found_whole_wherever_it_stands(form):
    template, secret_of = {**SENTENCES, **WORD_LIKE}[form]
    for number, front in enumerate(
        ("", "    ", "> ", "[pid 7] ", "Dec  2 11:00:01 db1 app[1]: ", "x,", '"', "| ", "(")
    ):
        secret = secret_of(number)
        line = front + template.format(secret)
        frame = pl.DataFrame({"line_no": [7], "line": [line]})
        shown_line = line
        for _, begin, end, _ in Scanner().scan(frame):
            shown_line = shown_line[:begin] + "*" * (end - begin) + shown_line[end:]
        if form == "sender" and front[:1] not in ("", " ", ">", "|"):
            continue  # the header of a mail stands at the start of its line
        if form == "shadow" and front.endswith(('"', "x,")):
            continue
        assert not gives_away(secret, shown_line), shown_line
        assert len(shown_line) == len(line)
        assert "*" in shown_line


def test_an_instance_of_a_unit_is_no_address():
    frame = pl.DataFrame({"line_no": [1, 2], "line": ["Started org.gnome.Shell@x11.service.", "kim@example.org left"]})
    assert [(n, begin, end) for n, begin, end, _ in Scanner().scan(frame)] == [(2, 0, 3)]


def test_of_all_samples_nothing_is_masked_but_what_their_authors_wrote_down():
    masked = set()
    for kind in {folder(kind) for kind in KINDS}:
        for path in samples(kind):
            lines = path.read_bytes().decode("utf-8", "replace").split("\n")
            frame = pl.DataFrame({"line_no": range(1, len(lines) + 1), "line": lines})
            found = Scanner(names=False).scan(frame)
            masked |= {(kind, lines[n - 1][begin:end]) for n, begin, end, _ in found}
    # sip:201@... and the user@app0407.example.com of a prompt look like addresses with a login in front.
    assert masked == {("ps", "tiger9"), ("time", "app"), ("packets", "201"), ("prstat", "user")}
