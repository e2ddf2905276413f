"""What is known about mpstat beside its grammar."""

from __future__ import annotations

from parsers.declarations import Kind

KIND = Kind(
    title="run of mpstat",
    titles="runs of mpstat",
    tools=("mpstat",),
    intervals={"mpstat": ("-P", "-I", "-o")},
    sampled=True,
)
