"""What is known about conntime beside its grammar."""

from __future__ import annotations

from parsers.declarations import Kind

KIND = Kind(
    title="list of connection times",
    titles="lists of connection times",
    tools=("tnsping",),
)
