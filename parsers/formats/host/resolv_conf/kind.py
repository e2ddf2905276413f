"""What is known about resolv_conf beside its grammar."""

from __future__ import annotations

from parsers.declarations import Kind

KIND = Kind(
    words=("parameter",),
)
