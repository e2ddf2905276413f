"""Test how bytes become numbered lines: encodings, line ends, damage."""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
from pathlib import Path

import numpy as np
import pytest

from parsers.errors import LimitExceeded, NotText, UnknownFormat
from parsers.lines import LineReader
from parsers.reading import read
from parsers.text.source import Hints, Limits, Position, Source, open_text
from tests.parsers.formats.evidence import read_bytes


def blocks(content: bytes, tmp_path: Path, **limits: int) -> tuple[list[tuple[int, str]], Source]:
    path = tmp_path / "a.txt"
    path.write_bytes(content)
    with open_text(path, Limits(**limits)) as text:
        begin = Position(1, text.start)
        source = Source(text, begin, text.size, part=1, hints=Hints(), last=True, whole=True)
        return [row for block in source.blocks() for row in block.frame.iter_rows()], source


def texts(content: bytes, tmp_path: Path, **limits: int) -> list[str]:
    return [line for _, line in blocks(content, tmp_path, **limits)[0]]


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"a\nb\n", ["a", "b"]),
        (b"a\nb", ["a", "b"]),
        (b"a\r\nb\r\n", ["a", "b"]),
        (b"a\rb\rc", ["a", "b", "c"]),
        (b"progress 1\rprogress 2\nb\n", ["progress 1\rprogress 2", "b"]),
        (b"a \t \n\n b\n", ["a", "", " b"]),
        (b"\xef\xbb\xbfa\nb\n", ["a", "b"]),
        ("\ufeffä\nb\r\n".encode("utf-16-le"), ["ä", "b"]),
        ("\ufeffä\nb\r\n".encode("utf-16-be"), ["ä", "b"]),
        ("\ufeff\u0a0a\nb".encode("utf-16-le"), ["\u0a0a", "b"]),
        ("größe\nÄ\n".encode(), ["größe", "Ä"]),
        ("größe\nÄ\n".encode("cp1252"), ["größe", "Ä"]),
        ("utf ä\n".encode() + "cp ä\n".encode("cp1252"), ["utf ä", "cp ä"]),
        (b"a\x81b\n" + b"x" * 100, ["a\\x81b", "x" * 100]),
        (b"a" * 50 + b"\0\0b\nc\n", ["a" * 50 + "b", "c"]),
    ],
)
def test_lines_come_out_whatever_the_encoding(content, lines, tmp_path):
    assert texts(content, tmp_path) == lines
    assert texts(content, tmp_path, block_bytes=8) == lines


def test_nul_bytes_are_noted(tmp_path):
    _, source = blocks(b"ordinary text\n" * 3 + b"a\0b\n" + b"more\n", tmp_path)
    assert source.damage == [(4, "repaired", "NUL bytes dropped")]


@pytest.mark.parametrize("block_bytes", [16, 64, 1000])
def test_a_line_without_end_is_cut_and_keeps_its_number(block_bytes, tmp_path):
    content = b"a\n" + b"x" * 500 + b"\nb\n"
    rows, source = blocks(content, tmp_path, line_bytes=100, block_bytes=block_bytes)
    assert rows == [(1, "a"), (2, "x" * 100), (3, "b")]
    assert source.damage == [(2, "damaged", "line of 501 bytes, cut at 100")]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le"])
@pytest.mark.parametrize("block_bytes", [16, 1000])
def test_a_cut_goes_through_no_character(encoding, block_bytes, tmp_path):
    content = ("\ufeff" + "ä€" * 100 + "\nb\n").encode(encoding)
    lines = texts(content, tmp_path, line_bytes=101, block_bytes=block_bytes)
    assert set(lines[0]) == {"ä", "€"}
    assert lines[1] == "b"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "empty"),
        (bytes(range(256)) * 40, "not text"),
        (b"\0" * 1000, "NUL"),
        ("no mark\n".encode("utf-16-le") * 20, "UTF-16 without"),
        (b"\x1f\x8b\x08\0\0", "gzip archive"),
        (b"PK\x03\x04rest", "zip archive"),
        (tarfile.TarInfo("a.txt").tobuf(), "tar archive"),
        (b"\x1f\x9d\x90rest", "compress archive"),
        (b"iptrace 2.0" + b"\0\0\0\x14" * 20, "AIX's iptrace: send what `editcap -F pcap"),
        (b"iptrace 1.0" + b"text " * 20, "AIX's iptrace"),
        (
            b'<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd">\n'
            b'<svg xmlns="http://www.w3.org/2000/svg" width="1060" height="990" fill="black">\n'
            b'<text x="0" y="30" text-anchor="start">Linux 6.18.44 (vm) \t11/21/26 \t_x86_64_\t(2 CPU)\n</text>\n',
            r"a picture of sadf -g \(SVG\): send what `sadf -d FILE -- -A`",
        ),
        (
            b"   N1  O1  .   .  *I0  C1  .   M1  .    23002.773423 secs\n   N1  O1  .  *Q0  I0  C1  .   M1  .    23002.773423 secs\n",
            "the map of perf sched map: send what `perf sched timehist`",
        ),
        (b"PERFILE2" + b"\x68\0\0\0", "perf record: send what `perf script"),
        (b"\x96\xd5\x75\x21\x0c\x06", "sar \\(sysstat\\): send what `sadf"),
        (b"LPKSHHRH\0\0\0\0", "journal: send what `journalctl"),
        (b"\x7fELF\x02\x01", "a core or a program"),
    ],
)
def test_what_is_no_text_is_named(content, words, tmp_path):
    path = tmp_path / "a"
    path.write_bytes(content)
    with pytest.raises(NotText, match=words) as caught:
        read(path, Hints(), tmp_path / "r")
    assert caught.value.exit_status == 3
    assert caught.value.account is not None
    assert caught.value.account.bytes == len(content)
    assert caught.value.account.account.lines == caught.value.account.lines == 0


def test_a_file_over_the_limit_is_refused(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"abc\n" * 10)
    with pytest.raises(LimitExceeded, match="20 bytes a file"), open_text(path, Limits(file_bytes=20)):
        pass


def test_the_index_has_every_thousandth_line(tmp_path):
    content = b"".join(b"line %d\n" % n for n in range(1, 3500))
    _, source = blocks(content, tmp_path, block_bytes=5000)
    assert [number for number, _ in source.index] == [1, 1001, 2001, 3001]
    for number, offset in source.index:
        assert content[offset:].startswith(b"line %d\n" % number)


def test_lines_are_read_again(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"".join(b"line %d\n" % n for n in range(1, 500)))
    with open_text(path, Limits(block_bytes=100)) as text:
        source = Source(text, Position(1, 0), text.size, part=1, hints=Hints(), last=True, whole=True)
        for _ in source.blocks():
            pass
        assert list(source.texts(np.array([3, 4, 200]))) == [(3, "line 3"), (4, "line 4"), (200, "line 200")]
        assert source.text_of(499) == "line 499"


def test_offset_of_a_line(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"".join(b"%03d\n" % n for n in range(1, 500)))
    with open_text(path, Limits(block_bytes=100)) as text:
        assert text.line_offset(Position(1, 0), 250) == 249 * 4
        assert text.line_offset(Position(1, 0), 501) == text.size


SCRIPT = r"""
import re, sys
from pathlib import Path
from parsers.errors import ParserError
from parsers.reading import read
from parsers.text.source import Hints
try:
    read(Path(sys.argv[1]), Hints(kind="conntime"), Path(sys.argv[2]))
except ParserError as error:
    print(type(error).__name__, error.account.lines, error.account.account.damaged)
# ru_maxrss would show the peak of the process that started this one.
print(int(re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[1]) // 1024)
"""


def test_two_gigabytes_of_one_line_stay_bounded(tmp_path):
    original = tmp_path / "long.txt"
    with original.open("wb") as stream:
        stream.write(b"first line of text\n" + b"x" * 200_000)
        stream.seek(2 * 1024**3)
        stream.write(b"\nconnect: 0.5\n")
    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(original), str(tmp_path / "r")], capture_output=True, text=True, check=True
    )
    *said, peak = ran.stdout.split("\n")[:-1]
    assert said == []
    assert int(peak) < 300
    reader = LineReader(original, tmp_path / "r")
    assert reader.count == 3
    assert reader.lines(3, 3)[0].text == "connect: 0.5"
    assert len(reader.lines(2, 2)[0].text) < 1_100_000


def test_the_head_leaves_a_cut_line_out(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"0123456789\n" * 10_000)
    with open_text(path) as text:
        head = text.head()
    assert not head.whole
    assert set(head.lines) == {"0123456789"}


def test_an_unknown_file_is_numbered_all_the_same(tmp_path):
    path = tmp_path / "prose.txt"
    path.write_text("Dear all,\n\nthe login is slow.\n", encoding="utf-8")
    with pytest.raises(UnknownFormat):
        read(path, Hints(), tmp_path / "r")
    assert [line.text for line in LineReader(path, tmp_path / "r").lines(1, 9)] == [
        "Dear all,",
        "",
        "the login is slow.",
    ]


def test_lines_without_text_are_cut_into_blocks_and_runs_by_number(tmp_path):
    """Memory grows with the number of lines too: 32 MB of line ends are 32 million lines."""
    path = tmp_path / "a"
    path.write_bytes(b"\n" * 1000 + b"time elapsed : 0,31\n" * 50 + b"\n" * 1000)
    whole = read(path, Hints(kind="conntime"), tmp_path / "one")
    limits = Limits(block_lines=70, run_lines=300)
    many = read(path, Hints(kind="conntime"), tmp_path / "many", limits=limits)
    assert many.account == whole.account
    assert many.tables == whole.tables == {"conn_times": 50}
    batches = json.loads((tmp_path / "many" / "manifest.json").read_text())["batches"]
    borders = [b["line_next"] for b in batches]
    assert borders[-1] == 2051
    assert all(n % 300 == 1 for n in borders[:-1]), "a batch ends where a run ends"
    with open_text(path, limits) as text:
        assert text.run_end(0, text.size) == 300
        assert max(len(piece.lines) for piece in text.pieces(0, text.size)) == 70


@pytest.mark.parametrize("count", [1, 3, 400])
@pytest.mark.parametrize(
    "content",
    [
        b"".join(b"line %d\n" % n for n in range(300)),
        b"\n" * 500 + b"last",
        b"x" * 5000 + b"\nshort\n" + b"y" * 70,
        "a\nb\u00e9\n".encode("utf-16") * 1 + "c\n".encode("utf-16-le") * 90,
        b"caf\xe9\nend\n" * 60 + b"\0x\n" * 3,
    ],
)
def test_beginnings_are_those_of_the_pieces(tmp_path, content: bytes, count: int):
    path = tmp_path / "a.txt"
    path.write_bytes(content)
    with open_text(path, Limits(block_bytes=100, line_bytes=1000)) as text:
        pieces = list(text.pieces(text.start, text.size))
        begun = list(text.beginnings(text.start, text.size, count))
    assert [(b.offset, b.size) for b in begun] == [(p.offset, p.size) for p in pieces]
    for one, piece in zip(begun, pieces, strict=True):
        assert len(one.first) > 0
        assert one.first[0] == piece.lines[0][: 256 * count]
        assert one.first[:-1].to_list() == piece.lines[: len(one.first) - 1].to_list()


@pytest.mark.parametrize(
    "mark",
    ["....", "[...]", "<snip>", "(truncated output)", "[...truncated...]", "...snip...", "... (omitted for brevity)", "<output omitted>", "-- cut --"],
)  # fmt: skip
def test_what_an_author_left_out_is_no_strange_line(mark):
    rows = " procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----\n"
    rows += " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n"
    row = " 1  0      0 812345  12345 512345    0    0     1     2  100  200  3  1 96  0  0\n"
    account = read_bytes(f"{rows}{row * 4}{mark}\n{row * 4}".encode()).account
    assert (account.kind, account.account.elided, account.account.unknown) == ("vmstat", 1, 0)
    assert account.tables["vmstat"] == 8
