"""What is known about listener_log beside its grammar."""

from __future__ import annotations

from parsers.declarations import Kind

KIND = Kind(
    axis="listener log",
    masks_descriptors=True,
    next={
        "*": (
            "lsnrctl status; lsnrctl services",
            "sqlplus -s / as sysdba: SELECT * FROM v$resource_limit",
            "the alert log of the hour",
        ),
    },
)
