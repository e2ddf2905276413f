"""What lines say is full: used of allowed, and who waits; lines with room left say nothing."""

from __future__ import annotations

import pytest

from rules.case.case import Case
from rules.observers.log_limits import observe
from rules.observers.observer import Sighting
from rules.signatures.signatures import recognise


def logged(*texts: str) -> list[Sighting]:
    return list(observe(Case.of_tables({"logs": [{"line_no": n, "text": text} for n, text in enumerate(texts, 1)]})))


@pytest.mark.parametrize(
    ("text", "says", "value"),
    [
        (
            "vm_memory_high_watermark set. Memory used:5000 allowed:4000",
            "5,000 B of 4,000 B, 125 % of the memory that is allowed, is used",
            5000,
        ),
        (
            "memory: usage 204800kB, limit 204800kB, failcnt 31",
            "204,800 kB of 204,800 kB, 100 % of the group's memory, is used",
            204800,
        ),
        (
            "[parent] Data too large, data for [<http_request>] would be [990/990b], which is larger than the limit of [950/950b]",
            "990 B of 950 B, 104.2 % of the memory that the circuit breaker allows, is used",
            990,
        ),
        (
            '*** uWSGI listen queue of socket "/run/a.sock" (fd: 5) full !!! (65/64) ***',
            "65 of 64 places in the queue of connections are taken",
            65,
        ),
        (
            "shop-pool - Pool stats (total=20, active=20, idle=0, waiting=71)",
            "20 of 20 connections of the pool are taken, and 71 callers wait",
            71,
        ),
        (
            "Pool empty. Unable to fetch a connection in 30 seconds, none available[size:40; busy:40; idle:0; lastwait:30000].",
            "40 of 40 connections of the pool are taken",
            40,
        ),
        ("wait millis 60000, active 50, maxActive 50", "50 of 50 connections of the pool are taken", 50),
        (
            "rejected from java.util.concurrent.ThreadPoolExecutor@1f[Running, pool size = 8, active threads = 8, queued tasks = 200, completed tasks = 9]",
            "8 of 8 threads of the pool are taken, and 200 tasks wait",
            200,
        ),
        ("launch_new_connection: pool full (25 >= 25)", "25 of 25 connections of the pool are taken", 25),
        (
            "IOCP: (Busy=1,Free=999,Min=1,Max=1000), WORKER: (Busy=90,Free=32677,Min=8,Max=32767)",
            "90 of 8 threads that the pool keeps ready are taken",
            90,
        ),
    ],
)
def test_a_line_says_what_is_full(text: str, says: str, value: float) -> None:
    (made,) = logged("all is well", text)
    assert (made.headline, made.value) == (says, value)
    assert [line.line_from for line in made.lines] == [2]
    assert made.seen == ({"log": text},)


def test_the_fullest_of_several_is_told() -> None:
    (made,) = logged(*(f"stats (total=9, active=9, idle=0, waiting={n})" for n in (3, 12, 0, 7)))
    assert made.headline == (
        "9 of 9 connections of the pool are taken, and 12 callers wait; 4 lines say that it is full"
    )
    assert [line.line_from for line in made.lines] == [2, 4, 1]


@pytest.mark.parametrize(
    "text",
    [
        "stats (total=9, active=2, idle=7, waiting=0)",
        "Memory used:100 allowed:4000",
        "active 5, maxActive 50",
        "{MaxOpenConnections:12 OpenConnections:3 InUse:3 Idle:0 WaitCount:0}",
        "IOCP: (Busy=0,Free=1000,Min=8,Max=1000), WORKER: (Busy=9,Free=32758,Min=8,Max=32767)",
        "pool size = 8, active threads = 1, queued tasks = 0",
        "the disk is full (3/4)",
        "Memory used:5 allowed:0",
    ],
)
def test_a_line_with_room_left_says_nothing(text: str) -> None:
    assert logged(text) == []


def test_a_pool_of_go_is_named_by_its_figures() -> None:
    (made,) = logged("{MaxOpenConnections:12 OpenConnections:12 InUse:12 Idle:0 WaitCount:7}")
    assert made.headline == "12 of 12 connections of the pool are taken"
    assert [found.mechanism for found in recognise(**made.seen[0])] == ["pool-exhausted"]
