"""Tests of the waits in the verdict's sentence: only waits for the cited process in the cited seconds count.

                     0.0       1.0       2.0       3.0
10 (parent)          |--own----[ waits for 11, pipe ]-|
11 (child)                     |--[ waits for 12 ]----|
12 (grandchild)                   [ its slow call ]
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from rules.case.case import Case
from rules.model import Citation, Finding
from rules.walking.wait_path import Wait, described, waits_for
from tests.rules.incidents.mutations import judged

PLACE = {"artifact_id": 1, "host": "db", "clock": "1.1:1"}


def call(line: int, pid: int, at: float, seconds: float, stamp: str = "end") -> dict[str, Any]:
    return {**PLACE, "line_no": line, "pid": pid, "lwp": 1, "t_local": at, "dur_hi_s": seconds, "stamp": stamp}


def edge(line: int, waiter: int, author: int, seconds: float) -> dict[str, Any]:
    return {**PLACE, "from_host": "db", "to_host": "db", "from_pid": waiter, "to_pid": author, "kind": "pipe", "line_from": line, "line_to": line,
            "wait_s": seconds, "share": seconds / 3, "request": 1, "to_artifact": 1, "to_clock": "1.1:1"}  # fmt: skip


CALLS = [call(1, 10, 3.0, 2.0), call(2, 11, 2.9, 1.4), call(3, 12, 2.8, 1.2), call(4, 10, 0.9, 0.5)]
EDGES = [edge(1, 10, 11, 2.0), edge(2, 11, 12, 1.4), edge(4, 10, 12, 0.5)]
REQUESTS = [{**PLACE, "request": 1, "pid": 10, "wall_s": 3.0}]


def of(
    line: int, calls: list[dict[str, Any]] | None = None, edges: list[dict[str, Any]] | None = None
) -> tuple[Wait, ...]:
    rows = {"syscalls": calls or CALLS, "wait_edges": edges or EDGES, "requests": REQUESTS, "pipe_pairs": []}
    return waits_for(Case.of_tables(rows), finding(line))


def finding(line: int, host: str | None = "db") -> Finding:
    cited = (Citation(1, "", line, line, "wait", "", None),)
    known: dict[str, Any] = dict.fromkeys(Finding.__dataclass_fields__)
    return Finding(**{**known, "host": host, "citations": cited})


def test_the_whole_path_from_the_outermost_waiter() -> None:
    path = of(3)
    assert path == (Wait("pid 10", "pid 11", 2.0, 3.0), Wait("pid 11", "pid 12", 1.4, 3.0))
    assert (
        described(path, "db")
        == "pid 10 waits at most 2.000 of 3.000 s for pid 11, which waits at most 1.400 of 3.000 s for pid 12"
    )


def test_a_wait_in_other_seconds_leads_nowhere() -> None:
    """Check that 10 waited for 12 before, and for something else while 12 was slow."""
    assert of(3, edges=[edge(4, 10, 12, 0.5)]) == ()


def test_an_edge_of_another_clock_or_file_leads_nowhere() -> None:
    for other in (
        {"clock": "1.1:2", "to_clock": "1.1:2"},
        {"artifact_id": 2, "to_artifact": 2},
        {"to_artifact": 2},
        {"to_clock": None},
    ):
        assert of(3, edges=[{**e, **other} for e in EDGES]) == ()


FAR = {"artifact_id": 2, "host": "web", "clock": "2.1:1"}


def asked(line: int, seconds: float, since: float, **more: Any) -> dict[str, Any]:
    """Return an edge: pid 11 of db holds a question of pid 10 of web (another process than pid 10 of db).

    It holds the question for `seconds` from `since` on db's clock.
    """
    to = {
        "to_artifact": 1,
        "to_clock": "1.1:1",
        "to_host": "db",
        "to_pid": 11,
        "to_lwp": 1,
        "to_t0": since,
        "to_t1": since + seconds,
    }
    return {**FAR, "from_host": "web", "from_pid": 10, "kind": "socket", "line_from": line, "line_to": line, "wait_s": seconds, "share": 0.1,
            "request": 1, **to, **more}  # fmt: skip


def test_the_path_leads_to_whoever_asked_in_another_trace() -> None:
    """db   11 (server)  1.0 |--[ question 1 ]--[ question 2 ]--| 3.0     its slow call lies in question 2
    web  10 (client)  71.0 |---[ waits ]------[ waits ]---------| 73.0, its clock is another one"""
    far = [{**call(n, 10, 70.0 + n, 0.9), **FAR, "lwp": 10} for n in (1, 2)]
    rows = {
        "syscalls": [call(2, 11, 2.9, 1.4), *far],
        "wait_edges": [asked(1, 0.8, 1.0), asked(2, 0.9, 1.9)],
        "requests": [{**FAR, "request": 1, "pid": 10, "wall_s": 2.5}],
        "pipe_pairs": [],
    }
    cited = replace(finding(2), clock="1.1:1", t_from=1.0, t_to=2.8)
    path = waits_for(Case.of_tables(rows), cited)
    assert path == (Wait("pid 10 on web", "pid 11 on db", 1.7, 2.5),)
    assert described(path, "db") == "pid 10 on web waits at most 1.700 of 2.500 s for pid 11 on db"
    only_last = replace(cited, t_from=2.0, t_to=2.8)
    assert waits_for(Case.of_tables(rows), only_last) == (Wait("pid 10 on web", "pid 11 on db", 0.9, 2.5),)
    rows["wait_edges"] = [asked(1, 0.8, 1.0, to_t0=11.0, to_t1=11.8)]
    assert waits_for(Case.of_tables(rows), cited) == (), "he had the question in other seconds"


def test_nobody_waits_for_the_outermost_process() -> None:
    assert of(1) == ()
    assert of(99) == (), "a line that is no call"
    assert waits_for(Case.of_tables({"syscalls": CALLS}), None) == ()


def test_a_circle_of_waits_ends() -> None:
    assert len(of(3, edges=[*EDGES, edge(3, 12, 10, 1.2)])) == 2


def test_stamps_at_the_start_of_a_call() -> None:
    begun = [call(1, 10, 1.0, 2.0, "start"), call(2, 11, 1.5, 1.4, "start"), call(3, 12, 1.6, 1.2, "start")]
    assert len(of(3, calls=begun, edges=EDGES[:2])) == 2
    assert of(3, calls=[{**begun[0], "t_local": 3.0}, *begun[1:]], edges=[edge(1, 10, 12, 2.0)]) == (), "it began later"


def test_a_client_s_wait_is_told_apart_and_only_for_its_host() -> None:
    seen = {"artifact_id": 2, "host": "gw", "from_host": "gw", "to_host": "db", "kind": "socket", "line_from": 1, "line_to": 2,
            "wait_s": 1.8, "share": 0.9}  # fmt: skip
    rows = {
        "syscalls": [*CALLS, {**CALLS[0], "artifact_id": 2, "host": "gw"}],
        "wait_edges": [*EDGES, seen],
        "requests": REQUESTS,
        "pipe_pairs": [],
    }
    path = waits_for(Case.of_tables(rows), finding(2))
    assert described(path, "db") == (
        "as the client sees it, gw waits 1.800 of 2.000 s for db; as traced on db, pid 10 waits at most 2.000 of 3.000 s for pid 11"
    )
    rows["wait_edges"] = [*EDGES, {**seen, "to_host": "other"}]
    assert len(waits_for(Case.of_tables(rows), finding(2))) == 1
    rows["wait_edges"] = [seen]
    assert waits_for(Case.of_tables(rows), finding(2)) == (), "no line says that the host's seconds are these"


@pytest.mark.parametrize(
    ("number", "sentence"),
    [
        (
            "000",
            "pid 15697 waits at most 0.130 of 0.296 s for pid 8197, because pid 8197 asks the cluster framework 75 times in one connection: "
            "0.1172 s; in other seconds of the same request: forking burns 0.0545 s of CPU per connection of listener pid 15697.",
        ),
        (
            "001",
            "As the client sees it, gateway waits 1.792 of 1.872 s for db1; as traced on db1, pid 22626 waits at most 3.333 s for pid 3731, because a "
            "database process (pid 3731) took up to 2.473 s to attach dynamic shared memory (dism): 74 % of its request (2.473 of 3.333 s).",
        ),
    ],
)
def test_the_published_verdicts_tell_their_path(number: str, sentence: str, tmp_path: Any) -> None:
    assert judged(number, tmp_path / "case").verdict.sentence == sentence
