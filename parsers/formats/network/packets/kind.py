"""What is known about packets beside its grammar."""

from __future__ import annotations

from parsers.declarations import Kind

KIND = Kind(
    tools=("tcpdump", "snoop", "tshark"),
    words=("packet", "state"),
)
