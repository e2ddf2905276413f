"""Locks: a convoy on one word, one semaphore set for everybody, a lock file held across a wait."""

from __future__ import annotations

import time

from benchmarks.incidents.incident import Incident
from benchmarks.incidents.scene import Scene, needs


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
)  # fmt: skip
