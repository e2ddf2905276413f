"""Test decompression of compress(1): output of another encoder, every width, cleared tables, damage."""

from __future__ import annotations

import base64
import io
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parsers.containers.lzw import Lzw
from tests.draw import examples

CORPUS = Path(__file__).parents[2] / "corpus"

# tests/corpus/vmstat/aix-dedicated-capped.txt as libarchive 3.6.2 (its compress filter) packed it.
LIBARCHIVE = """
H52QU/LMoVOmDYgxb9yYSXOmjpwwdNIk1AGCzRg4dXrQANGmoEYYOWw0EaJAwRo6aOSAWMmx4Bs5eVjKnLkSTpgzZWjqBGEmTB02
dObsvFhHQYujR0EgXbpUKdOnUJk6jZqU6lEFIFSCEMMyjB2DK83IyZmVLJw0Nd+E1QpijtYxMUGkccNyTtwxQusItSuXDIg7YbDC
WDk4Bo4YNnDIAIFjRg0bM2ywHEx4suXLICiDqLFSxo0YK2/MqJwZRI4chAVXNoxYMWPHkCWTLj1bM+3bmmcsBmGDM+3Bp1P/BsE6
8eLGjyNj1sxcZvPOLGfgCD16ePDMqksXd4089vLv4EHsBjGjug3ZlIGjxj58+3HYymuHx435+o2N1tfDUAA=
"""


def compress(data: bytes, widest: int = 16, empty_at: int = 0) -> bytes:
    """Pack as compress does; with `empty_at`, send the clearing code whenever the table has that many entries (0:
    never).
    """
    out = bytearray([0x1F, 0x9D, 0x80 | widest])
    group: list[int] = []
    width = 9

    def close() -> None:
        # A group that ends early, at a new width or the clearing code, is padded to eight codes.
        if group:
            bits = sum(code << (width * i) for i, code in enumerate(group))
            out.extend(bits.to_bytes(width, "little"))
            group.clear()

    def put(code: int) -> None:
        group.append(code)
        if len(group) == 8:
            close()

    table: dict[bytes, int] = {bytes([i]): i for i in range(256)}
    following, seen = 257, b""
    pending = 0  # number of entries in the reader's table: one less than in the writer's
    for byte in data:
        one = bytes([byte])
        if seen + one in table:
            seen += one
            continue
        put(table[seen])
        pending += 1
        if following < 1 << widest:
            table[seen + one] = following
            following += 1
        known = min(256 + pending, 1 << widest)
        if known >= 1 << width and width < widest:
            close()
            width += 1
        if empty_at and following >= empty_at:
            put(256)
            close()
            table = {bytes([i]): i for i in range(256)}
            following, pending, width = 257, 0, 9
        seen = one
    if seen:
        put(table[seen])
    if group:
        bits = sum(code << (width * i) for i, code in enumerate(group))
        out.extend(bits.to_bytes((len(group) * width + 7) // 8, "little"))
    return bytes(out)


def unpack(packed: bytes) -> bytes:
    return Lzw(io.BytesIO(packed)).read()


def test_what_another_encoder_wrote_is_unpacked():
    assert unpack(base64.b64decode(LIBARCHIVE)) == (CORPUS / "vmstat/aix-dedicated-capped.txt").read_bytes()


@settings(max_examples=examples(60), deadline=None)
@given(st.binary(max_size=3000), st.integers(9, 16), st.sampled_from([0, 300, 600]))
def test_what_was_packed_comes_out_again(data, widest, empty_at):
    assert unpack(compress(data, widest, empty_at if empty_at < 1 << widest else 0)) == data


@pytest.mark.parametrize("widest", [9, 12, 16])
def test_long_texts_go_through_all_widths(widest):
    data = b"".join(p.read_bytes() for p in sorted(CORPUS.glob("truss/*.txt")))[:300_000]
    assert unpack(compress(data, widest)) == data


def test_one_letter_a_thousand_times_needs_no_thousand_strings():
    packed = compress(b"a" * 500_000)
    stream = Lzw(io.BytesIO(packed))
    assert stream.read() == b"a" * 500_000
    assert max(map(len, stream.pieces)) <= 64


def test_it_gives_what_is_asked_for_in_pieces():
    data = (CORPUS / "vmstat/aix-dedicated-capped.txt").read_bytes()
    stream = Lzw(io.BytesIO(compress(data)))
    first = stream.read(10)
    assert first + b"".join(iter(lambda: stream.read(7), b"")) == data


@pytest.mark.parametrize(
    ("packed", "words"),
    [
        (b"\x1f\x9d", "no head"),
        (b"\x1f\x9d\x88abc", "no head"),
        (b"\x1f\x9d\x90\xff\xff\xff", "not in the table"),
        (b"\x1f\x9d\x90" + (97 | 300 << 9).to_bytes(3, "little"), "not in the table"),
    ],
)
def test_damage_is_an_error_with_words(packed, words):
    with pytest.raises(EOFError, match=words):
        unpack(packed)
