"""Tests that dropping rules stand out if they counted packets; passing rules and rules at 0 are only context."""

from __future__ import annotations

from rules.case.case import Case
from rules.observers.filter_rules import observe
from rules.observers.observer import Sighting


def seen(*rules: tuple[str, float, float]) -> list[Sighting]:
    """Return what is seen of listings: item, packets and bytes of each rule, each on its own line."""
    rows = [
        {"line_no": line, "grp": "filter", "mode": "total", "item": item, "name": name, "value": value}
        for line, (item, packets, size) in enumerate(rules, 1)
        for name, value in (("packets", packets), ("bytes", size))
    ]
    return list(observe(Case.of_tables({"counters": rows})))


PASS, DROP = "FORWARD rule 1: ACCEPT ctstate ESTABLISHED", "FORWARD rule 2: DROP ctstate INVALID"


def test_a_rule_that_dropped_more_since_the_listing_before() -> None:
    (made,) = seen((PASS, 900.0, 9e5), (DROP, 31.0, 1612.0), (PASS, 950.0, 9e5), (DROP, 40.0, 2080.0))
    assert (
        made.headline == f"{DROP} has counted 40 packets, 9 more than the 31 of the first listing; 2,080 bytes, 52 each"
    )
    assert made.beside == "rule 1: ACCEPT ctstate ESTABLISHED counted 950"
    assert [c.line_from for c in made.lines] == [4, 2, 3]
    assert (made.share, made.seen) == (0.3, ())


def test_one_listing_does_not_tell_since_when() -> None:
    (made,) = seen((DROP, 1.0, 52.0))
    assert made.headline == f"{DROP} has counted 1 packet; 52 bytes, 52 each"
    assert (made.share, made.beside) == (0.1, None)
    (same,) = seen((DROP, 7.0, 364.0), (DROP, 7.0, 364.0))
    assert same.share == 0.1, "it counted nothing between the listings"


def test_what_passes_is_another_chain_or_behind() -> None:
    (made,) = seen(("INPUT rule 1: ACCEPT lo", 500.0, 5e4), (DROP, 7.0, 364.0), ("FORWARD rule 3: ACCEPT", 9.0, 540.0))
    assert made.beside is None


def test_rules_that_stopped_nothing_are_a_measure() -> None:
    (made,) = seen((PASS, 900.0, 9e5), (DROP, 0.0, 0.0), ("INPUT policy: DROP", 0.0, 0.0))
    assert made.normal
    assert made.headline == "2 rules of a packet filter that drop or refuse have counted 0 packets"


def test_rules_that_pass_are_silent() -> None:
    assert seen((PASS, 900.0, 9e5), ("FORWARD rule 2: DROPLIST", 9.0, 540.0)) == []
