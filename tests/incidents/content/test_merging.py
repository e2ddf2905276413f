"""Tests of merging two changed versions of a text: the proposal contains every word that somebody wrote."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from incidents.content.merging import MOST_COMPARED, differences, merge, undecided

WORDS = st.lists(st.sampled_from(["a", "b", "c", "gap", "ends", "18 GB", "\n", "."]), max_size=12)


def edited(mark: str) -> st.SearchStrategy[list[tuple[int, str | None]]]:
    """Return a strategy for some edits: at a position, insert a word of one's own, or remove a word (None)."""
    return st.lists(st.tuples(st.integers(0, 12), st.one_of(st.none(), st.integers(0, 9).map(lambda n: f"{mark}{n}"))))


def apply(words: list[str], edits: list[tuple[int, str | None]]) -> str:
    made = list(words)
    for at, word in edits:
        if word is not None:
            made.insert(at, word)
        elif at < len(made):
            del made[at]
    return " ".join(made)


@given(WORDS, edited("T"), edited("M"))
def test_every_new_word_of_both_stands_in_the_proposal(words, theirs, mine):
    base, left, right = " ".join(words), apply(words, theirs), apply(words, mine)
    merged = merge(base, left, right, "Nils").text
    for side, mark in ((left, "T"), (right, "M")):
        assert [word for word in side.split() if word[0] == mark and word not in merged] == []


@given(WORDS, edited("T"))
def test_who_changed_nothing_gets_the_others_text(words, edits):
    base, other = " ".join(words), apply(words, edits)
    assert merge(base, other, base) == merge(base, base, other)
    assert merge(base, other, base).text == other
    assert merge(base, other, other).text == other


@given(WORDS, edited("T"))
def test_differences_give_both_texts_back(words, edits):
    base, other = " ".join(words), apply(words, edits)
    pieces = differences(base, other)
    assert "".join(piece.text for piece in pieces if piece.what != "added") == base
    assert "".join(piece.text for piece in pieces if piece.what != "removed") == other


def test_changes_in_different_places_need_no_decision():
    merged = merge(
        "The gap ends at the 18 GB segment. Ask the DBA.",
        "The gap ends at the 18 GB segment, not the small one. Ask the DBA.",
        "The gap of 2.47 s ends at the 18 GB segment. Ask the DBA team.",
    )
    assert merged.conflicts == 0
    assert merged.text == "The gap of 2.47 s ends at the 18 GB segment, not the small one. Ask the DBA team."


def test_the_same_words_changed_twice_are_marked_with_both_sides():
    merged = merge("It took 2 s.", "It took 2.4 s.", "It took at most 2.473 s.", "Nils")
    assert merged.conflicts == 1
    assert "Nils: 2.4" in merged.text
    assert "you: at most 2.473" in merged.text
    assert undecided(merged.text) == 1
    assert undecided("It took at most 2.473 s.") == 0


def test_what_one_took_out_and_the_other_changed_is_kept_for_a_decision():
    merged = merge("Keep. Maybe wrong.", "Keep.", "Keep. Maybe wrong, ask.")
    assert merged.conflicts == 1
    assert "wrong, ask." in merged.text


@pytest.mark.parametrize("text", ["a " * 5000, "a\n" * 5000, "x" * 10_000, "ab cd ef " * 1100])
def test_texts_made_to_be_slow_are_not(text):
    begun = time.process_time()
    merged = merge(text, "T " + text[:4000] + " T2 " + text[4000:], text[:3000] + " M " + text[3000:] + "M2")
    differences(text, text[5:] + " more")
    assert time.process_time() - begun < 2
    assert all(word in merged.text for word in ("T ", "T2", " M ", "M2"))
    assert MOST_COMPARED < 5_000_000
