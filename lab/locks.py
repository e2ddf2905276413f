"""Incidents of locks: a convoy on one futex, one shared semaphore set, a lock file held during a wait, an address space
lock.
"""

from __future__ import annotations

import subprocess
import time

from lab.incident import Incident
from lab.scene import LONGEST_S, Missing, Scene, needs


def futex_convoy(stage: Scene) -> None:
    program = stage.script(
        "convoy.py",
        """
        import sys, threading, time
        lock = threading.Lock()
        def work():
            for _ in range(25):
                if sys.argv[1] == "one":
                    with lock:
                        time.sleep(0.005)
                else:
                    with threading.Lock():
                        time.sleep(0.005)
        threads = [threading.Thread(target=work) for _ in range(8)]
        [t.start() for t in threads]; [t.join() for t in threads]
    """,
    )
    stage.traced("strace.txt", [*program, "one" if stage.bad else "own"])


SEMAPHORES = """
    import ctypes, os, sys, time
    libc = ctypes.CDLL(None, use_errno=True)
    class op(ctypes.Structure):
        _fields_ = [("num", ctypes.c_ushort), ("op", ctypes.c_short), ("flg", ctypes.c_short)]
    workers = int(sys.argv[1])
    set_id = libc.semget(0, 64, 0o600)
    libc.semctl(set_id, 0, 16, 1)
    for n in range(workers):
        if os.fork() == 0:
            for turn in range(40):
                o = op((n * 7 + turn) % 64, 1, 0)
                libc.semop(set_id, ctypes.byref(o), 1)
            os._exit(0)
    for _ in range(workers):
        os.wait()
    libc.semctl(set_id, 0, 0, 0)
"""


def one_set(stage: Scene) -> None:
    needs("ipcs")
    program = stage.script("semaphores.py", SEMAPHORES)
    stage.traced("strace.txt", [*program, "12" if stage.bad else "1"])
    stage.print("ipcs.txt", ["ipcs", "-s"])


def lock_file(stage: Scene) -> None:
    holder = stage.script(
        "holder.py",
        """
        import fcntl, sys, time
        f = open(sys.argv[1], "w"); fcntl.flock(f, fcntl.LOCK_EX)
        time.sleep(float(sys.argv[2]))
    """,
    )
    other = stage.script(
        "other.py",
        """
        import fcntl, sys
        f = open(sys.argv[1], "w"); fcntl.flock(f, fcntl.LOCK_EX); f.write("mine")
    """,
    )
    path = str(stage.work / "app.lock")
    stage.start([*holder, path, "3.0" if stage.bad else "0"])
    time.sleep(0.5)
    stage.traced("strace.txt", [*other, path])


MAPS = """
    import ctypes, sys, threading, time
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    libc.memset.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t]
    LARGE, SMALL, FILLED, EMPTY = 64 << 20, 65536, 0x8022, 0x22
    until = time.monotonic() + 12
    def fills():
        area = libc.mmap(None, LARGE, 3, FILLED, -1, 0)
        while time.monotonic() < until:
            if sys.argv[1] == "anew":
                libc.munmap(area, LARGE); area = libc.mmap(None, LARGE, 3, FILLED, -1, 0)
            else:
                libc.memset(area, 1, LARGE)
    def works():
        while time.monotonic() < until:
            libc.munmap(libc.mmap(None, SMALL, 3, EMPTY, -1, 0), SMALL); time.sleep(0.001)
    for target in (fills, works, works, works, works):
        threading.Thread(target=target).start()
"""


def address_space(stage: Scene) -> None:
    """Let the kernel fill 64 MB for one thread repeatedly; four others map a little memory each millisecond."""
    needs("perf")
    stage.start([*stage.script("maps.py", MAPS), "anew" if stage.bad else "once"])
    time.sleep(1.0)
    taken = str(stage.work / "perf.data")
    done = subprocess.run(
        ["perf", "lock", "record", "-a", "-o", taken, "--", "sleep", "5"],
        capture_output=True,
        check=False,
        timeout=LONGEST_S,
    )
    if done.returncode:
        raise Missing("perf lock record")
    # Up to version 6.3 perf prints this table to stderr.
    stage.print("perf-lock.txt", ["sh", "-c", f"exec perf lock contention -i {taken} --stack-skip 2 2>&1"])
    stage.said["interval"] = {"perf-lock.txt": 5}


INCIDENTS = (
    Incident("futex-convoy", "Eight threads queue for one lock that is held across a sleep.", futex_convoy,
             {"layer": "client_app", "hypothesis": "H-CLIENT", "rules": {"CPU-011": {}}},
             {"symptom": {"text": "the run", "unit": "s", "bad": 1.2, "normal": 0.2}}, {}),
    Incident("semaphore-set", "Twelve processes post to one semaphore set.", one_set,
             {"layer": "os_kernel", "hypothesis": "H-OS-SEM", "rules": {"SEM-001": {}}, "also": ["configuration"]},
             {"symptom": {"text": "processors busy in the kernel"}}, {}),
    Incident("lock-file", "Another program holds the lock file for three seconds.", lock_file,
             {"layer": "client_app", "hypothesis": "H-CLIENT", "rules": {"HOT-001": {}}},
             {"symptom": {"text": "the start of the job", "unit": "s", "bad": 2.6, "normal": 0.1}}, {}),
    Incident("address-space", "Threads wait for the lock of their address space while the kernel fills memory for another.", address_space,
             {"layer": "os_kernel", "hypothesis": "H-OS-LOCK", "rules": {"KRN-004": {}}, "also": ["client_app"]},
             {"symptom": {"text": "threads of a program hardly get on"}}, {}),
)  # fmt: skip
