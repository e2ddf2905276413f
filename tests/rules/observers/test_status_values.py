"""Tests of known values of a server's status: they stand out from the bound of their manual on."""

from __future__ import annotations

import pytest

from rules.observers import status_values
from tests.rules.observers.of_text import told


@pytest.mark.parametrize(
    ("text", "bad", "good", "event"),
    [
        ("Server thread count:  {}\nJobs pending:  9\n", "240", "9", "scheduler-threads-full"),
        ("Lock waits = 90\nTime database waited on locks (ms) = {}\n", "912233", "912", "lock-waits-long"),
        ("pending tasks: {}\n- shop9.orders9: 9\n", "912", "9", "compactions-behind"),
        (
            "| wsrep_flow_control_paused | {} |\n| wsrep_cluster_size | 3 |\n",
            "0.91",
            "0.01",
            "replication-paused-writes",
        ),
    ],
)
def test_a_value_at_its_bound(text: str, bad: str, good: str, event: str) -> None:
    assert [made.seen for made in told(status_values, text.format(bad))] == [({"event": event},)]
    assert told(status_values, text.format(good)) == []
