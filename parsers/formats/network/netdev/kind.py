"""What is known about netdev beside its grammar."""

from __future__ import annotations

from parsers.declarations import Kind

KIND = Kind(
    tools=("ifconfig", "ethtool", "dladm", "entstat", "ip"),
)
