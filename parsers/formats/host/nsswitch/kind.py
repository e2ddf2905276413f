"""What is known about nsswitch beside its grammar."""

from __future__ import annotations

from parsers.declarations import Kind

KIND = Kind(
    title="list of name sources (nsswitch)",
    titles="lists of name sources (nsswitch)",
    words=("parameter",),
    next={
        "linux": ("time getent hosts NAME; time getent passwd USER", "dig NAME @SERVER; cat /etc/resolv.conf"),
        "*": ("time getent hosts NAME; nslookup NAME SERVER",),
    },
)
