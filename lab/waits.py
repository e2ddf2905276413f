"""Incident of a program that waits for another one by polling."""

from __future__ import annotations

import time

from lab.incident import Incident
from lab.scene import Scene

HOLDER = """
    import os, sys, time
    fd = os.open(sys.argv[1], os.O_CREAT | os.O_EXCL | os.O_WRONLY)
    os.write(fd, str(os.getpid()).encode()); os.close(fd)
    time.sleep(float(sys.argv[2]))
    os.unlink(sys.argv[1])
"""

LOOKS = """
    import os, sys, time
    while True:
        try:
            fd = os.open(sys.argv[1], os.O_CREAT | os.O_EXCL | os.O_WRONLY)
            break
        except FileExistsError:
            time.sleep(0.25)
    os.write(fd, str(os.getpid()).encode()); os.close(fd)
    sum(range(200000))
    os.unlink(sys.argv[1])
"""


def lock_poll(stage: Scene) -> None:
    lock = str(stage.work / "batch.lck")
    stage.start([*stage.script("holder.py", HOLDER), lock, "4" if stage.bad else "0"])
    time.sleep(1.0)
    stage.traced("strace.txt", [*stage.script("batch.py", LOOKS), lock])


INCIDENTS = (
    Incident("lock-poll", "A batch looks four times a second whether another one's lock file is gone.", lock_poll,
             {"layer": "client_app", "hypothesis": "H-CLIENT", "rules": {"APP-004": {}}},
             {"symptom": {"text": "one run of the batch", "unit": "s", "bad": 3.2, "normal": 0.2}}, {}),
)  # fmt: skip
