"""Recognise lines of free-text reports: InnoDB's monitor, executed query plans, the status of a unit (`systemctl
status`, `svcs -x`), the scan of a pool (`zpool status`), and results of iperf and fio.

These lines are neither `name: value` nor cells. Each becomes a row of `rows` with the name of the report as its only
heading and the line as its only cell, so that observers can parse it.
"""

from __future__ import annotations

import re

INNODB, PLAN, PROCESS, SERVICE = "InnoDB status", "query plan", "server process", "service status"
POOL, IPERF, FIO = "pool status", "iperf", "fio"

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
"""Title of an autovacuum worker in ps and pg_stat_activity, with any columns around it."""

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
_NODE = re.compile(r'\s*"Node Type": "[A-Z][\w /-]{1,40}",?')
_PROPERTY = re.compile(r'\s*"[A-Z][\w/ -]{1,40}": .*|[\s\[\]{},]*|\s*"Plans": \[')
"""Line of a PostgreSQL plan in JSON; a node begins with its type."""

_SYSTEMD = r"[●○◍×x↻*] [A-Za-z0-9_@.:\\-]+\.(?:service|slice|socket|timer|mount|automount|swap|target|scope|path|device)(?: - .*)?"
_UNIT = re.compile(rf"{_SYSTEMD}|svc:/[\w/.-]{{1,200}}:[\w.-]{{1,80}} \(.*\)")
"""First line of the status of a unit of systemd (systemctl(1)) or of Solaris' service management (svcs(1), -x)."""

SERVICE_LINES = (
    rf"^[ \t]*(?:{_SYSTEMD}|Loaded: (?:loaded|not-found|masked|error|bad-setting)\b.*"
    r"|Active: (?:active|inactive|failed|activating|deactivating|reloading|maintenance)\b.*|Main PID: [0-9]+ \(.*"
    r"|Process: [0-9]+ Exec\w+=.*|CGroup: /.*|Drop-In: /.*|Docs: (?:man|https?):.*|Memory: [0-9.]+[BKMGT]\b.*|Tasks: [0-9]+(?: \(limit: .*)?"
    r"|[├└│|`][─ -].*)$"
)
"""Lines about a unit that only systemd prints."""

_OF_UNIT = re.compile(
    r"(?:Loaded|Drop-In|Active|Since|Until|Duration|Invocation|Trigger(?:s|edBy)?|Docs|Device|What|Where|Listen|Accepted|Process|Main PID"
    r"|Cntrl PID|Extra Fd|FD Store|Error|Status|IP|IO|Tasks|Memory|CPU|CGroup|State|Reason|See|Impact|Follow|Condition|Assert): ?.*"
    r"|[├└│|`].*|(?:man|http|https|file|info):\S*"
)
_SCAN = re.compile(r"(?:scan|scrub): (?:(?:resilver|scrub) in progress |resilvered [0-9]|scrub repaired [0-9]).*")
_OF_SCAN = re.compile(r"[0-9][0-9.,]*[BKMGTPE]?B? (?:scanned|issued|resilvered|repaired|/ ).*")
"""Lines of `zpool status` about a scan, in the decimal signs of the user's language."""

_IPERF = re.compile(
    r"\[ *(?:[0-9]{1,4}|SUM)\](?:\[[TR]X-[CS]\])? +(?:[0-9.]+ *- *[0-9.]+ +sec +[0-9.]+ [KMGT]?Bytes +[0-9.]+ [KMGT]?bits/sec\b.*"
    r"|local \S+ port [0-9]+ connected (?:to|with) \S+ port [0-9]+.*)"
)
"""A stream of iperf and its transfer in an interval."""

_FIO = re.compile(
    r"[\w./-]{1,80}: \(groupid=[0-9]+, jobs=[0-9]+\): err= *[0-9]+.*"
    r"|(?:read|write|trim) ?: ?(?:io=|IOPS=).*"
    r"|fsync/fdatasync/sync_file_range:|(?:clat|lat|slat|sync) percentiles \((?:nsec|usec|msec)\):"
    r"|(?:clat|lat|slat|sync) \((?:nsec|usec|msec)\): min=.*"
    r"|\| +[0-9.]{4,5}th=\[.*|[\w-]{1,40}: ios=[0-9]+/[0-9]+, .*util=[0-9.]+%.*"
)
"""Lines about a group of jobs in the normal output of fio(1)."""

LONGEST = 2000
_WRAPPED = ' \t"|+'
"""Characters that clients print around a line of a plan."""


def is_unit(line: str) -> bool:
    """Return whether a line names a unit and begins its status.

    >>> is_unit("● cron.service - Regular background program"), is_unit("* one item - of a list")
    (True, False)
    """
    return bool(_UNIT.fullmatch(line.strip()))


def report_of(line: str, before: str | None) -> str | None:
    """Return the report that a line belongs to, None for any other; `before` is the report of the line above it.

    >>> report_of("---TRANSACTION 17355, ACTIVE 12 sec inserting", None)
    'InnoDB status'
    >>> report_of("  ->  Seq Scan on t  (cost=0.00..1.01 rows=1 width=4)", None), report_of("Filter: yes", None)
    ('query plan', None)
    >>> report_of("  scan: scrub in progress since Mon May  4 10:00:00 2026", None), report_of("1,2G scanned at 3,4M/s", "pool status")
    ('pool status', 'pool status')
    >>> report_of("[  5]   0.00-10.00  sec   112 MBytes  94.0 Mbits/sec    3             sender", None)
    'iperf'
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
    if _UNIT.fullmatch(text) or (before == SERVICE and _OF_UNIT.fullmatch(text)):
        return SERVICE
    if (text.startswith("sc") and _SCAN.fullmatch(text)) or (before == POOL and _OF_SCAN.fullmatch(text)):
        return POOL
    if text.startswith("[") and _IPERF.fullmatch(text):
        return IPERF
    if ("th=[" in text or "=" in text or before == FIO) and _FIO.fullmatch(text):
        return FIO
    if '"Node Type"' in text and _NODE.fullmatch(text):
        return PLAN
    if before == PLAN and text.startswith('"') and _PROPERTY.fullmatch(text):
        return PLAN
    bare = text.strip(_WRAPPED)
    if before == PLAN and _DETAIL.fullmatch(bare):
        return PLAN
    return None
