"""What is known about netstat beside its grammar."""

from __future__ import annotations

from parsers.declarations import Kind

KIND = Kind(
    tools=("netstat", "nstat"),
    words=("state",),
)
