"""What is known about errpt beside its grammar."""

from __future__ import annotations

from parsers.declarations import Kind

KIND = Kind(
    tools=("errpt", "fmdump"),
)
