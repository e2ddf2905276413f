"""What is known about time beside its grammar."""

from __future__ import annotations

from parsers.declarations import Kind

KIND = Kind(
    runs_program=True,
    tools=("time", "ptime"),
    next={
        "linux": (
            "strace -f -ttt -T -o FILE COMMAND",
            "perf record -g COMMAND; perf report --stdio",
            "tcpdump -i any -s 128 -w FILE host ADDRESS for the time of one run",
        ),
        "solaris": ("truss -f -d -D -E -o FILE COMMAND", "snoop -s 128 -o FILE host ADDRESS for the time of one run"),
        "*": ("truss -f -d -D -o FILE COMMAND",),
    },
)
