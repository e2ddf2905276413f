"""Test lines by number, masked and made visible."""

from __future__ import annotations

import time

import polars as pl
import pytest

from parsers.errors import OtherReading, UnknownFormat
from parsers.lines import LineReader
from parsers.reading import read
from parsers.secrets.masks import SECRETS
from parsers.tables import parquet
from parsers.text.source import Hints, Limits
from parsers.text.spelling import visible

SMALL = Limits(run_bytes=100_000, block_bytes=10_000)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain text", "plain text"),
        ("tab\tstays", "tab\tstays"),
        ("größe 확인", "größe 확인"),
        ("\x1b[2J", "␛[2J"),
        ("a\x00b\x7f", "a␀b␡"),
        ("a\u202eb\u2066c\u200fd", "a⟨U+202E⟩b⟨U+2066⟩c⟨U+200F⟩d"),
        ("a\u200bb\ufeffc", "a⟨U+200B⟩b⟨U+FEFF⟩c"),
        ("c1 \x9b31m", "c1 ⟨U+009B⟩31m"),
        ("no\u00a0break", "no break"),
        ("lone\rreturn", "lone␍return"),
    ],
)
def test_what_would_be_acted_upon_is_shown(text, shown):
    assert visible(text) == shown


def unknown(path, out, limits=SMALL):
    with pytest.raises(UnknownFormat):
        read(path, Hints(), out, limits=limits)


def test_lines_come_by_number_over_all_batches(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"".join(b"this is line %d\r\n" % n for n in range(1, 20_001)))
    unknown(path, tmp_path / "r")
    reader = LineReader(path, tmp_path / "r")
    assert reader.count == 20_000
    for first in (1, 999, 1000, 1001, 12_345, 19_999):
        found = reader.lines(first, first + 2)
        assert [(x.line_no, x.text) for x in found] == [
            (n, f"this is line {n}") for n in range(first, min(first + 3, 20_001))
        ]
    assert reader.lines(20_001, 20_005) == []
    assert [x.line_no for x in reader.lines(-5, 2)] == [1, 2]


def test_a_line_of_a_large_file_comes_at_once(tmp_path):
    path = tmp_path / "large.txt"
    with path.open("wb") as stream:
        for part in range(4):
            numbers = range(part * 50_000, (part + 1) * 50_000)
            stream.write(b"".join(b"%09d some text of the usual length in a trace of calls\n" % n for n in numbers))
    unknown(path, tmp_path / "r", Limits())
    reader = LineReader(path, tmp_path / "r")
    reader.lines(1, 1)
    took = []
    for number in (1, 100_100, 199_999, 23_456, 177_777):
        began = time.perf_counter()
        (line,) = reader.lines(number, number)
        took.append(time.perf_counter() - began)
        assert line.text.startswith(f"{number - 1:09d} ")
    assert sorted(took)[2] < 0.005


def test_utf_16_and_old_line_ends(tmp_path):
    for name, content in (("a", "eins\r\nzwei ä\r\n".encode("utf-16")), ("b", "eins\rzwei ä\r".encode())):
        path = tmp_path / name
        path.write_bytes(content)
        unknown(path, tmp_path / f"r{name}")
        assert [x.text for x in LineReader(path, tmp_path / f"r{name}").lines(1, 5)] == ["eins", "zwei ä"]


def test_another_original_is_refused(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("Dear all\n", encoding="utf-8")
    unknown(path, tmp_path / "r")
    path.write_text("Dear all of you\n", encoding="utf-8")
    with pytest.raises(OtherReading):
        LineReader(path, tmp_path / "r")
    with pytest.raises(FileNotFoundError):
        LineReader(path, tmp_path / "nowhere")


def test_secrets_are_masked_where_they_stand(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("nothing\nuser=scott pw=tiger\n", encoding="utf-8")
    read(path, Hints(), tmp_path / "r", limits=SMALL)
    secrets = pl.DataFrame([(2, 5, 10, "user"), (2, 14, 19, "password")], schema=SECRETS, orient="row")
    file = parquet.batch_file(tmp_path / "r", "secrets", 1)
    file.parent.mkdir()
    secrets.write_parquet(file)
    assert [x.text for x in LineReader(path, tmp_path / "r").lines(1, 2)] == ["nothing", "user=***** pw=*****"]
