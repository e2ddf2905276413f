"""What is known about ping beside its grammar."""

from __future__ import annotations

from parsers.declarations import Kind

KIND = Kind(
    tools=("ping",),
    next={
        "linux": (
            "mtr -rwc 100 ADDRESS; traceroute ADDRESS",
            "tcpdump -i any -s 128 -w FILE host ADDRESS, on both hosts for 60 s",
        ),
        "*": ("traceroute ADDRESS; ping of the next hop",),
    },
)
