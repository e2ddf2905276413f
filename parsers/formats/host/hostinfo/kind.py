"""What is known about hostinfo beside its grammar."""

from __future__ import annotations

from parsers.declarations import Kind

KIND = Kind(
    tools=("uname", "prtconf", "psrinfo", "lscpu", "uptime", "prtdiag"),
    words=("parameter",),
    rows_optional=True,
)
