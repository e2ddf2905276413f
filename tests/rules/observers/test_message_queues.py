"""Queues of processes of Erlang: a long one with the name above it, and short ones."""

from __future__ import annotations

import pytest

from rules.case.case import Case
from rules.observers.message_queues import LONG, observe
from rules.observers.observer import Sighting
from rules.signatures.signatures import recognise


def made(*queues: tuple[int, float], names: tuple[tuple[int, str, str], ...] = ()) -> list[Sighting]:
    counters = [{"grp": "text", "name": "Message queue length", "value": v, "line_no": n} for n, v in queues]
    params = [{"scope": "text", "name": name, "value": v, "line_no": n} for n, name, v in names]
    return list(observe(Case.of_tables({"counters": counters, "params": params}).with_text()))


def test_a_long_queue_is_told_with_the_name_of_its_process() -> None:
    named = (3, "Name", "shop_events"), (4, "Spawned as", "proc_lib:init_p/5"), (30, "Name", "other")
    (one,) = made((6, 812_345.0), (36, 4.0), names=named)
    assert one.headline == "812,345 messages wait in the queue of the process shop_events"
    assert [c.line_from for c in one.lines] == [6, 3]
    assert recognise(**one.seen[0])[0].mechanism == "consumer-behind"


def test_a_process_without_a_name_is_told_by_where_it_began() -> None:
    (one,) = made((6, LONG), names=((4, "Spawned as", "gen_server:init_it/6"),))
    assert one.subject == "the process gen_server:init_it/6"
    (one,) = made((6, LONG))
    assert one.subject == "one process"


def test_short_queues_are_normal() -> None:
    (one,) = made((6, LONG - 1), (9, 3.0))
    assert (one.normal, one.value) == (True, LONG - 1)
    assert made((6, 0.0)) == []


def test_a_listing_of_etop_names_the_process_and_its_place() -> None:
    heading = ["Pid", "Name or Initial Func", "Time", "Reds", "Memory", "MsgQ", "Current Function"]
    cells = ["<0.77.0>", "mail_writer", "'-'", "901", "7700", "70412", "file:write/2"]
    calm = ["<0.78.0>", "code_server", "'-'", "11", "700", "2", "code_server:loop/1"]
    rows = [
        {"table_no": 1, "row_no": n, "line_no": n + 3, "heading": heading, "cells": held}
        for n, held in enumerate((cells, calm), 1)
    ]
    (one,) = observe(Case.of_tables({"rows": rows}).with_text())
    assert one.headline == "70,412 messages wait in the queue of the process mail_writer, which is in file:write/2"


@pytest.mark.parametrize(("messages", "event"), [(100_000, "message-queue-hopeless"), (99_999, "message-queue-long")])
def test_a_hundred_thousand_messages_need_no_other_reason(messages: int, event: str) -> None:
    rows = [{"line_no": 4, "name": "Message queue length", "value": float(messages)}]
    (made,) = observe(Case.of_tables({"counters": rows}))
    assert made.seen == ({"event": event},)
