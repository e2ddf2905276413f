"""Tests of states that name a wait, in lists of sessions without their numbers."""

from __future__ import annotations

import pytest

from rules.observers import named_states
from tests.rules.observers.of_text import told

RECORD = "*************************** 1. row ***************************\nuser: till\ncommand: Query\nstate: {}\ninfo: alter table carts add n int\n"


@pytest.mark.parametrize(
    ("state", "n"), [("Waiting for table metadata lock", 1), ("Sending data", 0), ("Waiting for something", 0)]
)
def test_a_record_without_its_number(state: str, n: int) -> None:
    made = told(named_states, RECORD.format(state))
    assert [s.seen for s in made] == [({"event": state},)] * n


def test_a_list_with_numbers_is_told_elsewhere() -> None:
    head = " pid | usename | wait_event | query\n-----+---------+------------+-------\n"
    text = head + " 91 | till | Lock:relation | select 1\n 92 | till | Lock:relation | select 1\n"
    assert told(named_states, text) == []


def test_a_transaction_of_innodb_that_waits() -> None:
    text = "*************************** 1. row ***************************\ntrx_id: 9\ntrx_state: LOCK WAIT\ntrx_query: UPDATE carts SET n = 1\n"
    (made,) = told(named_states, text)
    assert made.seen == ({"event": "LOCK WAIT"},)
