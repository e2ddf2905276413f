"""Incident of large shared memory in small pages: the size of the page tables of a process times the number of
processes.
"""

from __future__ import annotations

import time
from pathlib import Path

from lab.incident import Incident
from lab.scene import Missing, Scene, needs

SERVERS = """
    import ctypes, os, sys, time
    size, many = 4 << 30, int(sys.argv[1])
    libc = ctypes.CDLL(None, use_errno=True)
    libc.shmat.restype = ctypes.c_void_p
    libc.shmget.argtypes = (ctypes.c_int, ctypes.c_size_t, ctypes.c_int)
    made = libc.shmget(0, size, 0o1600)
    at = libc.shmat(made, None, 0)
    libc.shmctl(made, 0, None)
    held = (ctypes.c_char * size).from_address(at)
    for _ in range(many):
        if os.fork() == 0:
            for place in range(0, size, 2 << 20):
                held[place]
            time.sleep(60); os._exit(0)
    time.sleep(60)
"""


def _kilobytes(name: str) -> int:
    text = Path("/proc/meminfo").read_text(encoding="ascii")
    return int(next(line for line in text.splitlines() if line.startswith(f"{name}:")).split()[1])


def page_tables(stage: Scene) -> None:
    """Let each process touch one page in every two MiB, so that the kernel sets up a whole table for it.

    The segment is removed when the last process has ended.
    """
    needs("ipcs")
    if _kilobytes("MemAvailable") < 5 << 20:
        raise Missing("five GiB of free memory")
    stage.start([*stage.script("servers.py", SERVERS), "135" if stage.bad else "4"])
    wanted, until = (1 << 20) + 65536 if stage.bad else 0, time.monotonic() + 45
    while _kilobytes("PageTables") < wanted and time.monotonic() < until:
        time.sleep(0.5)
    if _kilobytes("PageTables") < wanted:
        raise Missing("so much processor time that 135 processes look at their memory within 45 s")
    time.sleep(2.0)
    stage.keep("meminfo.txt", "/proc/meminfo")
    stage.print("ipcs.txt", ["ipcs", "-m"])


INCIDENTS = (
    Incident("page-tables", "A hundred and thirty processes share four GiB of memory in pages of four kB.", page_tables,
             {"layer": "configuration", "hypothesis": "H-OS-MEM", "rules": {"MEM-003": {}}, "also": ["os_kernel"]},
             {"symptom": {"text": "the host runs short of memory that no program has"}}, {"symptom": {"text": "the host runs short of memory"}}),
)  # fmt: skip
