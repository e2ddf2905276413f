"""What the facts beside logs and listings of MySQL and MariaDB mean."""

from __future__ import annotations

from tests.parsers.told_rows import asks, clock, notes, rows_of

CHECKERS = {
    "rows": rows_of(
        "logs", "line_no", "t_local", "severity", "code", "op", "peer_ip", "client_host", "service", "text"
    ),
    "sessions": rows_of(
        "sessions", "line_no", "line_end", "sid", "db_user", "machine", "state", "event", "last_call_s"
    ),
    "asks": asks,
    "clock": clock,
    "notes": notes,
}
WAIVED: dict[str, str] = {}
