"""Identify the process that holds a job, so that another can tell later whether it has ended.

A lease lasts two minutes, since its holder may run on a host that does not answer. For a process on this host the
kernel knows at once. The identifier is `host:kernel:pid:start`: `kernel` names this boot and this namespace of process
ids, and `start` is the start time of the process, since pids are reused.
"""

from __future__ import annotations

import hashlib
import os
import socket
from functools import cache
from pathlib import Path

_PROC = Path("/proc")


def me() -> str:
    """Return the identifier of this process, at most 100 characters."""
    return f"{socket.gethostname()[:50]}:{_kernel()}:{os.getpid()}:{_start(os.getpid())}"


def surely_gone(holder: str | None) -> bool:
    """Tell whether the holder ran on this host and has ended; False where that cannot be known."""
    host, kernel, pid, start = [*(holder or "").split(":"), "", "", ""][:4]
    here = kernel and (host, kernel) == (socket.gethostname()[:50], _kernel())
    return bool(here and pid.isdigit() and start and start != _start(int(pid)))


@cache
def _kernel() -> str:
    try:
        boot = (_PROC / "sys/kernel/random/boot_id").read_text().strip()
        pids = os.readlink(_PROC / "self/ns/pid")
    except OSError:  # not Linux
        return ""
    return hashlib.sha256(f"{boot} {pids}".encode()).hexdigest()[:12]


def _start(pid: int) -> str:
    """Return when the process began, in ticks since the boot; "" if there is none."""
    try:
        fields = (_PROC / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in "ZX" else fields[19]  # state, starttime: proc(5)
