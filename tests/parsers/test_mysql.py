"""Logs and listings of MySQL and MariaDB beyond the corpus."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parsers.source import Hints
from tests.parsers.evidence import read_bytes

WORD = st.from_regex(r"[a-z][a-z0-9_]{0,10}", fullmatch=True)
SESSION = st.tuples(
    st.integers(1, 2**32), WORD, WORD, st.sampled_from(("Query", "Sleep", "Connect")), st.integers(0, 10**6), WORD
)
LINE = st.tuples(
    st.datetimes(datetime(2001, 1, 1), datetime(2099, 1, 1)).map(lambda d: d.replace(microsecond=0)),
    st.sampled_from(("Note", "Warning", "ERROR")),
    WORD,
)


@settings(max_examples=40, deadline=None, database=None)
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
    table = reading.table("sessions").select("sid", "db_user", "machine", "state", "last_call_s", "event")
    assert table.rows() == [(i, u, h, c, float(t), s) for i, u, h, c, t, s in rows]
    assert reading.account.account.unknown == 0


@settings(max_examples=40, deadline=None, database=None)
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
