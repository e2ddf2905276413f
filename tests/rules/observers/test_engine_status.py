"""What InnoDB's monitor says of deadlocks, lock waits, old transactions and its history."""

from __future__ import annotations

import pytest

from rules.case.case import Case
from rules.observers.engine_status import observe
from rules.observers.observer import Sighting


def status(text: str) -> list[Sighting]:
    rows = [
        {"line_no": n, "line_end": n, "table_no": 0, "row_no": n, "heading": ["InnoDB status"], "cells": [line]}
        for n, line in enumerate(text.splitlines(), 1)
        if line.strip()
    ]
    return list(observe(Case.of_tables({"rows": rows})))


DEADLOCK = """\
LATEST DETECTED DEADLOCK
*** (1) TRANSACTION:
TRANSACTION 77, ACTIVE 4 sec inserting
LOCK WAIT 3 lock struct(s), heap size 1128, 2 row lock(s), undo log entries 1
MySQL thread id 8, OS thread handle 1, query id 9 10.0.0.1 app update
INSERT INTO orders VALUES (1)
*** (1) WAITING FOR THIS LOCK TO BE GRANTED:
RECORD LOCKS space id 8 page no 4 n bits 72 index PRIMARY of table `shop`.`orders` trx id 77 lock_mode X waiting
*** (2) TRANSACTION:
TRANSACTION 78, ACTIVE 5 sec starting index read
*** (2) HOLDS THE LOCK(S):
TABLE LOCK table `shop`.`orders` trx id 78 lock mode IX
*** WE ROLL BACK TRANSACTION (1)
"""


def test_a_deadlock() -> None:
    made = status(DEADLOCK)
    assert made[0].headline == (
        "LATEST DETECTED DEADLOCK: 2 of its transactions are listed; transaction (1) was rolled back"
    )
    assert (made[0].failure, [c.line_from for c in made[0].lines]) == (True, [1, 13])
    said = [s.headline for s in made]
    assert "Transaction 77 is in LOCK WAIT on `shop`.`orders` and holds 2 row locks" in said
    assert "Transaction 77 waits for lock mode X on index PRIMARY of table `shop`.`orders`" in said
    assert "Transaction 78 holds lock mode IX on table `shop`.`orders`" in said
    assert "Transaction 77 was ACTIVE 4 sec inserting with INSERT INTO orders VALUES, 10.0.0.1 app update" in said


def test_the_deadlock_of_a_whole_monitor_may_be_old() -> None:
    (dead, *_) = status(DEADLOCK + "History list length 12\n")
    assert (dead.failure, dead.seen) == (False, ())


WAITING = """\
---TRANSACTION 91, ACTIVE {age} sec starting index read
LOCK WAIT 2 lock struct(s), heap size 1128, 1 row lock(s)
MySQL thread id 8, OS thread handle 1, query id 9 10.0.0.1 app updating
update t set a = 1
------- TRX HAS BEEN WAITING {waited} FOR THIS LOCK TO BE GRANTED:
---TRANSACTION 90, not started
"""


@pytest.mark.parametrize(
    ("waited", "seconds", "seen"), [("50 SEC", 50.0, True), ("0 SEC", 0.0, False), ("1500000 us", 1.5, True)]
)
def test_a_transaction_that_waits(waited: str, seconds: float, seen: bool) -> None:
    made = [s for s in status(WAITING.format(age=51, waited=waited)) if s.subject == "LOCK WAIT"]
    assert [(s.seconds, s.of_s, bool(s.seen)) for s in made] == [(seconds, 51.0, seen)]


@pytest.mark.parametrize(("age", "seen"), [(10, True), (9, False)])
def test_a_transaction_that_waits_nobody_says_since_when(age: int, seen: bool) -> None:
    """The monitor of MySQL 5.0 does not print the time of the wait."""
    text = WAITING.format(age=age, waited="9 SEC").replace(
        "------- TRX HAS BEEN WAITING 9 SEC FOR THIS LOCK TO BE GRANTED:\n", ""
    )
    assert [bool(s.seen) for s in status(text) if s.subject == "LOCK WAIT"] == [seen]


@pytest.mark.parametrize(("age", "normal"), [(60, False), (59, True)])
def test_an_old_transaction(age: int, normal: bool) -> None:
    made = status(f"---TRANSACTION 91, ACTIVE {age} sec\n---TRANSACTION 92, ACTIVE 1 sec\n")
    assert [(s.value, s.normal) for s in made] == [(float(age), normal), (1.0, True)]
    assert made[0].headline.endswith("the oldest of 2 active ones")


@pytest.mark.parametrize(
    ("line", "normal"),
    [
        ("History list length 99999", True),
        ("History list length 100000", False),
        ("--Thread 139 has waited at row0ins.cc line 2 for 241.00 seconds the semaphore:", False),
        ("--Thread 139 has waited at row0ins.cc line 2 for 0.00 seconds the semaphore:", True),
        ("8 queries inside InnoDB, 37 queries in queue", False),
        ("8 queries inside InnoDB, 0 queries in queue", True),
        ("Buffer pool hit rate 949 / 1000, young-making rate 0 / 1000", False),
        ("Buffer pool hit rate 950 / 1000, young-making rate 0 / 1000", True),
    ],
)
def test_measures(line: str, normal: bool) -> None:
    assert [s.normal for s in status(line)] == [normal]


def test_nothing_happens() -> None:
    assert status("0 queries inside InnoDB, 0 queries in queue\n---TRANSACTION 421, not started\n") == []


@pytest.mark.parametrize(("why", "normal"), [(" (to prevent wraparound)", False), ("", True)])
def test_a_worker_of_autovacuum(why: str, normal: bool) -> None:
    cell = f"postgres | 17 | | autovacuum: VACUUM public.orders{why}"
    row = {"line_no": 1, "line_end": 1, "table_no": 0, "row_no": 1, "heading": ["server process"], "cells": [cell]}
    (made,) = observe(Case.of_tables({"rows": [row]}))
    assert made.headline.startswith(f"autovacuum: VACUUM public.orders{why} is running")
    assert (made.subject, made.normal) == ("public.orders", normal)


@pytest.mark.parametrize(("n", "seen"), [(999_999, ()), (1_000_000, ({"event": "purge-late"},))])
def test_a_history_list_that_no_purge_shortens(n: int, seen: tuple[dict[str, str], ...]) -> None:
    (made,) = status(f"History list length {n}")
    assert made.seen == seen


def test_a_wait_whose_transaction_stands_above_what_was_copied() -> None:
    made = status(
        "------- TRX HAS BEEN WAITING 31 SEC FOR THIS LOCK TO BE GRANTED:\n"
        "RECORD LOCKS space id 8 page no 4 n bits 72 index PRIMARY of table `shop`.`parts` trx id 77 lock_mode X waiting\n"
        "---TRANSACTION 70, ACTIVE 412 sec\n"
    )
    assert made[0].headline == "A transaction is in LOCK WAIT on `shop`.`parts` since 31.000 s"
    assert (made[0].name, made[0].value, made[0].seen) == ("waited_s", 31.0, ({"log": "TRX HAS BEEN WAITING"},))
    assert [s.headline for s in made if s.name == "transaction_age_s"] == ["Transaction 70 was ACTIVE 412 sec"]


@pytest.mark.parametrize(("seconds", "named"), [("90.00", True), ("2.00", False)])
def test_a_latch_that_is_held_for_seconds(seconds: str, named: bool) -> None:
    (made,) = status(f"--Thread 139 has waited at row0ins.cc line 2 for {seconds} seconds the semaphore:")
    assert made.seen == (({"event": "engine-latch-held"},) if named else ())


@pytest.mark.parametrize(("n", "named"), [(90, True), (9, False)])
def test_requests_that_wait_for_the_disk(n: int, named: bool) -> None:
    made = status(f"Pending normal aio reads: [{n}, 0, 0, 0] , aio writes: [0, 0, 0, 0] ,")
    assert [s.seen for s in made] == ([({"event": "engine-waits-for-disk"},)] if named else [])
