"""Units that failed or change, and limits that are nearly used up, stand out; units that run are told as context."""

from __future__ import annotations

import pytest

from rules.case.case import Case
from rules.observers.observer import CONTEXT, Sighting
from rules.observers.service_state import observe


def seen(text: str) -> list[Sighting]:
    rows = [
        {"line_no": n, "line_end": n, "part": 1, "heading": ["service status"], "cells": [line]}
        for n, line in enumerate(text.strip("\n").split("\n"), 1)
    ]
    return list(observe(Case.of_tables({"rows": rows})))


FAILED = """
× relay.service - Mail relay
     Loaded: loaded (/etc/systemd/system/relay.service; enabled; preset: disabled)
     Active: failed (Result: oom-kill) since Tue 2024-01-02 10:00:00 CET; 4min 2s ago
   Duration: 3h 1min
    Process: 811 ExecStartPre=/usr/bin/relay-check (code=exited, status=0/SUCCESS)
    Process: 812 ExecStart=/usr/sbin/relayd (code=killed, signal=KILL)
   Main PID: 812 (code=killed, signal=KILL)
        CPU: 1.2s
"""


def test_a_unit_that_failed_is_told_with_its_result_and_how_its_process_ended() -> None:
    (made,) = seen(FAILED)
    assert made.headline == (
        "relay.service has been in state failed for 4min 2s, with the result oom-kill; its process 812 ended with signal=KILL"
    )
    assert (made.normal, [c.line_from for c in made.lines]) == (False, [3, 6, 7])


def test_a_unit_that_runs_or_ended_well_does_not_stand_out() -> None:
    text = FAILED.replace("failed (Result: oom-kill)", "active (running)").replace(
        "killed, signal=KILL", "exited, status=0/SUCCESS"
    )
    (made,) = seen(text)
    assert made.headline == (
        "relay.service has been in state active (running) for 4min 2s; its process 812 ended with status=0/SUCCESS, without an error"
    )
    assert (made.kind, made.normal) == (CONTEXT, True)


@pytest.mark.parametrize(("used", "share"), [("79.9M", None), ("80.0M", 0.8), ("100.0M", 1.0)])
def test_memory_near_its_limit_stands_out_with_the_files_that_change_settings(used: str, share: float | None) -> None:
    made = seen(
        f"""
● jobs.slice - Jobs
     Loaded: loaded
    Drop-In: /etc/systemd/system/jobs.slice.d
             └─10-small.conf
     Active: active since Tue 2024-01-02 10:00:00 CET; 1 day 2h ago
     Memory: {used} (high: 90.0M max: 100.0M available: 1.0M peak: 100.0M)
      Tasks: 7 (limit: 1000)
     CGroup: /jobs.slice
             └─811 /usr/bin/job
"""
    )
    memory = next(s for s in made if s.subject == "jobs.slice memory")
    assert memory.headline.startswith(f"jobs.slice uses {used} of the 100.0M of memory that it may use")
    assert memory.beside == "settings are changed by 10-small.conf in /etc/systemd/system/jobs.slice.d"
    assert (memory.share, memory.normal) == (share, share is None)
    assert next(s for s in made if s.subject == "jobs.slice tasks").normal


def test_units_follow_each_other_and_a_size_without_a_limit_is_none() -> None:
    made = seen(
        """
● a.socket - A
     Active: activating (auto-restart) since Tue 2024-01-02 10:00:00 CET; 900ms ago
     Memory: 3.0M (peak: 9.0M)
svc:/network/relay:default (Mail relay)
 State: maintenance since January  2, 2024 at 10:00:00 AM CET
Reason: Start method failed repeatedly, last exited with status 95.
"""
    )
    assert [s.headline for s in made] == [
        "svc:/network/relay:default is in state maintenance: Start method failed repeatedly, last exited with status 95.",
        "a.socket has been in state activating (auto-restart) for 900ms",
    ]


def test_rows_of_other_listings_are_left_alone() -> None:
    row = {"line_no": 1, "line_end": 1, "part": 1, "heading": ["query plan"], "cells": ["Active: failed"]}
    assert list(observe(Case.of_tables({"rows": [row]}))) == []
