"""Incidents of limits: descriptors, processes, segments of shared memory."""

from __future__ import annotations

from lab.incident import Incident
from lab.scene import Scene, needs


def descriptors(stage: Scene) -> None:
    needs("prlimit")
    program = stage.script(
        "files.py",
        """
        import os
        held = []
        for _ in range(60):
            try:
                held.append(os.open("/etc/hosts", os.O_RDONLY))
            except OSError:
                pass
    """,
    )
    stage.traced("strace.txt", ["prlimit", f"--nofile={40 if stage.bad else 1024}", *program])


def processes(stage: Scene) -> None:
    needs("prlimit", "setpriv")
    program = stage.script(
        "forks.py",
        """
        import os, time
        children = []
        for _ in range(30):
            try:
                pid = os.fork()
            except OSError:
                continue
            if pid == 0:
                time.sleep(0.3); os._exit(0)
            children.append(pid)
        for pid in children:
            os.waitpid(pid, 0)
    """,
    )
    stage.work.chmod(0o755)
    as_nobody = ["setpriv", "--reuid=65534", "--clear-groups", "prlimit", f"--nproc={12 if stage.bad else 4000}"]
    stage.traced("strace.txt", [*as_nobody, *program])


def segments(stage: Scene) -> None:
    needs("unshare", "ipcs")
    program = stage.script(
        "segments.py",
        """
        import ctypes
        libc = ctypes.CDLL(None)
        for _ in range(40):
            libc.shmget(0, 4096, 0o1600)
    """,
    )
    most = 24 if stage.bad else 4096
    inside = f"echo {most} > /proc/sys/kernel/shmmni; {' '.join(program)}; ipcs -u; ipcs -l"
    stage.print("ipcs.txt", ["unshare", "--ipc", "sh", "-c", inside])


INCIDENTS = (
    Incident("descriptors-gone", "A program may open forty files and wants sixty.", descriptors,
             {"layer": "configuration", "hypothesis": "H-CFG", "rules": {"LIM-001": {}}, "also": ["client_app"]},
             {"symptom": {"text": "requests fail now and then"}}, {}),
    Incident("processes-gone", "A user may have twelve processes and wants thirty.", processes,
             {"layer": "configuration", "hypothesis": "H-CFG", "rules": {"LIM-002": {}}, "also": ["client_app"]},
             {"symptom": {"text": "jobs do not start"}}, {}),
    Incident("segments-gone", "The system allows 24 segments of shared memory and a program wants forty.", segments,
             {"layer": "configuration", "hypothesis": "H-CFG", "rules": {"USE-002": {}}, "also": ["client_app"]},
             {"symptom": {"text": "an instance does not start"}}, {}),
)  # fmt: skip
