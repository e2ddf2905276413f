"""What is known about vmstat beside its grammar."""

from __future__ import annotations

from parsers.declarations import Kind

KIND = Kind(
    title="run of vmstat",
    titles="runs of vmstat",
    tools=("vmstat", "lparstat"),
    intervals={"vmstat": ("-S", "-p"), "lparstat": ()},
    sampled=True,
)
