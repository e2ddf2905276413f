"""Tests that a use of four fifths of the limit stands out, with the lines of both."""

from __future__ import annotations

from typing import Any

import pytest

from rules.case.case import Case
from rules.observers.near_limit import observe
from rules.observers.observer import Sighting
from rules.signatures.signatures import recognise


def seen(table: str, *rows: dict[str, Any]) -> list[Sighting]:
    case = Case.of_tables({table: [{"line_no": n, **row} for n, row in enumerate(rows, 1)]})
    return [s for s in observe(case) if not s.normal]


@pytest.mark.parametrize(("used", "stands"), [(79.0, False), (80.0, True), (100.0, True)])
def test_a_listing_with_limits(used: float, stands: bool) -> None:
    found = seen("resource_use", {"scope": "oracle", "name": "sessions", "used": used, "limit_num": 100.0})
    assert bool(found) is stands


def test_the_peak_counts_and_says_so() -> None:
    (made,) = seen(
        "resource_use", {"scope": "oracle", "name": "sessions", "used": 10.0, "peak": 100.0, "limit_num": 100.0}
    )
    assert made.headline == "oracle sessions has used 100 % of what is allowed at the peak: 100 of 100"


def test_an_unlimited_resource_is_never_near() -> None:
    assert seen("resource_use", {"name": "files", "used": 2.0**62, "limit_num": 2.0**63}) == []
    assert seen("resource_use", {"name": "files", "used": 5.0, "limit_num": 0.0}) == []


def test_a_count_and_its_maximum_are_a_pair() -> None:
    (made,) = seen(
        "counters",
        {"name": "net.netfilter.nf_conntrack_count", "value": 58.0},
        {"name": "net.netfilter.nf_conntrack_max", "value": 60.0},
    )
    assert made.share == pytest.approx(58 / 60)
    assert [(c.line_from, c.role) for c in made.lines] == [(1, "used"), (2, "limit")]


def test_a_limit_of_another_group_is_no_pair() -> None:
    rows = [
        {"item": "/a", "name": "memory.usage_in_bytes", "value": 60.0},
        {"item": "/b", "name": "memory.limit_in_bytes", "value": 60.0},
    ]
    assert seen("counters", *rows) == []
    (made,) = seen("counters", rows[0], {**rows[1], "item": "/a"})
    assert made.subject == "/a memory.usage_in_bytes"


def test_far_over_a_limit_is_no_limit() -> None:
    assert seen("counters", {"name": "x_count", "value": 73.0}, {"name": "x_max", "value": 60.0}) == []


def test_a_setting_can_be_the_limit() -> None:
    rows = {
        "counters": [{"line_no": 1, "name": "pids.current", "value": 99.0}],
        "params": [{"line_no": 2, "name": "pids.max", "num": 100.0}],
    }
    (made,) = (s for s in observe(Case.of_tables(rows)) if not s.normal)
    assert made.share == pytest.approx(0.99)


def measures(tables: dict[str, list[dict[str, Any]]]) -> list[tuple[str, float]]:
    case = Case.of_tables({t: [{"line_no": n, **row} for n, row in enumerate(rows, 1)] for t, rows in tables.items()})
    return [(s.name, s.value) for s in observe(case) if s.normal]


def test_the_fullest_of_a_listing_is_a_measure() -> None:
    row = {"scope": "project", "name": "process.max-file-descriptor"}
    rows = [{**row, "used": used, "limit_num": 256.0} for used in (12.0, 64.0, 32.0)]
    assert measures({"resource_use": rows}) == [("descriptors_used_pct", 25.0)]
    rows = [{"scope": "project", "name": "project.max-lwps", "used": 10.0, "limit_num": 100.0}]
    assert measures({"resource_use": rows}) == [("processes_used_pct", 10.0)]


def test_the_host_and_a_database_say_nothing_of_one_process() -> None:
    host = {"scope": "sysctl", "name": "fs.file-nr", "used": 9600.0, "limit_num": 814000.0}
    assert (
        measures({"resource_use": [host, {"scope": "oracle", "name": "processes", "used": 1.0, "limit_num": 9.0}]})
        == []
    )


def test_a_group_s_processes_are_a_measure() -> None:
    pair = [{"name": "pids.current", "value": 30.0}, {"name": "pids.max", "value": 100.0}]
    assert measures({"counters": pair}) == [("processes_used_pct", 30.0)]


@pytest.mark.parametrize(("n", "stands"), [(8, True), (7, False)])
def test_open_descriptors_against_the_soft_limit_beside_them(n: int, stands: bool) -> None:
    limits = [
        {"scope": "limits", "name": "open files", "num": num, "privilege": p}
        for p, num in (("soft", 10.0), ("hard", 4096.0))
    ]
    tables = {"fdmap": [{"pid": 7, "comm": "java", "fd": fd} for fd in range(n)], "params": limits}
    assert measures(tables) == [("descriptors_used_pct", 10.0 * n)]
    case = Case.of_tables({t: [{"line_no": k, **row} for k, row in enumerate(rows, 1)] for t, rows in tables.items()})
    assert any(not s.normal for s in observe(case)) is stands


@pytest.mark.parametrize(("used", "stands"), [(7.0, False), (8.0, True)])
def test_sessions_of_a_proxys_server_and_their_limit(used: float, stands: bool) -> None:
    rows = [{"item": "app1", "name": name, "value": value} for name, value in (("scur", used), ("slim", 10.0))]
    found = seen("counters", *rows, {"item": "other", "name": "slim", "value": 8.0})
    assert [s.subject for s in found] == (["app1 scur"] if stands else [])


def test_the_file_cache_of_a_group_near_its_limit_is_told_beside() -> None:
    def full(cache: float, name: str = "file") -> Sighting:
        held = {"memory.current": 950.0, "memory.max": 1000.0, name: cache}
        (made,) = seen("counters", *[{"grp": "cgroup", "item": "/a", "name": k, "value": v} for k, v in held.items()])
        return made

    assert full(760.0).beside == "file is 760 bytes of it, 80 %"
    assert [line.line_from for line in full(760.0).lines] == [1, 2, 3]
    assert full(960.0).beside is None, "more than is used was read at another moment"
    assert full(760.0, "inactive_file").beside is None


@pytest.mark.parametrize(("used", "known"), [(91.0, False), (98.0, True), (100.0, True)])
def test_what_is_used_up_may_be_known_apart_from_what_is_only_near(used: float, known: bool) -> None:
    rows = [{"name": "Data Space Used", "value": used}, {"name": "Data Space Total", "value": 100.0}]
    (made,) = seen("counters", *rows)
    assert (made.seen[0] == {"counter": "Data Space Used used up"}) is known
    found = [one.mechanism for names in made.seen for one in recognise(**names)]
    assert ("file-system-full" in found) is known
