"""What is known about ps beside its grammar."""

from __future__ import annotations

from parsers.declarations import Kind

KIND = Kind(
    tools=("ps", "ptree", "proctree"),
    words=("state",),
)
