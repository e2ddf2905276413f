"""Incident of a collector that reads datagrams more slowly than they arrive."""

from __future__ import annotations

import time

from lab.incident import Incident
from lab.scene import Scene, needs

COLLECTOR = """
    import socket, sys, time
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(("127.0.0.1", 8125))
    n, at, pause = 0, time.monotonic(), float(sys.argv[1])
    while True:
        s.recv(2048); n += 1
        if pause:
            time.sleep(pause)
"""

SENDERS = """
    import socket, time
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.connect(("127.0.0.1", 8125))
    until = time.monotonic() + 14
    while time.monotonic() < until:
        for _ in range(20):
            s.send(b"shop.orders.accepted:1|c|#region:west,host:web1")
        time.sleep(0.01)
"""


def datagrams_dropped(stage: Scene) -> None:
    needs("unshare", "ss", "nstat", "nsenter")
    host = stage.start(["unshare", "-n", "sh", "-c", "ip link set lo up; exec sleep 50"])
    time.sleep(0.5)

    def inside(argv: list[str]) -> list[str]:
        return ["nsenter", "-t", str(host.pid), "-n", *argv]

    stage.start(inside([*stage.script("collector.py", COLLECTOR), "0.004" if stage.bad else "0"]))
    time.sleep(0.5)
    stage.start(inside(stage.script("senders.py", SENDERS)))
    time.sleep(2.0)
    for _ in range(2):
        stage.print("ss.txt", inside(["ss", "-uanmp"]))
        stage.print("nstat.txt", inside(["nstat", "-az", "Udp*"]))
        time.sleep(5.0)
    stage.print("udp.txt", inside(["cat", "/proc/net/udp"]))


INCIDENTS = (
    Incident("datagrams-dropped", "A collector takes the datagrams of its socket more slowly than they come; the kernel drops the rest.", datagrams_dropped,
             {"layer": "client_app", "also": ["os_kernel", "configuration"], "mechanism": "socket-buffer-full"},
             {"symptom": {"text": "the counters of the shop are far too low"}}, {}),
)  # fmt: skip
