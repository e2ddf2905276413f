"""Deleted files that are open stand out by their size."""

from __future__ import annotations

from typing import Any

import pytest

from rules.case.case import Case
from rules.observers.deleted_files import LEAST_B, observe
from rules.observers.observer import Sighting


def seen(*rows: dict[str, Any]) -> list[Sighting]:
    made = [{"line_no": n, "comm": "ledgerd", "pid": 41, **row} for n, row in enumerate(rows, 5)]
    return list(observe(Case.of_tables({"fdmap": made})))


@pytest.mark.parametrize(("size", "stands"), [(LEAST_B, True), (LEAST_B - 1, False)])
def test_a_deleted_file_stands_out_by_its_size(size: float, stands: bool) -> None:
    assert [s.value for s in seen({"path": "/var/log/a.log (deleted)", "size_b": size})] == [size] * stands


def test_a_file_is_told_once_with_who_has_it_open() -> None:
    row = {"path": "/var/log/a.log (deleted)", "size_b": 8.0 * LEAST_B}
    (one,) = seen(row, row, {**row, "pid": 42})
    assert one.headline == (
        "ledgerd (41) and 1 more have /var/log/a.log open, which is deleted and still takes 8,388,608 kB"
    )
    assert [c.line_from for c in one.lines] == [5, 6, 7]


def test_files_that_are_there_are_normal() -> None:
    assert seen({"path": "/var/lib/a.db", "size_b": 90.0 * LEAST_B}, {"path": None, "size_b": 90.0 * LEAST_B}) == []
    assert seen() == []
