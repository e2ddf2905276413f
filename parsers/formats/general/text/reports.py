"""Lines of reports that a database prints as text of its own: InnoDB's monitor, and plans with their measures.

These have neither names and values nor cells. A line that belongs to one becomes a row of `rows` with the name of the
report as its only heading and the line as its only cell, so that observers can read what it says.
"""

from __future__ import annotations

import re

INNODB, PLAN, PROCESS = "InnoDB status", "query plan", "server process"

_MARKS = (
    "TRANSACTION", "LOCK", "ACTIVE ", "thread id", "istory list", "has waited", "Pending", "pending", "hit rate", "ROLL BACK", "holds ",
    "queries inside", "semaphore", "LATEST FOREIGN", "inserts/s", "Log sequence", "Log flushed", "Last checkpoint", "Modified db", "Free buffers",
    "Buffer pool size",
)  # fmt: skip
_INNODB = re.compile(
    r"LATEST (?:DETECTED DEADLOCK|FOREIGN KEY ERROR)"
    r"|\*\*\* (?:\(\d+\) (?:TRANSACTION|WAITING FOR|HOLDS THE LOCK).*|WE ROLL BACK TRANSACTION .*)"
    r"|(?:---)?TRANSACTION [0-9A-Fa-f]+(?: [0-9]+)?, (?:ACTIVE|not started|COMMITTED).*"
    r"|(?:LOCK WAIT )?\d+ lock struct\(s\), heap size \d+.*"
    r"|LOCK WAIT \d+ lock struct.*"
    r"|(?:MySQL|MariaDB) thread id \d+, .*"
    r"|(?:RECORD|TABLE) LOCKS? .*\btrx id .*"
    r"|-{3,} ?TRX HAS BEEN WAITING \d+ (?:SEC|us).*"
    r"|Trx read view will not see .*"
    r"|--Thread \d+ has waited at .*"
    r"|History list length \d+.*"
    r"|Pending (?:normal aio|flushes|reads|writes).*"
    r"|\d+ pending (?:preads|log writes|reads|log flushes).*"
    r"|Buffer pool hit rate \d+.*"
    r"|\d+ queries inside InnoDB, \d+ queries in queue.*"
)
_AUTOVACUUM = re.compile(r"autovacuum: (?:VACUUM|ANALYZE) \S")
"""How a worker of autovacuum names itself in ps and pg_stat_activity, whatever columns stand around it."""

_STATEMENT = re.compile(
    r"(?i)(?:select|insert|update|delete|replace|alter|create|drop|call|load|truncate|optimize)\b.*"
)
_MEASURED = re.compile(
    r".*\((?:cost=\d|actual (?:time|rows)=|never executed)|.*\bactual time=\d.*"
    r"|\s*(?:Planning|Execution|Total)(?: |-)?(?:[Tt]ime|runtime): [\d.]+ ms.*"
)
_DETAIL = re.compile(
    r"(?:Sort Method|Rows Removed by (?:Filter|Join Filter|Index Recheck)|Buffers|I/O Timings|Heap Blocks|Heap Fetches|Batches|Buckets"
    r"|Workers (?:Planned|Launched)|Filter|Index Cond|Join Filter|Hash Cond|Recheck Cond|JIT|Trigger [\w.]{1,63}): ?.*"
)
LONGEST = 2000
_WRAPPED = ' \t"|+'
"""What clients print around a line of a plan."""


def report_of(line: str, before: str | None) -> str | None:
    """Return the report that a line belongs to, None for any other; `before` is the report of the line above it.

    >>> report_of("---TRANSACTION 17355, ACTIVE 12 sec inserting", None)
    'InnoDB status'
    >>> report_of("  ->  Seq Scan on t  (cost=0.00..1.01 rows=1 width=4)", None), report_of("Filter: yes", None)
    ('query plan', None)
    """
    if len(line) > LONGEST * 10:
        return None
    text = line[:LONGEST].strip()
    if any(mark in text for mark in _MARKS) and _INNODB.fullmatch(text):
        return INNODB
    if "autovacuum: " in text and _AUTOVACUUM.search(text):
        return PROCESS
    if before == INNODB and _STATEMENT.fullmatch(text):
        return INNODB
    if ("(cost=" in text or "actual " in text or "ime: " in text or "(never" in text) and _MEASURED.match(text):
        return PLAN
    bare = text.strip(_WRAPPED)
    if before == PLAN and _DETAIL.fullmatch(bare):
        return PLAN
    return None
