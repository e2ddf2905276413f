"""What is known about packets beside its grammar."""

from __future__ import annotations

from parsers.declarations import Kind

KIND = Kind(
    tools=("tcpdump", "snoop", "tshark"),
    words=("packet", "state"),
    next={
        "linux": (
            "ss -tanpi; ss -lnt",
            "nstat -az; ethtool -S INTERFACE, twice, 60 s apart",
            "tcpdump -i any -s 128 -w FILE host ADDRESS, on both hosts for 60 s",
        ),
        "solaris": (
            "netstat -an; pfiles PID",
            "netstat -s, twice, 60 s apart",
            "snoop -s 128 -o FILE host ADDRESS, on both hosts for 60 s",
        ),
        "aix": ("netstat -Aan; netstat -m", "netstat -s, twice, 60 s apart", "entstat -d INTERFACE, twice, 60 s apart"),
        "*": ("netstat -s, twice, 60 s apart", "ping -c 100 ADDRESS; traceroute ADDRESS"),
    },
)
