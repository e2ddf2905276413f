"""Tests of figures that single lines of tools state."""

from __future__ import annotations

import pytest

from rules.observers import stated_figures
from tests.rules.observers.of_text import told

GRAPH = (
    '<deadlock-list>\n <deadlock victim="process9a">\n  <process-list>\n'
    '   <process id="process9a" waitresource="PAGE: 9:1:900" waittime="3000" lockMode="S" spid="91">\n'
    '   <process id="process9b" waitresource="PAGE: 9:1:901" waittime="2900" lockMode="X" spid="92">\n'
)
BLOCKED = (
    "<blocked-process-report>\n <blocked-process>\n"
    '  <process id="process9a" waitresource="KEY: 9:900 (9a9a)" waittime="{}" lockMode="U" spid="91"/>\n'
)
DIGEST = "#    1 0x9A9A9A9A9A9A9A9A {}  {}%  300 {} 0.90 SELECT shops\n#    2 0x9B9B9B9B9B9B9B9B 90.0000  9.0% 9000 0.0100 0.01 UPDATE carts\n"


@pytest.mark.parametrize(("seconds", "slow"), [("472.5", True), ("9.5", False)])
def test_a_large_copy(seconds: str, slow: bool) -> None:
    made = told(stated_figures, f"900+0 records out\n943718400 bytes (944 MB, 900 MiB) copied, {seconds} s\n")
    assert [s.seen for s in made] == [({"event": "copy-slow"},)] * slow


def test_a_deadlock_graph() -> None:
    (made,) = told(stated_figures, GRAPH)
    assert made.seen == ({"event": "sessions-in-deadlock"},)
    assert made.value == 2.0


def test_a_blocked_process() -> None:
    assert [s.seen for s in told(stated_figures, BLOCKED.format(9000))] == [({"event": "process-blocked-by-lock"},)]
    assert told(stated_figures, BLOCKED.format(90)) == []


def test_the_head_of_a_digest() -> None:
    (slow,) = told(stated_figures, DIGEST.format("910.5000", "91.0", "3.0350"))
    assert slow.seen == ({"event": "one-statement-heads-the-digest"},)
    assert told(stated_figures, DIGEST.format("300.5000", "30.0", "1.0017")) == []


ETHTOOL = (
    "Settings for eth9:\n\tSupported link modes:   10baseT/Half 10baseT/Full\n\t                        1000baseT/Full\n"
    "{partner}\tSpeed: {speed}Mb/s\n\tDuplex: {duplex}\n\tLink detected: yes\n"
)
PARTNER = "\tLink partner advertised link modes:  10baseT/Half 10baseT/Full\n\t                                     100baseT/Full\n"


@pytest.mark.parametrize(
    ("partner", "speed", "duplex", "events"),
    [
        ("", 100, "Full", ["link-below-its-speed"]),
        ("", 100, "Half", ["link-at-half-duplex", "link-below-its-speed"]),
        (PARTNER, 100, "Full", []),
        ("", 1000, "Full", []),
    ],
)
def test_a_link_below_what_its_ends_can(partner: str, speed: int, duplex: str, events: list[str]) -> None:
    made = told(stated_figures, ETHTOOL.format(partner=partner, speed=speed, duplex=duplex))
    assert [s.seen[0]["event"] for s in made] == events
