"""What is known about sqlnet beside its grammar."""

from __future__ import annotations

from parsers.declarations import Kind

KIND = Kind(
    title="Oracle Net trace",
    titles="Oracle Net traces",
    axis="Oracle Net trace",
    tracer="Oracle Net trace",
    words=("function", "packet", "error"),
    masks_descriptors=True,
    next={
        "linux": (
            "tnsping ALIAS 10; lsnrctl status",
            "strace -f -ttt -T -o FILE sqlplus USER@ALIAS",
            "listener.log of the hour",
        ),
        "*": (
            "tnsping ALIAS 10; lsnrctl status",
            "truss -f -d -D -E -o FILE sqlplus USER@ALIAS",
            "listener.log of the hour",
        ),
    },
)
