"""What is known about syslog beside its grammar."""

from __future__ import annotations

from parsers.declarations import Kind

KIND = Kind(
    tools=("dmesg",),
    next={
        "linux": ("journalctl --since '1 hour ago' --no-pager; dmesg -T", "vmstat -t 5 12; iostat -xt 5 12"),
        "solaris": ("fmdump -eV; dmesg", "tail -1000 /var/adm/messages"),
        "aix": ("errpt -a", "svmon -G; lsps -a"),
        "*": ("the log of the hour before, in whole",),
    },
)
