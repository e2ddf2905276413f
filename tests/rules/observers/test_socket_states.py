"""Tests that queues and states of sockets stand out if something waits there, but not a few bytes or sockets."""

from __future__ import annotations

from typing import Any

import pytest

from rules.case.case import Case
from rules.observers.observer import Sighting
from rules.observers.socket_states import observe


def socket(**more: Any) -> dict[str, Any]:
    ends = {"local_ip": "10.0.0.1", "local_port": 1521, "peer_ip": "10.0.0.2", "peer_port": 40000}
    return {"state": "ESTAB", "recvq": 0, "sendq": 0, **ends, **more}


def seen(*rows: dict[str, Any]) -> list[Sighting]:
    return list(observe(Case.of_tables({"sockets": [{"line_no": n, **row} for n, row in enumerate(rows, 2)]})))


@pytest.mark.parametrize(("waiting", "stands"), [(128, True), (127, False)])
def test_a_listening_socket_is_full_when_it_holds_what_it_takes(waiting: int, stands: bool) -> None:
    made = seen(socket(state="LISTEN", recvq=waiting, sendq=128, peer_ip=None, peer_port=None, comm="tnslsnr"))
    assert bool(made) is stands
    if made:
        assert made[0].headline == (
            "128 connections wait at 10.0.0.1:1521 that nobody has accepted; its queue takes 128, program tnslsnr"
        )


def test_a_tool_that_prints_no_limit_says_nothing_of_a_queue() -> None:
    assert seen(socket(state="LISTEN", recvq=0, sendq=0, peer_port=None)) == []


@pytest.mark.parametrize(("column", "word"), [("recvq", "has not read"), ("sendq", "has not taken")])
def test_bytes_that_stand_in_a_queue(column: str, word: str) -> None:
    (made,) = seen(socket(**{column: 40_000}), socket(local_port=22, **{column: 300}))
    assert (made.name, made.value, made.lines[0].line_from) == (f"socket_{column}", 40_000.0, 2)
    assert word in made.headline


@pytest.mark.parametrize("state", ["CLOSE_WAIT", "CLOSE-WAIT"])
def test_connections_that_the_program_does_not_close(state: str) -> None:
    rows = [socket(state=state, peer_port=40_000 + n, comm="java") for n in range(12)]
    (made,) = seen(*rows, socket(peer_port=50_000))
    assert (
        made.headline
        == "12 of 13 sockets of java at port 1521 are CLOSE_WAIT: closed by the peer and not by the program"
    )
    assert [c.line_from for c in made.lines] == [2, 3, 4, 5, 6]


def test_one_attempt_to_connect_is_told_without_a_share() -> None:
    (made,) = seen(socket(state="SYN_SENT", local_port=40_000, peer_port=1521))
    assert made.headline == "1 socket to 10.0.0.2:1521 is SYN_SENT: an attempt to connect that nobody has answered"
    assert made.share is None


def test_a_few_that_end_are_normal_and_many_connections_a_measure() -> None:
    assert seen(*(socket(state="TIME_WAIT", peer_port=40_000 + n) for n in range(19))) == []
    (made,) = seen(*(socket(peer_port=40_000 + n) for n in range(20)))
    assert made.normal
    assert made.headline == "20 sockets at port 1521 are ESTABLISHED"


@pytest.mark.parametrize(
    ("waiting", "beside"),
    [(0, "nothing waits in their queues"), (70, "210 bytes wait in their queues"), (None, None)],
)
def test_a_few_connections_are_told_with_what_waits_in_them(waiting: int | None, beside: str | None) -> None:
    (made,) = seen(*(socket(peer_port=40_000 + n, recvq=waiting) for n in range(3)))
    assert (made.normal, made.headline, made.beside) == (True, "3 sockets at port 1521 are ESTABLISHED", beside)
    assert seen(*(socket(peer_port=40_000 + n) for n in range(2))) == []


def test_of_several_samples_the_fullest_counts() -> None:
    rows = [
        socket(state="CLOSE_WAIT", sample=s, peer_port=n)
        for s, many in ((1, 10), (2, 30))
        for n in range(2000, 2000 + many)
    ]
    (made,) = seen(*rows)
    assert made.value == 30


def test_datagrams_wait_at_a_socket_that_has_no_peer() -> None:
    udp = socket(state="UNCONN", local_port=514, peer_ip=None, peer_port=None, recvq=40_000)
    (made,) = seen(udp, {**udp, "local_port": 123, "recvq": 40}, {**udp, "local_port": None, "proto": "netlink"})
    assert made.headline == "40,000 bytes stand in the receive queue of 10.0.0.1:514 that its program has not read"
    assert made.name == "datagrams_recvq", "a window is something of TCP"


@pytest.mark.parametrize(("doubled", "told"), [(2.0, True), (1.0, False)])
def test_few_bytes_stand_out_whose_time_out_was_doubled(doubled: float, told: bool) -> None:
    rows = [
        {"line_no": n, "part": 1, **socket(sendq=sent, local_port=port)}
        for n, port, sent in ((2, 22, 900), (5, 23, 90))
    ]
    figures = {"part": 1, "grp": "ss_tcp", "line_no": 3}
    counters = [{**figures, "name": "backoff", "value": doubled}, {**figures, "name": "lastack", "value": 1500.0}]
    made = list(observe(Case.of_tables({"sockets": rows, "counters": counters})))
    assert [s.headline for s in made] == [
        "900 bytes stand in the send queue of 10.0.0.1:22 (peer 10.0.0.2:40000), whose time-out has been doubled 2 times; "
        "nothing was acknowledged for 1.500 s"
    ] * told
    assert all((s.lines[0].line_from, s.lines[0].line_to) == (2, 3) for s in made)


def names(made: list[Sighting]) -> list[str]:
    return [str(one["event"]) for sighting in made for one in sighting.seen if "event" in one]


@pytest.mark.parametrize(("sockets", "unread", "slow"), [(3, 40_000, True), (2, 40_000, False), (1, 2_000_000, True)])
def test_a_reader_is_slow_if_much_is_unread_in_one_socket_or_something_in_several(
    sockets: int, unread: int, slow: bool
) -> None:
    made = seen(*(socket(local_port=50_000 + n, peer_port=8080, recvq=unread, comm="app") for n in range(sockets)))
    assert ("bytes-unread" in names(made)) is slow


def test_unread_datagrams_close_no_window() -> None:
    made = seen(socket(proto="udp", state="UNCONN", recvq=2_000_000, peer_ip=None, peer_port=None))
    assert names(made) == []


@pytest.mark.parametrize(
    ("closed", "open_", "unread", "leaks"),
    [(120, 3, 1, True), (12, 3, 1, False), (120, 300, 1, False), (4, 0, 381, True)],
)
def test_sockets_that_only_the_peer_closed(closed: int, open_: int, unread: int, leaks: bool) -> None:
    ends = [socket(local_port=50_000 + n, peer_port=9200, recvq=unread, state="CLOSE_WAIT") for n in range(closed)]
    made = seen(*ends, *(socket(local_port=40_000 + n, peer_port=9200) for n in range(open_)))
    assert ("sockets-left-open" in names(made)) is leaks


def with_figures(**figures: float) -> list[Sighting]:
    told = [
        {"line_no": 3, "grp": "ss_tcp", "item": "10.0.0.1:1521 > 10.0.0.2:40000", "name": name, "value": value, "mode": "total"}
        for name, value in figures.items()
    ]  # fmt: skip
    return list(observe(Case.of_tables({"sockets": [{"line_no": 2, **socket()}], "counters": told})))


def test_a_connection_that_sends_much_again_has_a_path_that_loses() -> None:
    (made,) = with_figures(bytes_sent=50e6, bytes_retrans=2.5e6, cwnd=3)
    assert made.headline == "10.0.0.1:1521 sent 5 % of its bytes to 10.0.0.2:40000 again: 2,500,000 of 50,000,000"
    assert made.beside == "its window is 3 segments"
    assert [(c.line_from, c.line_to) for c in made.lines] == [(2, 3)]
    assert names([made]) == ["connection-loses-segments"]


@pytest.mark.parametrize(("sent", "again"), [(50e6, 0.5e6), (20e3, 5e3)])
def test_a_little_sent_again_or_a_young_connection_says_nothing(sent: float, again: float) -> None:
    assert with_figures(bytes_sent=sent, bytes_retrans=again) == []


@pytest.mark.parametrize(
    ("waiting", "name", "says"),
    [
        (101, "accept_queue", "; its queue takes 100, as many programs ask for"),
        (70, "accept_queue", ""),
        (30, "accept_waiting", ""),
    ],
)
def test_a_queue_whose_limit_netstat_does_not_print(waiting: int, name: str, says: str) -> None:
    (made,) = seen(socket(state="LISTEN", recvq=waiting, local_port=8009, peer_ip=None, peer_port=None, comm="java"))
    assert (made.name, made.value) == (name, float(waiting))
    assert made.headline == (
        f"{waiting} connections wait at 10.0.0.1:8009 that nobody has accepted{says}, program java"
    )


def test_a_few_connections_that_wait_for_a_moment_are_normal() -> None:
    assert seen(socket(state="LISTEN", recvq=7, sendq=0, peer_ip=None, peer_port=None)) == []
