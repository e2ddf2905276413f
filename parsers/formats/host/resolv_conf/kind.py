"""What is known about resolv_conf beside its grammar."""

from __future__ import annotations

from parsers.declarations import Kind

KIND = Kind(
    words=("parameter",),
    next={
        "linux": (
            "dig NAME @SERVER, for each server; time getent hosts NAME",
            "tcpdump -i any -n port 53 for the time of one look-up",
        ),
        "*": ("nslookup NAME SERVER, for each server; time getent hosts NAME",),
    },
)
