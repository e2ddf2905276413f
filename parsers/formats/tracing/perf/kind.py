"""What is known about perf beside its grammar."""

from __future__ import annotations

from parsers.declarations import Kind

KIND = Kind(
    title="profile of the processors",
    titles="profiles of the processors",
    tools=("perf",),
    words=("call", "error", "signal", "fault", "trace"),
    next={
        "linux": ("perf stat -a -d sleep 10; mpstat -P ALL 5 12", "strace -c -f -p PID for 10 s"),
    },
)
