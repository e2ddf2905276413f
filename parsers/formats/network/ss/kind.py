"""What is known about ss beside its grammar."""

from __future__ import annotations

from parsers.declarations import Kind

KIND = Kind(
    tools=("ss",),
    words=("state",),
)
