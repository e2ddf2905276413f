"""What is known about text of no known tool beside its grammar."""

from __future__ import annotations

from parsers.declarations import Kind

KIND = Kind(
    title="text that no format knows",
    titles="texts that no format knows",
    axis="text",
    rows_optional=True,
    any_lines=True,
    next={
        "linux": (
            "journalctl --since '1 hour ago' --no-pager; dmesg -T",
            "ps -eLo pid,tid,stat,wchan:32,pcpu,args --sort=-pcpu; cat /proc/PID/stack",
        ),
    },
)
