"""Incident of a path with a link of small MTU behind a router whose ICMP messages about it are lost.

The hosts are network namespaces, as in `lines`; the router is a third one between them.
"""

from __future__ import annotations

import contextlib
import subprocess
import time

from lab.incident import Incident
from lab.lines import FAR, NEAR, SERVER, Line, capture, hosts
from lab.scene import Scene, needs

BEHIND = "198.51.100.2"
"""Address of the server behind the router; FAR is the near side of the router here."""

UPLOADS = """
    import socket, time
    for size in (200, 900, 24000):
        c = socket.create_connection(("198.51.100.2", 15210)); c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        c.settimeout(14)
        try:
            c.sendall(b"u" * size); c.recv(65536)
        except OSError:
            pass
        c.close() if size < 2000 else time.sleep(2)
"""


def routed(stage: Scene, link_mtu: int) -> Line:
    """Return two hosts with a router between them that drops its own ICMP messages about packets that are too large."""
    line = hosts(stage)
    router = stage.start(["unshare", "-n", "sleep", "58"]).pid
    time.sleep(0.3)
    line.setup(
        router,
        f"ip link add line0 type veth peer name line0 netns {line.near}",
        f"ip link add line1 type veth peer name line0 netns {line.far}",
        f"ip address add {FAR}/30 dev line0; ip link set line0 up",
        f"ip link set line1 mtu {link_mtu}; ip address add 198.51.100.1/30 dev line1; ip link set line1 up",
        "iptables -A OUTPUT -p icmp --icmp-type fragmentation-needed -j DROP",
        "unshare -m sh -c 'mount -t proc none /proc; echo 1 > /proc/sys/net/ipv4/ip_forward'",
    )
    for pid, address, gate in ((line.near, NEAR, FAR), (line.far, BEHIND, "198.51.100.1")):
        up = "ip link set line0 gso_max_segs 1; ip link set line0 up; ip link set lo up"
        line.setup(pid, f"ip address add {address}/30 dev line0", up, f"ip route add default via {gate}")
    stage.start(line.inside(line.far, stage.script("server.py", SERVER.replace(FAR, BEHIND))))
    time.sleep(1.0)
    return line


def small_frames(stage: Scene) -> None:
    needs("ss", "ping", "tcpdump", "iptables")
    line = routed(stage, 1400 if stage.bad else 1500)
    capture(stage, line, 18)
    uploads = stage.start(line.inside(line.near, stage.script("uploads.py", UPLOADS)))
    time.sleep(8.0)
    stage.print("ss.txt", line.inside(line.near, ["ss", "-tnio"]))
    for size in ("500", "1472"):
        stage.print("ping.txt", line.inside(line.near, ["ping", "-M", "do", "-c", "3", "-W", "1", "-s", size, BEHIND]))
    stage.print("ip-link.txt", line.inside(line.near, ["ip", "link", "show", "line0"]))
    with contextlib.suppress(subprocess.TimeoutExpired):
        uploads.wait(timeout=12)
    stage.finish()


INCIDENTS = (
    Incident("small-frames", "Packets of more than 1400 bytes vanish on the path to a server, smaller ones pass.", small_frames,
             {"layer": "network", "also": ["configuration"], "mechanism": "mtu-black-hole"},
             {"symptom": {"text": "large uploads hang, small ones work"}}, {}),
)  # fmt: skip
