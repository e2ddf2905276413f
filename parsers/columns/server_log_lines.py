"""Pattern for lines of PostgreSQL's log sent through syslog; the kinds postgres and syslog both recognise them."""

from __future__ import annotations

THROUGH_SYSLOG = (
    r"^(?:<[0-9]{1,3}>)?(?:([A-Z][a-z]{2}) +([0-9]{1,2}) ([0-9]{2}):([0-9]{2}):([0-9]{2})"
    r"|([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2}(?:\.[0-9]{1,9})?)(Z|[+-][0-9]{2}:?[0-9]{2})?)"
    r" [^ :]{1,255} [^ :=\[]{1,64}\[([0-9]{1,10})\]: \[[0-9]{1,12}-([0-9]{1,6})\] ?(.*)$"
)
"""A line that the server sent to syslog: one of two forms of stamp, process, piece of a message (`[7-2]`), text."""
