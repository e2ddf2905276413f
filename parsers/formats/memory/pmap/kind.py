"""What is known about pmap beside its grammar."""

from __future__ import annotations

from parsers.declarations import Kind

KIND = Kind(
    title="memory map",
    titles="memory maps",
    tools=("pmap", "procmap"),
)
