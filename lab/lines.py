"""Incidents on the network line between two hosts: loss, distance, a flooded interface, a full connection table.

The hosts are network namespaces of their own, joined by a veth pair or by a relay that delays each packet; nothing
leaves them. The addresses are reserved for documentation.
"""

from __future__ import annotations

import contextlib
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from lab.incident import Incident
from lab.scene import Scene, needs

NEAR, FAR = "192.0.2.1", "192.0.2.2"

SERVER = """
    import socket, threading
    s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); s.bind(("192.0.2.2", 15210)); s.listen(512)
    def serve(c):
        try:
            while c.recv(65536):
                c.sendall(b"a" * 400)
        except OSError:
            pass
    while True:
        c, _ = s.accept(); threading.Thread(target=serve, args=(c,), daemon=True).start()
"""

ASKS = """
    import socket, sys
    c = socket.create_connection(("192.0.2.2", 15210)); c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for _ in range(int(sys.argv[1])):
        c.sendall(b"q" * 200); c.recv(65536)
    c.close()
"""

RELAY = """
    import collections, ctypes, fcntl, os, select, struct, sys, time
    libc = ctypes.CDLL(None, use_errno=True)
    def end(pid):
        if libc.setns(os.open(f"/proc/{pid}/ns/net", os.O_RDONLY), 0):
            raise OSError(ctypes.get_errno())
        fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(fd, 0x400454CA, struct.pack("16sH", b"line0", 0x1001))
        return fd
    a, b = end(sys.argv[1]), end(sys.argv[2])
    delay, held = float(sys.argv[3]), collections.deque()
    while True:
        ready, _, _ = select.select([a, b], [], [], max(0, held[0][0] - time.monotonic()) if held else 1)
        for fd in ready:
            held.append((time.monotonic() + delay, b if fd == a else a, os.read(fd, 65536)))
        while held and held[0][0] <= time.monotonic():
            _, to, packet = held.popleft()
            try:
                os.write(to, packet)
            except OSError:
                pass
"""


@dataclass(frozen=True)
class Line:
    """Two network namespaces, each given by the process that keeps it open."""

    near: int
    far: int

    @staticmethod
    def inside(pid: int, argv: Sequence[str]) -> list[str]:
        return ["nsenter", "-t", str(pid), "-n", *argv]

    def setup(self, pid: int, *lines: str) -> None:
        subprocess.run(self.inside(pid, ["sh", "-ec", "\n".join(lines)]), check=True, timeout=20)


def hosts(stage: Scene) -> Line:
    """Start two hosts without a line between them."""
    needs("unshare", "nsenter", "ip")
    pids = [stage.start(["unshare", "-n", "sleep", "58"]).pid for _ in range(2)]
    time.sleep(0.3)
    return Line(pids[0], pids[1])


def wired(stage: Scene) -> Line:
    """Return two hosts joined by a direct line."""
    line = hosts(stage)
    line.setup(line.near, f"ip link add line0 type veth peer name line0 netns {line.far}")
    for pid, address in ((line.near, NEAR), (line.far, FAR)):
        line.setup(pid, f"ip address add {address}/30 dev line0", "ip link set line0 up", "ip link set lo up")
    stage.start(line.inside(line.far, stage.script("server.py", SERVER)))
    time.sleep(1.0)
    return line


def capture(stage: Scene, line: Line, seconds: int) -> None:
    """Record the packets at the near end of the line, as text."""
    needs("tcpdump", "timeout")
    stage.watch(
        "tcpdump.txt",
        line.inside(line.near, ["timeout", "-s", "INT", str(seconds), "tcpdump", "-i", "line0", "-nn", "-tttt", "tcp"]),
    )
    time.sleep(1.0)


def lossy_line(stage: Scene) -> None:
    needs("iptables", "nstat")
    line = wired(stage)
    if stage.bad:
        line.setup(line.far, "iptables -A INPUT -m statistic --mode nth --every 25 --packet 0 -j DROP")
    stage.print("nstat.txt", line.inside(line.near, ["nstat", "-az"]))
    capture(stage, line, 25)
    asks = stage.start(line.inside(line.near, [*stage.script("asks.py", ASKS), "1200"]))
    with contextlib.suppress(subprocess.TimeoutExpired):
        asks.wait(timeout=22)
    stage.finish()
    stage.print("nstat.txt", line.inside(line.near, ["nstat", "-az"]))


def far_away(stage: Scene) -> None:
    line = hosts(stage)
    stage.start([*stage.script("relay.py", RELAY), str(line.near), str(line.far), "0.02" if stage.bad else "0"])
    for pid in (line.near, line.far):
        line.setup(
            pid, "for n in $(seq 100); do ip link show line0 > /dev/null 2>&1 && exit 0; sleep 0.1; done; exit 1"
        )
    for pid, address, peer in ((line.near, NEAR, FAR), (line.far, FAR, NEAR)):
        line.setup(pid, f"ip address add {address} peer {peer} dev line0", "ip link set line0 up", "ip link set lo up")
    stage.start(line.inside(line.far, stage.script("server.py", SERVER)))
    time.sleep(0.5)
    capture(stage, line, 8)
    stage.start(line.inside(line.near, [*stage.script("asks.py", ASKS), "80"]))
    stage.finish()


@contextlib.contextmanager
def tracked_at_most(most: int) -> Iterator[None]:
    """Limit the number of connections that the kernel tracks in total, and restore the limit afterwards."""
    setting = Path("/proc/sys/net/netfilter/nf_conntrack_max")
    before = setting.read_text(encoding="ascii")
    setting.write_text(str(most), encoding="ascii")
    try:
        yield
    finally:
        setting.write_text(before, encoding="ascii")


def tracked_full(stage: Scene) -> None:
    needs("iptables", "dmesg", "sysctl")
    line = wired(stage)
    line.setup(line.far, "iptables -A INPUT -m conntrack --ctstate INVALID -j DROP")
    clients = stage.script(
        "clients.py",
        """
        import socket, time
        held = []
        for _ in range(120):
            c = socket.socket(); c.setblocking(False); c.connect_ex(("192.0.2.2", 15210)); held.append(c); time.sleep(0.01)
        time.sleep(6)
    """,
    )
    with tracked_at_most(60) if stage.bad else contextlib.nullcontext():
        stage.start(line.inside(line.near, clients))
        time.sleep(4.0)
        names = ["net.netfilter.nf_conntrack_count", "net.netfilter.nf_conntrack_max"]
        stage.print("sysctl.txt", line.inside(line.far, ["sysctl", *names]))
        stage.print("dmesg.txt", ["dmesg", "-T", "--since", "-8s"])


FLOOD = """
    import socket, sys, time
    sources = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(16)]
    for s in sources:
        s.connect(("192.0.2.2", 15211)); s.setblocking(False)
    until, pause = time.monotonic() + 6, float(sys.argv[1])
    while time.monotonic() < until:
        for s in sources:
            try:
                s.send(b"sample of a counter")
            except OSError:
                pass
        time.sleep(pause)
"""


def flooded_interface(stage: Scene) -> None:
    """Let the far host process the packets of its interface on one processor and check 3000 firewall rules for each
    datagram.
    """
    needs("iptables", "nstat", "mount", "taskset")
    line = wired(stage)
    rules = "for n in $(seq 3000); do echo -A INPUT -p udp --sport $n -j DROP; done"
    line.setup(
        line.far,
        f"(echo '*filter'; {rules}; echo COMMIT) | iptables-restore",
        "unshare -m sh -c 'mount -t sysfs none /sys; echo 2 > /sys/class/net/line0/queues/rx-0/rps_cpus'",
    )
    stage.start(line.inside(line.near, stage.script("near.py", SERVER.replace(FAR, NEAR))))
    time.sleep(0.5)
    counters = (("ip-link.txt", ["ip", "-s", "link"]), ("nstat.txt", ["nstat", "-az"]))
    for file, argv in counters:
        stage.print(file, line.inside(line.far, argv))
    flood = stage.script("flood.py", FLOOD)
    stage.start(line.inside(line.near, ["taskset", "-c", "0", *flood, "0" if stage.bad else "0.05"]))
    stage.start(line.inside(line.far, [*stage.script("asks.py", ASKS.replace(FAR, NEAR)), "2000"]))
    time.sleep(7.0)
    for file, argv in counters:
        stage.print(file, line.inside(line.far, argv))


INCIDENTS = (
    Incident("lossy-line", "Every 25th packet to the server is lost.", lossy_line,
             {"layer": "network", "hypothesis": "H-NET", "rules": {"NET-008": {}, "NET-005": {}}},
             {"symptom": {"text": "1200 questions", "unit": "s", "bad": 12.0, "normal": 0.1}}, {}),
    Incident("far-away", "Eighty questions to a server that is 40 ms away.", far_away,
             {"layer": "network", "hypothesis": "H-NET", "rules": {"NET-009": {}}, "also": ["client_app"]},
             {"symptom": {"text": "80 questions", "unit": "s", "bad": 3.3, "normal": 0.1}}, {}),
    Incident("flooded-interface", "A host drops a part of what comes in while datagrams flood its interface.", flooded_interface,
             {"layer": "network", "hypothesis": "H-NET", "rules": {"NET-011": {}}, "also": ["os_kernel", "configuration"]},
             {"symptom": {"text": "some questions to another host are answered late"}}, {}),
    Incident("tracked-full", "The table of tracked connections is full.", tracked_full,
             {"layer": "network", "hypothesis": "H-NET", "rules": {"NET-012": {}}, "also": ["configuration"]},
             {"symptom": {"text": "some connects hang"}}, {}),
)  # fmt: skip
