"""What is known about iostat beside its grammar."""

from __future__ import annotations

from parsers.declarations import Kind

KIND = Kind(
    title="run of iostat",
    titles="runs of iostat",
    tools=("iostat",),
    intervals={"iostat": ("-g", "-o", "-j", "-p")},
    sampled=True,
)
