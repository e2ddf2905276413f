"""Incident of two name servers that know the IPv4 address of a host and fail on every question for its IPv6 address,
0.7 s after it was asked."""

from __future__ import annotations

import time

from lab.incident import Incident
from lab.scene import Scene, needs

SERVERS = """
    import select, socket, sys, time
    socks = []
    for address in ("127.0.0.53", "127.0.0.54"):
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind((address, 53)); socks.append(s)
    while True:
        for s in select.select(socks, [], [])[0]:
            q, who = s.recvfrom(512)
            end = 12
            while q[end]:
                end += q[end] + 1
            kind, question = q[end + 1:end + 3], q[12:end + 5]
            if kind == b"\\0\\1":
                answer = b"\\x81\\x80\\0\\1\\0\\1\\0\\0\\0\\0" + question + b"\\xc0\\x0c\\0\\1\\0\\1\\0\\0\\0\\x3c\\0\\4\\xc0\\0\\2\\x14"
            elif sys.argv[1] == "fails":
                time.sleep(0.7)
                answer = b"\\x81\\x82\\0\\1\\0\\0\\0\\0\\0\\0" + question
            else:
                answer = b"\\x81\\x80\\0\\1\\0\\0\\0\\0\\0\\0" + question
            s.sendto(q[:2] + answer, who)
"""

NIGHTLY = """
    import socket, time
    for n in range(5):
        stamp = time.strftime("%Y-%m-%d %H:%M:%S")
        try:
            found = socket.getaddrinfo("partner.example.test", 443, type=socket.SOCK_STREAM)
            print(f"{stamp} INFO push {n + 1}: partner.example.test is {found[0][4][0]}", flush=True)
        except OSError as error:
            print(f"{stamp} ERROR push {n + 1} failed: partner.example.test: {error}", flush=True)
        time.sleep(0.5)
"""


def family_fails(stage: Scene) -> None:
    needs("unshare", "dig", "strace")
    stage.start([*stage.script("servers.py", SERVERS), "fails" if stage.bad else "answers"])
    (stage.work / "resolv.conf").write_text("nameserver 127.0.0.53\nnameserver 127.0.0.54\n", encoding="ascii")
    time.sleep(0.5)
    program = " ".join(stage.script("nightly.py", NIGHTLY))
    inside = (
        f"mount --bind {stage.work}/resolv.conf /etc/resolv.conf && "
        f"exec strace -f -tt -T -e trace=network,poll,openat,write,clock_nanosleep -o {stage.out}/strace.txt {program} > {stage.out}/nightly-log.txt"
    )
    stage.start(["unshare", "-m", "sh", "-c", inside], cwd=stage.work).wait(timeout=50)
    for server in ("127.0.0.53", "127.0.0.54"):
        for kind in ("A", "AAAA"):
            stage.print("dig.txt", ["dig", f"@{server}", "partner.example.test", kind])
    stage.keep("resolv.txt", str(stage.work / "resolv.conf"))


SAID = {"symptom": {"text": "each push to the partner begins more than half a second late"}}

INCIDENTS = (
    Incident("family-fails", "Two name servers fail, after 0.7 s, on each question for an IPv6 address; the host has an IPv4 address only.", family_fails,
             {"layer": "name_service", "hypothesis": "H-NSS", "mechanism": "name-server-failure"}, SAID, SAID),
)  # fmt: skip
