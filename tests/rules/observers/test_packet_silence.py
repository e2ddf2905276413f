"""Silences on connections: the server's before an answer is a wait, the client's before the next request is idle."""

from __future__ import annotations

from typing import Any

import pytest

from rules.case.case import Case
from rules.observers.long_waits import observe
from rules.observers.observer import Sighting
from rules.signatures.signatures import recognise

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


def test_a_syn_that_is_sent_again_is_a_ladder() -> None:
    syn = {"flags": "S", "len": 0, "seq": 7}
    (made,) = packets((0.0, True, syn), (1.0, True, syn), (3.0, True, syn), (7.0, True, syn))
    assert made.headline == (
        "10.0.0.1 sent its SYN to 10.0.0.9:1521 again after 4.000 s, 3 such silences 7.000 s together"
    )
    assert recognise(**made.seen[0])[0].mechanism == "packet-loss"


def test_an_answer_to_a_syn_sent_again_is_the_servers() -> None:
    syn, back = {"flags": "S", "len": 0, "seq": 7}, {"flags": "S.", "len": 0, "seq": 9}
    made = packets((0.0, True, syn), (0.01, False, back), (1.02, False, back), (2.0, True, syn))
    assert [s.headline for s in made] == ["10.0.0.9:1521 sent its SYN/ACK to 10.0.0.1 again after 1.010 s"]


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
        "asks, typical answer",
        "typical answer",
        "asks, longest answer",
        "longest answer",
    ]
    assert packets(*rows[:18]) == [], "nine answers are no conversation"


def test_a_server_that_answers_at_once_is_not_told() -> None:
    rows: list[tuple[float, bool, dict[str, Any]]]
    rows = [(n * 0.042 + late, by_client, {}) for n in range(50) for late, by_client in ((0.0, True), (0.002, False))]
    assert packets(*rows) == []
