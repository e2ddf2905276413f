"""What is known about meminfo beside its grammar."""

from __future__ import annotations

from parsers.declarations import Kind

KIND = Kind(
    tools=("free", "swap", "lsps"),
)
