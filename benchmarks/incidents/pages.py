"""A large shared memory in small pages: each process that attaches it gets page tables of its own. Takes 9 GiB for half a minute."""

from __future__ import annotations

import subprocess
import time

from benchmarks.incidents.incident import Incident
from benchmarks.incidents.scene import LONGEST_S, Missing, Scene, needs

SESSION = """
    import ctypes, sys, time
    libc = ctypes.CDLL(None, use_errno=True)
    libc.shmat.restype = ctypes.c_void_p
    size = int(sys.argv[2])
    at = libc.shmat(int(sys.argv[1]), None, 0)
    libc.madvise(ctypes.c_void_p(at), ctypes.c_size_t(size), 22)
    open(sys.argv[3], "w").close()
    time.sleep(200)
"""

INSTANCE = """
    import ctypes, sys, time
    libc = ctypes.CDLL(None, use_errno=True)
    libc.shmat.restype = ctypes.c_void_p; libc.shmget.argtypes = [ctypes.c_int, ctypes.c_size_t, ctypes.c_int]
    size = int(sys.argv[1])
    made = libc.shmget(0, size, 0o1600)
    at = libc.shmat(made, None, 0)
    libc.shmctl(made, 0, None)
    open(sys.argv[2], "w").write(str(made))
    libc.madvise(ctypes.c_void_p(at), ctypes.c_size_t(size), 23)
    open(sys.argv[2] + ".filled", "w").close()
    time.sleep(200)
"""


def small_pages(stage: Scene) -> None:
    needs("ipcs")
    with open("/proc/meminfo", encoding="ascii") as file:
        figures = dict(line.split(":", 1) for line in file)
    if int(figures["MemAvailable"].split()[0]) < 14 << 20:
        raise Missing("14 GiB of free memory")
    size = (9 << 30) if stage.bad else (256 << 20)
    told = stage.work / "segment"
    stage.start([*stage.script("instance.py", INSTANCE), str(size), str(told)])
    _await(stage, f"{told}.filled")
    for n in range(27):
        stage.start([*stage.script("session.py", SESSION), told.read_text(encoding="ascii"), str(size), f"{told}.{n}"])
    for n in range(27):
        _await(stage, f"{told}.{n}")
    stage.print("meminfo.txt", ["cat", "/proc/meminfo"])
    stage.print("ipcs.txt", ["ipcs", "-m"])


def _await(stage: Scene, file: str) -> None:
    end = time.monotonic() + 5 * LONGEST_S
    while subprocess.run(["test", "-e", file], check=False).returncode:
        if time.monotonic() > end:
            raise Missing("a machine that fills its memory in five minutes")
        time.sleep(0.2)


INCIDENTS = (
    Incident("small-pages", "Twenty-seven sessions share 9 GiB in pages of 4 KiB.", small_pages,
             {"layer": "configuration", "hypothesis": "H-OS-MEM", "rules": {"MEM-003": {}}, "also": ["os_kernel"]},
             {"symptom": {"text": "the host is short of memory"}, "host": {"role": "db"}}, {"host": {"role": "db"}}),
)  # fmt: skip
