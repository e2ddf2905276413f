"""What is known about prstat beside its grammar."""

from __future__ import annotations

from parsers.declarations import Kind

KIND = Kind(
    tools=("prstat", "top", "topas"),
    intervals={"prstat": ("-p", "-P", "-u", "-U", "-n", "-s", "-S", "-C", "-j", "-k", "-z", "-h"), "topas": ()},
    sampled=True,
    words=("state",),
)
