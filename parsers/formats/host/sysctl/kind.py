"""What is known about sysctl beside its grammar."""

from __future__ import annotations

from parsers.declarations import Kind

KIND = Kind(
    title="list of kernel settings",
    titles="lists of kernel settings",
    tools=("sysctl", "prctl", "ulimit", "limit", "plimit", "getconf"),
    words=("parameter",),
    next={
        "linux": (
            "nstat -az; cat /proc/PID/limits, twice, 60 s apart",
            "dmesg -T; journalctl --since '1 hour ago' --no-pager",
        ),
        "solaris": ("prctl PID; ipcs -A",),
    },
)
