"""Tests of who waits in lists of jobs, statements and sessions."""

from __future__ import annotations

import pytest

from rules.observers import waiting_entries
from tests.rules.observers.of_text import told

JOBS = """             JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(REASON)
              9001      wide    nine1      ann {st}       0:00      8 ({why})
              9002      wide    nine2      ann {st}       0:00      8 ({why})
              9000      wide    nine0      ann  R    1:00:00      8 n[1-8]
"""
IDLE = """  pid  |        state        |   age    | query
-------+---------------------+----------+-------------------
  9001 | idle in transaction | 0{h}:00:09 | UPDATE t9 SET b = 9
  9002 | active              | 00:00:01 | SELECT 9
"""
LAG = """NAME                   VALUE            TIME_COMPUTED
---------------------- ---------------- -------------------
apply lag              +00 0{h}:00:09     09/12/2031 09:12:05
apply finish time      +00 00:00:31.002 09/12/2031 09:12:05
"""
PLANS = """query_id plan_id count_executions avg_duration_us
-------- ------- ---------------- ---------------
    9122      91             9122            9122
    9122      92              912        {slow}
"""
GRANTS = """session_id wait_type                      wait_time_ms
---------- ------------------------------ ------------
        91 RESOURCE_SEMAPHORE                    {ms}
        92 RESOURCE_SEMAPHORE                    {ms}
"""
FLAGS = """address          flags   sessid   user     tty      wait             tout locks nreads   nwrites
45d1c0a8         {flag}--PR-- 9001     ann      -        4a1b2c30         -1   12    9122     912
45d1c8b0         Y--P--- 9002     bob      -        4a1b2c30         -1   4     912      1
"""


@pytest.mark.parametrize(
    ("waits", "runs", "event"),
    [
        (JOBS.format(st="PD", why="Resources"), JOBS.format(st=" R", why="n9"), "jobs-wait-for-nodes"),
        (JOBS.format(st="PD", why="QOSMaxCpuPerUserLimit"), JOBS.format(st="CG", why="n9"), "jobs-wait-for-limit"),
        (IDLE.format(h="3"), IDLE.format(h="0"), "transaction-left-open"),
        (LAG.format(h="7"), LAG.format(h="0"), "replica-late"),
        (PLANS.format(slow="91233112"), PLANS.format(slow="    9200"), "plan-slower-than-other"),
        (GRANTS.format(ms="31222"), GRANTS.format(ms="  122"), "RESOURCE_SEMAPHORE"),
        (FLAGS.format(flag="L"), FLAGS.format(flag="Y"), "session-waits-for-lock"),
    ],
)
def test_what_waits_stands_out(waits: str, runs: str, event: str) -> None:
    assert [made.seen for made in told(waiting_entries, waits)] == [({"event": event},)]
    assert told(waiting_entries, runs) == []


HELD = """ pid  | wait_event    | duration_s | query
------+---------------+------------+----------------------
 9001 | {wait} | {s}        | update t9 set b = 9
 9002 | {wait} | {s}        | update t9 set b = 8
 9003 | ClientRead    | 912        | select 9
"""
STATES = """Id,User,Command,Time,State,Info
91,ann,Query,{s},Waiting for table metadata lock,select 9
92,bob,Query,{s},Waiting for table metadata lock,select 9
93,eve,Query,{s},updating,update t9 set b = 9
94,kim,Sleep,912,,NULL
"""


@pytest.mark.parametrize(
    ("late", "quick", "event"),
    [
        (HELD.format(wait="transactionid", s="31"), HELD.format(wait="transactionid", s=" 3"), "transactionid"),
        (HELD.format(wait="transactionid", s="31"), HELD.format(wait="DataFileRead ", s="31"), "transactionid"),
        (STATES.format(s="31"), STATES.format(s=" 3"), "Waiting for table metadata lock"),
    ],
)
def test_the_time_of_a_statement_is_that_of_the_lock_it_waits_for(late: str, quick: str, event: str) -> None:
    assert [made.seen for made in told(waiting_entries, late)] == [({"event": event},)]
    assert told(waiting_entries, quick) == []
