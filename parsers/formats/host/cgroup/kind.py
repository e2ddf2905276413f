"""What is known about cgroup beside its grammar."""

from __future__ import annotations

from parsers.declarations import Kind

KIND = Kind(
    words=("parameter",),
)
