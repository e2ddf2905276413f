"""Tests of observations that exclude the verdict "nothing wrong": felt waits, full resources, failures, stuck tasks."""

from __future__ import annotations

from typing import Any

import pytest

from rules.judging.verdict import stands_out

ROW: dict[str, Any] = {
    "idle": False, "seconds": None, "value": 1.0, "kind": "counter", "observer": "still-counters", "share": 0.5, "unit": "count", "failure": False,
}  # fmt: skip


@pytest.mark.parametrize(
    ("more", "stands"),
    [
        ({}, False),
        ({"kind": "lockup"}, True),
        ({"kind": "hung"}, True),
        ({"kind": "lockup", "idle": True}, False),
        ({"seconds": 0.1}, True),
        ({"seconds": 0.09}, False),
        ({"observer": "saturation", "share": 0.8}, True),
        ({"observer": "saturation", "share": 0.79}, False),
        ({"failure": True}, True),
    ],
)
def test_what_stands_out(more: dict[str, Any], stands: bool) -> None:
    assert stands_out({**ROW, **more}) is stands
