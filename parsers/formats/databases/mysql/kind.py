"""What is known about mysql beside its grammar."""

from __future__ import annotations

from parsers.declarations import Kind

KIND = Kind(
    words=("code", "wait", "state"),
)
