"""Lines without a stamp of databases, drivers and pools."""

from __future__ import annotations

from typing import Any

import pytest

from parsers.formats.general.text.database_lines import announces_message, severity_of_database
from tests.parsers.formats.evidence import read_bytes


def logs(text: str) -> list[dict[str, Any]]:
    reading = read_bytes(text.encode())
    assert reading.account.account.lines == reading.account.lines
    return reading.tables["logs"].to_dicts() if "logs" in reading.tables else []


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("SQLSTATE[40001]: Serialization failure: 1213 Deadlock found", True),
        ("SQLSTATE[HY000] [2002] Connection timed out", True),
        ("Illuminate.QueryException: SQLSTATE[42S02]: Base table not found", True),
        ("Error 1040 (08004): Too many connections", True),
        ("error code: 1205: Lock wait timeout exceeded", True),
        ("-OOM command not allowed when used memory > 'maxmemory'.", True),
        ("MISCONF Redis is configured to save snapshots", True),
        ("pq: remaining connection slots are reserved", True),
        ("ProxySQL Error: Max connect timeout reached", True),
        ("Timed out fetching a new connection from the connection pool. (limit: 7)", True),
        ('{"error":{"root_cause":[{"type":"illegal_argument_exception"}]},"status":400}', True),
        ('{"error":false,"name":"x"}', False),
        ("What does SQLSTATE mean?", False),
        ("Error 7 of the list: none", False),
        ("-ERR", False),
        ("Error: 17, see below", False),
        ("pq: 17", False),
    ],
)
def test_what_a_database_says_without_a_stamp(line: str, said: bool):
    assert (severity_of_database(line) == "error") is said


def test_one_line_of_a_driver_is_a_log():
    assert [r["severity"] for r in logs("SQLSTATE[HY000]: General error: 1205 Lock wait timeout exceeded\n")] == [
        "error"
    ]


def test_the_words_of_a_numbered_message_stand_on_the_next_line():
    made = logs(
        "Msg 8645, Level 17, State 1, Line 7\nA timeout occurred while waiting for memory resources to run it.\n\nThe end of it.\n"
    )
    assert [(r["line_no"], r["severity"]) for r in made] == [(1, "ERROR"), (2, "ERROR")]
    assert announces_message("Error: 8645, Severity: 17, State: 1.")
    assert not announces_message("Error: 8645 of them")


def test_the_words_of_a_numbered_message_do_not_wait_for_a_later_line():
    assert [r["line_no"] for r in logs("Msg 8645, Level 17, State 1, Line 7\n\nThey went home early that day.\n")] == [
        1
    ]
