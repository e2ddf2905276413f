"""What is known about oracle_trace beside its grammar."""

from __future__ import annotations

from parsers.declarations import Kind

KIND = Kind(
    words=("wait", "error"),
    next={
        "*": (
            "sqlplus -s / as sysdba: SELECT sid, state, event, seconds_in_wait, blocking_session, sql_id FROM v$session WHERE status = 'ACTIVE'",
            "sqlplus -s / as sysdba: SELECT * FROM v$resource_limit",
            "tail -1000 of the alert log",
        ),
    },
)
