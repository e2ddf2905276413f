"""Incidents of memory: many shared segments to detach, a large parent that forks, a control group that is too small."""

from __future__ import annotations

import os
import time

from lab.incident import Incident
from lab.scene import Scene, control_group

SEGMENTS = """
    import ctypes, sys, mmap
    libc = ctypes.CDLL(None, use_errno=True)
    libc.shmat.restype = ctypes.c_void_p; libc.shmdt.argtypes = [ctypes.c_void_p]
    n, size = int(sys.argv[1]), int(sys.argv[2])
    at = []
    for _ in range(n):
        i = libc.shmget(0, size, 0o600); a = libc.shmat(i, None, 0); libc.shmctl(i, 0, None)
        ctypes.memset(a, 1, size); at.append(a)
    for a in at:
        libc.shmdt(a)
"""


def segments(stage: Scene) -> None:
    stage.traced(
        "strace.txt", [*stage.script("segments.py", SEGMENTS), *(("24", "67108864") if stage.bad else ("1", "1048576"))]
    )


def fat_fork(stage: Scene) -> None:
    program = stage.script(
        "parent.py",
        """
        import os, sys
        ballast = bytearray(b"x") * (int(sys.argv[1]) << 20)
        for _ in range(20):
            pid = os.fork()
            if pid == 0:
                os._exit(0)
            os.waitpid(pid, 0)
    """,
    )
    began = time.monotonic()
    stage.traced("strace.txt", [*program, "1500" if stage.bad else "2"])
    took = round(time.monotonic() - began, 1)
    if stage.bad:
        stage.said["symptom"] = {"text": "the job", "unit": "s", "bad": took, "normal": 0.1}


def small_group(stage: Scene) -> None:
    with control_group("memory", "memory.limit_in_bytes", "67108864" if stage.bad else "-1") as group:
        data = stage.work / "big.dat"
        with data.open("wb") as file:
            file.write(b"\0" * (192 << 20))
            os.fsync(file.fileno())
            # Whoever reads a page first is charged for it: the pages must not be charged to the writer.
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        program = stage.script(
            "reader.py",
            """
            import mmap, sys, time, os
            open(sys.argv[2], "w").write(str(os.getpid()))
            f = open(sys.argv[1], "rb"); m = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)
            end = time.monotonic() + 14
            total = 0
            while time.monotonic() < end:
                for n in range(0, len(m), 4096):
                    total += m[n]
                time.sleep(0.2)
        """,
        )
        tasks = f"echo $$ > {group}/cgroup.procs; exec {' '.join(program)} {data} {stage.work}/pid"
        stage.start(["sh", "-c", tasks])
        time.sleep(2)
        stage.print("meminfo.txt", ["cat", "/proc/meminfo"])
        files = [str(group / f"memory.{name}") for name in ("limit_in_bytes", "usage_in_bytes", "failcnt", "stat")]
        for _ in range(2):
            stage.print("cgroup.txt", ["grep", "-H", "", *files])
            time.sleep(6)
        stage.end()


INCIDENTS = (
    Incident("many-segments", "A process detaches 24 shared segments of 64 MiB.", segments,
             {"layer": "os_kernel", "hypothesis": "H-OS-SHM", "rules": {"SHM-003": {}}, "also": ["configuration"]},
             {"statements": [{"name": "sessions", "num": 500, "text": "500 sessions end together", "author": "DBA"}], "host": {"ncpu": 2}}, {}),
    Incident("fat-parent", "A parent of 1.5 GB forks twenty times.", fat_fork,
             {"layer": "os_kernel", "rules": {"HOT-001": {}}, "also": ["client_app"]},
             {"symptom": {"text": "the job", "unit": "s", "bad": 1.5, "normal": 0.1}}, {}),
    Incident("small-group", "A program reads 192 MB again and again in a control group of 64 MB.", small_group,
             {"layer": "os_kernel", "hypothesis": "H-OS-MEM", "rules": {}, "also": ["configuration", "storage"]},
             {"symptom": {"text": "the program is slow"}}, {}),
)  # fmt: skip
