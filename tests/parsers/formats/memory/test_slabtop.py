"""Tests of kernel memory caches beyond the corpus."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from parsers.text.source import Hints
from tests.draw import examples
from tests.parsers.formats.evidence import read_bytes

NAME = st.from_regex(r"[a-z][a-z0-9_-]{0,20}", fullmatch=True)
FIGURES = st.lists(st.integers(0, 10**9), min_size=7, max_size=7)


@settings(max_examples=examples(30), deadline=None, database=None)
@given(rows=st.dictionaries(NAME, FIGURES, min_size=1, max_size=5))
def test_tokens_of_slabtop_come_out_of_the_columns(rows):
    text = "  OBJS ACTIVE  USE OBJ SIZE  SLABS OBJ/SLAB CACHE SIZE NAME\n"
    names = ["objects", "active", "used_pct", "object_kb", "slabs", "objects_per_slab", "cache_kb"]
    expected = []
    for name, figures in rows.items():
        o, a, use, size, slabs, per, cache = figures
        use, size = use % 101, size % 10_000 / 100
        text += f"{o:6} {a:6} {use:3}% {size:7.2f}K {slabs:6} {per:8} {cache:9}K {name}\n"
        expected += list(zip([name] * 7, names, [o, a, use, size, slabs, per, cache], strict=True))
    table = read_bytes(text.encode(), Hints(kind="slabtop", variant="slabtop")).table("counters")
    assert table.select("item", "name", "value").rows() == expected


def test_screens_are_samples():
    one = b"  OBJS ACTIVE  USE OBJ SIZE  SLABS OBJ/SLAB CACHE SIZE NAME\n204120 194803  95%    0.19K   9720       21     38880K dentry\n"
    table = read_bytes(one * 3).table("counters")
    assert table.filter(table["name"] == "objects")["sample"].to_list() == [1, 2, 3]
