"""Sessions that do the same are counted; those that wait for locks stand out, and those left behind one by one."""

from __future__ import annotations

from typing import Any

import pytest

from rules.case.case import Case
from rules.observers.database_sessions import TOP, observe
from rules.observers.observer import Sighting
from rules.signatures.signatures import recognise


def sessions(*rows: dict[str, Any]) -> list[Sighting]:
    numbered = [{"line_no": n, "sid": 100 + n, **r} for n, r in enumerate(rows, 1)]
    return list(observe(Case.of_tables({"sessions": numbered})))


def test_sessions_that_do_the_same() -> None:
    idle: list[dict[str, Any]] = [{"state": "idle", "event": "ClientRead", "db_user": "pool"}] * 9
    made = sessions(*idle, {"state": "active", "db_user": "admin", "last_call_s": 2.0}, {"sid": 13})
    assert [(s.headline, s.normal) for s in made] == [
        ("9 of 10 listed sessions are idle, waiting for ClientRead, most of pool", True),
        ("1 of 10 listed sessions is active, of admin; for 2.000 s", True),
        ("Session 110 has been active for 2 s (2.000 s), the longest of 1", True),
    ]


METADATA = "Waiting for table metadata lock"


@pytest.mark.parametrize(("seconds", "n", "stands"), [(1.0, 1, True), (0.9, 1, False), (0.0, 3, True), (0.0, 2, False)])
def test_who_waits_for_a_lock(seconds: float, n: int, stands: bool) -> None:
    waiting: list[dict[str, Any]] = [{"state": "Query", "event": METADATA, "last_call_s": seconds}] * n
    made = [
        s
        for s in sessions(*[{"state": "Sleep"}] * 9, *waiting)
        if s.subject == METADATA and s.name.endswith("sessions_count")
    ]
    assert [(s.normal, bool(s.seen)) for s in made] == [(not stands, stands)]
    assert "waiting for Waiting" not in made[0].headline
    assert not stands or made[0].share == 1.0, "the others sleep"


def test_background_waits_are_idle() -> None:
    made = sessions(*[{"state": "Connect", "event": "Waiting for source to send event", "last_call_s": 9e4}] * 4)
    assert all(s.normal for s in made)


@pytest.mark.parametrize(
    ("times", "step"),
    [
        ([3600.0 * n + 12 for n in range(5)], 3600.0),
        ([3600.0 * n + 12 for n in range(4)], None),
        ([9.0 * n for n in range(9)], None),
        ([100.0, 250.0, 600.0, 1100.0, 2900.0, 2950.0], None),
    ],
)
def test_left_one_by_one(times: list[float], step: float | None) -> None:
    made = [s for s in sessions(*[{"state": "Sleep", "last_call_s": t} for t in times]) if s.name == "step_s"]
    assert [s.value for s in made] == ([] if step is None else [step])
    assert not made or (
        made[0].headline.startswith(f"{len(times)} sessions that are Sleep were left one by one, 3,600 s")
    )


def test_one_session_is_told_with_whence_it_comes() -> None:
    made = sessions(*[{"state": "Sleep"}] * 2, {"state": "Query", "db_user": "root", "machine": "localhost"})
    assert made[1].headline == "1 of 3 listed sessions is Query, of root from localhost"


def test_sessions_of_one_database_are_told_with_it() -> None:
    idle: dict[str, Any] = {"state": "Sleep", "db_user": "web", "machine": "web1"}
    (made,) = sessions(*[{**idle, "db_name": "shop"}] * 3)
    assert made.headline == "3 of 3 listed sessions are Sleep, most of web, all in shop, all from web1"
    (made,) = sessions({**idle, "db_name": "shop"}, {**idle, "db_name": "stock"})
    assert made.headline == "2 of 2 listed sessions are Sleep, most of web, all from web1"


def viewing(state: str, xmin: int | None, newest: int) -> str | None:
    rows: list[dict[str, Any]] = [
        {"state": state, "xmin": xmin, "sid": 7, "program": "report", "line_no": 1, "line_end": 9},
        {"state": "walsender", "xmin": newest},
    ]
    return next(s for s in sessions(*rows) if s.subject == state).beside


@pytest.mark.parametrize(
    ("state", "xmin", "newest", "told"),
    [
        ("idle in transaction", 99, 100, True),
        ("idle in transaction", 100, 100, False),
        ("idle in transaction", None, 100, False),
        ("active", 100, 10_100, True),
        ("active", 101, 10_100, False),
        ("active", 3, 2**31 + 3, False),
    ],
)
def test_the_oldest_view_of_the_rows(state: str, xmin: int | None, newest: int, told: bool) -> None:
    beside = viewing(state, xmin, newest)
    assert (beside is not None) is told
    assert not beside or beside.startswith(
        f"session 7 of report may still see rows as of transaction {xmin} (backend_xmin)"
    )


def test_the_lines_of_records_are_few() -> None:
    records: list[dict[str, Any]] = [
        {"state": "idle in transaction", "line_no": 10 * n, "line_end": 10 * n + 8} for n in range(1, 5)
    ]
    made = sessions(*records)[0]
    assert [(x.line_from, x.line_to) for x in made.lines] == [(10, 18), (20, 28), (30, 31)]


def test_nothing_is_known_of_them() -> None:
    assert sessions({"sid": None}, {"state": None}) == []
    odd = sessions({"state": "x", "last_call_s": float("nan")}, {"state": "x", "last_call_s": -1.0})
    assert [s.name for s in odd] == ["x sessions_count"]


def test_who_is_idle_in_a_transaction_stands_out() -> None:
    made = sessions(*[{"state": "idle"}] * 50, {"state": "idle in transaction", "event": "Client:ClientRead"})
    assert [(s.value, s.normal, s.seen) for s in made] == [(1.0, False, ()), (50.0, True, ())]


def test_how_long_a_session_is_idle_in_its_transaction() -> None:
    made = sessions({"state": "idle in transaction", "event": "Client:ClientRead", "last_call_s": 61.5})
    assert made[1].headline == "Session 101 has been idle in transaction for 62 s (1 min 2 s), the longest of 1"


@pytest.mark.parametrize(("at_log_in", "others", "stands"), [(3, 0, True), (4, 4, True), (3, 4, False), (2, 0, False)])
def test_many_sessions_at_their_log_in_wait(at_log_in: int, others: int, stands: bool) -> None:
    rows: list[dict[str, Any]] = [{"state": "Connect", "event": "login", "db_user": "unauthenticated user"}] * at_log_in
    made = [s for s in sessions(*rows, *[{"state": "Sleep"}] * others) if s.subject == "login"]
    assert [not s.normal for s in made] == [stands]
    assert not stands or recognise(**made[0].seen[0])[0].mechanism == "authentication-wait"


def test_work_of_mysql_is_no_wait_and_one_session_is_no_share() -> None:
    made = sessions({"state": "Query", "event": "Sending data", "last_call_s": 75.0})
    assert made[0].headline == "The only session of the listing is Query, Sending data; for 75 s (1 min 15 s)"
    assert made[0].normal


@pytest.mark.parametrize(
    ("state", "event", "rests"), [(None, "Extension:Extension", True), ("active", "Extension:Extension", False)]
)
def test_a_background_worker_of_postgres_rests(state: str | None, event: str, rests: bool) -> None:
    made = sessions({"state": state, "event": event})
    assert ("at rest in Extension:Extension" in made[0].headline) is rests
    assert made[0].normal


def test_the_oldest_transaction_is_told_with_its_session() -> None:
    rows = [
        {"state": "active", "program": f"job{n}", "xact_text": f"2031-02-0{n} 10:00:00+00", "verb": "COPY"}
        for n in (3, 2)
    ]
    told = next(s for s in sessions(*rows, {"state": "idle"}) if s.name == "transactions_count")
    assert told.headline.startswith(
        "The oldest of the 2 listed transactions began at 2031-02-02 10:00:00+00: session 102 (job2, active, COPY)"
    )
    assert (told.normal, told.lines[0].line_from) == (True, 2)


def chain(wait_s: float, **more: Any) -> list[Sighting]:
    rows = [{"sid": 7, "state": "ACTIVE", "blocked_by": 5, "wait_s": wait_s, "wait_class": "Application", **more},
            {"sid": 8, "state": "ACTIVE", "blocked_by": 7, "wait_s": wait_s / 2, "wait_class": "Application"}]  # fmt: skip
    return [s for s in sessions(*rows) if s.name == "blocked_sessions_count"]


@pytest.mark.parametrize(("wait_s", "blamed"), [(90.0, True), (2.0, True), (0.5, False)])
def test_sessions_that_others_block(wait_s: float, blamed: bool) -> None:
    made = chain(wait_s)
    assert [bool(s.seen) for s in made] == [blamed, blamed]
    if wait_s == 90.0:
        assert [s.headline for s in made] == [
            "Session 7 waits for session 5, which is not listed as waiting, for 1 min 30 s; 1 more waits behind it",
            "Session 8 waits for session 7 (ACTIVE), for 45.000 s; it waits itself for session 5, for 1 min 30 s",
        ]


def test_sessions_that_wait_are_counted_beside_their_state() -> None:
    rows = [{"sid": 7, "state": "ACTIVE", "blocked_by": 5}, {"sid": 8, "state": "ACTIVE"}]
    told = next(s for s in sessions(*rows) if s.subject == "ACTIVE")
    assert told.headline == "2 of 2 listed sessions are ACTIVE; 1 of them wait for another session"


def test_the_wait_of_a_commit_blames_no_row() -> None:
    assert [s.seen for s in chain(90.0, wait_class="Commit") if s.subject == "session 7"] == [
        ({"log": "sessions wait in class Application behind a session"},)
    ]
    rows = [{"sid": 7, "state": "ACTIVE", "blocked_by": 5, "wait_s": 90.0, "wait_class": "Commit"}]
    assert [s.seen for s in sessions(*rows) if s.name == "blocked_sessions_count"] == [()]


@pytest.mark.parametrize(("seconds", "n", "stands"), [(1.0, 3, True), (0.9, 3, False), (9.0, 2, False)])
def test_who_waits_for_what_is_named_outright_and_no_lock(seconds: float, n: int, stands: bool) -> None:
    rows: list[dict[str, Any]] = [{"state": "active", "event": "LWLock:WALWrite", "last_call_s": seconds}] * n
    listed = sessions(*rows, {"state": "active"})
    (made,) = [s for s in listed if s.name == "LWLock:WALWrite sessions_count"]
    assert (made.normal, bool(made.seen)) == (not stands, stands)
    only_fits = sessions(*[{**r, "event": "LWLock:BufferContent"} for r in rows])
    assert all(s.normal for s in only_fits if s.name.endswith("sessions_count"))


@pytest.mark.parametrize(
    ("change", "slept", "told"),
    [
        ({"last_call_s": 40.0}, 42.0, True),
        ({"last_call_s": 40.0}, 42.1, False),
        ({"last_call_s": 400.0}, 380.0, True),
        ({"last_call_s": 9.9}, 10.0, False),
        ({"last_call_s": 40.0, "event": "Sending data"}, 40.0, False),
        ({"last_call_s": 40.0, "verb": "SELECT"}, 40.0, False),
        ({"last_call_s": 40.0, "db_name": "other"}, 40.0, False),
    ],
)
def test_a_change_that_stands_since_another_session_fell_asleep(
    change: dict[str, Any], slept: float, told: bool
) -> None:
    one = {"state": "Query", "event": "updating", "verb": "UPDATE", "db_name": "shop", **change}
    made = sessions({"state": "Sleep", "db_name": "shop", "last_call_s": slept}, one)
    found = [s for s in made if s.name == "change_s"]
    assert [s.seen for s in found] == ([({"event": "change-behind-a-sleeper"},)] if told else [])
    if told:
        assert [c.line_from for c in found[0].lines] == [2, 1]
        assert "session 101 of the same database has slept as long: it may hold the rows" in found[0].headline


def test_states_with_like_numbers_are_told_in_their_order() -> None:
    states = ["c", "a", "d", "b"]
    made = sessions(*[{"state": state, "last_call_s": 1.0} for state in states for _ in range(2)])
    assert [s.subject for s in made if "listed sessions" in s.headline] == sorted(states)[:TOP]
