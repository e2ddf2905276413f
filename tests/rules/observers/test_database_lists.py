"""Listings are known by their columns: locks, blockers, waits, replicas, lag, queues, limits and plans."""

from __future__ import annotations

import math
from random import Random
from typing import Any

import pytest

from rules.case.case import Case
from rules.observers import database_lists
from rules.observers.database_lists import observe
from rules.observers.observer import MOST_LINES, Sighting
from tests.rules.observers.of_text import told


def table(heading: str, *rows: str) -> list[Sighting]:
    names = heading.split()
    made = [
        {
            "line_no": n,
            "line_end": n,
            "table_no": 1,
            "row_no": n,
            "heading": names,
            "cells": [c.replace("_", " ") if c == "_" else c for c in row.split()],
        }
        for n, row in enumerate(rows, 2)
    ]
    return list(observe(Case.of_tables({"rows": made})))


def record(**fields: str) -> list[Sighting]:
    row = {
        "line_no": 2,
        "line_end": 1 + len(fields),
        "table_no": 1,
        "row_no": 1,
        "heading": [*fields],
        "cells": [*fields.values()],
    }
    return list(observe(Case.of_tables({"rows": [row]})))


def test_a_lock_that_is_not_granted_with_its_holders() -> None:
    made = table(
        "relation mode granted pid",
        "orders AccessExclusiveLock f 12",
        "orders RowExclusiveLock t 7",
        "items ShareLock t 8",
    )
    assert [s.headline for s in made] == [
        "AccessExclusiveLock on orders, asked for by 12 is not granted; 7 hold locks on it"
    ]
    assert not made[0].seen, "who holds it and why is not known"
    assert {c.line_from for c in made[0].lines} == {2, 3}
    assert table("relation mode granted pid", "orders RowExclusiveLock t 7") == []


def test_each_line_of_a_record_is_cited() -> None:
    (made,) = record(relation="orders", pid="12", mode="AccessExclusiveLock", granted="f")
    assert {(c.line_from, c.role) for c in made.lines} == {
        (4, "not granted: AccessExclusiveLock"), (5, "not granted"), (2, "orders"),
    }  # fmt: skip


def test_who_is_waited_for() -> None:
    made = table(
        "session_id blocking_session_id wait_type wait_time status",
        "51 0 NULL 0 sleeping", "52 51 LCK_M_X 340000 suspended", "53 52 LCK_M_X 12000 suspended", "54 51 LCK_M_S 1000 suspended",
    )  # fmt: skip
    assert [s.headline for s in made] == [
        "2 sessions wait for session 51 (sleeping), which waits for nobody itself, the longest for 5 min 40 s; 1 more waits behind them",
        "Session 53 waits for session 52 (suspended), for 12.000 s; it waits itself for session 51, for 5 min 40 s",
    ]
    assert made[0].lines[0].line_from == 2
    assert made[0].seen == ({"event": "LCK_M_X"},)


def test_nobody_is_waited_for() -> None:
    assert table("session_id blocking_session_id", "51 0", "52 NULL", "53 53") == []


def test_top_waits_without_idle_ones() -> None:
    made = table("wait_type wait_time_ms", "LCK_M_X 9000", "WRITELOG 500", "CXPACKET 500", "LAZYWRITER_SLEEP 900000")
    assert [(s.subject, s.value, s.normal) for s in made] == [
        ("LCK_M_X", 90.0, False), ("WRITELOG", 5.0, True), ("CXPACKET", 5.0, True),
    ]  # fmt: skip


def test_waits_as_a_script_for_sql_server_lists_them() -> None:
    made = table("WaitType Wait_S Percentage", "WRITELOG 900.5 71.2", "LCK_M_U 300.0 20.1", "CXPACKET 100.0 8.7")
    assert [(s.subject, s.value, s.seen) for s in made[:1]] == [("WRITELOG", 71.2, ({"event": "WRITELOG"},))]


def test_a_session_that_changes_and_waits_for_one_that_sleeps() -> None:
    made = table("SPID Status BlkBy Command", "51 sleeping . AWAITING", "52 SUSPENDED 51 UPDATE")
    assert made[0].seen == ({"log": "writes wait behind a session"},)


@pytest.mark.parametrize(
    ("heading", "rows", "event", "pct"),
    [
        ("wait_event_type wait_event count", ("IO WALSync 30", "LWLock WALWrite 10", "- - 10"), "IO:WALSync", 60.0),
        (
            "EVENT SESSION_STATE COUNT(*)",
            ("db_file_scattered_read WAITING 90", "- ON_CPU 10"),
            "db_file_scattered_read",
            90.0,
        ),
        ("wait_event avg_active_sessions", ("IO:DataFileRead 9.5", "CPU 0.5"), "IO:DataFileRead", 95.0),
        ("wait_event count", ("IO:WALSync 9",), None, 100.0),
    ],
)
def test_waits_that_are_counted(heading: str, rows: tuple[str, ...], event: str | None, pct: float) -> None:
    made = table(heading, *rows)[0]
    assert (made.seen, round(made.value, 6)) == (({"event": event},) if event else (), pct)


def test_idle_waits_are_not_counted() -> None:
    assert table("wait_event_type wait_event count", "Client ClientRead 300", "Activity CheckpointerMain 1") == []


@pytest.mark.parametrize(
    ("dead", "live", "told"), [("100000", "100000", True), ("99999", "9", False), ("100000", "100001", False)]
)
def test_tables_with_more_dead_rows_than_live_ones(dead: str, live: str, told: bool) -> None:
    made = table("relname n_live_tup n_dead_tup last_vacuum last_autovacuum", f"jobs {live} {dead} - -")
    said = "jobs has 100,000 dead rows (n_dead_tup) beside 100,000 live ones; it was never vacuumed"
    assert [(s.headline, s.seen) for s in made] == ([(said, ({"event": "dead-rows"},))] if told else [])


REPLICA = {
    "Slave_IO_Running": "Yes",
    "Slave_SQL_Running": "Yes",
    "Master_Log_File": "b.7",
    "Relay_Master_Log_File": "b.7",
}


@pytest.mark.parametrize(("behind", "normal"), [(1024, False), (1023, True)])
def test_a_replica_that_has_not_applied_what_it_read(behind: int, normal: bool) -> None:
    made = record(**REPLICA, Read_Master_Log_Pos=str(5000 + behind), Exec_Master_Log_Pos="5000")
    (lag,) = (s for s in made if s.kind == "lag")
    assert lag.headline == f"Read_Master_Log_Pos is {behind:,} bytes ahead of Exec_Master_Log_Pos, both in b.7"
    assert (lag.normal, [c.line_from for c in lag.lines]) == (normal, [6, 7])


def test_a_replica_in_another_file_late_stopped_and_failed() -> None:
    made = record(
        Replica_IO_Running="Yes", Replica_SQL_Running="No", Source_Log_File="b.9", Relay_Source_Log_File="b.7", Read_Source_Log_Pos="4",
        Exec_Source_Log_Pos="99", Seconds_Behind_Source="3600", Last_SQL_Errno="1062", Last_SQL_Error="Duplicate entry",
    )  # fmt: skip
    said = [s.headline for s in made]
    assert "The replica applies b.7 while it has read up to b.9" in said
    assert "Seconds_Behind_Source is 3,600: the replica is 1 h 0 min behind" in said
    assert "Last_SQL_Errno is 1062: Duplicate entry" in said
    assert next(s for s in made if s.kind == "replica").value == 1
    assert [s.failure for s in made if s.kind == "failure"] == [True]


def test_standbys() -> None:
    made = record(application_name="s1", sent_lsn="1/2000000", replay_lsn="1/0", replay_lag="00:00:12.5")
    assert {s.headline for s in made} == {
        "replay_lag of s1 is 12.500 s", "s1 has applied 1/0, 33,554,432 bytes less than was sent",
    }  # fmt: skip
    assert all(
        s.normal for s in record(application_name="s1", sent_lsn="1/2", replay_lsn="1/0", replay_lag="00:00:00.5")
    )


@pytest.mark.parametrize(("lag", "normal"), [(1000, False), (999, True)])
def test_consumers_that_lag(lag: int, normal: bool) -> None:
    made = table("GROUP TOPIC PARTITION LAG CONSUMER-ID", f"g orders 0 {lag} c-1", "g orders 1 0 c-2", "g orders 2 - -")
    assert [(s.headline, s.normal) for s in made] == [
        (f"orders-0 lags {lag:,} messages, 100 % of the {lag:,} of 2 partitions", normal)
    ]


def test_a_partition_without_a_consumer() -> None:
    made = table("GROUP TOPIC PARTITION LAG CONSUMER-ID", "g orders 0 5000 -", "g orders 1 0 -")
    assert made[0].headline == "1 of 2 partitions with a lag have no consumer"


def test_queues() -> None:
    made = table(
        "database user cl_active cl_waiting maxwait pool_mode", "shop app 20 37 14 session", "a b 1 0 0 session"
    )
    assert [(s.subject, s.value) for s in made] == [("cl_waiting of shop", 37.0), ("maxwait of shop", 14.0)]
    assert table("database user cl_active cl_waiting pool_mode", "shop app 20 0 session") == []
    assert [s.value for s in table("name messages", "jobs 12000", "mails 0")] == [12000.0]
    assert table("name queue", "a 5") == [], "a word alone makes no queue"


POOL = "database user cl_waiting sv_active sv_idle maxwait"


@pytest.mark.parametrize(
    ("heading", "row", "event"),
    [
        (POOL, "shop app 37 20 0 14", "pool-clients-wait"),
        (POOL, "shop app 37 20 1 14", None),
        (POOL, "shop app 37 20 0 0", None),
        (POOL, "shop app 37 0 0 14", None),
        ("name messages consumers", "jobs 1000 0", "queue-without-consumer"),
        ("name messages consumers", "jobs 999 0", None),
        ("name messages consumers", "jobs.dead-letter 5000 0", None),
        ("name messages consumers", "jobs 100000 2", "consumer-late"),
        ("name messages consumers", "jobs 99999 2", None),
        ("node_name name active queue rejected", "n1 write 8 9 5", "pool-refuses"),
        ("node_name name active queue rejected", "n1 write 8 8 5", None),
        ("pool_name active pending completed", "ReadStage 32 1000 9000", "stage-behind"),
        ("pool_name active pending completed", "ReadStage 32 999 9000", None),
        ("pool_name active pending completed", "ReadStage 128 1279 9000", None),
        ("pool_name active pending completed", "CompactionExecutor 4 1000 9000", None),
        ("TOPIC PARTITION LAG CONSUMER-ID", "orders 0 100000 c-1", "consumer-late"),
        ("TOPIC PARTITION LAG CONSUMER-ID", "orders 0 99999 c-1", None),
        ("TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG", "orders 0 7000 10000 3000", "consumer-late"),
        ("TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG", "orders 0 97000 100000 3000", None),
        ("TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG", "orders 0 100 900 800", None),
        ("TOPIC PARTITION LAG CONSUMER-ID", "orders 0 1000 -", "queue-without-consumer"),
        ("TOPIC PARTITION LAG CONSUMER-ID", "orders 0 999 -", None),
        ("application_name replay_lag", "s1 00:01:00", "replica-late"),
        ("application_name replay_lag", "s1 00:00:59", None),
        ("application_name sent_lsn replay_lsn", "s1 1/40000000 1/0", "replica-late"),
        ("application_name sent_lsn replay_lsn", "s1 1/3FFFFFFF 1/0", None),
        ("Seconds_Behind_Source Replica_SQL_Running", "60 Yes", "replica-late"),
        ("Seconds_Behind_Source Replica_SQL_Running", "59 Yes", None),
    ],
)
def test_what_a_listing_says_of_what_waits_there(heading: str, row: str, event: str | None) -> None:
    named = [seen["event"] for s in table(heading, row) for seen in s.seen]
    assert named == ([event] if event else [])


def test_a_slot_that_nobody_reads() -> None:
    made = table("slot_name active retained", "cdc f 70GB", "standby t 16MB")
    assert [(s.headline, s.n) for s in made] == [
        ("Nobody reads the replication slot cdc: it is not active and keeps 70GB of the log (retained)", 1)
    ]
    assert table("slot_name active", "standby t") == []


@pytest.mark.parametrize(("most", "normal"), [(79, True), (80, False)])
def test_limits(most: int, normal: bool) -> None:
    (made,) = table(
        "RESOURCE_NAME CURRENT_UTILIZATION MAX_UTILIZATION LIMIT_VALUE",
        f"processes 5 {most} 100",
        "locks 5 9 UNLIMITED",
    )
    assert (made.value, made.share, made.normal) == (most, most / 100, normal)
    assert made.headline.startswith(f"At most {most} processes of 100 were in use, now 5")


def test_limits_that_a_format_read() -> None:
    row = {"line_no": 5, "scope": "oracle", "name": "sessions", "used": 184.0, "peak": 210.0, "limit_num": 6048.0}
    odd = {**row, "name": "x", "peak": math.inf, "used": math.nan}
    (made,) = observe(Case.of_tables({"resource_use": [row, odd]}))
    assert made.headline == "At most 210 sessions of 6,048 were in use, now 184, 3.47 %: its limit was never near"


def test_a_plan_that_reads_a_table_in_full() -> None:
    made = table(
        "id select_type table type key rows Extra",
        "1 SIMPLE users ALL NULL 1234567 Using",
        "1 SIMPLE t eq_ref PRIMARY 1 Using",
    )
    assert [(s.headline, s.normal) for s in made] == [
        ("users is read in full (type ALL): 1,234,567 rows by estimate, no key", False)
    ]
    (small,) = table("id select_type table type key rows", "1 SIMPLE users ALL NULL 999")
    assert small.normal
    (sorts,) = record(
        id="1", select_type="SIMPLE", table="t", type="ref", key="k", rows="7", Extra="Using where; Using filesort"
    )
    assert (sorts.headline, sorts.subject) == ("t: Using where; Using filesort", "sort of t")


@pytest.mark.parametrize(("rows", "felt"), [(999_999, False), (1_000_000, True)])
def test_a_table_of_millions_that_is_read_in_full_is_felt(rows: int, felt: bool) -> None:
    (made,) = table("id select_type table type key rows", f"1 SIMPLE shelves ALL NULL {rows}")
    assert made.seen == (({"log": "the plan reads a table of millions of rows in full"},) if felt else ())


def test_a_plan_and_its_sort_on_one_line_are_two_observations() -> None:
    made = table(
        "id select_type table type key rows Extra", "1 SIMPLE shelves ALL NULL 5000 Using where; Using temporary"
    )
    assert len({s.subject for s in made}) == len(made)


def test_sessions_that_no_format_knows() -> None:
    made = table("SPID Status LoginName DBName", "51 sleeping sa shop", "52 sleeping sa shop", "53 RUNNABLE sa shop")
    assert [(s.headline, s.normal) for s in made] == [
        ("2 of 3 sessions are sleeping", True), ("1 of 3 sessions are RUNNABLE", True),
    ]  # fmt: skip
    assert table("PID STATE HOST", "1 running a", "2 running b") == [], "any list has these"


WORDS = (
    "", "NULL", "0", "-1", "7", "f", "t", "1/A0", "00:01:02", "999999999999999", "1e999", "ALL", "Yes", "No", "LCK_M_X", "idle", "x" * 300, "%", "WAITING",
)  # fmt: skip
NAMES = sorted(
    {*database_lists.WAITS_FOR, *database_lists.WAITS, *database_lists.WHO, *database_lists.SECONDS, *database_lists.QUEUES, *database_lists.LOCKED}
    | {"granted", "lock_status", "mode", "lag", "topic", "partition", "consumer_id", "name", "database", "pool_mode", "replay_lag", "sent_lsn"}
    | {"replay_lsn", "select_type", "table", "type", "rows", "key", "extra", "state", "usename", "resource_name", "limit_value", "max_utilization"}
    | {"slave_io_running", "seconds_behind_master", "read_master_log_pos", "exec_master_log_pos", "last_errno", "wait_time_ms", "pct"}
)  # fmt: skip


@pytest.mark.parametrize("seed", range(60))
def test_no_listing_raises(seed: int) -> None:
    chance = Random(seed)
    rows: list[dict[str, Any]] = []
    for n in range(12):
        heading = chance.sample(NAMES, chance.randrange(1, len(NAMES)))
        for k in range(3):
            cells = [chance.choice(WORDS) for _ in heading]
            rows.append({"line_no": 10 * n + k, "table_no": n, "row_no": k, "heading": heading, "cells": cells})
    for s in observe(Case.of_tables({"rows": rows})):
        assert s.headline
        assert 0 < sum(c.line_to - c.line_from + 1 for c in s.lines) <= MOST_LINES
        assert all(x is None or math.isfinite(x) for x in (s.value, s.share, s.seconds, s.against_value))
        assert s.share is None or 0 <= s.share <= 1


@pytest.mark.parametrize(
    ("root", "waiter", "seen"),
    [
        ("COPY", "--", None),
        ("UPDATE", "ALTER", "sessions wait behind ALTER"),
        ("UPDATE", "SELECT", "reads wait behind a session"),
        ("UPDATE", "UPDATE", "writes wait behind a session"),
        ("COPY", "COMMIT", None),
    ],
)
def test_statements_name_the_lock_where_no_event_does(root: str, waiter: str, seen: str | None) -> None:
    made = table("pid blocked_by dur q", f"5 {{}} 00:25:00 {root}", f"7 {{5}} 00:15:00 {waiter}", "8 {7} 00:12:16 --")
    assert made[0].headline == (
        f"Session 7 waits for session 5 ({root}), which waits for nobody itself and has run for 25 min 0 s, for 15 min 0 s;"
        " 1 more waits behind it"
    )
    assert made[0].seen == (({"log": seen},) if seen else ())


@pytest.mark.parametrize(("oldest", "blamed"), [("ALTER", True), ("UPDATE", False)])
def test_reads_that_wait_behind_a_change_of_the_table(oldest: str, blamed: bool) -> None:
    made = table(
        "query_start waiting state query",
        "10:00:09 f active SELECT",
        f"09:07:53 t active {oldest}",
        "09:09:23 t active SELECT",
        "09:10:50 t active SELECT",
    )
    text = (
        "3 of 4 sessions wait for a lock (waiting), the longest since 09:07:53, 52 min 16 s before the newest statement of the list: "
        + oldest
    )
    assert (
        made[0].headline
        == text + ("; 2 reads (SELECT) that began later wait too" if blamed else "") + "; 1 wait for none"
    )
    assert made[0].seen == (
        ({"log": "sessions wait behind ALTER"},) if blamed else ({"log": "reads wait behind a session"},)
    )
    assert table("query_start waiting state query", "10:00:09 f active SELECT") == []


@pytest.mark.parametrize(
    ("heading", "row", "n", "seen"),
    [
        (
            "pid locktype relation mode granted",
            "7 relation orders AccessExclusiveLock f",
            1,
            {"event": "Lock:relation"},
        ),
        ("pid locktype relation mode granted", "7 transactionid - ShareLock f", 3, {"event": "Lock:transactionid"}),
        ("pid locktype relation mode granted", "7 transactionid - ShareLock f", 2, None),
        ("spid request_mode request_status", "64 U WAIT", 3, {"event": "LCK_M_U"}),
        ("id lock_type lock_mode lock_status", "9 RECORD X WAITING", 3, {"log": "writes wait behind a session"}),
        (
            "id object_type lock_type lock_status",
            "9 TABLE SHARED PENDING",
            3,
            {"event": "Waiting for table metadata lock"},
        ),
        ("id lock_mode lock_status", "9 X WAITING", 3, None),
    ],
)
def test_locks_that_are_not_granted_have_the_names_of_waits(
    heading: str, row: str, n: int, seen: dict[str, str] | None
) -> None:
    made = next(s for s in table(heading, *[row] * n) if s.name == "locks_waited_count")
    assert made.seen == ((seen,) if seen else ())


def test_the_partition_that_is_read_least_is_named() -> None:
    heading = "TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG"
    (made,) = table(heading, "orders 0 900000 909000 9000", "orders 1 4000 8000 4000")
    assert made.headline == (
        "orders-0 lags 9,000 messages, 69.2 % of the 13,000 of 2 partitions;"
        " orders-1 has not read 50 % of all that it ever had"
    )


def test_sp_who_of_adaptive_server_names_the_blocker_as_blk_spid() -> None:

    text = (
        " fid spid   status     loginame blk_spid dbname   cmd\n --- ------ ---------- -------- -------- -------- ------\n"
        "   0     91 recv sleep night    0        shop     AWAITING COMMAND\n"
        "   0     92 lock sleep till     91       shop     UPDATE\n   0     93 lock sleep till     91       shop     UPDATE\n"
    )
    (made,) = [s for s in told(database_lists, text) if s.kind == "wait"]
    assert made.subject == "session 91"
    assert made.n == 2


def test_a_session_printed_one_column_below_the_other() -> None:

    text = "SID              : 91\nEVENT            : enq: TM - contention\nSECONDS_IN_WAIT  : 900\nBLOCKING_SESSION : 92\n"
    (made,) = [s for s in told(database_lists, text) if s.kind == "wait"]
    assert made.seen == ({"event": "enq: TM - contention"},)


@pytest.mark.parametrize(("seconds", "named"), [(900, True), (9, False)])
def test_a_session_held_up_for_long_whatever_the_event_is_called(seconds: int, named: bool) -> None:
    text = f"SID              : 91\nEVENT            : library cache pin\nSECONDS_IN_WAIT  : {seconds}\nBLOCKING_SESSION : 92\n"
    (made,) = [s for s in told(database_lists, text) if s.kind == "wait"]
    assert ({"event": "sessions-held-up-by-one"} in made.seen) is named
