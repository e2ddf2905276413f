"""Containers with very many processes and threads, and those with few."""

from __future__ import annotations

from rules.case.case import Case
from rules.observers.container_tasks import MANY, observe
from rules.observers.observer import Sighting


def made(*cells: tuple[str, str, str], heading: tuple[str, ...] = ("CONTAINER ID", "NAME", "PIDS")) -> list[Sighting]:
    rows = [
        {"table_no": 1, "row_no": n, "line_no": n + 1, "heading": list(heading), "cells": list(row)}
        for n, row in enumerate(cells, 1)
    ]
    return list(observe(Case.of_tables({"rows": rows})))


def test_a_container_with_thousands_is_told() -> None:
    (one,) = made(("0a1b", "shop", "9120"), ("2c3d", "mail", "12"))
    assert one.headline == "The container shop has 9,120 processes and threads (PIDS)"
    assert (one.normal, one.lines[0].line_from) == (False, 2)


def test_the_bound_and_what_is_normal() -> None:
    (one,) = made(("0a1b", "", f"{MANY:.0f}"), ("2c3d", "mail", "12"))
    assert (one.subject, one.normal) == ("tasks of 0a1b", False)
    (one,) = made(("0a1b", "shop", f"{MANY - 1:.0f}"), ("2c3d", "mail", "12"))
    assert (one.subject, one.normal) == ("tasks of shop", True)


def test_odd_cells_say_nothing() -> None:
    assert made(("0a1b", "shop", "--"), ("2c3d", "mail", "0")) == []
    assert made(("a", "b", "99999"), heading=("CONTAINER ID", "NAME", "SIZE")) == []
    assert made(("a", "b", "99999"), heading=("X", "Y", "PIDS")) == []
