"""Incidents on one connection between two hosts, each side traced: the client waits, and the reason is in the other
trace.

The hosts are network namespaces joined by a veth pair (see `lines`). The slow disk is simulated by strace's own delay
on entry to the call, as in `storage`.
"""

from __future__ import annotations

import time

from lab.incident import Incident
from lab.lines import FAR, NEAR, hosts
from lab.scene import Scene, needs

TRACE = ("strace", "-f", "-yy", "-tt", "-T")
"""Trace command; it prints the addresses of both ends of a socket, by which the two traces are joined."""

ORDERS = """
    import os, socket, sys
    s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); s.bind(("192.0.2.2", 15210)); s.listen(8)
    log = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    while True:
        c, _ = s.accept()
        while question := c.recv(4096):
            os.write(log, question)
            os.fsync(log)
            c.sendall(b"stored %d\\n" % len(question))
        c.close()
"""

ASKS = """
    import socket
    c = socket.create_connection(("192.0.2.2", 15210))
    for n in range(12):
        c.sendall(b"order %d " % n + b"x" * (100 + 7 * n))
        c.recv(4096)
    c.close()
"""


def slow_answer(stage: Scene) -> None:
    needs("strace")
    line = hosts(stage)
    line.setup(line.near, f"ip link add line0 type veth peer name line0 netns {line.far}")
    for pid, address in ((line.near, NEAR), (line.far, FAR)):
        line.setup(pid, f"ip address add {address}/30 dev line0", "ip link set line0 up", "ip link set lo up")
    slow = ["-e", "inject=fsync:delay_enter=120000"] if stage.bad else []
    server = [*stage.script("orders.py", ORDERS), str(stage.work / "orders.log")]
    stage.start(line.inside(line.far, [*TRACE, *slow, "-o", str(stage.out / "server.txt"), *server]), cwd=stage.work)
    time.sleep(2.0)
    client = stage.script("asks.py", ASKS)
    asks = line.inside(line.near, [*TRACE, "-o", str(stage.out / "client.txt"), *client])
    stage.start(asks, cwd=stage.work).wait(timeout=30)
    time.sleep(0.5)


INCIDENTS = (
    Incident("slow-answer", "A client waits for answers behind a connection; the server writes each through to a slow disk.", slow_answer,
             {"layer": "storage", "hypothesis": "H-STORAGE", "rules": {"HOT-003": {"host": "db1", "tier": "corroborated"}}},
             {"symptom": {"text": "12 orders", "unit": "s", "bad": 1.6, "normal": 0.1}, "at": {"client.txt": "web1", "server.txt": "db1"}},
             {"at": {"client.txt": "web1", "server.txt": "db1"}}),
)  # fmt: skip
