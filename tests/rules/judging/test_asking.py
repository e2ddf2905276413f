"""At most three asks, those that say most of what stands out, for systems that are here."""

from __future__ import annotations

from typing import Any

from rules.case.case import Case
from rules.judging.asking import MOST, asks
from rules.observers.observer import observers
from tests.rules.judging.test_observing import row


def asked(*rows: dict[str, Any], os: str | None = "linux") -> list[str]:
    made, _ = asks(Case.of_tables({}), {"db1": os}, (), (), (), (), None, [{"asks": [], **r} for r in rows])
    return [a.ask for a in made]


def test_what_a_signature_asks_for_comes_before_the_general_next_step() -> None:
    known = row(1, asks=["iostat -x 1", "the log of that minute"], mechanism="disk-latency")
    assert asked(known) == ["iostat -x 1", observers()["long-waits"].OBSERVER.next["linux"]]


def test_what_stands_out_unknown_still_has_a_next_step_of_its_system() -> None:
    (linux,) = asked(row(1, observer="consumers"))
    (solaris,) = asked(row(1, observer="consumers"), os="solaris")
    assert linux.startswith("perf top")
    assert solaris.startswith("prstat")
    assert asked(row(1, observer="failures"), os="hpux") == [], "no command is known there"


def test_idle_ones_ask_for_nothing_and_three_are_the_most() -> None:
    assert asked(row(1, idle="waits for work", asks=["iostat -x 1"])) == []
    many = [row(n, asks=[f"tool{n} -x"], observer="difference") for n in range(1, 6)]
    assert asked(*many) == [f"tool{n} -x" for n in range(1, MOST + 1)]
