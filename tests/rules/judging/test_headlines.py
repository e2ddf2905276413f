"""Headlines of verdicts: what is seen stands first, one quantity, no label in it, nothing that nobody measured."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from rules.judging import headlines
from rules.judging.headlines import LONG, NOT_VISIBLE, brief, headline, lead_headline, symptom_shown
from rules.model import LABELS, State, Symptom


def row(headline: str, **more: Any) -> dict[str, Any]:
    return {
        "headline": headline, "subject": "shmat", "kind": "wait", "unit": "s", "value": 2.4734, "idle": None, "normal": False, **more,
    }  # fmt: skip


SHMAT = row("shmat waited 2.473 s")
CONNECTS = row("time elapsed took 3.940 s, 21 of 21 took 0.1 s or more", subject="time elapsed", value=3.94)


def test_every_state_has_a_label() -> None:
    assert set(LABELS) == set(get_args(State))


def test_what_cannot_be_told_begins_with_the_symptom_as_the_evidence_shows_it() -> None:
    said = headline("cannot tell", None, (), [SHMAT, CONNECTS], Symptom("a login", "s", 3.9, 0.3))
    assert said == f"time elapsed took 3.940 s, 21 of 21 took 0.1 s or more. {NOT_VISIBLE}"


@pytest.mark.parametrize(
    "symptom", [None, Symptom("a login"), Symptom("a login", "ms", 3.9), Symptom("a login", "s", 30.0)]
)
def test_without_a_time_like_the_symptoms_it_is_the_strongest_observation(symptom: Symptom | None) -> None:
    assert headline("cannot tell", None, (), [SHMAT, CONNECTS], symptom) == f"shmat waited 2.473 s. {NOT_VISIBLE}"


def test_what_is_idle_within_bounds_or_only_told_is_no_symptom() -> None:
    rows = [row("a", idle="waits for work"), row("b", normal=True), row("c", kind="course"), row("d", kind="setting")]
    assert symptom_shown(rows, None) is None
    assert headline("cannot tell", None, (), rows, None) == (
        "Nothing that could be read stands out. Why it is slow is not visible yet."
    )


def test_an_undecided_board_names_both_and_says_that_they_are_equal() -> None:
    two = headline("undecided", None, ("storage is slow", "network path is slow"), [], None)
    assert two == "Either storage is slow, or network path is slow: both fit equally."
    three = headline("undecided", None, ("a", "b", "c"), [], None)
    assert three == "Either a, b, or c: all fit equally."


def test_nothing_wrong_says_what_was_read_and_that_it_is_long_enough() -> None:
    said = headline("nothing wrong seen", None, (), [], None, covers="3 files over 20 min 0 s")
    assert said == "3 files over 20 min 0 s, long enough to hold the slow moment."


def test_a_lead_is_said_as_what_fits_with_the_seconds_if_they_are_known() -> None:
    assert lead_headline(
        "a name server does not answer: the resolver waits its full time-out", {"seconds": 10.0, "n": 2}
    ) == ("A name server does not answer: the resolver waits its full time-out, 10.0 s in all.")
    assert (
        lead_headline("no further process may be made", {"seconds": None, "n": 1}) == "No further process may be made."
    )


def test_a_long_sentence_is_shortened_at_a_comma_that_is_not_quoted_and_keeps_a_figure() -> None:
    quoted = 'A line tells of 30.000 s: "err, service(lmtp): not received, killing", 1 of 2 lines that complain'
    assert brief(quoted) == 'A line tells of 30.000 s: "err, service(lmtp): not received, killing"'
    assert len(brief(quoted)) <= LONG
    no_figure_before = (
        "the first thing that stands out here, in the end, are calls that took very much longer, 5 s each"
    )
    assert brief(no_figure_before, 60) == no_figure_before


def test_no_headline_repeats_its_label() -> None:
    for state in get_args(State):
        said = headline(state, None, ("a", "b"), [SHMAT], None, covers="1 file")
        assert LABELS[state].lower() not in said.lower()


def test_names_keep_their_small_letter() -> None:
    assert headlines.sentence("__ticket_spin_lock has 67.8 % of the samples").startswith("__ticket")
    assert headlines.sentence("connect took 5 s", "connect to 10.0.0.1").startswith("connect")
