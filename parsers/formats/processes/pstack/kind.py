"""What is known about pstack beside its grammar."""

from __future__ import annotations

from parsers.declarations import Kind

KIND = Kind(
    tools=("pstack", "gstack", "procstack"),
)
