"""Tests of svmon reports beyond the corpus."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.draw import examples
from tests.parsers.formats.evidence import read_bytes

PAGES = st.integers(0, 10**8)


@settings(max_examples=examples(30), deadline=None, database=None)
@given(
    rows=st.lists(st.tuples(st.integers(1, 2**40), PAGES, PAGES, PAGES, st.sampled_from("smL")), min_size=1, max_size=6)
)
def test_pages_of_a_segment_are_of_its_own_size(rows):
    text = "     Pid Command          Inuse      Pin     Pgsp  Virtual 64-bit Mthrd  16MB\n"
    text += "  344254 oracle           20000    10240        0    16000      Y     N     N\n"
    text += "    Vsid      Esid Type Description              PSize  Inuse   Pin Pgsp Virtual\n"
    for vsid, inuse, pin, virtual, size in rows:
        text += f"{vsid:8x}        11 work working storage             {size} {inuse:6} {pin:5}    0 {virtual:6}\n"
    kb = {"s": 4, "m": 64, "L": 16384}
    table = read_bytes(text.encode()).table("pmap")
    assert table.select("pid", "mapping", "pgsz_kb", "rss_kb", "locked_kb", "kbytes").rows() == [
        (344254, "working storage", kb[s], i * kb[s], p * kb[s], v * kb[s]) for _, i, p, v, s in rows
    ]


def test_a_named_unit_counts():
    text = (
        b"Unit: MB\n               size       inuse        free         pin     virtual\n"
        b"memory      4096.00     1661.23     2434.77      259.85      621.84\npg space    1024.00      124.98\n"
    )
    table = read_bytes(text).table("meminfo")
    assert table.select("name", "value", "unit").row(0) == ("memory size", 4096.0 * 1024, "kb")


def test_reports_are_samples():
    one = b"               size       inuse        free         pin     virtual\nmemory      1048576      425275      623301       66521      159191\n"
    assert read_bytes(one * 2).table("meminfo")["sample"].to_list() == [1] * 5 + [2] * 5
