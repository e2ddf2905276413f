"""Tests of kstat beyond the corpus."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from parsers.text.source import Head, Hints
from tests.draw import examples
from tests.parsers.formats.evidence import read_bytes

NAME = st.from_regex(r"[a-z][a-z0-9_]{0,14}", fullmatch=True).filter(lambda n: n not in ("crtime", "snaptime", "class"))
ROW = st.tuples(NAME, st.integers(0, 99), NAME, NAME, st.integers(0, 2**50))


@settings(max_examples=examples(50), deadline=None, database=None)
@given(rows=st.lists(ROW, min_size=1, max_size=8, unique_by=lambda r: r[:4]))
def test_tokens_of_a_row_come_out_of_the_columns(rows):
    text = "".join(f"{m}:{i}:{k}:{n}\t{v}\n" for m, i, k, n, v in rows)
    table = read_bytes(text.encode(), Hints(kind="kstat", variant="parsed")).table("counters")
    told = [(k, None) if k in ("arcstats", "system_pages") else (m, f"{i}:{k}") for m, i, k, _, _ in rows]
    assert table.select("grp", "item").rows() == told
    assert table.select("name", "value").rows() == [(n, float(v)) for *_, n, v in rows]


@settings(max_examples=examples(50), deadline=None, database=None)
@given(rows=st.lists(ROW, min_size=1, max_size=8, unique_by=lambda r: r[:4]))
def test_both_ways_of_printing_say_the_same(rows):
    short = "".join(f"{m}:{i}:{k}:{n}\t{v}\n" for m, i, k, n, v in rows)
    long = "".join(f"module: {m:<31} instance: {i:<6}\nname:   {k:<31} class:    misc\n        {n:<31} {v}\n\n" for m, i, k, n, v in rows)  # fmt: skip
    columns = ("grp", "item", "name", "value", "unit", "mode")
    one, two = (
        read_bytes(text.encode(), Hints(kind="kstat", variant=variant)).table("counters").select(columns).rows()
        for text, variant in ((short, "parsed"), (long, "plain"))
    )
    assert one == two


def test_a_figure_with_a_point_is_no_counter():
    reading = read_bytes(b"zfs:0:arcstats:size\t1.234\nzfs:0:arcstats:c\t99\nzfs:0:arcstats:crtime\t1.5\n")
    assert reading.table("counters")["name"].to_list() == ["c"]
    assert [(n.line_from, n.kind) for n in reading.account.notes] == [(1, "damaged")]


def test_links_are_left_to_their_own_kind():
    from parsers.formats.host.kstat import format as kstat

    text = "link:0:net0:rbytes64\t1\nlink:0:net0:ipackets64\t2\nlink:0:net0:obytes64\t3\n"
    assert kstat.claim(Head(text.splitlines())) is None


def test_addresses_of_the_kernel_are_no_counters_that_fell():
    text = b"unix:0:system_pages:econtig     18446744073646514176\nunix:0:system_pages:freemem     51757\nunix:0:system_pages:physmem     65536\n"
    reading = read_bytes(text)
    assert reading.table("counters").select("name", "value", "unit").rows() == [
        ("freemem", 51757.0, "pages"),
        ("physmem", 65536.0, "pages"),
    ]
    assert not reading.account.notes
