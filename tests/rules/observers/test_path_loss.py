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
