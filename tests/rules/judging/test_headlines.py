"""Tests of the headlines of verdicts: what was seen comes first, one measured quantity at most, no label."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from rules.judging import headlines
from rules.judging.headlines import LONG, NOT_VISIBLE, headline, lead_headline, symptom_shown
from rules.judging.plain_words import is_plain, shortened, told
from rules.model import LABELS, State, Symptom


def row(headline: str, **more: Any) -> dict[str, Any]:
    return {
        "headline": headline, "subject": "shmat", "observer": "long-waits", "kind": "wait", "unit": "s", "value": 2.4734,
        "seconds": more.get("value", 2.4734), "of_s": None, "share": None, "n": 1, "means": None, "failure": False, "host": None,
        "idle": None, "normal": False, **more,
    }  # fmt: skip


SHMAT = row("shmat waited 2.473 s")
CONNECTS = row("the longest time elapsed is 3.940 s, 21 of 21 are 0.1 s or more", subject="time elapsed", value=3.94)


def test_every_state_has_a_label() -> None:
    assert set(LABELS) == set(get_args(State))


def test_what_cannot_be_told_begins_with_the_symptom_as_the_evidence_shows_it() -> None:
    said = headline("cannot tell", None, (), [SHMAT, CONNECTS], Symptom("a login", "s", 3.9, 0.3))
    assert said == f"The longest time elapsed is 3.940 s, 21 of 21 are 0.1 s or more. {NOT_VISIBLE}"


@pytest.mark.parametrize(
    "symptom", [None, Symptom("a login"), Symptom("a login", "ms", 3.9), Symptom("a login", "s", 30.0)]
)
def test_without_a_time_like_the_symptoms_it_is_the_strongest_observation(symptom: Symptom | None) -> None:
    said = headline("cannot tell", None, (), [SHMAT, CONNECTS], symptom)
    assert said == f"A program waited 2.47 s for shared memory. {NOT_VISIBLE}"


def test_what_nobody_notices_is_no_symptom_and_comes_after_what_one_notices() -> None:
    small = row("write: 765 calls, 0.011 ms", subject="write", kind="repetition", value=765.0, unit="count", seconds=None, n=765)  # fmt: skip
    assert symptom_shown([small, SHMAT], None) is SHMAT
    said = headline("cannot tell", None, (), [small], None, covers="1 file")
    assert said == "Nothing takes long or fails in 1 file. Why it is slow is not visible yet."


CHILD = row("wait4 on pid 18 waited 0.172 s", subject="wait4 on pid 18", value=0.1724, of_s=0.18793, host="db1")
PEER = row("poll on 10.0.0.1:53 waited 5 s", subject="poll on 10.0.0.1:53", value=5.0)
PIPE = row("read on a pipe waited 0.13 s", subject="read on a pipe", value=0.13)
BYTES = row(
    "read: 900 calls", subject="read", kind="repetition", value=900.0, unit="count", seconds=0.5, of_s=2.0, n=900
)
FAILED = row(
    "openat failed 34 times in 84 calls", subject="openat", kind="failure", value=34.0, unit="count", seconds=None, n=34
)
LOG = row(
    'Once: "requests.exceptions.ConnectionError: gone"',
    subject="requests",
    observer="log-complaints",
    kind="error",
    seconds=None,
)
KNOWN = {**LOG, "means": "a group reached its memory limit; it or its parent", "n": 2}
GAP = row(
    'the log wrote nothing for 1 min 33 s between "a b" and "c"; else 0.5 s',
    subject="the log",
    kind="gap",
    seconds=None,
    value=93.0,
)
COMMAND = row("./packed_tool -v took 44.935 s", subject="./packed_tool -v", value=44.935)
CPU0 = row(
    "CPU0 has 99.9 % of the softnet time_squeeze of 9",
    subject="CPU0 softnet time_squeeze",
    observer="lopsided",
    kind="lopsided",
    unit="count",
    seconds=None,
    share=0.5,
)
COUNTER = row(
    "tcp TcpExt TCPReqQFullDrop went up by 7",
    subject="tcp TcpExt TCPReqQFullDrop",
    observer="still-counters",
    kind="counter",
    unit="count",
    value=7.0,
    seconds=None,
    means="connections dropped because a queue was full: too few are accepted",
)
HOG = row(
    "control (pid 7) took 95 % of a processor",
    subject="control (pid 7)",
    observer="consumers",
    kind="consumer",
    unit="%",
    value=95.0,
    seconds=None,
    share=0.9,
)
OWN = row("thread 7 made no call for 0.3 s", subject="thread 7", kind="outside-calls", value=0.3)
UNKNOWN = row(
    "mystery_kb is 7", subject="mystery_kb", observer="else", kind="other", unit="count", value=7.0, seconds=None
)


@pytest.mark.parametrize(
    ("seen", "words"),
    [
        (CHILD, "a program on db1 waited 0.172 of 0.188 s for a program that it had started"),
        (PEER, "a program waited 5.00 s for 10.0.0.1 to answer"),
        (PIPE, "a program waited 0.130 s for the program at the other end of a pipe"),
        (BYTES, "a program reads: 900 times, 0.500 of 2.00 s"),
        (FAILED, "a program failed where it opens files: 34 times"),
        (LOG, "the log shows an error, once"),
        (KNOWN, "a group reached its memory limit: 2 lines of the log say so"),
        (GAP, "the log wrote nothing for 1 min 33 s"),
        (COMMAND, "a step took 44.9 s"),
        (CPU0, "one of several processors has most of one kind of work"),
        (COUNTER, "connections dropped because a queue was full: 7 times"),
        (HOG, "the program control takes 95 % of a processor"),
        (OWN, "a program did its own work, or was held up, for 0.300 s"),
        (UNKNOWN, "one figure stands out"),
    ],
)  # fmt: skip
def test_an_observation_is_told_without_calls_numbers_of_processes_columns_and_quotes(
    seen: dict[str, Any], words: str
) -> None:
    said = told(seen, LONG)
    assert said == words
    assert is_plain(said)


def test_the_host_is_left_out_where_the_sentence_would_be_too_long() -> None:
    assert told(CHILD, 70) == "a program waited 0.172 of 0.188 s for a program that it had started"


def test_what_is_idle_within_bounds_or_only_told_is_no_symptom() -> None:
    rows = [row("a", idle="waits for work"), row("b", normal=True), row("c", kind="course"), row("d", kind="setting")]
    assert symptom_shown(rows, None) is None
    said = headline("cannot tell", None, (), rows, None, covers="2 files")
    assert said == "Nothing stands out in 2 files. Why it is slow is not visible yet."


def test_an_undecided_board_names_both_and_says_that_they_are_equal() -> None:
    two = headline("undecided", None, ("CPU overload, thrash or stolen CPU", "network path is slow"), [], None)
    assert two == "CPU overload or network path is slow: both explain it equally."
    three = headline("undecided", None, ("a", "b", "c"), [], None)
    assert three == "A, b or c: all explain it equally."


def test_nothing_wrong_says_what_was_read_and_that_it_is_long_enough() -> None:
    said = headline("nothing wrong seen", None, (), [], None, covers="3 files over 20 min 0 s")
    assert said == "In 3 files over 20 min 0 s, long enough to hold the slow moment."


def test_a_lead_is_said_as_what_fits_with_the_seconds_if_they_are_known() -> None:
    silent = "a name server does not answer: the resolver waits its full time-out"
    twice = row("", seconds=10.0, n=2)
    assert lead_headline(silent, twice) == f"A{silent[1:]}, 10.0 s in all."
    assert lead_headline("waits for a flush", row("", seconds=2.0, of_s=2.5)) == (
        "A program waits for a flush: 2.00 of 2.50 s."
    )
    assert lead_headline("no further process may be made", KNOWN) == (
        "No further process may be made: 2 lines of the log say so."
    )
    assert lead_headline(silent, KNOWN) == f"A{silent[1:]}.", "a count of lines is worth no second line"


@pytest.mark.parametrize(
    ("best", "measured"),
    [
        ({"observer": "profile-weight", "kind": "profile", "unit": "%", "value": 82.91}, "82.9 % of the samples"),
        ({"observer": "standing-still", "kind": "standing", "unit": "count", "n": 2, "share": 2 / 3}, "2 of 3 of them"),
        ({"observer": "consumers", "kind": "consumer", "unit": "%", "value": 100.0}, "100 % of a processor"),
        ({"observer": "consumers", "kind": "consumer", "unit": "kB", "value": 7_582_864.0}, "7.23 GB"),
        ({"observer": "sockets", "kind": "state", "unit": "count", "value": 60.0}, "60 connections"),
        ({"observer": "long-waits", "kind": "gap", "unit": "s", "value": 94.0}, "1 min 34 s"),
    ],
)  # fmt: skip
def test_a_lead_tells_how_much_of_what_was_measured(best: dict[str, Any], measured: str) -> None:
    assert lead_headline("it is so", row("", **{"seconds": None, **best})) == f"It is so: {measured}."


def test_a_long_sentence_is_shortened_at_a_comma_that_is_not_quoted_and_keeps_a_figure() -> None:
    quoted = 'A line tells of 30.000 s: "err, service(lmtp): not received, killing", 1 of 2 lines that complain'
    assert shortened(quoted, LONG) == 'A line tells of 30.000 s: "err, service(lmtp): not received, killing"'
    no_figure_before = (
        "the first thing that stands out here, in the end, are calls that took very much longer, 5 s each"
    )
    assert shortened(no_figure_before, 60) == no_figure_before


def test_no_headline_repeats_its_label() -> None:
    for state in get_args(State):
        said = headline(state, None, ("a", "b"), [SHMAT], None, covers="1 file")
        assert LABELS[state].lower() not in said.lower()


def test_names_keep_their_small_letter() -> None:
    assert headlines.sentence("__ticket_spin_lock has 67.8 % of the samples").startswith("__ticket")
    assert headlines.sentence("/var is full").startswith("/var")
