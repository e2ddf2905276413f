"""Incident of a server that looks up the name of each caller, with a name server that answers such questions late."""

from __future__ import annotations

import time

from lab.incident import Incident
from lab.scene import Scene, needs

NAMES = """
    import socket, sys, time
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind(("127.0.0.53", 53))
    while True:
        q, who = s.recvfrom(512)
        time.sleep(float(sys.argv[1]))
        end = q.index(b"\\0", 12) + 5
        s.sendto(q[:2] + b"\\x81\\x83\\0\\1\\0\\0\\0\\0\\0\\0" + q[12:end], who)
"""

SERVER = """
    import socket
    s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); s.bind(("127.0.0.1", 15214)); s.listen(64)
    open("ready", "w").close()
    for _ in range(12):
        c, who = s.accept()
        try:
            name = socket.gethostbyaddr("192.0.2.7")[0]
        except OSError:
            name = who[0]
        c.recv(64); c.sendall(b"hello " + name.encode()); c.close()
"""

CLIENTS = """
    import os, socket, time
    while not os.path.exists("ready"):
        time.sleep(0.1)
    for _ in range(12):
        c = socket.create_connection(("127.0.0.1", 15214)); c.sendall(b"hi"); c.recv(64); c.close()
"""


def reverse_lookups(stage: Scene) -> None:
    needs("unshare")
    stage.start([*stage.script("names.py", NAMES), "0.25" if stage.bad else "0"])
    (stage.work / "resolv.conf").write_text("nameserver 127.0.0.53\n", encoding="ascii")
    (stage.work / "nsswitch.conf").write_text("hosts: files dns\n", encoding="ascii")
    time.sleep(0.5)
    stage.start(stage.script("clients.py", CLIENTS), cwd=stage.work)
    server = " ".join(stage.script("server.py", SERVER))
    mounts = " && ".join(f"mount --bind {stage.work}/{name} /etc/{name}" for name in ("resolv.conf", "nsswitch.conf"))
    inside = f"{mounts} && exec strace -f -ttt -T -o {stage.out}/strace.txt {server}"
    stage.start(["unshare", "-m", "sh", "-c", inside], cwd=stage.work).wait(timeout=50)


INCIDENTS = (
    Incident("reverse-lookups", "A server looks up each caller's name; the name server takes 0.25 s for it.", reverse_lookups,
             {"layer": "name_service", "hypothesis": "H-NSS", "rules": {"NSS-004": {}}, "also": ["configuration"]},
             {"symptom": {"text": "each hello", "unit": "s", "bad": 0.26, "normal": 0.005}}, {}),
)  # fmt: skip
