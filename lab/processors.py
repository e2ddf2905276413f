"""Incidents of processors: CPU hogs, a flooded run queue, endless forks, a quota, signals."""

from __future__ import annotations

import os
import time

from lab.incident import Incident
from lab.scene import Missing, Scene, control_group, needs

BURN = """
    import time, sys
    end = time.monotonic() + float(sys.argv[1])
    while time.monotonic() < end:
        sum(range(10000))
"""


def _counters(stage: Scene, seconds: int = 8) -> None:
    needs("vmstat")
    stage.print("lscpu.txt", ["lscpu"])
    stage.watch("vmstat.txt", ["vmstat", "-w", "1", str(seconds + 1)])


def _own_processes(stage: Scene) -> None:
    """List the processes of the scene, and nothing else that runs on this machine."""
    stage.print("ps.txt", ["ps", "-o", "pid,ppid,user,stat,pcpu,pmem,etimes,nlwp,comm", "--ppid", str(os.getpid())])


def cpu_hog(stage: Scene) -> None:
    burn = stage.script("burn.py", BURN)
    for _ in range(8 if stage.bad else 0):
        stage.start([*burn, "14"])
    time.sleep(1.5)
    _counters(stage)
    time.sleep(4)
    _own_processes(stage)
    stage.finish()


def stalled(stage: Scene) -> None:
    """Run for longer than a minute, because the pressure shares cover the last minute, which must be this run only."""
    files = [f"/proc/pressure/{name}" for name in ("cpu", "io", "memory")]
    if not os.access(files[0], os.R_OK):
        raise Missing("no /proc/pressure")
    burn = stage.script("burn.py", BURN)
    for _ in range(8 if stage.bad else 0):
        stage.start([*burn, "90"])
    time.sleep(75 if stage.bad else 240)
    stage.print("lscpu.txt", ["lscpu"])
    stage.print("pressure.txt", ["head", "-99", *files])


def run_queue_flood(stage: Scene) -> None:
    flood = stage.script(
        "flood.py",
        """
        import multiprocessing, time, sys
        def work(end):
            while time.monotonic() < end:
                sum(range(100000)); time.sleep(0.0005)
        n, seconds = int(sys.argv[1]), float(sys.argv[2])
        end = time.monotonic() + seconds
        for _ in range(n):
            multiprocessing.Process(target=work, args=(end,)).start()
    """,
    )
    parent = stage.start([*flood, "60", "16"] if stage.bad else ["sleep", "16"])
    time.sleep(2)
    _counters(stage)
    time.sleep(4)
    own = str(parent.pid)
    stage.print("ps.txt", ["ps", "-o", "pid,ppid,user,stat,pcpu,pmem,etimes,nlwp,comm", "-p", own, "--ppid", own])
    stage.finish()


def fork_storm(stage: Scene) -> None:
    for _ in range(4 if stage.bad else 0):
        stage.start(["sh", "-c", "while :; do /bin/true; done"])
    time.sleep(1)
    stage.print("vmstat-s.txt", ["vmstat", "-s"])
    _counters(stage)
    stage.finish()
    stage.print("vmstat-s.txt", ["vmstat", "-s"])
    _own_processes(stage)


def quota(stage: Scene) -> None:
    with control_group("cpu", "cpu.cfs_quota_us", "20000" if stage.bad else "-1") as group:
        burn = stage.script("burn.py", BURN)
        process = stage.start([*burn, "12"] if stage.bad else ["sleep", "12"])
        (group / "cgroup.procs").write_text(str(process.pid), encoding="ascii")
        time.sleep(1)
        for _ in range(3):
            stage.print(
                "cgroup.txt",
                [
                    "grep",
                    "-H",
                    "",
                    str(group / "cpu.stat"),
                    str(group / "cpu.cfs_quota_us"),
                    str(group / "cpu.cfs_period_us"),
                ],
            )
            time.sleep(2)
        stage.end()


def signal_storm(stage: Scene) -> None:
    program = stage.script(
        "alarms.py",
        """
        import signal, sys, time
        hits = 0
        def hit(*_):
            global hits
            hits += 1
        signal.signal(signal.SIGALRM, hit)
        every = float(sys.argv[1])
        signal.setitimer(signal.ITIMER_REAL, every, every)
        end = time.monotonic() + 2.0
        while time.monotonic() < end:
            time.sleep(0.05)
    """,
    )
    stage.traced("strace.txt", [*program, "0.001" if stage.bad else "0.5"])


INCIDENTS = (
    Incident("cpu-hog", "Eight programs compute on a machine of few processors.", cpu_hog,
             {"layer": "os_kernel", "hypothesis": "H-OS-CPU", "rules": {"CPU-001": {}}, "also": ["client_app"]},
             {"symptom": {"text": "everything on the machine is slow"}}, {}, calm=True),
    Incident("stalled-tasks", "Eight programs want a machine of few processors for longer than a minute.", stalled,
             {"layer": "os_kernel", "hypothesis": "H-OS-CPU", "rules": {"USE-001": {}}, "also": ["client_app"]},
             {"symptom": {"text": "everything on the machine is slow"}}, {}, calm=True),
    Incident("run-queue-flood", "Sixty short-lived bursts fight for the processors.", run_queue_flood,
             {"layer": "os_kernel", "hypothesis": "H-OS-CPU", "rules": {"CPU-001": {}}, "also": ["client_app"]},
             {"symptom": {"text": "everything on the machine is slow"}}, {}, calm=True),
    Incident("fork-storm", "Four shell loops start /bin/true without end.", fork_storm,
             {"layer": "client_app", "hypothesis": "H-FORK-STORM", "rules": {"CPU-006": {}}, "also": ["os_kernel", "configuration"]},
             {"symptom": {"text": "the machine is busy and nobody knows with what"}}, {}, calm=True),
    Incident("cpu-quota", "A program is held at a fifth of a processor by its control group.", quota,
             {"layer": "os_kernel", "hypothesis": "H-OS-CPU", "rules": {}, "also": ["configuration"]},
             {"symptom": {"text": "the program takes five times as long as before"}}, {}),
    Incident("signal-storm", "A timer sends a program a thousand signals a second.", signal_storm,
             {"layer": "client_app", "hypothesis": "H-CLIENT", "rules": {"CPU-012": {}}},
             {"symptom": {"text": "the program is slow"}}, {}),
)  # fmt: skip
