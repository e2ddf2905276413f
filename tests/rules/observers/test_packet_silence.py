"""Silences on connections: the server's before an answer is a wait, the client's before the next request is idle."""

from __future__ import annotations

from typing import Any

import pytest

from rules.case.case import Case
from rules.observers import long_waits
from rules.observers.long_waits import observe
from rules.observers.observer import Sighting
from rules.signatures.signatures import recognise
from tests.rules.observers.of_text import told

CLIENT, SERVER = ("10.0.0.1", 40000), ("10.0.0.9", 1521)


def packets(*rows: tuple[float, bool, dict[str, Any]], proto: str = "tcp") -> list[Sighting]:
    made = []
    for n, (t, by_client, more) in enumerate(rows, 1):
        (src, sport), (dst, dport) = (CLIENT, SERVER) if by_client else (SERVER, CLIENT)
        made.append({"line_no": n, "t_local": t, "proto": proto, "src": src, "sport": sport, "dst": dst, "dport": dport,
                     "flags": "P.", "len": 100, "seq": 100 * n, **more})  # fmt: skip
    return list(observe(Case.of_tables({"packets": made})))


def test_a_late_answer_is_the_servers_silence_compared_with_its_others() -> None:
    made = packets(
        (0.0, True, {}),
        (0.002, False, {}),
        (0.003, True, {}),
        (0.005, False, {}),
        (0.006, True, {}),
        (5.011, False, {}),
    )
    assert [s.headline for s in made] == [
        "10.0.0.9:1521 answered 10.0.0.1 after 5.005 s, the other 2 answers came after 2 ms (median)"
    ]
    assert made[0].seconds == pytest.approx(5.005)
    assert [c.line_from for c in made[0].lines] == [5, 6]
    assert made[0].of_s == pytest.approx(5.011)


@pytest.mark.parametrize(("t", "n"), [(0.1, 1), (0.099, 0)])
def test_the_bound_is_what_a_person_notices(t: float, n: int) -> None:
    assert len(packets((0.0, True, {}), (t, False, {}))) == n


def test_a_client_that_thinks_is_idle() -> None:
    (made,) = packets((0.0, True, {}), (0.01, False, {}), (60.0, True, {}), (60.01, False, {}))
    assert made.idle
    assert made.headline == "1 connection rested until the next request in 1 gaps, the longest 59.990 s"


def test_a_syn_to_which_nothing_comes_back_is_a_ladder() -> None:
    syn = {"flags": "S", "len": 0, "seq": 7}
    (made,) = packets((0.0, True, syn), (1.0, True, syn), (3.0, True, syn), (7.0, True, syn))
    assert made.headline == (
        "10.0.0.1 sent its SYN to 10.0.0.9:1521 again after 4.000 s, 3 such silences 7.000 s together, and no packet came back"
    )
    assert recognise(**made.seen[0])[0].mechanism == "packets-dropped"


def test_an_answer_to_a_syn_sent_again_is_the_servers() -> None:
    syn, back = {"flags": "S", "len": 0, "seq": 7}, {"flags": "S.", "len": 0, "seq": 9}
    made = packets((0.0, True, syn), (0.01, False, back), (1.02, False, back), (2.0, True, syn))
    assert [s.headline for s in made if not s.normal] == [
        "10.0.0.9:1521 sent its SYN/ACK to 10.0.0.1 again after 1.010 s"
    ]


def test_the_same_bytes_again_are_a_retransmission_new_ones_a_pause() -> None:
    again, pause = (packets((0.0, True, {"seq": 5}), (0.3, True, {"seq": s})) for s in (5, 105))
    assert "sent the same to 10.0.0.9:1521 again after 0.300 s" in again[0].headline
    assert pause[0].headline == "10.0.0.1 paused 0.300 s within what it sent to 10.0.0.9:1521"
    assert again[0].seconds == pytest.approx(0.3)
    assert pause[0].seconds is None


def test_a_greeting_that_comes_late_is_the_servers_silence() -> None:
    made = packets(
        (0.0, True, {"flags": "S", "len": 0}), (0.001, False, {"flags": "S.", "len": 0}), (5.0, False, {}),
    )  # fmt: skip
    assert made[0].headline.startswith("10.0.0.9:1521 answered 10.0.0.1 after 4.999 s")


def test_a_question_over_udp_that_is_asked_again() -> None:
    (made,) = packets((0.0, True, {"flags": None, "len": None}), (5.0, True, {"flags": None, "len": None}), proto="udp")
    assert "sent the same to 10.0.0.9:1521 again after 5.000 s" in made.headline


def test_acknowledgements_and_rows_without_ends_or_times_say_nothing() -> None:
    ack = {"flags": ".", "len": 0}
    assert packets((0.0, True, ack), (9.0, False, ack)) == []
    assert packets((0.0, True, {"dport": None}), (9.0, False, {"dport": None})) == []
    assert packets((float("nan"), True, {}), (9.0, False, {})) == []


def test_many_short_answers_are_told_together() -> None:
    rows: list[tuple[float, bool, dict[str, Any]]]
    rows = [(n * 0.042 + late, by_client, {}) for n in range(12) for late, by_client in ((0.0, True), (0.040, False))]
    (made,) = packets(*rows)
    assert made.headline == (
        "10.0.0.9:1521 answered 12 times after 40 ms (median; 40 ms at most), 0.480 s together of 0.502 s;"
        " the next question left 2 ms after an answer (median)"
    )
    assert [c.role for c in made.lines] == [
        *["asks, typical answer", "typical answer"] * 2,
        "asks, longest answer",
        "longest answer",
    ]
    assert [c.line_from for c in made.lines][:4] == [1, 2, 3, 4]
    assert made.beside is None
    assert packets(*rows[:18]) == [], "nine answers are no conversation"


@pytest.mark.parametrize(("trip", "far"), [(0.036, True), (0.0002, False)])
def test_answers_that_take_as_long_as_a_connection_request_are_the_paths(trip: float, far: bool) -> None:
    syn = [(-1.0, True, {"flags": "S", "len": 0, "seq": 7}), (trip - 1.0, False, {"flags": "S.", "len": 0, "seq": 9})]
    asked: list[tuple[float, bool, dict[str, Any]]]
    asked = [(n * 0.042 + late, by_client, {}) for n in range(12) for late, by_client in ((0.0, True), (0.040, False))]
    made = next(s for s in packets(*syn, *asked) if s.kind == "turns")
    assert ({"event": "answers-take-one-trip"} in made.seen) is far
    assert (made.beside is not None) is far


def test_a_server_that_answers_at_once_is_not_told() -> None:
    rows: list[tuple[float, bool, dict[str, Any]]]
    rows = [(n * 0.042 + late, by_client, {}) for n in range(50) for late, by_client in ((0.0, True), (0.002, False))]
    assert packets(*rows) == []


def test_what_follows_the_bare_acknowledgement_is_told_beside_short_answers() -> None:
    ack = {"flags": ".", "len": 0}
    rows: list[tuple[float, bool, dict[str, Any]]] = [
        (n * 0.05 + late, by_client, more)
        for n in range(12)
        for late, by_client, more in ((0.0, True, {}), (0.030, False, ack), (0.032, False, {}))
    ]
    (made,) = packets(*rows)
    assert made.beside == "where its bare acknowledgement came first, 12 times, the answer followed 2 ms later (median)"
    (once,) = packets(*(r for n, r in enumerate(rows) if n % 3 != 1 or n == 1))
    assert once.beside == "where its bare acknowledgement came first, once, the answer followed 2 ms later"


def test_silences_of_one_length_are_told_with_their_range_the_first_and_the_last() -> None:
    rows: list[tuple[float, bool, dict[str, Any]]] = [
        (n + late, True, {"seq": n}) for n in range(8) for late in (0.0, 0.3 + n * 0.005)
    ]
    (made,) = [s for s in packets(*rows) if "again" in s.headline]
    assert ", 8 such silences of 0.300 s to 0.335 s, 2.540 s together" in made.headline
    assert [c.line_from for c in made.lines] == [15, 16, 13, 14, 11, 12, 1, 2]
    assert made.lines[0].role == "before the silence, seq 7"
    rows[1] = (0.15, True, {"seq": 0})
    (apart,) = [s for s in packets(*rows) if "again" in s.headline]
    assert "8 such silences 2." in apart.headline


def test_packets_inside_a_tunnel_are_told_in_place_of_those_that_carry_them() -> None:
    outer = {"proto": "udp", "src": "192.0.2.1", "sport": 40001, "dst": "192.0.2.2", "dport": 4789, "len": None}
    inner = {
        "proto": "tcp",
        "src": "10.1.0.1",
        "sport": 5555,
        "dst": "10.1.0.2",
        "dport": 80,
        "flags": "S",
        "seq": 9,
        "len": 0,
    }
    rows = [
        {"line_no": 1, "line_end": 2, "t_local": 0.0, **outer}, {"line_no": 3, "line_end": 4, "t_local": None, **inner},
        {"line_no": 5, "line_end": 6, "t_local": 3.0, **outer}, {"line_no": 7, "line_end": 8, "t_local": None, **inner},
    ]  # fmt: skip
    (made,) = observe(Case.of_tables({"packets": rows}))
    assert made.headline == "10.1.0.1 sent its SYN to 10.1.0.2:80 again after 3.000 s"
    assert [(c.line_from, c.line_to) for c in made.lines] == [(3, 4), (7, 8)]
    carried = [r for r in rows if r["dport"] == 4789]
    (bare,) = observe(Case.of_tables({"packets": carried}))
    assert "192.0.2.1 sent the same to 192.0.2.2:4789 again after 3.000 s" in bare.headline


def test_how_soon_a_server_answers_a_connection_request_is_a_measure() -> None:
    syn, back = {"flags": "S", "len": 0, "seq": 7}, {"flags": "S.", "len": 0, "seq": 9}
    (made,) = packets((0.0, True, syn), (0.0004, False, back))
    assert (made.normal, made.headline) == (True, "10.0.0.9:1521 answered 1 connection request after 0.4 ms")
    assert [(c.line_from, c.role) for c in made.lines] == [(1, "SYN"), (2, "SYN/ACK")]
    late = packets((0.0, True, syn), (0.2, False, back))
    assert [s.kind for s in late] == ["wait"]


def test_a_datagram_that_is_sent_again_was_dropped_or_not_served() -> None:
    (made,) = packets((0.0, True, {}), (5.0, True, {}), (10.0, True, {}), proto="udp")
    assert made.headline.startswith("10.0.0.1 sent the same to 10.0.0.9:1521 again after 5.000 s")
    (known,) = recognise(**made.seen[0])
    assert (known.mechanism, known.strength) == ("packets-dropped", "mechanism"), "nothing came from there at all"
    made = packets((0.0, True, {}), (5.0, True, {}), (5.01, False, {}), proto="udp")[0]
    (known,) = recognise(**made.seen[0])
    assert (known.mechanism, known.strength) == ("packets-dropped", "shape")


def syns(*, answered: bool, times: int = 4) -> list[Sighting]:
    syn: dict[str, Any] = {"flags": "S", "len": 0, "seq": 7}
    asked = [(2.0**n, True, syn) for n in range(times)]
    answer = [(2.0**times, False, {"flags": "S.", "len": 0, "seq": 9})] if answered else []
    return packets(*asked, *answer)


@pytest.mark.parametrize(("answered", "times"), [(True, 4), (False, 2)])
def test_a_server_that_answers_at_last_or_one_lost_syn_is_loss(answered: bool, times: int) -> None:
    made = [s for s in syns(answered=answered, times=times) if "SYN" in s.headline]
    assert [recognise(**s.seen[0])[0].mechanism for s in made] == ["packet-loss"]


def test_a_first_packet_that_is_sent_again_and_answered_is_named() -> None:
    text = (
        "07:31:37.400000 IP 192.0.2.3.51234 > 192.0.2.9.8080: Flags [S], seq 26598, win 43690, options [mss 1460], length 0\n"
        "07:31:{}.410000 IP 192.0.2.3.51234 > 192.0.2.9.8080: Flags [S], seq 26598, win 43690, options [mss 1460], length 0\n"
        "07:31:{}.411000 IP 192.0.2.9.8080 > 192.0.2.3.51234: Flags [S.], seq 71, ack 26599, win 27960, options [mss 1460], length 0\n"
        "07:31:{}.412000 IP 192.0.2.3.51234 > 192.0.2.9.8080: Flags [.], ack 1, win 342, length 0\n"
    )
    made = told(long_waits, text.format(38, 38, 38))
    assert ({"event": "syn-sent-again"},) in [s.seen for s in made]
