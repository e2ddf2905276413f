"""What is known about numa beside its grammar."""

from __future__ import annotations

from parsers.declarations import Kind

KIND = Kind(
    tools=("numactl", "numastat", "lgrpinfo"),
)
