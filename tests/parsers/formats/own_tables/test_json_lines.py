"""Tests of JSON lines: numbers, durations and messages under any names of keys."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parsers.text.source import Hints, Limits
from tests.draw import examples
from tests.parsers.formats.evidence import read_bytes

OBJECTS = st.fixed_dictionaries(
    {"a b": st.integers(-(10**9), 10**9), "x": st.fixed_dictionaries({"y": st.floats(-1e6, 1e6)})}
)


@settings(max_examples=examples(30), deadline=None, database=None)
@given(rows=st.lists(OBJECTS, min_size=2, max_size=20))
def test_the_numbers_come_out_again(rows):
    content = "\n".join(json.dumps({"ts": 1598877345 + n} | row) for n, row in enumerate(rows)).encode()
    reading = read_bytes(content)
    assert reading.account.kind == "json_lines"
    found = reading.table("counters").sort("line_no", "name", maintain_order=True)
    assert found["name"].unique().sort().to_list() == ["a b", "x.y"]
    assert found["value"].to_list() == pytest.approx([v for row in rows for v in (row["a b"], row["x"]["y"])])


def test_the_answer_is_followed():
    content = b'{"t": 1598877345, "d": 5, "n": "x"}\n{"t": 1598877346, "d": 7, "n": "y"}\n'
    reading = read_bytes(content, Hints(columns="time=t elapsed=d:ms label=n"))
    assert reading.table("conn_times")["elapsed_s"].to_list() == [0.005, 0.007]
    assert reading.table("conn_times")["series"].to_list() == ["x", "y"]
    assert "questions" not in reading.account.parts[0].facts
    wrong = read_bytes(content, Hints(columns="time=zzz"))
    assert any("there is no column 'zzz'" in n.text for n in wrong.account.notes)


def test_an_object_that_is_none_is_a_note():
    content = b'{"t": 1598877345, "d": 5}\n{"t": 1598877346, "d": }\n{"t": 1598877347, "d": 8}\n{"t": 1598877348, "d": 8}\n{"t": 1598877349, "d": 8}\n'
    reading = read_bytes(content)
    assert reading.table("counters")["value"].to_list() == [5, 8, 8, 8]
    assert reading.account.account.unknown == 1


def test_a_cut_behind_the_head_changes_only_the_tail():
    lines = [json.dumps({"ts": 1598877345 + n, "v": n * n}) for n in range(900)]
    whole = read_bytes("\n".join(lines).encode()).table("counters")
    part = read_bytes("\n".join(lines[:500]).encode()).table("counters")
    assert part.equals(whole.filter(whole["line_no"] <= 500))
    assert read_bytes("\n".join(lines).encode(), limits=Limits(block_bytes=700)).table("counters").equals(whole)


def test_a_unit_that_a_key_of_a_program_ends_with_is_heeded():
    content = b"".join(b'{"ts": %d, "attr": {"durationMillis": %d}}\n' % (1598877345 + n, 120 + n) for n in range(4))
    assert read_bytes(content).table("conn_times")["elapsed_s"].to_list() == pytest.approx([0.12, 0.121, 0.122, 0.123])


def test_what_a_slow_statement_read_stands_behind_its_message():
    lines = [
        {
            "ts": 1598877345 + n,
            "msg": "Slow query",
            "attr": {"ns": "shop.orders", "docsExamined": 9000 + n, "nreturned": 1, "id": n},
        }
        for n in range(3)
    ]
    content = "\n".join(json.dumps(line) for line in lines).encode()
    assert read_bytes(content).table("logs")["text"][0] == "Slow query ns=shop.orders docsExamined=9000 nreturned=1"
    bare = [{"ts": 1598877345 + n, "msg": "started", "ns": "web"} for n in range(3)]
    assert read_bytes("\n".join(json.dumps(line) for line in bare).encode()).table("logs")["text"][0] == "started"


def test_one_entry_of_a_log_alone_is_read_also_behind_the_name_of_its_container():
    entry = {
        "t": {"$date": "2031-01-30T19:24:17.829+00:00"},
        "s": "I",
        "msg": "Slow query",
        "attr": {"docsExamined": 9},
    }
    for front in ("", "mongo     | ", "shop-db-1  | "):
        reading = read_bytes(f"{front}{json.dumps(entry)}\n".encode())
        assert reading.account.kind == "json_lines", front
        assert reading.table("logs")["text"].to_list() == ["Slow query docsExamined=9"]
    assert read_bytes(b'{"msg": "no stamp", "a": 1}\n').account.kind != "json_lines"
    assert read_bytes(b'{"t": "2031-01-30T19:24:17Z", "a": 1}\n').account.kind != "json_lines"
