"""Tests of waits for answers, tied to the process that answered in another trace. The server's clock shows 500 s more.

client  7  0.02 >100|..... wait 0.13 .....|<40   .. >101|. wait 0.02 .|<40
server  9       500.022 <100|.. fsync 0.12 ..|>40 500.144       ...
"""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rules.case.case import Case
from rules.model import CaseSpec
from tests.draw import examples
from tests.rules.clocks.two_sides import AHEAD, CLIENT, SERVER, call, client, server

WAITS, SYNCS = [0.13, 0.02, 0.05], [0.12, 0.01, 0.04]
ENDS = (CLIENT, SERVER)


def answers(rows: list[dict[str, Any]], **tables: Any) -> list[dict[str, Any]]:
    return Case.of_tables({"syscalls": rows, **tables}).derived("answered_by").to_dicts()


def test_each_wait_and_who_answered_it() -> None:
    found = answers([*client(WAITS), *server(WAITS, SYNCS)])
    assert [(r["line_no"], r["to_asked"], r["to_answered"], r["state"], r["fits"]) for r in found] == [
        (4, 3, 5, "followed", 1), (6, 6, 8, "followed", 1), (8, 9, 11, "followed", 1),
    ]  # fmt: skip
    first = found[0]
    assert (first["artifact_id"], first["host"], first["pid"], first["local"], first["peer"]) == (1, "web1", 7, *ENDS)
    assert (first["to_artifact"], first["to_host"], first["to_clock"], first["to_pid"]) == (2, "db1", "2.1:1", 9)
    # From the begin of the write at 0.0200 to the read at 0.1502; from the read at 500.022 to the begin of the write at
    # 500.144.
    assert (first["wait_s"], first["away_s"], first["server_s"], first["rest_s"]) == (0.13, 0.1302, 0.122, 0.0082)
    assert first["off_lo"] <= AHEAD <= first["off_hi"]
    assert round(first["off_hi"] - first["off_lo"], 6) == first["rest_s"]


OTHER = ("192.0.2.1:48741", SERVER)


@pytest.mark.parametrize(
    "theirs",
    [
        server(WAITS, SYNCS, ends=(CLIENT, SERVER)),  # ports swapped: it has the client's own address
        server(WAITS, SYNCS, ends=(SERVER, OTHER[0])),  # another connection of the same two hosts
        server(WAITS, SYNCS, ends=("192.0.2.3:15210", CLIENT)),  # another server's address
        server(WAITS, [0.14, 0.01, 0.04]),  # held the question longer than the client was without the answer
        server(WAITS, SYNCS, answer=41),  # another answer
        server(WAITS, SYNCS)[:2],  # no data
    ],
)
def test_what_is_not_this_connection_is_not_followed(theirs: list[dict[str, Any]]) -> None:
    assert answers([*client(WAITS), *theirs]) == []


def test_a_poll_before_the_read_is_the_wait() -> None:
    rows = client([0.0001])
    rows[-1]["t_local"] = 0.3
    rows[3]["t_local"] = 0.1405  # the read itself is short
    rows.append(call(1, 20, 7, 0.0202, 0.12, "poll", args="[{fd=4<TCP:[...]>, events=POLLIN}], 1, 300000", ret=1))
    (found,) = answers([*rows, *server([0.1], [0.11])])
    assert (found["line_no"], found["line_got"], found["wait_s"], found["state"]) == (20, 4, 0.12, "followed")


def test_without_a_long_wait_there_is_nothing_to_follow() -> None:
    assert answers([*client([0.0009]), *server([0.0009], [0.0])]) == []


def test_a_server_that_waits_for_the_next_question_waits_for_nobody() -> None:
    """Check the server's side: each question ends a wait there too, but the server asked nothing."""
    rows = answers([*client(WAITS), *server(WAITS, SYNCS)])
    assert {r["artifact_id"] for r in rows} == {1}


def test_who_serves_must_be_seen() -> None:
    """Check two traces that begin on an open connection: without accept or connect, the asking side is unknown."""
    mine, theirs = client(WAITS, made=False), server(WAITS, SYNCS, made=False)
    assert answers([*mine, *theirs]) == []
    listens = [
        {"host": "db1", "state": "LISTEN", "local_ip": "0.0.0.0", "local_port": 15210, "line_no": 1, "artifact_id": 3}
    ]
    found = answers([*mine, *theirs], sockets=listens)
    assert found, "the port that waits for connections serves"
    assert {r["artifact_id"] for r in found} == {1}


def test_where_two_orders_fit_nobody_is_named() -> None:
    """Check five equal questions with a server trace that lacks the beginning: each of the answers fits."""
    alike = [0.05] * 3
    rows = client(alike)
    for r in rows:
        if r["name"] == "sendto":
            r["bytes"] = 100
    theirs = [r | {"bytes": 100} if r["name"] == "recvfrom" else r for r in server(alike, [0.01] * 3, made=False)]
    found = answers([*rows, *theirs])
    assert {(r["state"], r["to_artifact"], r["server_s"]) for r in found} == {("undecided", None, None)}
    assert found[0]["fits"] == 5
    tied = [{"clock": "2.1:1", "ref_clock": "1.1:1", "off_lo": 499.99, "off_hi": 500.01, "accepted": True}]
    found = answers([*rows, *theirs], clock_map=tied)
    assert [(r["line_no"], r["to_asked"], r["state"]) for r in found] == [
        (4, 3, "followed"),
        (6, 6, "followed"),
        (8, 9, "followed"),
    ]
    chained = [
        {"clock": "2.1:1", "ref_clock": "9.1:1", "off_lo": 599.99, "off_hi": 600.01, "accepted": True},
        {"clock": "9.1:1", "ref_clock": "1.1:1", "off_lo": -100.01, "off_hi": -99.99, "accepted": True},
    ]
    assert {r["state"] for r in answers([*rows, *theirs], clock_map=chained)} == {"followed"}
    refused = [{**tied[0], "accepted": False}]
    assert {r["state"] for r in answers([*rows, *theirs], clock_map=refused)} == {"undecided"}


def test_clocks_that_are_tied_refuse_what_the_order_would_allow() -> None:
    tied = [{"clock": "2.1:1", "ref_clock": "1.1:1", "off_lo": 0.0, "off_hi": 0.01, "accepted": True}]
    assert answers([*client(WAITS), *server(WAITS, SYNCS)], clock_map=tied) == []


def test_two_servers_that_fit_are_not_one() -> None:
    """Check the same trace under two numbers: it is unclear which of them is meant."""
    rows = [*client(WAITS), *server(WAITS, SYNCS), *server(WAITS, SYNCS, artifact=3)]
    found = answers(rows)
    assert {(r["state"], r["fits"], r["to_artifact"]) for r in found} == {("undecided", 2, None)}


def test_an_answer_that_passes_between_threads_is_known_and_not_walked() -> None:
    theirs = [r | {"lwp": 12} if r["name"] == "sendto" else r for r in server(WAITS, SYNCS)]
    assert {(r["state"], r["server_s"] is not None) for r in answers([*client(WAITS), *theirs])} == {("threads", True)}


def test_loopback_addresses_mean_one_host() -> None:
    near = ("127.0.0.1:4000", "127.0.0.1:80")
    mine, theirs = client(WAITS, ends=near), server(WAITS, SYNCS, ends=(near[1], near[0]))
    assert answers([*mine, *theirs]) == [], "web1 and db1"
    assert answers([*mine, *[r | {"host": "web1"} for r in theirs]])
    nowhere = [r | {"host": None} for r in [*mine, *theirs]]
    assert answers(nowhere) == [], "two unknown hosts are not one"


def test_both_ends_in_one_trace() -> None:
    """Check strace -f of a program that talks to itself: one clock, so the offset is 0."""
    near = ("127.0.0.1:4000", "127.0.0.1:80")
    theirs = [r | {"artifact_id": 1, "host": "web1", "clock": "1.1:1", "line_no": 100 + r["line_no"], "line_end": 100 + r["line_end"]}
              for r in server(WAITS, SYNCS, ends=(near[1], near[0]), ahead=0.0) if r["t_local"] >= 0]  # fmt: skip
    found = answers([*client(WAITS, ends=near), *theirs])
    assert [(r["state"], r["to_artifact"], r["to_pid"]) for r in found] == [("followed", 1, 9)] * 3
    late = [r | {"t_local": r["t_local"] + 0.5} for r in theirs]
    assert answers([*client(WAITS, ends=near), *late]) == [], "at other times of the same clock"


def test_inodes_tie_on_one_host_only() -> None:
    def unix(rows: list[dict[str, Any]], local: int, peer: int, host: str) -> list[dict[str, Any]]:
        args = f"4<UNIX-STREAM:[{local}->{peer}]>, ..."
        made: dict[str, Any] = {"peer_ip": None, "peer_port": None, "host": host}
        return [r | made | ({"args": args} if r["name"] in ("sendto", "recvfrom") else {}) for r in rows]

    theirs = server(WAITS, SYNCS)
    assert len(answers([*unix(client(WAITS), 1, 2, "web1"), *unix(theirs, 2, 1, "web1")])) == 3
    assert answers([*unix(client(WAITS), 1, 2, "web1"), *unix(theirs, 2, 1, "db1")]) == []


def listed(artifact: int, host: str, pid: int, ends: tuple[str, str], **more: Any) -> dict[str, Any]:
    (ip, port), (peer_ip, peer_port) = (e.rsplit(":", 1) for e in ends)
    return {"artifact_id": artifact, "host": host, "pid": pid, "line_no": 1, "local_ip": ip, "local_port": int(port), "peer_ip": peer_ip,
            "peer_port": int(peer_port), **more}  # fmt: skip


def test_addresses_the_traces_do_not_show_come_from_lists_of_descriptors() -> None:
    """Check that own addresses come from pfiles and ss, because truss names only the peer of each end."""
    rows = [r | ({"args": "4, ..."} if "TCP" in r["args"] else {}) for r in [*client(WAITS), *server(WAITS, SYNCS)]]
    assert answers(rows) == []
    files = [listed(4, "db1", 9, (SERVER, CLIENT), fd=4, type="socket")]
    sockets = [listed(3, "web1", 7, ENDS)]
    assert len(answers(rows, fdmap=files, sockets=sockets)) == 3
    assert answers(rows, fdmap=files) == []
    assert answers(rows, fdmap=[files[0] | {"host": "db2"}], sockets=sockets) == []
    twice = [*sockets, listed(3, "web1", 7, ("192.0.2.1:48999", SERVER))]
    assert answers(rows, fdmap=files, sockets=twice) == [], "two connections to one peer: which is meant is not told"


def test_what_the_servers_trace_does_not_reach_has_no_answer() -> None:
    """Check a server trace that ends after two questions and does not show when the second answer's write began."""
    theirs = [r for r in server(WAITS, SYNCS) if r["line_no"] <= 8]
    theirs[-1] |= {"dur_hi_s": None, "elapsed_s": None, "dur_kind": "none", "stamp": "end"}
    assert [(r["line_no"], r["state"]) for r in answers([*client(WAITS), *theirs])] == [(4, "followed")]


def test_traces_without_a_clock_domain_are_tied_all_the_same() -> None:
    rows = [r | {"clock": None} for r in [*client(WAITS), *server(WAITS, SYNCS)]]
    assert [r["state"] for r in answers(rows)] == ["followed"] * 3


def test_stamps_in_whole_seconds_tie_nothing() -> None:
    rows = [r | {"t_local": float(round(r["t_local"]))} for r in [*client([2.0]), *server([2.0], [1.0])]]
    assert answers(rows) == []


def test_rows_without_a_partner_cost_nothing_and_a_case_without_traces_has_none() -> None:
    assert answers(client(WAITS)) == []
    assert Case.of_tables({}, CaseSpec()).derived("answered_by").is_empty()


@settings(max_examples=examples(25), deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 300), st.integers(5, 60)), min_size=1, max_size=5),
    st.floats(-1000, 1000, allow_nan=False),
)
def test_the_bounds_hold_whatever_the_clocks_show(drawn: list[tuple[int, int]], ahead: float) -> None:
    """Check that the true offset is always within the bounds.

    `drawn`: milliseconds in fsync, and the rest of the client's wait.
    """
    ahead = round(ahead + 2000, 3)
    syncs = [sync / 1000 for sync, _ in drawn]
    waits = [round(sync + more / 1000, 6) for sync, (_, more) in zip(syncs, drawn, strict=True)]
    rows = [*client(waits), *server(waits, syncs, ahead=ahead)]
    found = pl.DataFrame(answers(rows))
    assert found["state"].to_list() == ["followed"] * len(drawn)
    assert found.select(((pl.col("away_s") - pl.col("server_s") - pl.col("rest_s")).abs() < 1e-9).all()).item()
    assert max(found["off_lo"].to_list()) - 1e-6 <= ahead <= min(found["off_hi"].to_list()) + 1e-6
