"""What is known about sqlnet beside its grammar."""

from __future__ import annotations

from parsers.declarations import Kind

KIND = Kind(
    title="Oracle Net trace",
    titles="Oracle Net traces",
    axis="Oracle Net trace",
    tracer="Oracle Net trace",
    words=("function", "packet", "error"),
    masks_descriptors=True,
)
