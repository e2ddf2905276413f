"""Tests of MySQL and MariaDB logs and listings beyond the corpus."""

from __future__ import annotations

from datetime import UTC, datetime

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parsers.text.source import Hints
from tests.draw import examples
from tests.parsers.formats.evidence import parse_bytes, read_bytes

WORD = st.from_regex(r"[a-z][a-z0-9_]{0,10}", fullmatch=True)
SESSION = st.tuples(
    st.integers(1, 2**32), WORD, WORD, st.sampled_from(("Query", "Sleep", "Connect")), st.integers(0, 10**6), WORD
)
LINE = st.tuples(
    st.datetimes(datetime(2001, 1, 1), datetime(2099, 1, 1)).map(lambda d: d.replace(microsecond=0)),
    st.sampled_from(("Note", "Warning", "ERROR")),
    WORD,
)


@settings(max_examples=examples(40), deadline=None, database=None)
@given(rows=st.lists(SESSION, min_size=1, max_size=6), form=st.sampled_from(("box", "tabs", "records")))
def test_tokens_of_a_session_come_out_of_the_columns(rows, form):
    heads = ("Id", "User", "Host", "db", "Command", "Time", "State", "Info")
    told = [(i, u, h, "shop", c, t, s, "NULL") for i, u, h, c, t, s in rows]
    if form == "box":
        rule = "+----+------+------+------+---------+------+-------+------+\n"
        text = rule + "".join("| " + " | ".join(map(str, x)) + " |\n" for x in (heads, *told)) + rule
    elif form == "tabs":
        text = "".join("\t".join(map(str, x)) + "\n" for x in (heads, *told))
    else:
        text = "".join(
            f"*************************** {n}. row ***************************\n"
            + "".join(f"{k:>8}: {v}\n" for k, v in zip(heads, x, strict=True))
            for n, x in enumerate(told, 1)
        )
    reading = read_bytes(text.encode())
    table = reading.table("sessions").select("sid", "db_user", "db_name", "machine", "state", "last_call_s", "event")
    assert table.rows() == [(i, u, "shop", h, c, float(t), s) for i, u, h, c, t, s in rows]
    assert reading.account.account.unknown == 0


@settings(max_examples=examples(40), deadline=None, database=None)
@given(rows=st.lists(LINE, min_size=1, max_size=6), code=st.sampled_from(("", "[MY-010055] [Server] ")))
def test_tokens_of_a_line_come_out_of_the_columns(rows, code):
    text = "".join(f"{at:%Y-%m-%dT%H:%M:%S}.000000Z 8 [{level}] {code}{word}\n" for at, level, word in rows)
    table = read_bytes(text.encode(), Hints(kind="mysql", variant="log")).table("logs")
    told = [(at.replace(tzinfo=UTC).timestamp(), level, word) for at, level, word in rows]
    assert table.select("t_local", "severity", "text").rows() == told
    assert table["code"].unique().to_list() == (["MY-010055"] if code else [None])


@pytest.mark.parametrize(
    ("message", "op", "peer"),
    [
        ("IP address '192.0.2.7' could not be resolved: Name or service not known", "unresolved", ("192.0.2.7", None)),
        ("Hostname 'web1' does not resolve to '192.0.2.7'.", "mismatched", ("192.0.2.7", None)),
        ("Access denied for user 'app'@'web1' (using password: YES)", "denied", (None, "web1")),
        ("Host 'web1' is blocked because of many connection errors", "refused", (None, "web1")),
        ("InnoDB: Shutdown completed; log sequence number 1", None, (None, None)),
    ],
)
def test_what_a_message_tells(message, op, peer):
    reading = read_bytes(f"2026-11-21  5:58:39 8 [Warning] {message}\n".encode())
    assert reading.table("logs").select("op", "peer_ip", "client_host").rows() == [(op, *peer)]


def test_a_sign_in_the_statement_shifts_no_column():
    text = (
        b"| Id | User | Host | db | Command | Time | State | Info | Time_ms |\n| 5 | a | h:33 | d | Query | 1 | x | select 1 | 2 | 99 |\n"
        b"| 6 | a | h:34 | d | Query | 2 | y | select |\n"
    )
    table = read_bytes(text).table("sessions")
    assert table.select("sid", "machine", "event", "last_call_s").rows() == [(5, "h", "x", 1.0), (6, "h", "y", 2.0)]


def slow(statement: str, *, stamp: str = "# Time: 2016-07-20T18:13:25.698433Z\n", taken: str = "2.5") -> str:
    return (
        f"{stamp}# User@Host: root[root] @ localhost [127.0.0.1]  Id:     3\n"
        f"# Query_time: {taken}  Lock_time: 0.000324 Rows_sent: 1  Rows_examined: 2\nSET timestamp=1469038405;\n{statement}\n"
    )


@settings(max_examples=examples(15), deadline=None, database=None)
@given(
    rows=st.lists(
        st.tuples(st.integers(0, 10**9), st.lists(st.sampled_from(("SELECT 1", "FROM t", "# why", "WHERE a = 'x'")), min_size=1, max_size=4)),
        min_size=1, max_size=5,
    )
)  # fmt: skip
def test_statements_of_a_slow_log_come_out_whole(rows):
    text = "".join(slow("\n".join(lines), taken=f"{us // 10**6}.{us % 10**6:06}") for us, lines in rows)
    table = read_bytes(text.encode()).table("logs").filter(pl.col("op") == "slow_query")
    assert (table["elapsed_s"] * 10**6).round().cast(pl.Int64).to_list() == [us for us, _ in rows]
    assert table["text"].to_list() == ["\n".join(lines) for _, lines in rows]


def test_a_statement_without_a_time_has_that_of_the_one_above():
    old = slow("SELECT 1;", stamp="# Time: 160720 18:13:25\n") + slow("SELECT 2;", stamp="")
    statements = read_bytes(old.encode()).table("logs").filter(pl.col("op") == "slow_query")
    assert statements["t_local"].to_list() == [1469038405.0] * 2
    new = slow("SELECT 1;") + slow("SELECT 2;", stamp="")
    statements = read_bytes(new.encode()).table("logs").filter(pl.col("op") == "slow_query")
    assert statements["t_local"].to_list() == [1469038405.698433, None]


@pytest.mark.parametrize(
    ("head", "stamps"),
    [
        ("mariadbd, Version: 10.11.19-MariaDB-log (Debian 12). started with:\n", "start"),
        ("/usr/sbin/mysqld, Version: 5.0.38-log (Ubuntu). started with:\n", "end"),
    ],
)
def test_who_wrote_a_slow_log_tells_what_its_stamps_are(head, stamps):
    reading = read_bytes((head + slow("SELECT 1;", stamp="# Time: 160720 18:13:25\n")).encode())
    assert [d.stamps for d in reading.account.parts[0].domains] == [stamps]


@pytest.mark.parametrize(
    "statement",
    [
        "create user 'app'@'localhost' identified by '{}';",
        "ALTER USER app IDENTIFIED WITH caching_sha2_password BY '{}';",
        "ALTER USER app IDENTIFIED WITH caching_sha2_password\n  BY '{}' REQUIRE SSL;",
        "SET PASSWORD FOR 'bob'@'%' = '{}';",
        "SET PASSWORD = PASSWORD('{}');",
        "CHANGE MASTER TO MASTER_HOST='db2', MASTER_PASSWORD='{}';",
        "select aes_decrypt(card, '{}') from t;",
        "select * from users where pw = md5('{}');",
    ],
)
def test_a_secret_in_a_statement_is_masked(statement):
    secret = "Tr0ub4dor-x9"
    reading = read_bytes(slow(statement.format(secret)).encode())
    shown = "\n".join(x for x in reading.table("logs")["text"].drop_nulls())
    assert secret not in shown
    assert "*" * len(secret) in shown


def test_a_row_wider_than_a_heading_that_lost_its_statement_is_not_read():
    text = "| Id | User | Host | db | Command | Time | State | In |\n| 6 | app | a | b | Query | 1 | init | select 1 | 2 |\n"
    run = parse_bytes(text.encode(), "mysql", "processlist")
    assert run is not None
    assert "sessions" not in run.tables


def test_rows_of_a_box_without_its_headings():
    text = (
        "| 17 | app | web1:4711 | shop | Sleep | 4500 |       | NULL |\n"
        "| 18 | app | web1:4712 | shop | Query | 3    | Locked | select 1 |\n"
    )
    reading = read_bytes(text.encode())
    assert reading.account.kind == "mysql"
    assert reading.tables["sessions"].select("sid", "machine", "state", "event", "last_call_s").rows() == [
        (17, "web1", "Sleep", None, 4500.0),
        (18, "web1", "Query", "Locked", 3.0),
    ]


def test_what_a_slow_log_says_of_the_plan():
    text = (
        "# Time: 310201 10:00:01\n# User@Host: app[app] @ web1 [192.0.2.4]\n"
        "# Thread_id: 7  Schema: shop  QC_hit: No\n"
        "# Query_time: 2.500000  Lock_time: 0.000100  Rows_sent: 1  Rows_examined: 91000\n"
        "# Full_scan: Yes  Full_join: No\n"
        "# explain: 1\tSIMPLE\titems\tALL\tNULL\tNULL\tNULL\tNULL\t91000\t\n"
        "SET timestamp=1927706401;\nselect a from items;\n"
    )
    rows = (
        read_bytes(text.encode()).table("logs").filter(pl.col("severity") == "DETAIL").select("line_no", "text").rows()
    )
    assert [(n, t.split()[0]) for n, t in rows] == [(4, "Lock_time:"), (5, "Full_scan:"), (6, "explain:")]
