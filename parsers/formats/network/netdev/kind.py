"""What is known about netdev beside its grammar."""

from __future__ import annotations

from parsers.declarations import Kind

KIND = Kind(
    tools=("ifconfig", "ethtool", "dladm", "entstat", "ip"),
    next={
        "linux": (
            "ethtool -S INTERFACE; ethtool -g INTERFACE, twice, 60 s apart",
            "cat /proc/interrupts /proc/net/softnet_stat, twice, 60 s apart",
            "nstat -az, twice, 60 s apart",
        ),
        "solaris": ("kstat -n INTERFACE; dladm show-link -s, twice, 60 s apart",),
        "aix": ("entstat -d INTERFACE, twice, 60 s apart",),
    },
)
