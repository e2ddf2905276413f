"""What is known about ipcs beside its grammar."""

from __future__ import annotations

from parsers.declarations import Kind

KIND = Kind(
    title="list of shared memory and semaphores",
    titles="lists of shared memory and semaphores",
    tools=("ipcs",),
    words=("parameter",),
)
