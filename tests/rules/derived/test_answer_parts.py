"""Tests of requests whose waits are replaced by the server's own parts, drawn as intervals on the two clocks.

client  7    |own|>|............ wait 0.13 ............|<|own|             wall 0.2497 with two more questions
server  9          |.002.|<|own .001|.. fsync 0.12 ..|own .001|>|
piece              |rest |own      |.. fsync 0.12 ..|own      |rest|       for every position between > and <, except
0.0002
"""

from __future__ import annotations

from typing import Any

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from rules.case.case import Case
from rules.model import Citation
from rules.walking.whose_seconds import whose_seconds
from tests.draw import examples
from tests.rules.clocks.two_sides import AHEAD, CLIENT, SERVER, call, client, server, talk

WAITS, SYNCS = [0.13, 0.02, 0.05], [0.12, 0.01, 0.04]


def of(rows: list[dict[str, Any]]) -> Case:
    return Case.of_tables({"syscalls": rows})


def cite(artifact: int, first: int, last: int, role: str) -> tuple[Citation, ...]:
    return (Citation(artifact, "", first, last, role, "", None),)


def summed(parts: pl.DataFrame) -> dict[tuple[int, int], int]:
    """Return whole nanoseconds by request."""
    rows = parts.filter(~pl.col("followed")).select(
        "artifact_id", "request", (pl.col("dur_s") * 1e9).round().cast(pl.Int64)
    )
    return {(a, r): ns for a, r, ns in rows.group_by("artifact_id", "request").sum().iter_rows()}


def walls(case: Case) -> dict[tuple[int, int], int]:
    return {
        (r["artifact_id"], r["request"]): round(r["wall_s"] * 1e9)
        for r in case.derived("requests").iter_rows(named=True)
    }


def test_a_wait_becomes_the_servers_parts_and_everything_else() -> None:
    case = of([*client(WAITS), *server(WAITS, SYNCS)])
    parts = case.derived("answer_parts")
    whole = parts.filter(pl.col("request") == 1)
    far = whole.filter(pl.col("in_artifact") == 2)
    assert {
        (p["kind"], p["target"], round(p["dur_s"], 6)) for p in far.iter_rows(named=True) if p["kind"] == "sync"
    } == {("sync", "/srv/orders.log", sync) for sync in SYNCS}
    assert set(far["in_host"]) == {"db1"}
    assert set(far["in_clock"]) == {"2.1:1"}
    # 0.0002 s of the client's write and own code are between the question's begin and the wait: so much of the server's
    # work is uncertain.
    own = far.filter(pl.col("kind") == "own code")["dur_s"].to_list()
    assert [round(s, 6) for s in own] == [0.0018] * 3
    rest = whole.filter(~pl.col("followed") & pl.col("to_pid").is_not_null())
    assert [round(s, 6) for s in rest["dur_s"]] == [0.0082] * 3
    assert set(rest["to_host"]) == {"db1"}
    exact = walls(case)
    assert all(ns == exact[key] for key, ns in summed(parts).items())
    assert (1, 1) in summed(parts)


def test_traces_of_one_process_each_print_no_pid() -> None:
    rows = [r | {"pid": None, "lwp": None} for r in [*client(WAITS), *server(WAITS, SYNCS)]]
    case = of(rows)
    assert set(case.derived("answered_by")["state"]) == {"followed"}
    bar = whose_seconds(case, [], cite)
    assert bar is not None
    # A trace without pids shows nothing else about what its descriptors are.
    assert bar.pieces[0].label == "writing through to the disk /srv/orders.log: 3 calls, mostly fsync, on db1"
    assert "everything else of 3 waits for db1: network both ways, unread questions, client" in [
        p.label for p in bar.pieces
    ]
    assert round(sum(p.seconds for p in bar.pieces) * 1e9) == round(bar.total_s * 1e9)


def test_requests_that_asked_nobody_have_no_rows() -> None:
    case = of([*client(WAITS), *server(WAITS, SYNCS)])
    assert set(case.derived("answer_parts")["artifact_id"]) == {1}
    assert of(client(WAITS)).derived("answer_parts").is_empty()


def test_the_edges_lead_across() -> None:
    case = of([*client(WAITS), *server(WAITS, SYNCS)])
    edges = case.derived("wait_edges").filter(pl.col("request") == 1).sort("line_from")
    assert [
        (
            e["from_host"],
            e["from_pid"],
            e["to_host"],
            e["to_pid"],
            e["kind"],
            e["wait_s"],
            e["to_artifact"],
            e["to_clock"],
        )
        for e in edges.iter_rows(named=True)
    ] == [("web1", 7, "db1", 9, "socket", wait, 2, "2.1:1") for wait in WAITS]
    assert (round(edges["to_t0"][0] - AHEAD, 6), round(edges["to_t1"][0] - AHEAD, 6)) == (0.022, 0.144)


def test_the_bar_opens_lines_of_the_other_trace() -> None:
    case = of([*client(WAITS), *server(WAITS, SYNCS)])
    bar = whose_seconds(case, [], cite)
    assert bar is not None
    first = bar.pieces[0]
    assert first.label == "writing through to the disk /srv/orders.log: 3 calls, mostly fsync, on db1, in pid 9"
    assert first.seconds == 0.17
    assert {c.artifact for c in first.citations} == {2}
    (rest,) = [p for p in bar.pieces if p.label.startswith("everything else")]
    assert rest.label == "everything else of 3 waits for db1, pid 9: network both ways, unread questions, client"
    assert (rest.seconds, rest.kind, rest.layer, rest.at_most) == (0.0246, "rest", None, True)
    assert {c.artifact for c in rest.citations} == {1}
    assert round(sum(p.seconds for p in bar.pieces) * 1e9) == round(bar.total_s * 1e9)


def test_an_undecidable_answer_is_said_and_not_followed() -> None:
    case = of([*client(WAITS), *server(WAITS, SYNCS), *server(WAITS, SYNCS, artifact=3)])
    assert case.derived("answer_parts").is_empty()
    bar = whose_seconds(case, [], cite)
    assert bar is not None
    asked = [p for p in bar.pieces if p.kind == "wait"]
    assert [p.label for p in asked] == [
        f"connection {SERVER}: 6 calls, mostly recvfrom; who answered is undecidable, 2 answers fit"
    ]


def test_a_question_that_changes_threads_is_told_and_not_cut() -> None:
    theirs = [r | {"lwp": 12} if r["name"] == "sendto" else r for r in server(WAITS, SYNCS)]
    bar = whose_seconds(of([*client(WAITS), *theirs]), [], cite)
    assert bar is not None
    (asked,) = [p for p in bar.pieces if p.kind == "wait"]
    assert (
        asked.label
        == f"connection {SERVER}: 6 calls, mostly recvfrom; db1 had the questions for 0.1760 s of it, in more than one thread"
    )


def test_a_child_that_inherits_the_connection_answers() -> None:
    """Check that 9 accepts and its child 12 reads the questions and answers: the parent's accept shows who serves."""
    theirs = [
        r | {"pid": 12, "lwp": 12} if r["name"] in ("recvfrom", "sendto", "fsync") else r for r in server(WAITS, SYNCS)
    ]
    theirs.append(call(2, 90, 9, AHEAD + 0.0105, 0.0004, "clone", child_pid=12, ret=12))
    case = of([*client(WAITS), *theirs])
    assert set(case.derived("answered_by")["to_pid"]) == {12}
    assert set(case.derived("socket_ends").filter(pl.col("pid") == 12)["side"]) == {"server"}
    assert {r["pid"] for r in case.derived("answer_parts").filter(pl.col("kind") == "sync").iter_rows(named=True)} == {
        12
    }


def test_the_servers_own_child_is_followed_too() -> None:
    """Check that 9 starts 12 for the question and waits for it, while 12 reads a file for 0.1 s."""
    theirs = [r for r in server([0.13], [0.12]) if r["name"] != "fsync"]
    at = AHEAD + 0.022
    theirs += [
        call(2, 20, 9, at + 0.001, 0.001, "clone", child_pid=12, ret=12),
        call(2, 21, 12, at + 0.003, 0.001, "execve", path="/bin/look"),
        call(2, 22, 12, at + 0.005, 0.1, "pread64", fd=3, bytes=8192, ret=8192, path="/srv/table"),
        call(2, 23, 12, at + 0.106, 0.0001, "exit_group", state="no_return", dur_kind="gap", elapsed_s=None),
        call(2, 24, 9, at + 0.003, 0.105, "wait4", arg_id=12, ret=12),
    ]
    case = of([*client([0.13]), *theirs])
    far = case.derived("answer_parts").filter((pl.col("request") == 1) & (pl.col("pid") == 12) & ~pl.col("followed"))
    assert {(p["kind"], p["level"], round(p["dur_s"], 6)) for p in far.iter_rows(named=True)} >= {("file", 2, 0.1)}
    edges = case.derived("wait_edges").filter((pl.col("to_pid") == 12) & (pl.col("artifact_id") == 2))
    assert edges.height
    assert all(ns == walls(case)[key] for key, ns in summed(case.derived("answer_parts")).items())


def test_a_server_that_asks_a_third_is_followed_on() -> None:
    """Check web1 7 -> db1 9 -> db2 9: the second question takes up the first one's time."""
    inner, outer = [0.1], [0.13]
    behind = ("198.51.100.2:4100", "198.51.100.3:5432")
    at = AHEAD + 0.022
    middle = [r for r in server(outer, [0.12]) if r["name"] != "fsync"]
    middle += [
        call(2, 20, 9, AHEAD - 0.5, 0.001, "connect", fd=6, peer_ip="198.51.100.3", peer_port=5432, args="6<TCP:[98]>"),
        talk(2, 21, 9, at + 0.001, 0.0001, "sendto", 100, behind, fd=6),
        talk(2, 22, 9, at + 0.0012, 0.1, "recvfrom", 40, behind, fd=6),
    ]
    last = server(inner, [0.09], artifact=3, ends=(behind[1], behind[0]), ahead=9000.0)
    case = of([*client(outer), *middle, *last])
    parts = case.derived("answer_parts").filter((pl.col("artifact_id") == 1) & (pl.col("request") == 1))
    (sync,) = parts.filter((pl.col("in_artifact") == 3) & (pl.col("kind") == "sync")).to_dicts()
    assert (sync["level"], sync["in_host"], round(sync["dur_s"], 6)) == (2, "db2", 0.09)
    assert all(ns == walls(case)[key] for key, ns in summed(case.derived("answer_parts")).items())


@settings(max_examples=examples(25), deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 300), st.integers(5, 60)), min_size=1, max_size=4),
    st.floats(0, 5000, allow_nan=False),
    st.sampled_from(["start", "end"]),
)
def test_pieces_always_add_up_to_the_whole(drawn: list[tuple[int, int]], ahead: float, stamp: str) -> None:
    """Check that pieces add up.

    `drawn`: milliseconds in fsync, and the rest of the client's wait; stamps mark the begin (strace) or the end of a
    call (truss -E).
    """
    syncs = [sync / 1000 for sync, _ in drawn]
    waits = [round(sync + more / 1000, 6) for sync, (_, more) in zip(syncs, drawn, strict=True)]
    rows = [*client(waits, ends=(CLIENT, SERVER)), *server(waits, syncs, ahead=round(ahead + 2, 3))]
    if stamp == "end":
        rows = [
            r | {"t_local": round(r["t_local"] + (r["dur_hi_s"] if r["state"] == "done" else 0.0), 6), "stamp": "end"}
            for r in rows
        ]
    case = of(rows)
    parts = case.derived("answer_parts")
    exact = walls(case)
    assert parts.height
    assert all(ns == exact[key] for key, ns in summed(parts).items())
    assert parts.filter(pl.col("dur_s") < 0).is_empty()
    spent = parts.filter((pl.col("request") == 1) & (pl.col("kind") == "sync"))["dur_s"].sum()
    assert spent <= sum(syncs) + 1e-9
    bar = whose_seconds(case, [], cite)
    assert bar is not None
    assert round(sum(p.seconds for p in bar.pieces) * 1e9) == round(bar.total_s * 1e9)
