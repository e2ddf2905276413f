"""What is known about ps beside its grammar."""

from __future__ import annotations

from parsers.declarations import Kind

KIND = Kind(
    tools=("ps", "ptree", "proctree"),
    words=("state",),
    next={
        "linux": (
            "cat /proc/PID/stack /proc/PID/status",
            "strace -f -ttt -T -p PID for 10 s",
            "perf record -a -g sleep 10; pidstat -u -r -d -w 5 12",
        ),
        "solaris": ("pstack PID; pfiles PID", "truss -f -d -D -E -p PID for 10 s", "prstat -mL 5 12"),
        "aix": ("procstack PID", "truss -f -d -D -p PID for 10 s"),
        "freebsd": ("procstat -kk PID", "truss -f -d -D -p PID for 10 s"),
    },
)
