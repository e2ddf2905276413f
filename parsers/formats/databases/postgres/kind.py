"""What is known about postgres beside its grammar."""

from __future__ import annotations

from parsers.declarations import Kind

KIND = Kind(
    words=("code", "wait", "state"),
    next={
        "*": (
            "psql: SELECT * FROM pg_stat_activity; SELECT * FROM pg_locks",
            "psql: EXPLAIN (ANALYZE, BUFFERS) of the statement",
            "the log of the hour; log_lock_waits and log_min_duration_statement make it say more",
        ),
    },
)
