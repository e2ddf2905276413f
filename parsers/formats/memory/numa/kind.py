"""What is known about numa beside its grammar."""

from __future__ import annotations

from parsers.declarations import Kind

KIND = Kind(
    tools=("numactl", "numastat", "lgrpinfo"),
    next={
        "linux": ("numastat -p PID; cat /proc/PID/numa_maps", "taskset -pc PID; lscpu"),
        "solaris": ("lgrpinfo; plgrp PID; pmap -L PID",),
    },
)
