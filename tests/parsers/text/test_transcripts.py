"""Test that files that are not text are read through a transcript, with the sha256 and size of the original."""

from __future__ import annotations

import hashlib
import struct

import pytest

from parsers.errors import LimitExceeded, NotText, ParserError
from parsers.lines import LineReader
from parsers.reading import read
from parsers.tables import parquet
from parsers.text import html
from parsers.text.source import Hints, Limits
from parsers.text.transcripts import NAME, transcribed

MAP = """2767: ora_smon_QPROD
Address Kbytes RSS Anon Locked Pgsz Mode Mapped File
0000000380000000 45056 45056 - - 8K rwxs- [ dism shmid=0x100001e ]
0000000382C00000 32768 - - - - rwxs- [ dism shmid=0x100001e ]
"""
PAGE = f"<html><body>\n<pre>\n{MAP}</pre>\n</body></html>\n"


def page(tmp_path, text=PAGE):
    path = tmp_path / "page.txt"
    path.write_text(text)
    return path


def test_a_page_is_read_and_cited_by_its_transcript(tmp_path):
    path, out = page(tmp_path), tmp_path / "r"
    account = read(path, Hints(), out)
    assert account.kind == "pmap"
    assert (account.sha256, account.bytes) == (hashlib.sha256(PAGE.encode()).hexdigest(), len(PAGE))
    rows = parquet.scan(out, "pmap").collect()
    assert rows["line_no"].to_list() == [5, 6]
    shown = {line.line_no: line.text for line in LineReader(path, out).lines(1, 99)}
    assert shown[5] == PAGE.split("\n")[4] == MAP.split("\n")[2]
    assert (out / NAME).read_text().splitlines()[4] == shown[5]
    assert html.SAME in [n.text for n in account.notes]


def test_without_a_reading_it_goes_to_a_file_that_goes_away(tmp_path):
    account = read(page(tmp_path), Hints())
    assert account.tables["pmap"] == 2
    assert [p.name for p in tmp_path.iterdir()] == ["page.txt"]


def test_a_killed_reading_goes_on_with_the_same_transcript(tmp_path):
    path, out = page(tmp_path, PAGE.replace(MAP, MAP + MAP.split("\n", 2)[2] * 200)), tmp_path / "r"

    class Stop(Exception):
        pass

    def stop(progress):
        raise Stop

    with pytest.raises(Stop):
        read(path, Hints(), out, limits=Limits(run_bytes=2000), progress=stop)
    made = (out / NAME).stat()
    account = read(path, Hints(), out, limits=Limits(run_bytes=2000))
    assert (out / NAME).stat().st_ino == made.st_ino
    assert account.tables["pmap"] == 402


def test_a_half_written_transcript_does_not_count(tmp_path):
    path, out = page(tmp_path), tmp_path / "r"
    out.mkdir()
    (out / f"{NAME}.new").write_text("half a li")
    assert read(path, Hints(), out).tables["pmap"] == 2


def test_a_capture_of_packets_is_one_line_a_packet(tmp_path):
    path = tmp_path / "c.pcap"
    packet = bytes(12) + b"\x08\x00" + bytes(20)
    path.write_bytes(
        struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
        + struct.pack("<IIII", 1_433_926_800, 1, len(packet), len(packet))
        + packet
    )
    with transcribed(path, None, Limits()) as transcript:
        assert transcript is not None
        assert transcript.by == "pcap"
        assert transcript.path.read_text().startswith("2015-06-10T09:00:00.000001Z ")


def test_a_transcript_has_a_limit(tmp_path):
    path = page(tmp_path)
    with pytest.raises(LimitExceeded), transcribed(path, tmp_path / "r", Limits(file_bytes=len(PAGE) - 1)):
        pass
    assert not (tmp_path / "r" / NAME).exists()
    wide = page(tmp_path, "<table>" + "<tr><td>" + "b" * 500 + "<td>a" + "<tr><td>a<td>c" * 50 + "</table>")
    with pytest.raises(LimitExceeded), transcribed(wide, tmp_path / "r", Limits(file_bytes=wide.stat().st_size)):
        pass


def test_text_needs_none(tmp_path):
    path = page(tmp_path, MAP)
    with transcribed(path, tmp_path / "r", Limits()) as transcript:
        assert transcript is None
    assert not (tmp_path / "r").exists()


def test_a_page_without_text_is_empty(tmp_path):
    with pytest.raises(NotText):
        read(page(tmp_path, "<html><script>1</script></html>"), Hints())
    assert issubclass(NotText, ParserError)
