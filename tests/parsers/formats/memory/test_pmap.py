"""Tests of address maps beyond the corpus."""

from __future__ import annotations

from parsers.formats.memory.pmap import format as pmap
from parsers.text.source import Head, Hints, Limits
from tests.parsers.formats.evidence import read_bytes


def test_a_header_that_lost_its_size_gives_rows_without_one():
    text = b"901: ./srv\nAddress Perm Offset Device Inode Rss Pss Mapping\n563bf0da3000 r-xp 00000000 08:01 31 944 944 srv\n"
    rows = read_bytes(text).table("pmap")
    assert rows.select("kbytes", "rss_kb", "pss_kb", "mapping").rows() == [(None, 944.0, 944.0, "srv")]


def test_bytes_under_a_header_of_bytes_are_bytes():
    text = b"901: ./srv\nAddress Bytes Pgsz Mode Mapped File\n00010000 8192 8K r-x-- srv\n00020000 16K - rw--- srv\n"
    assert read_bytes(text).table("pmap")["kbytes"].to_list() == [8.0, 16.0]


def test_offset_and_device_of_linux_d_are_no_mapping():
    text = (
        b"901:   ./srv\nAddress           Kbytes Mode  Offset           Device    Mapping\n"
        b"0000555555554000      28 r-x-- 0000000000000000 008:00001 sleep\n"
        b"00007ffff7ff9000      16 r---- 0000000000000000 000:00000   [ anon ]\n"
        b"mapped: 44K    writeable/private: 0K    shared: 0K\n"
    )
    reading = read_bytes(text)
    assert reading.table("pmap").select("kbytes", "mapping", "region").rows() == [
        (28.0, "sleep", "file"),
        (16.0, "[ anon ]", "anon"),
    ]
    assert reading.account.account.unknown == 0


def test_a_footer_of_sums_is_a_total():
    text = (
        b"901:   ./srv\n         Address Perm   Offset Device Inode  Size  Rss  Pss Mapping\n"
        b"    563bf0da3000 r-xp 00000000  08:01    31  1040  944  944 srv\n"
        b"                                             ==== ==== ====\n"
        b"                                             1040  944  944 KB\n"
    )
    reading = read_bytes(text)
    assert reading.table("ps").select("pid", "vsz_kb", "rss_kb").rows() == [(901, 1040.0, 944.0)]
    assert reading.account.notes == []


def test_smaps_in_small_runs_are_the_same_rows():
    one = "{:x}-{:x} rw-p 00000000 00:00 0 [heap]\nSize: {} kB\nRss: 4 kB\nVmFlags: rd wr\n"
    text = "".join(one.format(n << 20, (n << 20) + 4096 * n, 4 * n) for n in range(1, 60)).encode()
    whole = read_bytes(text).table("pmap")
    cut = read_bytes(text, limits=Limits(run_bytes=300)).table("pmap")
    assert whole.equals(cut)
    assert whole["kbytes"].to_list() == [4.0 * n for n in range(1, 60)]


def test_a_page_that_quotes_a_few_rows_is_no_address_map():
    prose = "".join(f"We looked at process {n} and found nothing.\n" for n in range(40))
    text = prose + "Address Kbytes RSS Anon Locked Mode Mapped File\n00010000 8 8 - - r-x-- srv\n" + prose
    head = Head(text.splitlines())
    assert pmap.claim(head) is None


def test_glued_rows_that_do_not_add_up_are_said():
    text = b"901: ./srv\n00010000 8K r-x-- srv00020000 16K rw--- srv\n total 28K\n"
    reading = read_bytes(text, Hints(kind="pmap", variant="solaris"))
    assert reading.table("pmap").select("line_no", "kbytes", "mapping").rows() == [(2, 8.0, "srv"), (2, 16.0, "srv")]
    assert [n.kind for n in reading.account.notes] == ["repaired", "elided"]
