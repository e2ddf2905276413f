"""Incident of a program that never frees its memory. It takes an hour, because a leak of minutes looks like a program
starting up.
"""

from __future__ import annotations

import time

from lab.incident import Incident
from lab.scene import Scene, needs

SAMPLES, EVERY_S = 13, 310.0

SERVER = """
    import collections, sys, time
    leaks = sys.argv[1] == "leaks"
    kept = collections.deque(maxlen=None if leaks else 200)
    end = time.monotonic() + float(sys.argv[2])
    for n in range(200):
        kept.append(bytes([n % 251]) * 40000)
    while time.monotonic() < end:
        kept.append(bytes([len(kept) % 251]) * 40000)
        time.sleep(2)
"""


def growth(stage: Scene) -> None:
    needs("ps")
    asked = str(SAMPLES * EVERY_S + 30)
    server = stage.start([*stage.script("server.py", SERVER), "leaks" if stage.bad else "forgets", asked])
    time.sleep(20)
    began = time.monotonic()
    for n in range(SAMPLES):
        time.sleep(max(0.0, began + n * EVERY_S - time.monotonic()))
        listing = f"date '+zzz ***%a %b %e %H:%M:%S %Z %Y'; ps -o pid,ppid,rss,vsz,args -p {server.pid}"
        stage.print("ps.txt", ["sh", "-c", listing])


INCIDENTS = (
    Incident("leak", "A server keeps every answer it gave, for an hour.", growth,
             {"layer": "client_app", "hypothesis": "H-OS-MEM", "rules": {"MEM-006": {}}, "also": ["os_kernel"]},
             {"symptom": {"text": "the server grows"}}, {}),
)  # fmt: skip
