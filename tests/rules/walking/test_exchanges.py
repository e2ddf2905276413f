"""Tests of questions and answers of two ends, drawn as turns: > a write, < a read, each with its bytes.

client   >100 <40 >101 <40        server   <100 >40 <101 >40
"""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rules.walking.exchanges import MOST_TRIED, Exchange, away, exchanges, held, offset, shifts

MS = 1_000_000


def turns(*calls: tuple[bool, int, int, int | None, int | None], thread: int = 7) -> pl.DataFrame:
    """Return calls as (out, line, done_ms, own_ms, bytes)."""
    rows: list[dict[str, Any]] = [
        {"out": out, "line_no": line, "done_ns": done * MS, "own_ns": None if own is None else own * MS, "bytes": n, "pid": thread, "lwp": thread}
        for out, line, done, own, n in calls
    ]  # fmt: skip
    schema = {
        "out": pl.Boolean,
        "line_no": pl.Int64,
        "done_ns": pl.Int64,
        "own_ns": pl.Int64,
        "bytes": pl.Int64,
        "pid": pl.Int64,
        "lwp": pl.Int64,
    }
    return pl.DataFrame(rows, schema=schema)


def one(asked: tuple[int, int], answer: tuple[int, int], sent: int | None = 100, got: int | None = 40) -> Exchange:
    """Return an exchange from begin and end (ms) of the last call of its question and of its answer."""
    who = (7, 7)
    return Exchange(1, asked[0] * MS, asked[1] * MS, sent, who, 2, answer[0] * MS, answer[1] * MS, got, who)


def test_runs_of_calls_are_questions_and_answers() -> None:
    rows = turns(
        (False, 1, 5, 1, 9), (True, 2, 10, 1, 60), (True, 3, 12, 1, 40), (False, 4, 30, 17, 20), (False, 5, 31, 1, 20), (True, 6, 40, 1, 7)
    )  # fmt: skip
    (asked,) = exchanges(
        rows, client=True
    )  # a greeting before the question and a question without an answer do not count
    assert (asked.asked_line, asked.asked_begin, asked.asked_end, asked.asked_bytes) == (3, 11 * MS, 12 * MS, 100)
    assert (asked.answer_line, asked.answer_begin, asked.answer_end, asked.answer_bytes) == (5, 30 * MS, 31 * MS, 40)
    assert away(asked) == 20 * MS
    first, second = exchanges(rows, client=False)
    assert (first.asked_line, first.answer_line, first.asked_bytes) == (1, 3, 9)
    assert held(second) == 39 * MS - 31 * MS


def test_what_a_trace_does_not_tell_stays_unknown() -> None:
    (asked,) = exchanges(
        turns((True, 1, 10, None, None), (True, 2, 11, None, 3), (False, 3, 30, None, 20)), client=True
    )
    assert (asked.asked_begin, asked.asked_bytes, asked.answer_begin) == (None, None, None)
    assert away(asked) is None
    assert held(asked) is None
    assert offset(asked, asked) is None
    assert shifts([asked], [asked], 0, None, from_start=True) == [
        0
    ]  # nothing contradicts it, but following it needs the times


def test_bounds_of_one_exchange() -> None:
    """client 10 |> .............. <| 140      server 7010 <|......|> 7130: 7000 ahead, give or take 10"""
    mine, theirs = one((10, 11), (11, 140)), one((7005, 7010), (7130, 7131))
    assert offset(mine, theirs) == (6990 * MS, 7000 * MS)
    assert shifts([mine], [theirs], 0, None, from_start=False) == [0]


CLIENT = [one((10, 11), (11, 140)), one((150, 151), (151, 180)), one((190, 191), (191, 240))]
SERVER = [one((7000, 7012), (7132, 7133)), one((7140, 7152), (7172, 7173)), one((7180, 7192), (7232, 7233))]


def test_the_order_is_the_one_that_fits_all() -> None:
    assert shifts(CLIENT, SERVER, 0, None, from_start=True) == [0]
    assert 0 in (shifts(CLIENT, SERVER, 0, None, from_start=False) or [])
    assert shifts(CLIENT, SERVER, 0, (7000 * MS, 7001 * MS), from_start=False) == [
        0
    ]  # the clocks distinguish the others


@pytest.mark.parametrize(
    ("mine", "theirs", "known"),
    [
        (
            CLIENT,
            [one((7000, 7012), (7152, 7153)), *SERVER[1:]],
            None,
        ),  # held the question longer than the client was without the answer
        (CLIENT, [one((7000, 7012), (7132, 7133), sent=99), *SERVER[1:]], None),  # other bytes were asked
        (CLIENT, [one((7000, 7012), (7132, 7133), got=41), *SERVER[1:]], None),  # other bytes were answered
        (CLIENT, [SERVER[0], one((7440, 7452), (7472, 7473)), *SERVER[2:]], None),  # no offset fits both
        (CLIENT, SERVER, (0, 5 * MS)),  # the clocks are tied differently
        (CLIENT, [], None),
    ],
)
def test_what_does_not_fit_is_not_followed(mine: list[Exchange], theirs: list[Exchange], known: Any) -> None:
    assert shifts(mine, theirs, 0, known, from_start=True) == []


def test_the_slack_of_stamps() -> None:
    longer = [one((7000, 7012), (7143, 7144))]  # 131 ms of 130
    assert shifts(CLIENT[:1], longer, MS, None, from_start=True) == [0]
    assert shifts(CLIENT[:1], longer, MS - 1, None, from_start=True) == []


def test_clocks_that_run_apart_still_fit_and_steps_do_not() -> None:
    """Check a clock that gains 40 ms in 100 s (400 ppm), or 80 ms."""
    later = one((100_010, 100_011), (100_011, 100_140))
    for gained, fits in ((40, [0]), (80, [])):
        theirs = one((107_000 + gained, 107_012 + gained), (107_132 + gained, 107_133 + gained))
        assert shifts([CLIENT[0], later], [SERVER[0], theirs], 0, None, from_start=True) == fits


def test_alike_exchanges_without_a_beginning_cannot_be_told() -> None:
    alike = [one((n * 20, n * 20 + 1), (n * 20 + 1, n * 20 + 10)) for n in range(5)]
    theirs = [one((n * 20 + 1, n * 20 + 2), (n * 20 + 8, n * 20 + 9)) for n in range(5)]
    assert len(shifts(alike, theirs, 0, None, from_start=False) or []) == 9
    many = alike * (MOST_TRIED // 25 + 1)
    assert shifts(many, theirs, 0, None, from_start=False) is None
    assert shifts(many, theirs, 0, None, from_start=True) == [0]  # a trace that ends earlier


@given(
    st.lists(st.tuples(st.integers(0, 50), st.integers(1, 400), st.integers(0, 50)), min_size=1, max_size=12),
    st.integers(-(10**6), 10**6),
)
def test_a_true_pair_always_fits(drawn: list[tuple[int, int, int]], ahead: int) -> None:
    """Check that a true pair always fits, for any non-negative ways and server times and any offset of the clocks."""
    mine, theirs, at = [], [], 0
    for out, work, back in drawn:
        done = at + out + work + back
        mine.append(one((at, at), (at, done), sent=work))
        theirs.append(one((at, at + out + ahead), (at + out + work + ahead, done + ahead), sent=work))
        at = done + 5
    assert shifts(mine, theirs, 0, None, from_start=True) == [0]
    assert 0 in (shifts(mine, theirs, 0, (ahead * MS, ahead * MS), from_start=False) or [])
    longest = max(range(len(mine)), key=lambda k: away(mine[k]) or 0)
    stretched = [*theirs[:longest], one((0, 0), ((away(mine[longest]) or 0) // MS + 1, 10**7)), *theirs[longest + 1 :]]
    assert shifts(mine, stretched, 0, None, from_start=True) == []
