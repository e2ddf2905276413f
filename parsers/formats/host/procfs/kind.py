"""What is known about files of /proc beside their grammar."""

from __future__ import annotations

from parsers.declarations import Kind

KIND = Kind(
    title="file of /proc",
    titles="files of /proc",
    sampled=True,
    next={
        "linux": ("cat of the same files again, 60 s apart", "ps -eLo pid,tid,stat,wchan:32,pcpu,args; top -b -n 1"),
    },
)
