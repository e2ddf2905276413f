"""Restrict this process before it touches what strangers wrote. Imports neither DuckDB nor Polars."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from parsers import kernel_fences

HERE = Path(__file__).resolve().parent
_PDEATHSIG, _NO_NEW_PRIVS = 1, 38
_NEWUSER, _NEWNET, _NEWIPC = 0x10000000, 0x40000000, 0x08000000
MB = 1024 * 1024


def fence(
    *,
    address_mb: int | None = None,
    data_mb: int | None = None,
    cpu_s: int | None = None,
    writes: bool = False,
    files: int = 256,
    folders: Sequence[Path] = (),
    readable: Sequence[Path] = (),
) -> dict[str, bool]:
    """Drop the rights that the work does not need; return for each restriction (fence) whether it is in force.

    `address_mb` limits the address space, `data_mb` the writable memory, `cpu_s` the processor time (s) and `files` the
    number of open files; None sets no limit. If `writes` is False, the process can write no file. With `folders` it can
    open only files in these folders, and read those in `readable`, of Python, of the system's libraries and of the
    parsers. Call it before any thread is started.
    """
    held: dict[str, bool] = {}
    libc = ctypes.CDLL(None, use_errno=True)
    if sys.platform == "linux":
        held["dies_with_its_parent"] = libc.prctl(_PDEATHSIG, signal.SIGKILL, 0, 0, 0) == 0
        held["no_new_privileges"] = libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
        # Containers often refuse this; the limits below hold anyway. Root needs no user namespace, in which it would
        # lose the right to write into folders of other users.
        own = 0 if os.geteuid() == 0 else _NEWUSER
        held["no_network"] = libc.unshare(own | _NEWNET | _NEWIPC) == 0
        held["no_sockets"] = kernel_fences.refuse_calls()
        held["no_rights_of_root"] = kernel_fences.keep_rights_over_files()
        if folders:
            held["own_files_only"] = kernel_fences.reach_only(folders, HERE, readable)
    limits = {"few_files": (resource.RLIMIT_NOFILE, files), "no_core_file": (resource.RLIMIT_CORE, 0)}
    if address_mb is not None:
        limits["memory_limited"] = resource.RLIMIT_AS, address_mb * MB
    if data_mb is not None:
        limits["memory_limited"] = resource.RLIMIT_DATA, data_mb * MB
    if cpu_s is not None:
        limits["time_limited"] = resource.RLIMIT_CPU, cpu_s
    if not writes:
        limits["writes_no_file"] = resource.RLIMIT_FSIZE, 0
    for name, (which, most) in limits.items():
        hard = resource.getrlimit(which)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(which, (most, most))
        held[name] = resource.getrlimit(which) == (most, most)
    return held
