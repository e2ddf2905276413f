"""What is known about oracle_trace beside its grammar."""

from __future__ import annotations

from parsers.declarations import Kind

KIND = Kind(
    words=("wait", "error"),
)
