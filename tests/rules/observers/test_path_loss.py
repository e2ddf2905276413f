"""Loss at the end of a path is told with where it begins; loss of routers on the way is not."""

from __future__ import annotations

from typing import Any

import pytest

from rules.case.case import Case
from rules.observers.observer import Sighting
from rules.observers.path_loss import observe

HEADING = ["HOST: app1", "Loss%", "Snt"]


def mtr(*losses: str) -> list[Sighting]:
    hops = [[f"{n}.|-- 10.0.0.{n}", loss, "10"] for n, loss in enumerate(losses, 1)]
    rows = [
        {"part": 1, "line_no": n, "table_no": 1, "row_no": n, "heading": HEADING, "cells": cells}
        for n, cells in enumerate(hops, 1)
    ]
    return list(observe(Case.of_tables({"rows": rows})))


def test_loss_at_the_end_is_told_with_its_beginning() -> None:
    (made,) = mtr("0.0%", "50.0%", "0.0%", "20.0%", "30.0%")
    assert made.headline == "10.0.0.5, the last of 5 hops, lost 30 % of 10 packets; loss begins at 10.0.0.4"
    assert [c.line_from for c in made.lines] == [5, 4]


@pytest.mark.parametrize("losses", [("0.0%", "50.0%", "0.0%"), ("?",), ()])
def test_routers_that_do_not_answer_are_normal(losses: tuple[str, ...]) -> None:
    assert mtr(*losses) == []


@pytest.mark.parametrize(("rows", "told"), [(3, True), (2, False)])
def test_missing_answers_of_ping_are_told(rows: int, told: bool) -> None:
    made: list[dict[str, Any]] = [
        {"line_no": n, "series": "ping", "contiguous": "broken" if n == 2 else "proven"} for n in range(1, rows + 1)
    ]
    found = list(observe(Case.of_tables({"conn_times": made})))
    assert [s.headline for s in found] == (["Answers to ping are missing before 1 of 3 that came"] if told else [])


def runs(*of: tuple[str, int | None, int, int]) -> list[dict[str, Any]]:
    """Return counters of runs of ping: host, size, sent, answered."""
    made = []
    for n, (host, size, sent, got) in enumerate(of, 1):
        common = {"part": 1, "sample": n, "grp": "ping", "item": host}
        if size is not None:
            made.append({**common, "line_no": 10 * n, "name": "packet bytes", "value": float(size)})
        made.append({**common, "line_no": 10 * n + 5, "name": "transmitted", "value": float(sent)})
        made.append({**common, "line_no": 10 * n + 5, "name": "received", "value": float(got)})
    return made


def pinged(*of: tuple[str, int | None, int, int]) -> list[Sighting]:
    return list(observe(Case.of_tables({"counters": runs(*of)})))


def test_a_size_that_is_lost_is_told_beside_one_that_is_answered() -> None:
    (made,) = pinged(("10.0.0.8", 92, 5, 5), ("10.0.0.9", 84, 4, 4), ("10.0.0.8", 1480, 5, 0))
    assert made.headline == "10.0.0.8 answered 0 of 5 pings of 1,480 bytes: 100 % lost"
    assert made.beside == "5 of 5 pings of 92 bytes were answered, 0 % lost"
    assert [c.line_from for c in made.lines] == [30, 35, 10, 15]
    assert made.seen == ({"event": "only-small-packets-pass"},)


def test_loss_without_a_smaller_size_that_passes_has_no_name() -> None:
    (alone,) = pinged(("db1", None, 4, 1))
    assert alone.headline == "db1 answered 1 of 4 pings: 75 % lost"
    assert (alone.seen, alone.beside) == ((), None)
    for other in (("db1", 1500, 4, 4), ("db1", 84, 4, 3), ("db2", 84, 4, 4)):
        assert {s.seen for s in pinged(("db1", 1480, 4, 0), other)} == {()}
    (some,) = pinged(("db1", 84, 4, 4), ("db1", 1480, 4, 1))
    assert some.seen == ()


def test_runs_that_are_answered_or_too_short_are_normal() -> None:
    assert pinged(("db1", 84, 4, 4), ("db1", 1500, 2, 0)) == []


def test_a_run_with_an_end_is_told_once() -> None:
    series = [{"line_no": n, "series": "ping", "contiguous": "broken" if n == 2 else "proven"} for n in (1, 2, 3, 4)]
    made = list(observe(Case.of_tables({"conn_times": series, "counters": runs(("db1", 84, 5, 4))})))
    assert [s.headline for s in made] == ["db1 answered 4 of 5 pings of 84 bytes: 20 % lost"]
