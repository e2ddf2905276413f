"""Tests of calls on name services: which calls they are, how long each took, and which belong to one task."""

from __future__ import annotations

import pytest

from rules.case.case import Case

PLACE = {
    "artifact_id": 1,
    "clock": "c",
    "pid": 10,
    "lwp": 10,
    "state": "done",
    "stamp": "start",
    "contiguous": "proven",
}


def trace(*calls):
    """Return calls with start stamps and elapsed times: (start, name, seconds, more)."""
    return [
        {**PLACE, "line_no": n, "seq": n, "t_local": t, "name": name, "elapsed_s": length, "dur_hi_s": length, **more}
        for n, (t, name, length, more) in enumerate(calls, 1)
    ]


def asked(rows, **tables):
    return Case.of_tables({"syscalls": rows, **tables}).derived("name_calls").to_dicts()


FIRST, SECOND = {"fd": 3, "peer_ip": "10.0.0.53", "peer_port": 53}, {"fd": 4, "peer_ip": "10.0.0.54", "peer_port": 53}


def test_a_dead_server_then_the_next():
    #  ask 53 | poll 5.0051 ... nothing | ask 54 | poll 0.4 ms | answer
    found = asked(
        trace(
            (0.0, "connect", 0.0001, {**FIRST, "ret": 0}),
            (0.1, "sendto", 0.0001, {**FIRST, "ret": 39, "data": "\\x02db\\x00"}),
            (0.2, "poll", 5.0051, {"args": "[{fd=3, events=POLLIN}], 1, 5000", "ret": 0}),
            (5.3, "connect", 0.0001, {**SECOND, "ret": 0}),
            (5.4, "sendto", 0.0001, {**SECOND, "ret": 39, "data": "\\x02db\\x00"}),
            (5.5, "poll", 0.0004, {"args": "[{fd=4, events=POLLIN}], 1, 5000", "ret": 1}),
            (5.6, "recvfrom", 0.0001, {**SECOND, "ret": 90}),
        )
    )
    assert [(r["name"], r["timed_out"], r["timer_s"]) for r in found if r["name"] == "poll"] == [
        ("poll", True, 5.0),
        ("poll", False, 5.0),
    ]
    assert {r["via"] for r in found} == {"dns"}
    assert {r["burst"] for r in found} == {1}
    assert sum(r["sent"] for r in found) == 2
    assert sum(r["own_s"] for r in found) == pytest.approx(5.006)


def test_another_errand_is_another_burst():
    found = asked(
        trace(
            (0.0, "sendto", 0.1, {**FIRST, "ret": 39}),
            (1.0, "sendto", 0.1, {**FIRST, "ret": 39}),
            (2.2, "sendto", 0.1, {**FIRST, "ret": 39}),
        )
    )
    assert [r["burst"] for r in found] == [1, 1, 2]


@pytest.mark.parametrize(
    ("more", "via"),
    [
        ({"args": '3, {sa_family=AF_UNIX, sun_path="/var/lib/sss/pipes/nss"}, 110'}, "daemon"),
        ({"args": '3, {sa_family=AF_UNIX, sun_path="/var/run/nscd/socket"}, 110'}, "daemon"),
        ({"peer_ip": "10.0.0.9", "peer_port": 389}, "ldap"),
        ({"peer_ip": "10.0.0.9", "peer_port": 636}, "ldap"),
    ],
)
def test_daemons_and_directories(more, via):
    #  A read on the descriptor that was connected to a name service is a call on it.
    found = asked(trace((0.0, "connect", 0.001, {"fd": 3, "ret": 0, **more}), (0.1, "read", 0.2, {"fd": 3, "ret": 9})))
    assert [(r["name"], r["via"], r["own_s"]) for r in found] == [("connect", via, 0.001), ("read", via, 0.2)]


def test_reverse_questions_are_told_apart():
    data = "\\x00\\x01\\x015\\x010\\x010\\x0210\\x07in-addr\\x04arpa\\x00"
    found = asked(trace((0.0, "sendto", 0.1, {**FIRST, "ret": 39, "data": data})))
    assert found[0]["reverse"]


def test_what_is_no_name_service():
    #  a web server, a port mapper, another program's door
    rows = trace(
        (0.0, "connect", 0.1, {"fd": 5, "ret": 0, "peer_ip": "10.0.0.9", "peer_port": 443}),
        (0.2, "connect", 0.1, {"fd": 6, "ret": 0, "peer_ip": "10.0.0.9", "peer_port": 111}),
        (0.4, "open", 0.1, {"path": "/var/run/picld_door", "ret": 7}),
        (0.6, "door_call", 0.1, {"fd": 7, "ret": 0}),
    )
    assert asked(rows) == []


def test_a_door_of_unknown_making_counts():
    assert [r["via"] for r in asked(trace((0.0, "door_call", 0.1, {"fd": 7, "ret": 0})))] == ["door"]


def test_lines_missing_leave_a_call_without_time():
    row = {**PLACE, "line_no": 1, "seq": 1, "t_local": 9.0, "stamp": "end", "contiguous": "broken", "dur_hi_s": 8.0}
    (found,) = asked([{**row, "name": "read", **FIRST, "ret": 9}])
    assert (found["own_s"], found["contiguous"]) == (None, "broken")
