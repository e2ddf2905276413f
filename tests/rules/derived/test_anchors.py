"""Tests of identifiers that two clocks share."""

from __future__ import annotations

import pytest

from rules.case.case import Case
from tests.rules import traces


def anchors(**tables):
    return Case.of_tables(tables).derived("anchors").to_dicts()


def hello(line, pid, t, clock="1.1:1"):
    return {
        "artifact_id": 1,
        "clock": clock,
        "line_no": line,
        "pid": 10,
        "t_local": t,
        "name": "read",
        "data": f"NTP0 {pid}\n",
        "bytes": 9,
        "stamp": "end",
        "state": "done",
    }


def started(line, pid, t):
    return {"artifact_id": 2, "clock": "2.1:1", "line_no": line, "t_local": t, "side": "listener", "child_pid": pid}


def accepted(line, port, t):
    return {
        "artifact_id": 1, "clock": "1.1:1", "line_no": line, "pid": 10, "t_local": t, "name": "accept", "ret": 13, "peer_ip": "10.44.29.32",
        "peer_port": port, "stamp": "end",
        "state": "done",
    }  # fmt: skip


def test_a_pipe_token_is_on_one_clock():
    (found,) = anchors(syscalls=traces.truss("001", *traces.TRUSS_001))
    assert (found["clock_a"], found["clock_b"], found["method"]) == ("1.1:1", "1.1:1", "pipe payload")
    assert (found["t_a"], found["t_b"]) == (12.0249, 12.0252)


@pytest.mark.parametrize("payload", ["NTP0 3731\n", "NTP03731\n"])  # a web page may drop the blank
def test_a_new_process_in_trace_and_listener_trace(payload):
    (found,) = anchors(syscalls=[{**hello(1, 3731, 12.0252), "data": payload}], sqlnet=[started(7, 3731, 41.359)])
    assert (found["t_a"], found["t_b"], found["token"], found["direction"]) == (12.0252, 41.359, "3731", "a_before_b")
    assert (found["line_a"], found["line_b"]) == (1, 7)
    assert 0 < found["p_accident"] < 0.001


def test_a_reused_number_is_no_identifier():
    found = anchors(syscalls=[hello(1, 3731, 12.0), hello(2, 3731, 500.0)], sqlnet=[started(7, 3731, 41.0)])
    assert [r["p_accident"] for r in found] == [1.0, 1.0]


def test_accepted_peers_in_trace_and_log():
    logs = [
        {
            "artifact_id": 3,
            "clock": "3.1:1",
            "line_no": 5,
            "t_local": 100.0,
            "source": "listener",
            "peer_ip": "10.44.29.32",
            "peer_port": 41612,
        }
    ]
    sqlnet = [
        {
            "artifact_id": 2,
            "clock": "2.1:1",
            "line_no": n,
            "t_local": 50.0 + n,
            "side": "listener",
            "peer_ip": "10.44.29.32",
            "peer_port": 41612,
        }
        for n in (1, 2, 3)
    ]
    found = anchors(syscalls=[accepted(54, 41612, 1.5463), accepted(99, 41613, 9.0)], logs=logs, sqlnet=sqlnet)
    assert [(r["clock_b"], r["method"], r["t_b"]) for r in found] == [
        ("2.1:1", "address", 51.0),
        ("3.1:1", "log address", 100.0),
    ]


def test_rows_without_a_clock_anchor_nothing():
    assert anchors(syscalls=[hello(1, 3731, 12.0, clock=None)], sqlnet=[started(7, 3731, 41.0)]) == []
    assert anchors() == []
