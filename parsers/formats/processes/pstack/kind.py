"""What is known about pstack beside its grammar."""

from __future__ import annotations

from parsers.declarations import Kind

KIND = Kind(
    tools=("pstack", "gstack", "procstack"),
    next={
        "linux": (
            "the same dump again, three times, 5 s apart; top -H -b -n 1 -p PID",
            "cat /proc/PID/stack; strace -f -ttt -T -p PID for 10 s",
        ),
        "solaris": (
            "pstack PID, three times, 5 s apart; prstat -mL -p PID 5 12",
            "truss -f -d -D -E -p PID for 10 s; pfiles PID",
        ),
        "*": ("the same dump again, three times, 5 s apart",),
    },
)
