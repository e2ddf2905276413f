"""What is known about sysctl beside its grammar."""

from __future__ import annotations

from parsers.declarations import Kind

KIND = Kind(
    title="list of kernel settings",
    titles="lists of kernel settings",
    tools=("sysctl", "prctl", "ulimit", "limit", "plimit", "getconf"),
    words=("parameter",),
)
