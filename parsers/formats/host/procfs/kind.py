"""What is known about files of /proc beside their grammar."""

from __future__ import annotations

from parsers.declarations import Kind

KIND = Kind(
    title="file of /proc",
    titles="files of /proc",
    sampled=True,
)
