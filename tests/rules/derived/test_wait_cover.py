"""Tests of which server wait explains a client's wait; times are drawn as seconds of the minute, each on its own clock."""

from __future__ import annotations

import polars as pl
import pytest

from rules.case.case import Case
from rules.derived import wait_cover
from rules.derived.derived_table import PLACE

#            39.329                          41.201
#  client    |---- nttrd: waits for the peer ----|
#  listener      |---- nsevwait: waits ----|            ended by READ with an empty list of NS events
#            39.566                          41.358     (its own clock, ahead)
CLIENT = {"artifact_id": 1, "clock": "1.1:1", "side": "client", "host": "gw"}
LISTENER = {"artifact_id": 2, "clock": "2.1:1", "side": "listener", "host": "db"}
WAITS: dict[str, pl.DataType] = {
    **PLACE,
    **{c: pl.String() for c in ("side", "kind", "ended_by", "contiguous")},
    **{c: pl.Int64() for c in ("line_from", "line_to")},
    "wait_s": pl.Float64(),
}
SAID = [{"name": "same_connection", "text": "for the same connection", "author": "DBA"}]


def wait(place, line, begin, end, kind, ended_by, **more):
    return {
        **place,
        "line_from": line,
        "line_to": line + 1,
        "wait_s": end - begin,
        "kind": kind,
        "ended_by": ended_by,
        "contiguous": "assumed",
        "t": (begin, end),
        **more,
    }


def cover(*waits, records=(), statements=SAID, **tables):
    lines = [
        {"artifact_id": w["artifact_id"], "clock": w["clock"], "side": w["side"], "line_no": w["line_from"] + i, "t_local": w["t"][i],
        "conn_key": w.get("key") if i else None,
         "peer_ip": w.get("peer_ip") if i else None, "peer_port": w.get("peer_port") if i else None}
        for w in waits for i in (0, 1)
    ]  # fmt: skip
    rows = [{c: w.get(c) for c in WAITS} for w in waits]
    case = Case.of_tables({"sqlnet": [*lines, *records], "statements": statements, **tables})
    ends = wait_cover.local_sockets(case.table("fdmap"), case.table("sockets"))
    frame = pl.DataFrame(rows, schema=WAITS, orient="row")
    return wait_cover.cover(frame, case.table("sqlnet"), case.table("statements"), ends, {}).to_dicts()


ASKS = wait(CLIENT, 10, 39.329, 41.201, "peer", "bytes of the peer")
SPAWNS = wait(LISTENER, 20, 39.566, 41.358, "spawn", "a child's answer")
COMES = {
    "artifact_id": 2,
    "clock": "2.1:1",
    "side": "listener",
    "line_no": 15,
    "t_local": 39.560,
    "ns_events": ["INCOMING CALL"],
}


def test_align_seed001_pair():
    (found,) = cover(ASKS, SPAWNS)
    assert (found["client_s"], found["server_s"], found["off_lo"], found["off_hi"]) == (1.872, 1.792, 0.157, 0.237)
    assert found["cover"] == pytest.approx(0.9573, abs=5e-5)
    assert (found["same_conn"], found["residence"], found["ended_by"]) == ("statement", "partly", "a child's answer")
    assert (found["client_from"], found["client_to"], found["server_from"], found["server_to"]) == (10, 11, 20, 21)


def test_both_sides_may_stand_in_one_document():
    # The line that the client received comes before the listener's lines; it is not an arrival at the listener.
    there = {**LISTENER, "artifact_id": 1, "clock": "1.2:1"}
    reads = {
        "artifact_id": 1,
        "clock": "1.1:1",
        "side": "client",
        "line_no": 11,
        "t_local": 41.201,
        "direction": "in",
        "bytes": 8,
    }
    (found,) = cover(ASKS, {**SPAWNS, **there}, records=[reads])
    assert (found["same_conn"], found["residence"], found["server_clock"]) == ("statement", "partly", "1.2:1")


def test_a_request_seen_to_arrive_proves_residence():
    assert cover(ASKS, SPAWNS, records=[COMES])[0]["residence"] == "proven"


def test_an_answer_in_between_is_of_an_older_request():
    answered = {**COMES, "line_no": 17, "ns_events": None, "child_pid": 99}
    assert cover(ASKS, SPAWNS, records=[COMES, answered])[0]["residence"] == "partly"


@pytest.mark.parametrize(("kind", "ended_by"), [("idle", "connection request"), ("peer", "the client's bytes")])
def test_idle_wait_covers_nothing(kind, ended_by):
    (found,) = cover(ASKS, {**SPAWNS, "kind": kind, "ended_by": ended_by}, records=[COMES])
    assert (found["residence"], found["ended_by"]) == ("none", ended_by)


def test_lost_packet_twin():
    # The request is lost on the way and sent again: the listener is idle until it arrives.
    #  client    |-------- 39.329 .. 41.201 --------|
    #  listener       |---- idle .. 41.1 ----| connection request
    (found,) = cover(ASKS, wait(LISTENER, 20, 39.400, 41.100, "idle", "connection request"))
    assert (found["residence"], found["cover"]) == ("none", pytest.approx(0.908, abs=1e-3))


def test_work_that_ends_in_an_answer_sent_is_residence():
    sends = {
        "artifact_id": 2,
        "clock": "2.1:1",
        "side": "listener",
        "line_no": 30,
        "t_local": 41.4,
        "direction": "out",
        "bytes": 8,
    }
    looks_up = {**SPAWNS, "kind": "name_lookup", "ended_by": "exit"}
    assert cover(ASKS, looks_up)[0]["residence"] == "none"
    assert cover(ASKS, looks_up, records=[sends])[0]["residence"] == "partly"
    assert cover(ASKS, looks_up, records=[sends, COMES])[0]["residence"] == "proven"


def test_a_longer_server_wait_cannot_be_the_cause():
    assert cover(ASKS, wait(LISTENER, 20, 39.0, 41.358, "spawn", "a child's answer")) == []
    assert (
        len(cover(ASKS, wait(LISTENER, 20, 39.485, 41.358, "spawn", "a child's answer"))) == 1
    )  # 1 ms longer: within rounding


def test_a_broken_gap_covers_nothing():
    assert cover(ASKS, {**SPAWNS, "contiguous": "broken"}) == []
    assert cover({**ASKS, "contiguous": "broken"}, SPAWNS) == []


def test_without_a_word_nothing_ties_them():
    assert cover(ASKS, SPAWNS, statements=[])[0]["same_conn"] == "none"


def test_a_word_that_could_mean_two_traces_means_neither():
    second = {**SPAWNS, "artifact_id": 3, "clock": "3.1:1"}
    assert {r["same_conn"] for r in cover(ASKS, SPAWNS, second)} == {"none"}


def test_a_connection_id_ties_and_an_address_in_memory_does_not():
    assert cover({**ASKS, "key": "o2GqkQ0="}, {**SPAWNS, "key": "o2GqkQ0="}, statements=[])[0]["same_conn"] == "id"
    assert cover({**ASKS, "key": "0x222b28"}, {**SPAWNS, "key": "0x222b28"}, statements=[])[0]["same_conn"] == "none"


def test_a_socket_of_the_clients_host_ties():
    end = [{"host": "gw", "local_ip": "10.0.0.7", "local_port": 41612}]
    peer = {**SPAWNS, "peer_ip": "10.0.0.7", "peer_port": 41612}
    assert cover(ASKS, peer, statements=[], sockets=end)[0]["same_conn"] == "address"
    assert cover(ASKS, peer, statements=[], sockets=[{**end[0], "host": "other"}])[0]["same_conn"] == "none"


def test_phases_do_not_mix():
    assert cover({**ASKS, "phase": "before"}, {**SPAWNS, "phase": "after-1"}) == []


def test_each_server_wait_explains_one_client_wait():
    second = wait(CLIENT, 40, 50.0, 51.8, "peer", "bytes of the peer")
    found = cover(ASKS, second, SPAWNS)
    assert [r["client_from"] for r in found] == [10]


def test_a_stated_pair_binds_the_offset_of_the_others():
    #  second client wait 50.000 .. 50.500; its true partner is 0.2 s ahead, another listener wait is 30 s away
    second = wait(CLIENT, 40, 50.0, 50.5, "peer", "bytes of the peer")
    true = wait(LISTENER, 50, 50.22, 50.68, "spawn", "a child's answer")
    far = wait(LISTENER, 60, 80.0, 80.45, "spawn", "a child's answer")
    found = {r["client_from"]: r for r in cover(ASKS, second, SPAWNS, true)}
    assert (found[40]["same_conn"], found[40]["server_from"]) == ("statement", 50)
    assert {r["client_from"]: r["same_conn"] for r in cover(ASKS, second, SPAWNS, far)} == {10: "statement", 40: "none"}


@pytest.mark.parametrize("shift", [-3600.0, 0.5, 86400.0])
def test_shifting_a_clock_moves_the_offset_and_no_duration(shift):
    (found,) = cover(ASKS, {**SPAWNS, "t": tuple(t + shift for t in SPAWNS["t"])})
    assert (found["off_lo"], found["off_hi"]) == pytest.approx((0.157 + shift, 0.237 + shift))
    assert (found["client_s"], found["server_s"]) == (1.872, 1.792)


@pytest.mark.parametrize("factor", [0.3, 3.0])
def test_scaling_all_times_keeps_the_cover(factor):
    scaled = [{**w, "t": tuple(t * factor for t in w["t"])} for w in (ASKS, SPAWNS)]
    assert cover(*scaled)[0]["cover"] == pytest.approx(0.9573, abs=5e-5)
