"""What is known about fdmap beside its grammar."""

from __future__ import annotations

from parsers.declarations import Kind

KIND = Kind(
    tools=("lsof", "procfiles", "fuser", "pfiles"),
    words=("state",),
    next={
        "linux": ("cat /proc/PID/limits; ls /proc/PID/fd | wc -l, twice, 60 s apart", "ss -tanpi"),
        "solaris": ("plimit PID; netstat -an",),
    },
)
