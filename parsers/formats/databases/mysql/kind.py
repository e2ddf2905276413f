"""What is known about mysql beside its grammar."""

from __future__ import annotations

from parsers.declarations import Kind

KIND = Kind(
    words=("code", "wait", "state"),
    next={
        "*": (
            "mysql: SHOW FULL PROCESSLIST; SHOW ENGINE INNODB STATUS",
            "mysqladmin extended-status -i 10 -c 6",
            "the slow log and the error log of the hour",
        ),
    },
)
