"""A link of a bundle that is down stands out; one that fails again and again is named, all links up are normal."""

from __future__ import annotations

import pytest

from rules.case.case import Case
from rules.observers.bundled_links import observe
from rules.observers.observer import Sighting
from tests.parsers.formats.evidence import read_bytes


def seen(*links: tuple[str, str, int, int], mode: str = "IEEE 802.3ad Dynamic link aggregation") -> list[Sighting]:
    text = f"Ethernet Channel Bonding Driver: v6.1\n\nBonding Mode: {mode}\nMII Status: up\nMII Polling Interval (ms): 100\n"
    for name, status, failures, aggregate in links:
        text += f"\nSlave Interface: {name}\nMII Status: {status}\nDuplex: full\n"
        text += f"Link Failure Count: {failures}\nSlave queue ID: 0\nAggregator ID: {aggregate}\n"
    tables = read_bytes(text.encode()).tables
    return list(
        observe(Case.of_tables({k: tables[k].to_dicts() for k in ("params", "counters") if k in tables}).with_text())
    )


@pytest.mark.parametrize(("failures", "named"), [(7, True), (1, False)])
def test_a_link_that_is_down(failures: int, named: bool) -> None:
    (made,) = seen(("eth0", "up", 0, 1), ("eth1", "down", failures, 2))
    often = f" and failed {failures} times" if named else ""
    assert made.headline == f"eth1, one of 2 links of a bundle, is down{often}; 1 of 2 are up"
    assert bool(made.seen) is named
    assert [c.line_from for c in made.lines] == [14, 15, 17, 19]


def test_links_in_different_aggregates() -> None:
    (made,) = seen(("eth0", "up", 0, 1), ("eth1", "up", 0, 2))
    assert made.headline == "2 links of a bundle are up and in 2 aggregates, of which one carries: eth0 in 1, eth1 in 2"
    assert made.seen == ()


def test_all_links_in_one_aggregate_are_normal() -> None:
    assert seen(("eth0", "up", 1, 1), ("eth1", "up", 3, 1)) == []
