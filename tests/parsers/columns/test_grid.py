"""Test columns under a header, on which every table of words in columns relies."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parsers.columns import grid
from tests.draw import examples

HEAD = "CPU minf usr sys idl"
HEADING = pl.col("line").str.extract(r"^[ \t]*(CPU[ \t].*)$")


def frame(*lines, first=1):
    return pl.DataFrame({"line_no": range(first, first + len(lines)), "line": lines})


def read(lines, state):
    """Read rows as a format does."""
    found = []
    for heading, rows in grid.tables(grid.under(lines, HEADING, state)):
        names = grid.keys(heading or "")
        rows = grid.cut(rows, dict.fromkeys(names, grid.NUMBER)).filter(pl.col(names[0]).is_not_null())
        found.append(grid.numbers(rows, names, state).select("line_no", "table", *names))
    return pl.concat(found, how="diagonal").sort("line_no")


def test_rows_stand_under_their_own_header():
    lines = frame("CPU  usr idl", "  0 1 99", "  CPU idl\tusr", "0 98 2", "only words")
    rows = read(lines, {})
    assert rows.select("table", "usr", "idl").rows() == [(1, 1.0, 99.0), (2, 2.0, 98.0)]


def test_header_and_number_of_tables_are_carried_over_a_cut():
    texts = [HEAD, "0 5 1 2 97", "1 6 0 0 100", HEAD, "0 7 3 3 94"]
    whole = read(frame(*texts), {})
    for at in range(2, 5):
        state: dict = {}
        parts = [read(frame(*texts[:at]), state), read(frame(*texts[at:], first=at + 1), state)]
        assert pl.concat(parts).equals(whole)


def test_a_line_with_a_word_too_many_or_of_another_kind_is_no_row():
    rows = read(frame(HEAD, "0 5 1 2 97 3", "0 5 1 2", "0 5 a 2 97", "0 5 1 2 97"), {})
    assert rows["line_no"].to_list() == [5]


@pytest.mark.parametrize("width", [1, 2, 15, 16, 17, 22, 33, 64, 65, 300])
def test_cells_are_cut_at_any_width(width):
    names = [f"n{i}" for i in range(width)]
    texts = [" ".join(str(i * k) for i in range(width)) for k in (1, 37)]
    rows = grid.cut(frame(*texts, "x " * width), dict.fromkeys(names, grid.NUMBER))
    assert rows.select(names).rows() == [*(tuple(t.split()) for t in texts), (None,) * width]


@pytest.mark.parametrize("width", [3, 80])
def test_a_label_and_what_stands_before_the_cells(width):
    cells = {"cpu": "(?:all|[0-9]+)"} | {f"n{i}": grid.NUMBER for i in range(width)}
    text = "10:00:01   all " + " ".join(map(str, range(width)))
    rows = grid.cut(frame(text), cells, before="[0-9:]{8}[ \t]+")
    assert rows.row(0)[2:] == ("all", *map(str, range(width)))


@given(rows=st.lists(st.lists(st.integers(0, 10**6), min_size=5, max_size=5), min_size=1, max_size=8), data=st.data())
@settings(max_examples=examples(60), deadline=None, database=None)
def test_tokens_come_back(rows, data):
    blanks = st.text(" \t", min_size=1, max_size=3)
    texts = ["".join(data.draw(blanks) + str(v) for v in row) for row in rows]
    got = read(frame(HEAD, *texts), {})
    assert [list(r) for r in got.drop("line_no", "table").rows()] == rows


@pytest.mark.parametrize(
    ("texts", "values"),
    [
        (["0,03 14,1"], [0.03, 14.1]),
        (["1,234,567.5 0"], [1234567.5, 0.0]),
        (["1.234.567,5 1.234"], [1234567.5, 1234.0]),
        (["1,234 5"], [None, 5.0]),
        (["-5 0.5"], [-5.0, 0.5]),
    ],
)
def test_the_decimal_sign_is_decided_by_what_settles_it(texts, values):
    rows = grid.cut(frame(*texts), {"a": grid.NUMBER, "b": grid.NUMBER})
    assert grid.numbers(rows, ["a", "b"], {}).select("a", "b").row(0) == tuple(values)


def test_the_decimal_sign_is_carried():
    state: dict = {}
    first = grid.cut(frame("0,5 1"), {"a": grid.NUMBER, "b": grid.NUMBER})
    grid.numbers(first, ["a", "b"], state)
    later = grid.cut(frame("1,234 1"), {"a": grid.NUMBER, "b": grid.NUMBER})
    assert grid.numbers(later, ["a", "b"], state)["a"].to_list() == [1.234]


def test_what_cannot_be_is_left_out_with_a_note():
    rows = pl.DataFrame({"line_no": [1, 2], "a": [-0.0, 3.0], "b": [4636223281790821470.0, 0.0]})
    rows, notes = grid.implausible(rows, ["a", "b"])
    assert rows.select("a", "b").rows() == [(None, None), (3.0, 0.0)]
    assert notes.rows() == [(1, "damaged", "no such value, left out: a b")]


def starts(words):
    return 5 if list(words[:5]) == HEAD.split() else 0


def adds_up(names, words):
    return all(w.isdigit() for w in words) and sum(map(int, words[2:])) == 100


def restored(*lines):
    found = grid.restore(list(enumerate(lines, start=1)), starts, adds_up)
    return found.lines.rows(), found.repaired, found.left


def test_what_stands_on_lines_of_its_own_stays():
    rows, repaired, left = restored(HEAD, "0 5 1 2 97", "1 6 0 0 100")
    assert rows == [(1, 1, HEAD), (2, 2, "0 5 1 2 97"), (3, 3, "1 6 0 0 100")]
    assert (repaired, left) == ([], {})


def test_a_table_on_one_line_is_cut_by_its_width():
    rows, repaired, left = restored(f"{HEAD} 0 5 1 2 97 1 6 0 0 100")
    assert rows == [(1, 1, HEAD), (1, 1, "0 5 1 2 97"), (1, 1, "1 6 0 0 100")]
    assert (repaired, left) == ([(1, 1)], {})


def test_wrapped_rows_are_joined_and_know_their_lines():
    rows, repaired, _ = restored("CPU minf", "usr sys idl", "0 5 1 2", "97", "1 6 0 0 100")
    assert rows == [(1, 2, HEAD), (3, 4, "0 5 1 2 97"), (5, 5, "1 6 0 0 100")]
    assert repaired == [(1, 2), (3, 4)]


def test_fused_values_are_parted_where_one_way_adds_up():
    rows, _, left = restored(f"{HEAD}0 5 1 2 971 6 0 0 100")
    assert [r[2] for r in rows] == [HEAD, "0 5 1 2 97", "1 6 0 0 100"]
    assert left == {}


def test_rows_that_do_not_add_up_are_left():
    rows, _, left = restored(f"{HEAD} 0 5 1 2 97", "1 6 0 0 55", "1 6 0 0 100")
    assert [r[2] for r in rows] == [HEAD, "0 5 1 2 97", "1 6 0 0 100"]
    assert left == {2: "1 6 0 0 55"}
