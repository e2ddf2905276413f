"""The command that takes a store's time, on both sides of the bounds."""

from __future__ import annotations

from typing import Any

import pytest

from rules.case.case import Case
from rules.observers.command_times import GROUP, observe
from rules.observers.observer import Sighting


def seen(**commands: tuple[int, float]) -> list[Sighting]:
    rows: list[dict[str, Any]] = [
        {"line_no": n, "grp": GROUP, "item": item, "name": name, "value": value}
        for n, (item, (calls, usec)) in enumerate(commands.items(), 1)
        for name, value in (("calls", float(calls)), ("usec", usec))
    ]
    return list(observe(Case.of_tables({"counters": rows}).with_text()))


def test_the_command_with_most_of_the_time_is_told() -> None:
    (made,) = seen(keys=(4, 6_700_000.0), get=(152, 1000.0))
    assert made.headline == "keys took 6.700 s in 4 calls, 1.675 s each: 100.0 % of the time of all commands"
    assert made.seen == ({"event": "store-command keys"},)
    assert not made.normal
    assert made.beside == "get took 1 ms in 152 calls, 0.00658 ms each"
    assert [line.line_from for line in made.lines] == [1, 2]


def test_the_command_that_is_called_most_often_is_told_beside() -> None:
    (made,) = seen(set=(3, 90.0), keys=(4, 6_700_000.0), ttl=(90, 60.0))
    assert made.beside == "ttl took 0.06 ms in 90 calls, 0.000667 ms each"
    (made,) = seen(keys=(4, 6_700_000.0))
    assert (made.beside, len(made.lines)) == (None, 1)


@pytest.mark.parametrize(
    ("calls", "usec", "other"),
    [(10, 99_999.0, 0.0), (11, 100_000.0, 0.0), (10, 100_000.0, 100_001.0)],
    ids=["together not felt", "short calls", "less than half"],
)
def test_below_a_bound_it_is_a_measure(calls: int, usec: float, other: float) -> None:
    (made,) = seen(keys=(calls, usec), get=(1000, other))
    assert made.normal or made.subject == "get"


def test_at_the_bounds_it_stands_out() -> None:
    (made,) = seen(keys=(10, 100_000.0), get=(1000, 100_000.0))
    assert not made.normal


def test_without_calls_nothing_is_told() -> None:
    assert seen(keys=(0, 5.0)) == []
    assert seen() == []


def slow_log(*entries: tuple[str, float, str]) -> list[Sighting]:
    rows = [
        {"line_no": 9 * n, "line_end": 9 * n + 4, "op": f"command {name}", "elapsed_s": took, "text": text}
        for n, (name, took, text) in enumerate(entries, 1)
    ]
    return list(observe(Case.of_tables({"logs": rows})))


def test_the_longest_of_a_list_of_slow_commands() -> None:
    (made,) = slow_log(
        ("KEYS", 0.028, "KEYS shop:*"),
        ("EVAL", 0.041, 'EVAL local k = redis.call(\\"KEYS\\", ARGV[1])'),
        ("GET", 0.011, "GET a"),
    )
    assert made.headline.startswith("EVAL took 41 ms, the longest of 3 slow commands; ")
    assert made.beside == "a script calls KEYS, which goes through all keys"
    assert (made.seen, made.normal) == (({"event": "store-command keys"},), False)


@pytest.mark.parametrize(
    ("took", "text", "stands", "blamed"),
    [
        (0.02, "HGETALL cart:7", True, False),
        (0.02, "SET note 'call KEYS'", True, False),
        (0.009, "KEYS *", False, False),
        (0.01, "KEYS *", True, True),
    ],
)
def test_a_slow_command_that_does_not_go_through_all_keys_is_told_only(
    took: float, text: str, stands: bool, blamed: bool
) -> None:
    (made,) = slow_log((text.split()[0], took, text))
    assert (not made.normal, bool(made.seen)) == (stands, blamed)
