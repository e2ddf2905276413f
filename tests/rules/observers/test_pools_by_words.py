"""Tests of full pools and of queues that nobody empties, in the words of any listing."""

from __future__ import annotations

import pytest

from rules.observers import pools_by_words
from tests.rules.observers.of_text import told


@pytest.mark.parametrize(
    ("text", "bad", "good", "event"),
    [
        ("shopPool: active=9 idle={} maxTotal=9 waiters=7\n", "0", "3", "connections-all-taken"),
        (
            "db9: MaxOpenConnections=9 OpenConnections=9 InUse=9 Idle={} WaitCount=700\n",
            "0",
            "3",
            "connections-all-taken",
        ),
        ("web_max_threads 9\nweb_running_threads 9\nweb_queued_connections {}\n", "7", "0", "connections-all-taken"),
        (
            "pool9 | slots | running | queued | open\nshop  | 9     | 9       | {}     | 0\n",
            "70",
            "0",
            "workers-all-busy",
        ),
        ('{{"totalCount":9,"idleCount":0,"waitingCount":{}}}\n', "7", "0", "workers-all-busy"),
        ("Name = pay9\nQueueSize = {}\nConsumerCount = 0\n", "90000", "9", "queue-without-consumers"),
        ("current-jobs-ready: 90000\ncurrent-workers: {}\n", "0", "4", "queue-without-consumers"),
    ],
)
def test_what_waits_while_nobody_is_free(text: str, bad: str, good: str, event: str) -> None:
    assert [made.seen for made in told(pools_by_words, text.format(bad))] == [({"event": event},)]
    assert told(pools_by_words, text.format(good)) == []


@pytest.mark.parametrize(
    "text",
    [
        "MemTotal: 900\nMemFree: 0\nSwapPending: 9\n",
        "Active connections: 90\nReading: 3 Writing: 6 Waiting: 81\n",
        "pods pending: 9\npods available: 0\npods max: 9\n",
        "idle_time: 0\nmax_wait_time: 9\nwaiting_ms: 9000\nworkers: 4\n",
    ],
)
def test_other_listings_have_no_pool(text: str) -> None:
    assert told(pools_by_words, text) == []
