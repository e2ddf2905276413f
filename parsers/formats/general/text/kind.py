"""What is known about text of no known tool beside its grammar."""

from __future__ import annotations

from parsers.declarations import Kind

KIND = Kind(
    title="text that no format knows",
    titles="texts that no format knows",
    axis="text",
    rows_optional=True,
)
