"""Answers to ping that wait on their way, even long paths, and ends of runs."""

from __future__ import annotations

import pytest

from rules.case.case import Case
from rules.observers.observer import Sighting
from rules.observers.path_delay import observe
from rules.signatures.signatures import recognise


def series(*ms: float) -> list[Sighting]:
    rows = [{"series": "ping", "ok": True, "elapsed_s": t / 1e3, "line_no": n} for n, t in enumerate(ms, 1)]
    return list(observe(Case.of_tables({"conn_times": rows})))


def end(received: float, least: float, mean: float) -> list[Sighting]:
    values = {"received": received, "least": least, "mean": mean}
    rows = [
        {"grp": "ping", "item": "10.9.8.7", "name": n, "value": v, "sample": 1, "line_no": 5} for n, v in values.items()
    ]
    return list(observe(Case.of_tables({"counters": rows})))


def test_answers_that_wait_are_told_against_the_shortest() -> None:
    (made,) = series(28, 45, 288, 318, 330, 555)
    assert made.headline == ("Half of 6 answers to ping took 0.303 s or more, the shortest 28 ms, the longest 0.555 s")
    assert [made.value, made.against_value] == pytest.approx([303.0, 28.0])
    assert recognise(**made.seen[0])[0].mechanism == "path-latency"
    assert [line.line_from for line in made.lines] == [1, 4, 5, 6]


@pytest.mark.parametrize(
    "ms",
    [
        (240, 251, 244, 247, 250),  # a long path
        (1900, 1, 1, 1, 1),  # a late first answer
        (1, 99, 100, 101, 101),  # not noticed
        (1, 500, 500),  # few
    ],
)
def test_a_long_path_a_late_first_answer_and_few_answers_are_normal(ms: tuple[float, ...]) -> None:
    assert series(*ms) == []


def test_the_end_of_a_run_tells_its_mean() -> None:
    (made,) = end(100, 1, 212)
    assert made.headline == "100 answers of 10.9.8.7 took 0.212 s on average, the shortest 1 ms"
    assert end(100, 150, 212) == []
    assert end(19, 1, 212) == []


def test_a_series_is_told_once() -> None:
    rows = [{"series": "ping", "ok": True, "elapsed_s": 0.002, "line_no": n} for n in range(1, 6)]
    values = {"received": 100.0, "least": 1.0, "mean": 212.0}
    ends = [{"grp": "ping", "item": "a", "name": n, "value": v, "sample": 1, "line_no": 9} for n, v in values.items()]
    assert list(observe(Case.of_tables({"conn_times": rows, "counters": ends}))) == []


def route(*ms: float) -> list[Sighting]:
    rows = [{"op": f"hop {n} 10.9.8.{n}", "elapsed_s": t / 1e3, "line_no": n, "part": 1} for n, t in enumerate(ms, 1)]
    return list(observe(Case.of_tables({"logs": rows})))


def test_a_route_whose_answers_are_late_from_one_hop_on() -> None:
    (made,) = route(0.4, 2, 700, 710, 705)
    assert made.headline == "From hop 3 10.9.8.3 on, answers take 0.700 s or more, before it 2 ms at most"
    assert [line.line_from for line in made.lines] == [2, 3, 5]


def test_one_late_router_and_the_way_around_the_earth_are_normal() -> None:
    assert route(0.4, 2, 700, 12, 13) == []
    assert route(0.4, 2, 190, 195, 199) == []
