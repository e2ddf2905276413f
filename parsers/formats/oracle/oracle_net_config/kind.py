"""What is known about oracle_net_config beside its grammar."""

from __future__ import annotations

from parsers.declarations import Kind

KIND = Kind(
    tools=("lsnrctl",),
    words=("parameter",),
    masks_descriptors=True,
    next={
        "*": ("tnsping ALIAS 10; lsnrctl status", "listener.log of the hour"),
    },
)
