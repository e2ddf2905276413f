"""What is known about json_lines beside its grammar."""

from __future__ import annotations

from parsers.declarations import Kind

KIND = Kind(
    words=("call", "error", "signal", "fault", "trace"),
)
