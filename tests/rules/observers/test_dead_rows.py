"""Dead rows that a vacuum left and dead rows of a listing, on both sides of the bounds."""

from __future__ import annotations

from typing import Any

import pytest

from rules.case.case import Case
from rules.observers.dead_rows import MANY, observe
from rules.observers.observer import Sighting


def logged(*texts: str) -> list[Sighting]:
    rows = [{"line_no": n, "text": text} for n, text in enumerate(texts, 1)]
    return list(observe(Case.of_tables({"logs": rows})))


@pytest.mark.parametrize(
    ("dead", "whole", "stands"), [(2000, 10000, True), (1999, 10000, False), (MANY - 1, MANY, False)]
)
def test_what_a_vacuum_left(dead: int, whole: int, stands: bool) -> None:
    found = logged(
        f"tuples: 5 removed, {whole} remain, {dead} are dead but not yet removable",
        "removable cutoff: 754, which was 40 XIDs old when operation ended",
    )
    assert bool(found) is stands
    for made in found:
        assert made.headline == (
            f"A vacuum left {dead:,} of {whole:,} row versions that are dead and cannot be removed yet;"
            " rows are removed only up to transaction 754, 40 transactions back"
        )
        assert [line.line_from for line in made.lines] == [1, 2]
        assert made.share == dead / whole


def test_what_an_older_vacuum_says() -> None:
    (made,) = logged(
        'INFO:  "account": found 0 removable, 328000 nonremovable row versions in 5047 out of 5047 pages',
        "DETAIL:  320000 dead row versions cannot be removed yet, oldest xmin: 754",
    )
    assert (made.value, made.against_value) == (320000.0, 328000.0)
    assert made.headline.endswith("; rows are removed only up to transaction 754")
    roles = ["all row versions", "what a vacuum left"]
    assert [line.role for line in made.lines] == roles, "the figure and the horizon stand on one line"


def test_the_newest_transaction_is_no_horizon_of_long_ago() -> None:
    (made,) = logged(
        "tuples: 0 removed, 9000 remain, 9000 are dead but not yet removable",
        "removable cutoff: 811, which was 0 XIDs old when operation ended",
    )
    assert made.headline.endswith("up to transaction 811")


def listed(**cells: Any) -> list[Sighting]:
    row = {
        "line_no": 2,
        "line_end": 9,
        "table_no": 1,
        "row_no": 1,
        "heading": list(cells),
        "cells": list(cells.values()),
    }
    return list(observe(Case.of_tables({"rows": [row]})))


@pytest.mark.parametrize(
    ("dead", "live", "stands"), [("5000", "5000", True), ("4999", "5000", False), ("999", "9", False)]
)
def test_dead_rows_of_a_listing(dead: str, live: str, stands: bool) -> None:
    found = listed(relname="account", n_live_tup=live, n_dead_tup=dead)
    assert [s.subject for s in found] == (["account"] if stands else [])


@pytest.mark.parametrize(
    ("counts", "beside"),
    [
        ({"vacuum_count": "3", "autovacuum_count": "9"}, "it was vacuumed 12 times"),
        ({"autovacuum_count": "1"}, "it was vacuumed once"),
        ({"vacuum_count": "0"}, "it was vacuumed never"),
        ({}, None),
    ],
)
def test_how_often_a_table_was_vacuumed(counts: dict[str, str], beside: str | None) -> None:
    (made,) = listed(relname="account", n_live_tup="10", n_dead_tup="5000", **counts)
    assert made.beside == beside


def test_a_listing_without_figures_says_nothing() -> None:
    assert listed(relname="account", n_live_tup="", n_dead_tup="many") == []
    assert listed(relname="account", n_dead_tup="5000") == []
