"""Two listings of one host: counters by their growth, programs by their number, processes by memory and processor."""

from __future__ import annotations

from typing import Any

import pytest

from rules.case.case import Case
from rules.observers.growth_between import observe
from rules.observers.observer import Sighting


def counters(*files: dict[str, float], host: str | None = "db") -> list[Sighting]:
    rows = [
        {"artifact_id": a, "host": host, "line_no": n, "grp": "tcp", "name": name, "mode": "total", "value": value, "sample": 1}
        for a, file in enumerate(files, 1) for n, (name, value) in enumerate(file.items(), 1)
    ]  # fmt: skip
    return list(observe(Case.of_tables({"counters": rows})))


def test_a_counter_that_should_be_still_grew_between_two_files() -> None:
    (made,) = counters(
        {"TcpExtListenOverflows": 128.0, "TcpInSegs": 900.0}, {"TcpExtListenOverflows": 145.0, "TcpInSegs": 990.0}
    )
    assert made.headline.startswith("tcp TcpExtListenOverflows went up by 17 between the samples, to 145")
    assert [(c.artifact, c.line_from, c.role) for c in made.lines] == [
        (2, 1, "later"),
        (1, 1, "earlier"),
        (2, 2, "traffic"),
    ]


def test_what_stood_still_fell_or_is_of_an_unknown_host_says_nothing() -> None:
    before = {"TcpExtListenOverflows": 128.0, "TcpInSegs": 900.0}
    assert counters(before, {"TcpExtListenOverflows": 128.0, "TcpInSegs": 990.0}) == []
    assert counters(before, {"TcpExtListenOverflows": 140.0, "TcpInSegs": 3.0}) == []
    assert counters(before, {"TcpExtListenOverflows": 140.0, "TcpInSegs": 990.0}, host=None) == []


def listings(*files: list[dict[str, Any]], **more: Any) -> list[Sighting]:
    rows = [
        {"artifact_id": a, "host": "db", "line_no": n, "pid": n, "sample": 1, **more, **row}
        for a, file in enumerate(files, 1)
        for n, row in enumerate(file, 1)
    ]
    return list(observe(Case.of_tables({"ps": rows})))


@pytest.mark.parametrize(("after", "stands"), [(40, True), (39, False)])
def test_many_more_processes_of_one_program(after: int, stands: bool) -> None:
    made = listings([{"comm": "oracle"}] * 20, [{"comm": "oracle"}] * after)
    assert [s.headline for s in made] == (["oracle: 40 processes, 20 in the listing before"] if stands else [])


def test_a_program_that_was_not_there() -> None:
    (made,) = listings([{"comm": "init"}], [{"comm": "init"}, *[{"comm": "java"}] * 20])
    assert (made.subject, made.value, made.against_value) == ("java", 20.0, 0.0)


@pytest.mark.parametrize(("after", "n"), [(307_200.0, 1), (307_199.0, 0), (float("inf"), 0), (None, 0)])
def test_a_process_that_grew(after: float | None, n: int) -> None:
    made = listings([{"comm": "java", "rss_kb": 204_800.0}], [{"comm": "java", "rss_kb": after}])
    assert [s.name for s in made] == ["rss_kb"] * n


def test_a_pid_that_was_given_again_is_another_process() -> None:
    before, after = ({"comm": "java", "rss_kb": kb, "start_text": at} for kb, at in ((1e5, "10:00"), (9e5, "11:00")))
    assert listings([before], [after]) == []


@pytest.mark.parametrize(("used", "n"), [(30.0, 1), (29.0, 0)])
def test_a_process_on_a_processor_meanwhile(used: float, n: int) -> None:
    row = {"comm": "java", "clock": "wall"}
    made = listings([{**row, "t_local": 0.0, "cpu_time_s": 5.0}], [{**row, "t_local": 60.0, "cpu_time_s": 5.0 + used}])
    assert [s.headline for s in made] == [
        "java (pid 1) used 30.000 s of processor time in the 1 min 0 s between two listings"
    ][:n]


def memory(*files: dict[str, float], host: str | None = "db", unit: str = "kb") -> list[Sighting]:
    rows = [
        {"artifact_id": a, "host": host, "line_no": n, "part": 1, "sample": 1, "name": k, "value": v, "unit": unit}
        for a, file in enumerate(files, 1)
        for n, (k, v) in enumerate(file.items(), 1)
    ]
    return list(observe(Case.of_tables({"meminfo": rows})))


def test_memory_that_cannot_be_given_back_grew_between_two_files() -> None:
    (made,) = memory({"Cached": 1e5, "SUnreclaim": 2e5}, {"Cached": 9e6, "SUnreclaim": 4e5})
    assert made.headline == "SUnreclaim holds 400,000 kB, 200,000 kB in the listing before"
    assert [(c.artifact, c.line_from, c.role) for c in made.lines] == [(2, 2, "later"), (1, 2, "earlier")]


@pytest.mark.parametrize(
    ("before", "after", "more"),
    [(2e5, 2.9e5, {}), (1e4, 9e4, {}), (4e5, 2e5, {}), (2e5, 4e5, {"host": None}), (2e5, 4e5, {"unit": "pages"})],
    ids=["less than half", "less than 100 MiB", "fell", "unknown host", "other unit"],
)
def test_memory_that_grew_little_or_that_nothing_compares_says_nothing(before: float, after: float, more: Any) -> None:
    assert memory({"SUnreclaim": before}, {"SUnreclaim": after}, **more) == []


def test_one_listing_and_nothing_say_nothing() -> None:
    assert listings([{"comm": "java"}] * 50) == []
    assert listings() == []
