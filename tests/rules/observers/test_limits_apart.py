"""Tests of a use in one listing and its limit in another one of the same host, on both sides of the bounds."""

from __future__ import annotations

from typing import Any

import pytest

from rules.case.case import Case
from rules.observers.limits_apart import MAPPINGS, OVER, observe
from rules.observers.observer import Sighting


def seen(**tables: list[dict[str, Any]]) -> list[Sighting]:
    return list(observe(Case.of_tables(tables).with_text()))


def lines(n: float, artifact: int = 1, host: str = "a", **more: Any) -> dict[str, Any]:
    held = {"artifact_id": artifact, "host": host, "line_no": 1, "grp": "lines of /proc/PID", "item": "7"}
    return {**held, "name": "maps", "value": n, **more}


def limit(n: float, artifact: int = 2, host: str = "a") -> dict[str, Any]:
    return {"artifact_id": artifact, "host": host, "line_no": 4, "name": MAPPINGS, "num": n}


@pytest.mark.parametrize(("used", "stands"), [(799.0, False), (800.0, True), (1000 * OVER, True), (1051.0, False)])
def test_counted_lines_of_a_map_beside_the_setting(used: float, stands: bool) -> None:
    found = seen(counters=[lines(used)], params=[limit(1000.0)])
    assert bool(found) is stands
    for made in found:
        assert made.subject == "process 7 mappings"
        assert [(c.artifact, c.line_from) for c in made.lines] == [(1, 1), (2, 4)]
        assert made.seen == ({"counter": MAPPINGS},)


def test_the_rows_of_an_address_map_are_counted() -> None:
    rows = [{"artifact_id": 1, "host": "a", "pid": 7, "line_no": n, "addr": n} for n in range(1, 91)]
    (made,) = seen(pmap=rows, params=[limit(100.0)])
    assert (made.value, made.share) == (90.0, 0.9)


def test_another_host_or_the_same_artifact_is_no_pair() -> None:
    assert seen(counters=[lines(900.0)], params=[limit(1000.0, host="b")]) == []
    assert seen(counters=[lines(900.0)], params=[limit(1000.0, artifact=1)]) == []
    assert seen(counters=[lines(900.0, name="fdinfo")], params=[limit(1000.0)]) == []


def opened(n: int) -> list[dict[str, Any]]:
    return [{"artifact_id": 1, "host": "a", "sample": 1, "pid": 7, "fd": k, "line_no": k + 1} for k in range(n)]


def allowed(n: float, artifact: int) -> dict[str, Any]:
    held = {"artifact_id": artifact, "host": "a", "line_no": 8, "scope": "limits", "name": "Max open files"}
    return {**held, "num": n, "privilege": "soft"}


def test_descriptors_of_a_process_beside_its_limits() -> None:
    (made,) = seen(fdmap=opened(90), params=[allowed(100.0, 2)])
    assert (made.subject, made.value) == ("process 7 open descriptors", 90.0)
    assert seen(fdmap=opened(79), params=[allowed(100.0, 2)]) == []
    assert seen(fdmap=opened(90), params=[allowed(100.0, 2), allowed(200.0, 3)]) == []
