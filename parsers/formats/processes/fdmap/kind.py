"""What is known about fdmap beside its grammar."""

from __future__ import annotations

from parsers.declarations import Kind

KIND = Kind(
    tools=("lsof", "procfiles", "fuser", "pfiles"),
    words=("state",),
)
