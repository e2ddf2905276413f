"""Resets, closed windows, ICMP errors and wrong checksums are told by pair of hosts; other packets are not."""

from __future__ import annotations

from typing import Any

import pytest

from rules.case.case import Case
from rules.observers.packet_signs import observe


def packet(src: str, dst: str, **more: Any) -> dict[str, Any]:
    ports = {"sport": 40000, "dport": 80} if src == "a" else {"sport": 80, "dport": 40000}
    return {"part": 1, "t_local": 0.0, "proto": "tcp", "src": src, "dst": dst, "flags": ".", "win": 9, **ports, **more}


def headlines(*rows: dict[str, Any]) -> list[str]:
    case = Case.of_tables({"packets": [{"line_no": n, **row} for n, row in enumerate(rows, 1)]})
    return [s.headline for s in observe(case)]


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ((packet("a", "b", flags="S"), packet("b", "a", flags="R.")), "b:80 refused connections of a with RST"),
        ((packet("a", "b"), packet("b", "a", flags="R")), "b reset connections to a with RST"),
        ((packet("a", "b"), packet("b", "a", win=0)), "b announced a window of 0 to a"),
        (
            (packet("r", "a", proto="icmp", payload="c unreachable - need to frag (mtu 1400)"),),
            "r told a: c unreachable - need to frag (mtu 1400)",
        ),
        ((packet("a", "b", payload="wrong checksum"),), "packets from a to b have a wrong checksum"),
    ],
)
def test_signs_are_told(rows: tuple[dict[str, Any], ...], says: str) -> None:
    assert [h.startswith(says) for h in headlines(*rows)] == [True]


def test_other_packets_are_normal() -> None:
    assert headlines(packet("a", "b", flags="S", win=0), packet("b", "a", flags="F.", win=0)) == []
    assert headlines(packet("a", "b", proto="icmp", payload="echo request")) == []
    assert headlines() == []


def wrong(t: float) -> dict[str, Any]:
    return packet("a", "b", payload="wrong checksum", t_local=t)


@pytest.mark.parametrize(
    ("rows", "lost"),
    [
        ((wrong(0.0), wrong(1.0), packet("b", "a", t_local=60.0)), True),
        ((wrong(0.0), wrong(1.0), packet("b", "a", t_local=1.4)), False),  # answered: the card corrects what it sends
        ((wrong(0.0), packet("b", "a", t_local=60.0)), False),  # one alone
        ((wrong(0.0), wrong(1.0)), False),  # the list may end before the answer
    ],
)
def test_wrong_checksums_that_nobody_answers_are_dropped(rows: tuple[dict[str, Any], ...], lost: bool) -> None:
    (made,) = observe(Case.of_tables({"packets": [{"line_no": n, **row} for n, row in enumerate(rows, 1)]}))
    assert (made.seen == ({"event": "checksum-unanswered"},)) is lost
    assert made.headline.endswith("nothing came back for 1 min 0 s") is lost


def test_the_words_of_the_tool_and_the_first_packet_back_are_told() -> None:
    bad = packet("a", "b", payload="wrong checksum: bad udp cksum 0x1234 -> 0xabcd!")
    back = packet("b", "a", payload="no checksum: no cksum", t_local=7.0)
    rows = [{"line_no": n, **r} for n, r in enumerate(({**bad, "t_local": 0.0}, {**bad, "t_local": 1.0}, back), 1)]
    (made,) = observe(Case.of_tables({"packets": rows}))
    assert made.headline.startswith(
        'packets from a to b have a wrong checksum ("bad udp cksum 0x1234 -> 0xabcd!"), 2 of its 2'
    )
    assert made.beside == "the packets of the other direction have no checksum at all"
    assert [(c.line_from, c.role) for c in made.lines][2:] == [(3, "the first packet back, no cksum")]
    rows[2]["payload"] = None
    (plain,) = observe(Case.of_tables({"packets": rows}))
    assert plain.beside is None


FRAGMENT = {"log": "ICMP: d unreachable - need to frag (mtu 1400)"}


@pytest.mark.parametrize(
    ("destinations", "apart", "named"),
    [
        ("ddd", 0.5, {"event": "too-large-again"}),
        ("ddd", 0.001, FRAGMENT),  # a burst that was under way
        ("ddd", 600.0, FRAGMENT),  # what was learnt is forgotten
        ("def", 0.5, FRAGMENT),
        ("dd", 0.5, FRAGMENT),
    ],
)
def test_who_is_told_of_one_destination_again_does_not_heed_it(
    destinations: str, apart: float, named: dict[str, str]
) -> None:
    rows = [
        packet(
            "r", "a", proto="icmp", payload=f"{to} unreachable - need to frag (mtu 1400)", line_no=n, t_local=n * apart
        )
        for n, to in enumerate(destinations, 1)
    ]
    (made,) = observe(Case.of_tables({"packets": rows}))
    assert made.seen == (named,)
