"""What is known about strace beside its grammar."""

from __future__ import annotations

from parsers.declarations import Kind

KIND = Kind(
    runs_program=True,
    title="trace of system calls",
    titles="traces of system calls",
    axis="system calls",
    tracer="system call trace",
    tools=("strace",),
    words=("call", "error", "signal", "fault", "trace"),
    next={
        "linux": ("cat /proc/PID/stack /proc/PID/status; ss -tnpi", "perf record -a -g sleep 10; perf report --stdio"),
        "solaris": ("pstack PID; pfiles PID", "prstat -mL -p PID 5 12"),
        "aix": ("procstack PID; procfiles -n PID", "tprof -skex sleep 30"),
        "hpux": ("pstack PID; pfiles PID", "glance -p PID"),
        "freebsd": ("procstat -kk -f PID", "procstat -f PID; sockstat -4"),
        "macos": ("sample PID 10; lsof -p PID", "spindump PID 10"),
    },
)
