"""Incidents of the name service: a resolver that does not answer, and a directory that answers slowly."""

from __future__ import annotations

import time

from lab.incident import Incident
from lab.scene import Scene, needs

RESOLVER = """
    import socket, sys
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind(("127.0.0.53", 53))
    while True:
        q, who = s.recvfrom(512)
        if sys.argv[1] == "dead":
            continue
        end = q.index(b"\\0", 12) + 5
        a = q[:2] + b"\\x81\\x80\\0\\1\\0\\1\\0\\0\\0\\0" + q[12:end]
        a += b"\\xc0\\x0c\\0\\1\\0\\1\\0\\0\\0\\x3c\\0\\4\\x7f\\0\\0\\1" if q[end-4:end-2] == b"\\0\\1" else b""
        s.sendto(a if q[end-4:end-2] == b"\\0\\1" else q[:2] + b"\\x81\\x80\\0\\1\\0\\0\\0\\0\\0\\0" + q[12:end], who)
"""

DIRECTORY = """
    import socket, sys, time, threading
    s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind(("127.0.0.1", 389)); s.listen(8)
    def serve(c):
        while c.recv(4096):
            time.sleep(float(sys.argv[1])); c.sendall(b"0\\x0c\\x02\\x01\\x01a\\x07\\n\\x01\\x00\\x04\\x00\\x04\\x00")
    while True:
        c, _ = s.accept(); threading.Thread(target=serve, args=(c,), daemon=True).start()
"""

LOOKUPS = """
    import socket
    for user in ("ada", "grace", "edsger", "barbara", "donald", "niklaus"):
        c = socket.create_connection(("127.0.0.1", 389)); c.sendall(b"0\\x0c\\x02\\x01\\x01`\\x07" + user.encode()); c.recv(4096); c.close()
    sum(range(200000))
"""


def dead_resolver(stage: Scene) -> None:
    needs("unshare", "getent")
    stage.start([*stage.script("resolver.py", RESOLVER), "dead" if stage.bad else "alive"])
    (stage.work / "resolv.conf").write_text("nameserver 127.0.0.53\n", encoding="ascii")
    time.sleep(0.5)
    inside = f"mount --bind {stage.work}/resolv.conf /etc/resolv.conf && exec strace -f -ttt -T -o {stage.out}/strace.txt getent ahostsv4 db.example.test"
    stage.start(["unshare", "-m", "sh", "-c", inside]).wait(timeout=50)
    stage.keep("resolv.txt", str(stage.work / "resolv.conf"))


def slow_directory(stage: Scene) -> None:
    stage.start([*stage.script("directory.py", DIRECTORY), "0.3" if stage.bad else "0"])
    time.sleep(0.5)
    stage.traced("strace.txt", stage.script("lookups.py", LOOKUPS))


INCIDENTS = (
    Incident("dead-resolver", "The only name server of resolv.conf never answers.", dead_resolver,
             {"layer": "name_service", "hypothesis": "H-NSS", "rules": {"NSS-002": {}}},
             {"symptom": {"text": "looking up the database host", "unit": "s", "bad": 10.0, "normal": 0.05}}, {}),
    Incident("slow-directory", "An LDAP server answers each look-up after 0.3 s.", slow_directory,
             {"layer": "name_service", "hypothesis": "H-NSS", "rules": {"NSS-003": {}}},
             {"symptom": {"text": "the report", "unit": "s", "bad": 2.0, "normal": 0.2}}, {}),
)  # fmt: skip
