"""What is known about dtrace beside its grammar."""

from __future__ import annotations

from parsers.declarations import Kind

KIND = Kind(
    title="output of DTrace",
    titles="outputs of DTrace",
    tracer="DTrace",
    tools=("dtrace", "bpftrace"),
    words=("call", "error", "signal", "fault", "trace"),
    next={
        "*": ("prstat -mL 5 12; vmstat 5 12",),
    },
)
