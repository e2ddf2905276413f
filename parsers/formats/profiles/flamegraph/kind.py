"""What is known about flamegraph beside its grammar."""

from __future__ import annotations

from parsers.declarations import Kind

KIND = Kind(
    next={
        "linux": ("perf stat -a -d sleep 10; mpstat -P ALL 5 12", "pidstat -u -w -t 5 12"),
    },
)
