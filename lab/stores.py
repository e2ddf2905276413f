"""Incident on a real Redis: a job searches all keys, and every other client waits meanwhile."""

from __future__ import annotations

import subprocess
import time

from lab.incident import Incident
from lab.scene import Scene, needs

CARTS = """
    import socket, sys, time
    c = socket.create_connection(("127.0.0.1", 16379)); c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    until = time.monotonic() + 10
    n = 0
    while time.monotonic() < until:
        n += 1
        began = time.monotonic()
        c.sendall(b"*2\\r\\n$3\\r\\nGET\\r\\n$9\\r\\ncart:%04d\\r\\n" % (n % 1000)); c.recv(4096)
        took = (time.monotonic() - began) * 1000
        if took > 20 or n % 50 == 0:
            stamp = time.strftime("%Y-%m-%d %H:%M:%S")
            print(f"{stamp} {'WARN' if took > 20 else 'INFO'} GET cart:{n % 1000:04d} took {took:.1f} ms", flush=True)
        time.sleep(0.02)
"""

CLEANER = """
    import socket, sys, time
    c = socket.create_connection(("127.0.0.1", 16379)); c.settimeout(30)
    for n in range(8):
        if sys.argv[1] == "keys":
            c.sendall(b"*2\\r\\n$4\\r\\nKEYS\\r\\n$13\\r\\nsession:old:*\\r\\n")
        else:
            c.sendall(b"*4\\r\\n$4\\r\\nSCAN\\r\\n$1\\r\\n0\\r\\n$5\\r\\nCOUNT\\r\\n$3\\r\\n100\\r\\n")
        c.recv(65536); time.sleep(1)
"""


def keys_of_a_store(stage: Scene) -> None:
    needs("redis-server", "redis-cli")
    server = ["redis-server", "--port", "16379", "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
    stage.start(
        [*server, "--dir", str(stage.work), "--latency-monitor-threshold", "20", "--enable-debug-command", "local"]
    )
    time.sleep(1.0)
    ask = ["redis-cli", "--no-raw", "-p", "16379"]
    subprocess.run([*ask, "debug", "populate", "600000", "session"], check=True, timeout=40, capture_output=True)
    subprocess.run([*ask, "config", "resetstat"], check=True, timeout=10, capture_output=True)
    subprocess.run([*ask, "slowlog", "reset"], check=True, timeout=10, capture_output=True)
    subprocess.run([*ask, "latency", "reset"], check=True, timeout=10, capture_output=True)
    with (stage.out / "cart-log.txt").open("wb") as into:
        carts = subprocess.Popen(stage.script("carts.py", CARTS), stdout=into, stderr=subprocess.DEVNULL)
        time.sleep(0.5)
        stage.start([*stage.script("cleaner.py", CLEANER), "keys" if stage.bad else "scan"])
        carts.wait(timeout=30)
    stage.print("slowlog.txt", [*ask, "slowlog", "get", "5"])
    stage.print("latency.txt", [*ask, "latency", "latest"])
    stage.print("commandstats.txt", [*ask, "info", "commandstats"])
    for section in ("memory", "stats", "keyspace"):
        stage.print("info.txt", [*ask, "info", section])


INCIDENTS = (
    Incident("keys-of-a-store", "A job asks Redis for all keys of a pattern once a second, a million keys are looked at each time.", keys_of_a_store,
             {"layer": "database", "also": ["client_app"], "mechanism": "full-scan"},
             {"symptom": {"text": "some carts take more than 100 ms to open"}}, {}),
)  # fmt: skip
