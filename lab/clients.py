"""Incidents on the caller's host: it lacks processors or memory.

Swapping happens in a control group of its own (version 1), into a file that is switched off afterwards.
"""

from __future__ import annotations

import contextlib
import subprocess
import time
from collections.abc import Iterator

from lab.incident import Incident
from lab.scene import PYTHON, Missing, Scene, control_group, needs

CALLER = """
    import time
    while True:
        began = time.monotonic(); n = 0
        while time.monotonic() - began < 0.6:
            n += 1
        time.sleep(0.05)
"""

BURNER = "while True: pass"


def caller_queues(stage: Scene) -> None:
    """Run the caller's program beside twelve others on two processors.

    The twin's program sleeps between two requests. Only pidstat records it, because vmstat would show all programs of
    this machine.
    """
    needs("vmstat", "pidstat", "lscpu")
    caller = stage.start(stage.script("caller.py", CALLER if stage.bad else "import time\nwhile True: time.sleep(0.1)"))
    for _ in range(12 if stage.bad else 0):
        stage.start([PYTHON, "-S", "-c", BURNER])
    time.sleep(2)
    stage.watch("pidstat.txt", ["pidstat", "-u", "-p", str(caller.pid), "2", "5"])
    if stage.bad:
        stage.print("lscpu.txt", ["lscpu"])
        stage.watch("vmstat.txt", ["vmstat", "-w", "2", "6"])
    stage.finish()


@contextlib.contextmanager
def swap_file(stage: Scene, mib: int) -> Iterator[None]:
    needs("mkswap", "swapon", "swapoff")
    file = stage.work / "swap"
    for line in (
        ["dd", "if=/dev/zero", f"of={file}", "bs=1M", f"count={mib}", "status=none"],
        ["chmod", "600", str(file)],
        ["mkswap", str(file)],
    ):
        subprocess.run(line, check=True, capture_output=True, timeout=30)
    if subprocess.run(["swapon", str(file)], capture_output=True, check=False, timeout=10).returncode:
        raise Missing("no swap file may be used")
    try:
        yield
    finally:
        stage.end()
        subprocess.run(["swapoff", str(file)], check=False, timeout=50)


def caller_swaps(stage: Scene) -> None:
    """Let the caller's program use 150 MiB repeatedly; its host gives it 64 or, in the twin, 400."""
    needs("vmstat")
    program = stage.script(
        "table.py",
        """
        import time
        table = bytearray(150 << 20)
        while True:
            for n in range(0, len(table), 4096):
                table[n] = 1
            time.sleep(0.05)
    """,
    )
    with (
        swap_file(stage, 200),
        control_group("memory", "memory.limit_in_bytes", str((64 if stage.bad else 400) << 20)) as group,
    ):
        stage.start(["sh", "-c", f"echo $$ > {group}/cgroup.procs; exec {' '.join(program)}"])
        time.sleep(4)
        stage.watch("vmstat.txt", ["vmstat", "-w", "1", "9"])
        stage.finish()
        stage.end()


INCIDENTS = (
    Incident("caller-queues", "The caller's program waits for a processor of its own host.", caller_queues,
             {"layer": "client_host", "hypothesis": "H-CLIENT", "rules": {"CLH-001": {}, "CLH-003": {}}},
             {"symptom": {"text": "the program is slow"}, "host": {"role": "client"}}, {"host": {"role": "client"}}, calm=True),
    Incident("caller-swaps", "The caller's program waits for its memory.", caller_swaps,
             {"layer": "client_host", "hypothesis": "H-CLIENT", "rules": {"CLH-002": {}, "MEM-002": {}},
              "also": ["configuration", "os_kernel"]},
             {"symptom": {"text": "the program is slow"}, "host": {"role": "client"}}, {"host": {"role": "client"}}),
)  # fmt: skip
