"""What is known about postgres beside its grammar."""

from __future__ import annotations

from parsers.declarations import Kind

KIND = Kind(
    words=("code", "wait", "state"),
)
