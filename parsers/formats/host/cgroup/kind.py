"""What is known about cgroup beside its grammar."""

from __future__ import annotations

from parsers.declarations import Kind

KIND = Kind(
    words=("parameter",),
    next={
        "linux": (
            "cat cpu.stat cpu.max memory.stat memory.events io.stat of the group, twice, 60 s apart",
            "ps -eo pid,stat,rss,pcpu,args --sort=-pcpu; systemctl status",
            "cat /proc/pressure/*; dmesg -T",
        ),
    },
)
