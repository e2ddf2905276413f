"""Incident of a program that has used up the number of mappings a process may have, while memory is free."""

from __future__ import annotations

import time

from lab.incident import Incident
from lab.scene import Scene, needs

INDEX = """
    import mmap, sys, time, threading
    held = []
    most = int(sys.argv[1])
    while len(held) < most:
        held.append(mmap.mmap(-1, 4096))
    print(f"{time.strftime('%Y-%m-%d %H:%M:%S')} INFO index: {len(held)} segments open", flush=True)
    time.sleep(3)
    for n in range(8):
        stamp = time.strftime("%Y-%m-%d %H:%M:%S")
        try:
            held += [mmap.mmap(-1, 4096) for _ in range(20)]
            t = threading.Thread(target=time.sleep, args=(0.1,)); t.start(); t.join()
            print(f"{stamp} INFO index: {len(held)} segments open, merge started", flush=True)
        except (OSError, RuntimeError) as error:
            print(f"{stamp} ERROR index: segment {len(held) + 1} cannot be opened: {error}", flush=True)
        time.sleep(0.7)
    time.sleep(4)
"""


def mappings_gone(stage: Scene) -> None:
    needs("strace", "sysctl", "free")
    made = stage.script("index.py", INDEX)
    log = stage.out / "index-log.txt"
    program = stage.start(["sh", "-c", f"exec {' '.join(made)} {65440 if stage.bad else 2000} > {log}"])
    for _ in range(100):
        time.sleep(0.1)
        if log.stat().st_size:
            break
    stage.attach("strace.txt", program.pid, 7.0)
    stage.print("maps.txt", ["wc", "-l", f"/proc/{program.pid}/maps"])
    stage.keep("status.txt", f"/proc/{program.pid}/status")
    stage.keep("limits.txt", f"/proc/{program.pid}/limits")
    stage.print("sysctl.txt", ["sysctl", "vm.max_map_count", "vm.overcommit_memory", "kernel.threads-max"])
    stage.print("free.txt", ["free", "-m"])


INCIDENTS = (
    Incident("mappings-gone", "A program has as many mappings as a process may have; the next one fails with memory free.", mappings_gone,
             {"layer": "configuration", "also": ["client_app"], "mechanism": "mapping-limit"},
             {"symptom": {"text": "the index says that it has no memory, the host has plenty"}}, {}),
)  # fmt: skip
