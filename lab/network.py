"""Incidents of connections: a full accept queue, small writes, a receiver that does not read, no free ports."""

from __future__ import annotations

import time

from lab.incident import Incident
from lab.scene import Scene, needs

SERVER = """
    import socket, sys, time, threading
    s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind(("127.0.0.1", 15210)); s.listen(4)
    def serve(c):
        while c.recv(64):
            c.sendall(b"ok")
        c.close()
    if sys.argv[1] == "stuck":
        time.sleep(60)
    while True:
        c, _ = s.accept(); threading.Thread(target=serve, args=(c,), daemon=True).start()
"""

CONNECTS = """
    import socket, time, threading
    lines = []
    def one(n):
        began = time.monotonic()
        try:
            c = socket.create_connection(("127.0.0.1", 15210), timeout=20); c.close()
        except OSError:
            return
        lines.append((n, time.monotonic() - began))
    for n in range(30):
        one(n) if n % 3 else threading.Thread(target=one, args=(n,)).start()
        time.sleep(0.02)
"""


def accept_queue(stage: Scene) -> None:
    needs("ss", "nstat")
    stage.start([*stage.script("server.py", SERVER), "stuck" if stage.bad else "serves"])
    time.sleep(0.5)
    stage.print("nstat.txt", ["nstat", "-az"])
    clients = stage.script(
        "clients.py",
        """
        import socket, time
        held = []
        for _ in range(24):
            c = socket.socket(); c.setblocking(False)
            try:
                c.connect(("127.0.0.1", 15210))
            except BlockingIOError:
                pass
            held.append(c); time.sleep(0.05)
        time.sleep(8)
    """,
    )
    stage.start(clients)
    time.sleep(4)
    stage.print("ss.txt", ["ss", "-ltn"])
    time.sleep(2)
    stage.print("nstat.txt", ["nstat", "-az"])


def small_writes(stage: Scene) -> None:
    stage.start(
        stage.script(
            "echo.py",
            """
        import socket, threading
        s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); s.bind(("127.0.0.1", 15211)); s.listen(4)
        def serve(c):
            got = b""
            while True:
                piece = c.recv(4096)
                if not piece:
                    return
                got += piece
                if len(got) >= 20:
                    c.sendall(b"answer"); got = b""
        while True:
            c, _ = s.accept(); threading.Thread(target=serve, args=(c,), daemon=True).start()
    """,
        )
    )
    time.sleep(0.5)
    client = stage.script(
        "client.py",
        """
        import socket, sys
        c = socket.create_connection(("127.0.0.1", 15211))
        if sys.argv[1] == "nodelay":
            c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in range(60):
            c.sendall(b"header....")
            c.sendall(b"body......")
            c.recv(64)
    """,
    )
    stage.traced("strace.txt", [*client, "delayed" if stage.bad else "nodelay"])


def deaf_receiver(stage: Scene) -> None:
    needs("ss")
    stage.start(
        [
            *stage.script(
                "receiver.py",
                """
        import socket, sys, time
        s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); s.bind(("127.0.0.1", 15212)); s.listen(1)
        c, _ = s.accept()
        while True:
            if sys.argv[1] == "deaf":
                time.sleep(1.0)
            if not c.recv(65536):
                break
    """,
            ),
            "deaf" if stage.bad else "reads",
        ]
    )
    time.sleep(0.5)
    sender = stage.script(
        "sender.py",
        """
        import socket
        c = socket.create_connection(("127.0.0.1", 15212))
        for _ in range(120):
            c.sendall(b"x" * 65536)
    """,
    )
    stage.watch("ss.txt", ["sh", "-c", "sleep 3; ss -tn 'sport = :15212 or dport = :15212'"])
    stage.traced("strace.txt", ["timeout", "12", *sender])
    stage.finish()


def ports_gone(stage: Scene) -> None:
    needs("unshare", "ip")
    client = stage.script(
        "ports.py",
        """
        import socket, threading, time
        s = socket.socket(); s.bind(("127.0.0.1", 15213)); s.listen(200)
        def take():
            while True:
                held.append(s.accept())
        held = []; threading.Thread(target=take, daemon=True).start()
        mine = []
        for _ in range(40):
            try:
                mine.append(socket.create_connection(("127.0.0.1", 15213)))
            except OSError:
                pass
            time.sleep(0.005)
    """,
    )
    ports = "40000 40019" if stage.bad else "32768 60999"
    inside = f"ip link set lo up; echo '{ports}' > /proc/sys/net/ipv4/ip_local_port_range; exec strace -f -ttt -T -o {stage.out}/strace.txt {' '.join(client)}"
    stage.start(["unshare", "-n", "sh", "-c", inside]).wait(timeout=30)


LADDER = """
    import socket, sys, time
    slow = sys.argv[1] == "slow"
    s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); s.bind(("127.0.0.1", 15210)); s.listen(0 if slow else 64)
    while True:
        c, _ = s.accept(); c.close()
        time.sleep(0.25 if slow else 0)
"""


def syn_ladder(stage: Scene) -> None:
    server = stage.script("server.py", LADDER)
    stage.start([*server, "slow" if stage.bad else "quick"])
    time.sleep(0.5)
    stage.print("nstat.txt", ["nstat", "-az"])
    times = stage.work / "connect.txt"
    clients = stage.script(
        "clients.py",
        f"""
        import socket, threading, time
        times = {{}}
        def one(n):
            began = time.monotonic()
            socket.create_connection(("127.0.0.1", 15210), timeout=30).close()
            times[n] = time.monotonic() - began
        threads = []
        for n in range(40):
            t = threading.Thread(target=one, args=(n,)); t.start(); threads.append(t)
            time.sleep(0.01 if n % 8 < 3 else 0.6)
        for t in threads:
            t.join()
        open({str(times)!r}, "w").write("".join(f"time elapsed : {{times[n]:.3f}}\\n" for n in sorted(times)))
    """,
    )
    stage.start(clients).wait(timeout=55)
    stage.print("nstat.txt", ["nstat", "-az"])
    stage.keep("connect.txt", str(times))


INCIDENTS = (
    Incident("accept-queue-full", "A server stops accepting; its queue of four is full.", accept_queue,
             {"layer": "listener", "hypothesis": "H-LISTENER", "rules": {"LSN-012": {}}, "also": ["configuration"]},
             {"symptom": {"text": "connecting hangs"}}, {}),
    Incident("small-writes", "A client writes its question in two pieces without TCP_NODELAY.", small_writes,
             {"layer": "client_app", "hypothesis": "H-CLIENT", "rules": {"NET-007": {}}, "also": ["configuration"]},
             {"symptom": {"text": "60 questions", "unit": "s", "bad": 2.6, "normal": 0.1}}, {}),
    Incident("deaf-receiver", "The receiver of a transfer reads once a second.", deaf_receiver,
             {"layer": "client_app", "rules": {}, "also": ["network", "client_host", "listener"]},
             {"symptom": {"text": "the transfer is slow"}}, {}),
    Incident("ports-gone", "Twenty local ports for forty connections.", ports_gone,
             {"layer": "configuration", "hypothesis": "H-CFG", "rules": {}, "also": ["client_app"]},
             {"symptom": {"text": "some connects fail"}}, {}),
    Incident("syn-ladder", "A backlog of one: connects come back after one and three seconds.", syn_ladder,
             {"layer": "listener", "rules": {"NET-004": {}, "LSN-012": {}}, "also": ["network", "configuration"]},
             {"symptom": {"text": "connect time", "unit": "s", "bad": 3.0, "normal": 0.01}}, {}),
)  # fmt: skip
