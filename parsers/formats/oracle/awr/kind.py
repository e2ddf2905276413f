"""What is known about awr beside its grammar."""

from __future__ import annotations

from parsers.declarations import Kind

KIND = Kind(
    words=("wait", "error"),
    next={
        "*": (
            "sqlplus: ashrpt.sql of the bad minutes",
            "sqlplus -s / as sysdba: SELECT sid, state, event, seconds_in_wait, blocking_session, sql_id FROM v$session WHERE status = 'ACTIVE'",
        ),
        "linux": ("sqlplus: ashrpt.sql of the bad minutes", "vmstat -t 5 12; iostat -xt 5 12"),
    },
)
