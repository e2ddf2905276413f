"""Tests of PostgreSQL logs and listings beyond the corpus."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parsers.text.source import Hints, Limits
from tests.draw import examples
from tests.parsers.formats.evidence import read_bytes

STAMP = st.datetimes(datetime(2001, 1, 1), datetime(2099, 1, 1))
PREFIX = st.sampled_from(("{t} UTC [{p}] ", "{t} UTC:192.0.2.7(5432):app@shop:[{p}]:", "{t} UTC [{p}]: [7-1] user=app,db=shop,app=web,client=192.0.2.7 ",
                          "<{t} UTC>[{p}] ", "[{p}] {t} UTC "))  # fmt: skip
MESSAGE = st.from_regex(r"[a-z][a-z0-9 ]{0,30}[a-z0-9]", fullmatch=True)
ROW = st.tuples(
    STAMP, st.integers(1, 4_000_000), st.sampled_from(("LOG", "ERROR", "FATAL", "DETAIL", "STATEMENT")), MESSAGE
)


def _seconds(at: datetime) -> float:
    return at.replace(tzinfo=UTC).timestamp()


@settings(max_examples=examples(50), deadline=None, database=None)
@given(prefix=PREFIX, rows=st.lists(ROW, min_size=1, max_size=6))
def test_tokens_of_a_line_come_out_of_the_columns(prefix, rows):
    text = "".join(
        prefix.format(t=f"{at:%Y-%m-%d %H:%M:%S}.{at.microsecond // 1000:03}", p=pid) + f"{level}:  {message}\n"
        for at, pid, level, message in rows
    )
    table = read_bytes(text.encode(), Hints(kind="postgres", variant="stderr")).table("logs")
    assert table.select("pid", "severity", "text").rows() == [row[1:] for row in rows]
    told = [_seconds(at.replace(microsecond=at.microsecond // 1000 * 1000)) for at, *_ in rows]
    assert table["t_local"].to_list() == pytest.approx(told, abs=1e-5)


@pytest.mark.parametrize(
    ("message", "op", "elapsed_s"),
    [
        ("connection received: host=[local]", "received", None),
        ("replication connection authorized: user=r", "authorized", None),
        ("connection ready: setup total=7.312 ms, fork=0.282 ms, authentication=0.296 ms", "ready", 0.007312),
        ("disconnection: session time: 1:02:03.500 user=a database=b host=[local]", "disconnection", 3723.5),
        ("duration: 786.949 ms  statement: select 1", "duration", 0.786949),
        ("process 7 avoided deadlock for ShareLock on transaction 3 by rearranging queue order after 1000.5 ms", "lock_wait", 1.0005),
        ("process 7 acquired ShareLock on transaction 3 after 3000.25 ms", "lock_acquired", 3.00025),
        ("restartpoint complete: wrote 3 buffers; write=0.2 s, sync=0.005 s, total=0.3 s; x", "checkpoint", 0.3),
        ('temporary file: path "base/pgsql_tmp/pgsql_tmp1.0", size 42000', "temp_file", None),
        ("sorry, too many clients already", "refused", None),
        ("too many connections for role \"app\"", "refused", None),
        ("we say connection received: here", None, None),
    ],
)  # fmt: skip
def test_what_a_message_tells(message, op, elapsed_s):
    reading = read_bytes(f"2026-11-21 05:58:39.123 UTC [4711] LOG:  {message}\n".encode())
    assert reading.table("logs").select("op", "elapsed_s").rows() == [(op, elapsed_s)]


def test_a_stamp_of_another_sort_gives_no_time():
    text = b"2026-11-21 05:58:39 UTC [1] LOG:  a\n2026-11-21 05:58:40 CET [1] LOG:  b\n2026-11-21 05:58:40+01 [1] LOG:  c\n"
    table = read_bytes(text, Hints(kind="postgres", variant="stderr")).table("logs")
    assert table["t_local"].to_list() == [1795240719.0, None, 1795237120.0]


def test_another_programs_warning_is_no_line_of_the_server():
    text = (
        b"2026-11-21 05:58:39 UTC [1] LOG:  a\nWARNING: disk of another program\n2026-11-21 05:58:39 UTC [1] LOG:  b\n"
    )
    reading = read_bytes(text)
    assert reading.table("logs")["text"].to_list() == ["a", "b"]
    assert reading.account.account.unknown == 1


def test_a_sign_inside_a_cell_shifts_no_column():
    text = (
        b" pid | query | usename | datname | state\n-----+-------+---------+---------+--------\n"
        b"  7 | a | b | app | d | active\n  8 | x | app | d | idle\n(2 rows)\n"
    )
    reading = read_bytes(text, Hints(kind="postgres", variant="activity"))
    assert reading.table("sessions").select("sid", "db_user", "state").rows() == [(8, "app", "idle")]
    assert reading.account.account.unknown == 1


def test_a_server_before_9_6_says_only_that_it_waits():
    text = b"procpid,usename,client_addr,waiting,current_query,backend_start\n7,app,192.0.2.7,t,select 1,2011-01-01 00:00:00+00\n"
    assert read_bytes(text).table("sessions").select("sid", "event", "machine").rows() == [(7, "Lock:", "192.0.2.7")]


def through_syslog(*pieces: str, stamp: str = "Nov 21 23:27:17") -> bytes:
    return "".join(f"{stamp} db1 postgres[2154]: {piece}\n" for piece in pieces).encode()


def test_pieces_of_a_message_that_syslog_cut_are_no_messages():
    reading = read_bytes(
        through_syslog(
            "[7-1] LOG:  duration: 873.618 ms  statement: update accounts",
            "[7-2] #011  -- ERROR:  not a head",
            "[7-3] ^Iset n = 2",
            "[7-4] xxxxxxxx DEBUG:  cut behind 900 bytes",
            "[7-5] DETAIL:  parameters: $1 = '7'",
            "[8-1] LOG:  disconnection: session time: 0:00:00.124 user=a database=b host=[local]",
        )
    )
    assert reading.table("logs").select("line_no", "severity", "pid").rows() == [
        (1, "LOG", 2154),
        (5, "DETAIL", 2154),
        (6, "LOG", 2154),
    ]
    assert reading.account.account.read == 6


def test_stamps_of_syslog_count_only_where_the_server_prints_none():
    own = "[1-1] 2026-11-21 22:27:17.903 UTC [2154] LOG:  checkpoint starting: time"
    bare = "[2-1] LOG:  checkpoint starting: time"
    reading = read_bytes(through_syslog(own, bare))
    assert reading.table("logs")["t_local"].to_list() == [1795300037.903, None]
    reading = read_bytes(through_syslog(bare, bare, stamp="2026-11-21T23:27:17+01:00"))
    assert reading.table("logs")["t_local"].to_list() == [1795300037.0] * 2
    assert [d.kind for d in reading.account.parts[0].domains] == ["wall-utc"]


def test_a_log_of_the_system_stays_one():
    other = b"Nov 21 23:27:17 db1 sshd[4711]: Accepted publickey for oracle\n"
    reading = read_bytes(
        through_syslog("[1-1] LOG:  checkpoint starting: time", "[2-1] LOG:  checkpoint starting: x") + other
    )
    assert reading.account.kind == "syslog"


def test_a_secret_in_a_statement_through_syslog_is_masked():
    secret = "Tr0ub4dor-x9"
    line = f"[1-1] LOG:  duration: 1.0 ms  statement: select pgp_sym_encrypt(card, '{secret}') from t"
    assert secret not in read_bytes(through_syslog(line)).table("logs")["text"][0]


@pytest.mark.parametrize("block_bytes", [10_000, 100])
def test_where_stamps_go_back_does_not_depend_on_lines_without_a_stamp(block_bytes):
    later, earlier = "2026-11-21 23:27:24.100 UTC [7] LOG:  a", "2026-11-21 20:00:00.100 UTC [8] LOG:  b"
    text = "\n".join([later, "\tmore of it", later, "LOG:  a line without a stamp", earlier, earlier])
    falls = [
        n
        for n in read_bytes(text.encode(), Hints(), Limits(block_bytes=block_bytes)).account.notes
        if "go back" in n.text
    ]
    assert [n.line_from for n in falls] == [5]


def test_the_database_of_a_session():
    text = b" pid | usename | datname | wait_event\n----+----+----+----\n 7 | app | shop | \n 8 | app |  | \n"
    table = read_bytes(text, Hints(kind="postgres", variant="activity")).table("sessions")
    assert table["db_name"].to_list() == ["shop", None]


@pytest.mark.parametrize(
    ("state", "columns", "cells", "last_call_s"),
    [
        ("idle in transaction", "query_age | state_age", "00:10:00 | 00:09:58.5", 598.5),
        ("active", "duration | state_age", "1 day 00:00:01 | 00:09:58.5", 86401.0),
        ("idle", "xact_age | datname", "00:10:00 | shop", None),
        ("active", "runtime | datname", "-00:00:00.000005 | shop", None),
    ],
)
def test_since_when_a_session_is_in_its_state(state, columns, cells, last_call_s):
    text = f" pid | usename | backend_xmin | state | {columns}\n----+----+----+----+----+----\n 7 | app | 5120 | {state} | {cells}\n"
    table = read_bytes(text.encode(), Hints(kind="postgres", variant="activity")).table("sessions")
    assert table.select("xmin", "last_call_s").rows() == [(5120, last_call_s)]


def test_whom_a_session_waits_for_and_what_it_does():
    text = (
        b"  pid | usename | datname |       xact_start       | blocked_by | state  | query\n"
        b"------+---------+---------+------------------------+------------+--------+-----------------------\n"
        b" 4712 | app     | shop    | 2031-02-01 10:00:00+00 | {4711}     | active | alter table t add c int\n"
        b" 4711 | app     | shop    | 2031-02-01 09:00:00+00 | {}         | active | -- name: all\n"
    )
    table = read_bytes(text, Hints(kind="postgres", variant="activity")).table("sessions")
    assert table.select("sid", "blocked_by", "verb", "xact_text").rows() == [
        (4712, 4711, "ALTER TABLE", "2031-02-01 10:00:00+00"),
        (4711, None, None, "2031-02-01 09:00:00+00"),
    ]


def test_what_a_vacuum_says_below_a_listing():
    text = (
        b"shop=# select pid, application_name, xact_start, state from pg_stat_activity;\n"
        b"  pid | application_name |       xact_start       | state\n"
        b"------+------------------+------------------------+--------\n"
        b" 4711 | report           | 2031-02-01 09:00:00+00 | active\n"
        b"(1 row)\n\n"
        b"shop=# vacuum verbose orders;\n"
        b'INFO:  "orders": found 0 removable, 91000 nonremovable row versions in 800 pages\n'
        b"DETAIL:  90000 dead row versions cannot be removed yet.\n"
        b"CPU: user: 0.19 s, system: 0.31 s, elapsed: 0.63 s.\n"
        b"VACUUM\n"
    )
    reading = read_bytes(text)
    assert reading.account.kind == "postgres"
    assert [note.text for note in reading.account.notes] == []
    assert reading.table("sessions")["xact_text"].to_list() == ["2031-02-01 09:00:00+00"]
    assert reading.table("logs").select("line_no", "severity").rows() == [(8, "INFO"), (9, "DETAIL")]


def test_a_plan_below_a_statement_is_a_report():
    log = (
        "2026-11-21 05:58:41.200 UTC [4712] LOG:  duration: 5012.100 ms  plan:\n"
        "\tQuery Text: SELECT note FROM orders WHERE state = 'open'\n"
        "\tSeq Scan on orders  (cost=0.00..9.00 rows=1 width=4) (actual time=0.1..5011.9 rows=3 loops=1)\n"
        "\t  Filter: (state = 'open'::text)\n"
        "\t  Rows Removed by Filter: 900000\n"
        "2026-11-21 05:58:46.000 UTC [4713] LOG:  checkpoint starting: time\n"
    )
    rows = read_bytes(log.encode()).table("rows")
    assert rows["line_no"].to_list() == [3, 4, 5]
    assert rows["heading"].to_list() == [["query plan"]] * 3
    assert rows["cells"].to_list()[2] == ["\t  Rows Removed by Filter: 900000"]
