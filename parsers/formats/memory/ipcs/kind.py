"""What is known about ipcs beside its grammar."""

from __future__ import annotations

from parsers.declarations import Kind

KIND = Kind(
    title="list of shared memory and semaphores",
    titles="lists of shared memory and semaphores",
    tools=("ipcs",),
    words=("parameter",),
    next={
        "linux": ("ipcs -a; ipcs -l; sysctl kernel.sem kernel.shmmax kernel.shmall", "pmap -x PID; cat /proc/meminfo"),
        "solaris": ("ipcs -A; prctl PID; pmap -xs PID",),
    },
)
