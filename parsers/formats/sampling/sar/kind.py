"""What is known about sar beside its grammar."""

from __future__ import annotations

from parsers.declarations import Kind

KIND = Kind(
    tools=("sar", "sadf", "pidstat"),
    intervals={
        "sar": ("-o", "-f", "-s", "-e", "-i", "-P", "-n", "-I", "-m"),
        "pidstat": ("-p", "-C", "-G", "-T", "-U"),
    },
    sampled=True,
)
