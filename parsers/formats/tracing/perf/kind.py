"""What is known about perf beside its grammar."""

from __future__ import annotations

from parsers.declarations import Kind

KIND = Kind(
    title="profile of the processors",
    titles="profiles of the processors",
    tools=("perf",),
    words=("call", "error", "signal", "fault", "trace"),
)
