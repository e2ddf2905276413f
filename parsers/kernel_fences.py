"""Restrict a process and its children by three means of Linux: a filter of system calls (seccomp), capabilities, and
access to files (Landlock).
"""

from __future__ import annotations

import ctypes
import os
import platform
import site
import stat
import struct
import sys
from collections.abc import Iterable
from pathlib import Path

_SET_SECCOMP, _FILTER = 22, 2
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000 | 1  # EPERM
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_AT_NUMBER, _AT_ARCHITECTURE = 0, 4
_X32 = 0x40000000

# Numbers of calls on each machine, and its mark in the kernel. Sources: asm/unistd_64.h and asm-generic/unistd.h,
# linux/audit.h.
_REFUSED = {
    "x86_64": {
        "socket": 41,
        "ptrace": 101,
        "add_key": 248,
        "request_key": 249,
        "keyctl": 250,
        "perf_event_open": 298,
        "open_by_handle_at": 304,
        "process_vm_readv": 310,
        "process_vm_writev": 311,
        "bpf": 321,
        "userfaultfd": 323,
    },
    "aarch64": {
        "ptrace": 117,
        "socket": 198,
        "add_key": 217,
        "request_key": 218,
        "keyctl": 219,
        "perf_event_open": 241,
        "open_by_handle_at": 265,
        "process_vm_readv": 270,
        "process_vm_writev": 271,
        "bpf": 280,
        "userfaultfd": 282,
    },
}
_REFUSED_EVERYWHERE = {"io_uring_setup": 425, "pidfd_getfd": 438}
_MARK = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

_CAPABILITIES = 0x20080522  # the third version of the interface
_IS_BOUNDED, _DROP = 23, 24
_OVER_FILES = frozenset((0, 1, 2, 3))  # chown, dac_override, dac_read_search, fowner

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same numbers on every machine
_VERSION, _BENEATH = 1, 1
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_TRUNCATE = 1 << 14
_RIGHTS = {2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}
"""All rights over files that a version of the interface (ABI) knows, by the version that added the latest one. Version
2 is the first that allows renaming a file into another folder."""
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE
_READ = _EXECUTE | _READ_FILE | _READ_DIR
_TCP = 0b11  # bind, connect; from the fourth version on
_SCOPES = 0b11  # abstract sockets of others, signals to others; from the sixth version on


def refuse_calls() -> bool:
    """Make system calls that reading does not need fail with EPERM: sockets (also those of a local database), access to
    other processes, and parts of the kernel that are often attacked. Return whether the filter is in force.

    `no_new_privs` must be set before.
    """
    machine = platform.machine()
    if machine not in _REFUSED:
        return False
    numbers = sorted({*_REFUSED[machine].values(), *_REFUSED_EVERYWHERE.values()})
    # The last two steps are: allow, refuse. Jumps count the steps between.
    steps = [(_LOAD, 0, 0, _AT_ARCHITECTURE), (_EQUAL, 0, len(numbers) + 3, _MARK[machine]), (_LOAD, 0, 0, _AT_NUMBER)]
    steps.append((_AT_LEAST, len(numbers) + 1, 0, _X32))
    steps += [(_EQUAL, len(numbers) - place, 0, number) for place, number in enumerate(numbers)]
    steps += [(_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _REFUSE)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    program = struct.pack("HP", len(steps), ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    return bool(libc.prctl(_SET_SECCOMP, _FILTER, ctypes.create_string_buffer(program), 0, 0) == 0)


def keep_rights_over_files() -> bool:
    """Drop all capabilities except those over files, so that root cannot read other processes through /proc. Return
    whether they are dropped; True for any other user, who has none.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    head, data = struct.pack("Ii", _CAPABILITIES, 0), ctypes.create_string_buffer(24)
    if libc.capget(head, data):
        return False
    had = struct.unpack("6I", data.raw)  # effective, permitted, inheritable: of numbers below 32, then of the others
    if not any(had):
        return True
    dropped = all(
        libc.prctl(_DROP, n, 0, 0, 0) == 0 for n in range(64) if n not in _OVER_FILES and _is_bounded(libc, n)
    )
    kept = sum(1 << n for n in _OVER_FILES)
    return bool(libc.capset(head, struct.pack("6I", *(old & kept for old in had[:3]), 0, 0, 0)) == 0) and dropped


def _is_bounded(libc: ctypes.CDLL, number: int) -> bool:
    """Return whether capability `number` is in the bounding set, so that a program started by root would get it."""
    return bool(libc.prctl(_IS_BOUNDED, number, 0, 0, 0) == 1)


def reach_only(folders: Iterable[Path], package: Path, readable: Iterable[Path] = ()) -> bool:
    """Let this thread and its children open only files in `folders`, and read those in `readable`, of `package`, of
    Python and of the system's libraries. Return whether that is in force (Linux 5.19 and newer with Landlock enabled).

    `no_new_privs` must be set before.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    version = libc.syscall(_CREATE_RULESET, None, 0, _VERSION)
    if version < min(_RIGHTS):
        return False
    rights = _RIGHTS[max(v for v in _RIGHTS if v <= version)]
    parts = [rights, *([_TCP] if version >= 4 else []), *([_SCOPES] if version >= 6 else [])]
    handled = struct.pack(f"{len(parts)}Q", *parts)
    ruleset = libc.syscall(_CREATE_RULESET, handled, len(handled), 0)
    if ruleset < 0:
        return False
    try:
        allowed = [(path, _READ) for path in {package, *readable, *_python_and_system()}]
        allowed.append((package.parent, _READ_DIR))  # to find the package, Python lists where it lies
        allowed += [(path, rights & ~_EXECUTE) for path in folders]
        allowed += [(Path("/dev/null"), _READ | _WRITE_FILE)]
        return all(_allow(libc, ruleset, path, rights & right) for path, right in allowed) and (
            libc.syscall(_RESTRICT_SELF, ruleset, 0) == 0
        )
    finally:
        os.close(ruleset)


def _allow(libc: ctypes.CDLL, ruleset: int, path: Path, rights: int) -> bool:
    """Add a rule that allows `rights` below a path; a path that does not exist or cannot be opened needs no rule.

    Return False if the kernel refuses the rule.
    """
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return True
    try:
        rights = rights if stat.S_ISDIR(os.fstat(place).st_mode) else rights & _OF_FILES
        return bool(libc.syscall(_ADD_RULE, ruleset, _BENEATH, struct.pack("=Qi", rights, place), 0) == 0)
    finally:
        os.close(place)


def _python_and_system() -> set[Path]:
    """Return the folders and files that Python and its libraries read."""
    found = {sys.prefix, sys.base_prefix, sys.exec_prefix, *site.getsitepackages(), site.getusersitepackages()}
    found |= {"/usr", "/bin", "/lib", "/lib32", "/lib64", "/etc/ld.so.cache", "/etc/localtime", "/dev/urandom"}
    # Of /proc only files that show no other process: root could read the environment of every process.
    found |= {"/sys", "/proc/self", "/proc/sys", *(f"/proc/{name}" for name in ("cpuinfo", "meminfo", "stat"))}
    for line in Path("/proc/self/maps").read_text().splitlines():
        mapped = line.split(maxsplit=5)[5:]
        if mapped and mapped[0].startswith("/") and ".so" in mapped[0]:
            found.add(str(Path(mapped[0]).parent))
    return {Path(path) for path in found}
