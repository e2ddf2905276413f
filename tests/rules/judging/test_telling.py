"""Tests that a report tells a fact if it cites few lines that overlap the fact's, and names its figure or subject."""

from __future__ import annotations

from typing import Any

import pytest

from rules.judging.telling import asked_for, told
from rules.judging.truth import Amount, Asked, Fact
from rules.model import Ask, Citation, Observation, Quantity, Report, Verdict


def observation(
    value: float, unit: str, first: int, last: int, subject: str = "poll", headline: str = ""
) -> Observation:
    cited = (Citation(1, "in/strace.txt", first, last, "wait", ""),)
    return Observation(
        1, "long-waits", "wait", headline, None, subject, "app", None, None, None, Quantity("duration", value, unit),
        None, None, None, 1, "k", (), None, None, False, False, None, cited,
    )  # fmt: skip


def report(*observations: Observation, asks: tuple[Ask, ...] = ()) -> Report:
    verdict = Verdict("cannot tell", (), None, None, "none", "", ())
    return Report((), (), (), verdict, None, (), (), (), (), (), (), (), 0.0, observations=observations, asks=asks)


FACT: dict[str, Any] = {"file": "strace.txt", "lines": "10-12", "says": "poll waits for 5 s"}


@pytest.mark.parametrize(
    ("value", "unit", "first", "last", "is_told"),
    [
        (5.0, "s", 12, 12, True),
        (5000.0, "ms", 9, 10, True),
        (5.09, "s", 11, 11, True),
        (5.2, "s", 11, 11, False),  # more than 2 % off
        (5.0, "s", 13, 20, False),  # other lines
        (5.0, "s", 1, 21, False),  # too many lines
        (5.0, "s", 1, 20, True),
    ],
)
def test_the_figure_stands_on_the_lines(value: float, unit: str, first: int, last: int, is_told: bool) -> None:
    fact = Fact(**FACT, quantity=Amount(5.0, "s"))
    assert told(fact, report(observation(value, unit, first, last))) is is_told


def test_a_figure_in_the_headline_counts() -> None:
    fact = Fact(**FACT, quantity=Amount(1204, "count"))
    assert told(fact, report(observation(0.2, "s", 10, 10, headline="1,204 reads of one byte")))
    assert not told(fact, report(observation(0.2, "s", 10, 10, headline="1,304 reads of one byte")))


def test_without_a_figure_the_subject_must_be_named() -> None:
    fact = Fact(**FACT, subject="10.0.0.53")
    assert not told(fact, report(observation(5.0, "s", 10, 10)))
    assert told(fact, report(observation(5.0, "s", 10, 10, subject="10.0.0.53:53")))


def test_only_the_first_seven_observations_count() -> None:
    fact = Fact(**FACT, quantity=Amount(5.0, "s"))
    others = [observation(1.0, "s", 1, 1)] * 7
    assert not told(fact, report(*others, observation(5.0, "s", 10, 10)))


def test_an_ask_matches_by_tool_and_host() -> None:
    made = report(asks=(Ask("iostat -xt 5 12", "system administrator", "db1", "linux", (), "1 min"),))
    assert asked_for([Asked("iostat", "db1")], made) is True
    assert asked_for([Asked("iostat", "db2"), Asked("stat")], made) is False
    assert asked_for([], made) is None
