"""What is known about lockstat beside its grammar."""

from __future__ import annotations

from parsers.declarations import Kind

KIND = Kind(
    tools=("lockstat", "plockstat"),
    next={
        "*": ("prstat -mL 5 12; mpstat 5 12", "pstack PID"),
    },
)
