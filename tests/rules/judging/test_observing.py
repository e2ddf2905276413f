"""Observations are ranked by what they cost, say different things first, and keep their key."""

from __future__ import annotations

from typing import Any

import pytest

from rules.case.case import Case
from rules.judging.observing import Observed, observed, ranked, weight
from rules.model import ArtifactSpec, CaseSpec, Citation


def row(line: int = 1, **more: Any) -> dict[str, Any]:
    return {
        "artifact_id": 1, "host": "db1", "phase": None, "clock": None, "line_no": line, "line_end": line, "observer": "long-waits",
        "kind": "wait", "subject": f"call {'abcdefghijkl'[line]}", "headline": f"Call {line} waits", "name": "duration_s", "value": 5.0, "unit": "s",
        "against": None, "against_value": None, "seconds": None, "share": None, "of_s": None, "n": 1, "failure": False,
        "idle": None, "normal": False, "signatures": [], "means": None, "mechanism": None, "layer": None, "strength": None,
        "t_from": None, "t_to": None, "beside": None, "joins": None, "short": None, "asks": [],
        "evidence": [{"artifact_id": 1, "line_from": line, "line_to": line, "role": "wait"}], **more,
    }  # fmt: skip


def order(*rows: dict[str, Any]) -> list[int]:
    return [r["line_no"] for r in ranked(rows, None)]


def test_seconds_count_by_the_time_that_the_artifact_covers() -> None:
    assert weight(row(seconds=5.0, of_s=10.0), None) == 0.5
    assert weight(row(seconds=5.0, of_s=2.0), None) == 1.0
    assert weight(row(seconds=5.0), 20.0) == 0.25
    assert weight(row(share=0.4), None) == 0.4
    assert weight(row(), None) < 0.1


def test_far_from_normal_weighs_less_than_what_costs_time() -> None:
    assert 0 < weight(row(against="the rest", against_value=0.5), None) < 0.5


def test_a_failure_that_ended_a_step_is_never_small() -> None:
    assert weight(row(failure=True, seconds=0.001, of_s=100.0), None) >= 0.35


def test_the_largest_stands_first_and_the_idle_last() -> None:
    assert order(row(1, share=0.2), row(2, idle="waits for the next request", share=0.9), row(3, share=0.5)) == [
        3,
        1,
        2,
    ]


def test_an_observer_that_spoke_lets_others_speak() -> None:
    first = [row(n, share=0.5) for n in (1, 2, 3)]
    assert order(*first, row(4, share=0.3, observer="saturation"))[:3] == [1, 4, 2]


def test_the_same_thing_is_not_told_twice_first() -> None:
    again = row(2, share=0.5, subject="call b", observer="timer-steps")
    assert order(row(1, share=0.5), again, row(3, share=0.2, observer="failures")) == [1, 3, 2]


def test_a_message_with_another_number_is_the_same_message() -> None:
    killed = [row(n, share=0.5, subject=f"killed process {n}", observer=f"o{n}") for n in (1, 2)]
    assert order(*killed, row(3, share=0.3))[:2] == [1, 3]


def complaint(line: int, **more: Any) -> dict[str, Any]:
    return row(line, **{"observer": "log-complaints", "kind": "error", "name": "lines_count", "share": 1.0, **more})


def test_a_count_of_lines_does_not_lead_over_most_of_the_seconds_that_are_lost() -> None:
    killed = complaint(1, strength="mechanism", mechanism="out-of-memory")
    assert order(killed, row(2, seconds=3.94)) == [2, 1]
    assert order(killed, row(2, seconds=3.0, of_s=3.9), row(3, share=0.5, observer="o")) == [2, 1, 3], "it stays second"
    assert order({**killed, "name": "times_count"}, row(2, seconds=3.94)) == [2, 1]


@pytest.mark.parametrize(
    "other",
    [
        row(2, seconds=3.94, mechanism="out-of-memory"),
        row(2, seconds=0.3),
        row(2, seconds=0.05, of_s=0.05),
        row(2, seconds=1.0, of_s=9.0),
    ],
    ids=["explained", "short", "not felt", "small part"],
)
def test_a_count_of_lines_leads_over_seconds_that_it_explains_or_that_are_few(other: dict[str, Any]) -> None:
    assert order(complaint(1, strength="mechanism", mechanism="out-of-memory"), other) == [1, 2]


def counter(line: int, **more: Any) -> dict[str, Any]:
    moved = {"joins": "tcp", "short": f"Drops{line} by {line}", "mechanism": "backlog-full", **more}
    return row(line, observer="still-counters", kind="counter", **moved)


def test_what_belongs_together_is_told_as_one_by_the_words_of_the_largest() -> None:
    seen = seen_in(
        [counter(1, share=0.2), counter(2, share=0.9, beside="meanwhile 4 kB were free"), counter(3, share=0.1)]
    )
    (told,) = seen.observations
    assert told.headline == "Call 2 waits; meanwhile 4 kB were free; also Drops1 by 1, Drops3 by 3; 3 in all"
    assert [c.line_from for c in told.citations] == [2, 1, 3]
    assert len(seen.rows) == 3, "explanations count each"


def test_further_ones_are_counted_and_lines_stay_few() -> None:
    (told,) = seen_in([counter(n, share=n / 100) for n in range(1, 12)]).observations
    assert told.headline.endswith(
        "also Drops10 by 10, Drops9 by 9, Drops8 by 8, Drops7 by 7, Drops6 by 6 and 5 more; 11 in all"
    )
    wide = [{"artifact_id": 1, "line_from": 20, "line_to": 38, "role": "block"}]
    (told,) = seen_in([counter(1, share=0.9, evidence=wide), *(counter(n, share=0.1) for n in (2, 3))]).observations
    assert [c.line_from for c in told.citations] == [20, 2], "twenty lines at most"


@pytest.mark.parametrize("other", [{"joins": "udp"}, {"mechanism": "packet-loss"}, {"host": "db2"}, {"joins": None}])
def test_others_are_told_apart(other: dict[str, Any]) -> None:
    assert len(seen_in([counter(1), counter(2, **other)]).observations) == 2


def seen_in(rows: list[dict[str, Any]]) -> Observed:
    def cite(artifact: int, first: int, last: int, role: str) -> tuple[Citation, ...]:
        return (Citation(artifact, "strace.txt", first, last, role, "poll(...)"),)

    spec = CaseSpec(artifacts=(ArtifactSpec(1, "strace.txt", "ab12"),))
    return observed(Case.of_tables({"observations": rows}, spec), cite)


def test_an_observation_has_words_lines_and_a_key_that_stays() -> None:
    rows = [row(7, seconds=2.0), row(9, kind="failed", observer="silence", evidence=[], normal=True)]
    both = seen_in(rows)
    (made,), (failed,) = both.observations, both.failed
    (again,) = seen_in(rows[:1]).observations
    assert made == again
    assert (made.rank, made.subject, made.citations[0].line_from, len(made.key)) == (1, "call h", 7, 16)
    assert failed.rule == "observer silence"


def test_measures_fill_the_first_lines_where_little_stands_out() -> None:
    rows = [
        row(1, share=0.5),
        row(2, normal=True, name="a_pct", value=40.0, against="its bound", against_value=80.0),
        row(3, normal=True, name="b_pct", value=70.0, against="its bound", against_value=80.0),
        row(4, normal=True, name="b_pct", value=60.0, against="its bound", against_value=80.0),
        row(5, normal=True, name="c_pct", value=0.0, against="its bound", against_value=80.0),
        row(6, normal=True, name="d_pct", value=79.0, against="its bound", against_value=80.0, kind="kept"),
        row(6, idle="waits for the next request"),
    ]
    made = seen_in(rows)
    assert [(o.citations[0].line_from, o.normal, o.idle) for o in made.observations] == [
        (1, False, False), (3, True, False), (2, True, False), (6, False, True),
    ]  # fmt: skip
    assert [r["line_no"] for r in made.rows] == [1, 6], "only what stands out is explained"


def test_nothing_is_filled_where_enough_stands_out() -> None:
    much = [row(n, share=0.5, observer=f"o{n}") for n in range(1, 8)]
    made = seen_in([*much, row(8, normal=True, against="its bound", against_value=9.0)])
    assert len(made.observations) == 7


def test_what_machine_it_is_comes_last_and_once_per_host() -> None:
    bounded = row(1, normal=True, value=4.0, against="its bound", against_value=80.0)
    machine = {
        "normal": True,
        "kind": "context",
        "name": "processors_count",
        "headline": "The machine has 8 processors",
    }
    shown = seen_in([row(2, **machine), row(3, **machine), bounded]).observations
    assert [o.headline for o in shown] == ["Call 1 waits", "The machine has 8 processors"]


def test_two_quantities_of_one_subject_on_one_line_are_two_observations() -> None:
    rows, sorts = (row(1, share=0.5, name=name, headline=name) for name in ("rows_count", "sorts_count"))
    both = seen_in([rows, sorts])
    assert [o.headline for o in both.observations] == ["rows_count", "sorts_count"]
    alone = seen_in([row(1, share=0.5, name="rows_count")])
    assert both.observations[0].key == alone.observations[0].key, "the first keeps the key that it always had"
