"""What is known about strace beside its grammar."""

from __future__ import annotations

from parsers.declarations import Kind

KIND = Kind(
    title="trace of system calls",
    titles="traces of system calls",
    axis="system calls",
    tracer="system call trace",
    tools=("strace",),
    words=("call", "error", "signal", "fault", "trace"),
)
