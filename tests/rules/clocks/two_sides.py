"""Two traces of one connection for tests, drawn by hand: a client that asks and a server that answers, each on its own
clock.
"""

from __future__ import annotations

from typing import Any

CLIENT, SERVER = "192.0.2.1:48740", "192.0.2.2:15210"
AHEAD = 500.0
"""Seconds by which the server's clock is ahead."""


def call(artifact: int, line: int, pid: int, at: float, took: float, name: str, **more: Any) -> dict[str, Any]:
    """Return a call as `strace -f -yy -ttt -T` shows it: `at` is its start (s), `took` its elapsed time (s)."""
    place = {"artifact_id": artifact, "host": ("web1", "db1", "db2")[artifact - 1], "clock": f"{artifact}.1:1"}
    return {**place, "line_no": line, "line_end": line, "seq": line, "pid": pid, "lwp": pid, "t_local": round(at, 6), "name": name,
            "stamp": "start", "dur_hi_s": took, "elapsed_s": took, "dur_kind": "elapsed", "state": "done", "contiguous": "proven", "ret": 0,
            "args": "", **more}  # fmt: skip


def talk(
    artifact: int, line: int, pid: int, at: float, took: float, name: str, n: int, ends: tuple[str, str], fd: int = 4
) -> dict[str, Any]:
    """Return a call that moves `n` bytes on a connection from ends[0] to ends[1]."""
    local, peer = ends
    ip, port = peer.rsplit(":", 1)
    args = f'{fd}<TCP:[{local}->{peer}]>, "..."'
    return call(artifact, line, pid, at, took, name, fd=fd, bytes=n, ret=n, args=args, peer_ip=ip, peer_port=int(port))


def client(
    waits: list[float], artifact: int = 1, ends: tuple[str, str] = (CLIENT, SERVER), *, made: bool = True
) -> list[dict[str, Any]]:
    """Return pid 7: |exec .. connect ..[ask n][------ wait n ------].. exit|, each question 0.01 s after the previous
    answer.
    """
    ip, port = ends[1].rsplit(":", 1)
    rows = [call(artifact, 1, 7, 0.0, 0.001, "execve", path="/bin/asks")]
    if made:
        rows.append(
            call(artifact, 2, 7, 0.01, 0.001, "connect", fd=4, peer_ip=ip, peer_port=int(port), args="4<TCP:[99]>")
        )
    at, line = 0.02, 3
    for n, wait in enumerate(waits):
        rows.append(talk(artifact, line, 7, at, 0.0001, "sendto", 100 + n, ends))
        rows.append(talk(artifact, line + 1, 7, at + 0.0002, wait, "recvfrom", 40, ends))
        at, line = at + 0.0002 + wait + 0.01, line + 2
    rows.append(call(artifact, line, 7, at, 0.0001, "exit_group", state="no_return", dur_kind="gap", elapsed_s=None))
    return rows


def server(
    waits: list[float],
    syncs: list[float],
    artifact: int = 2,
    ends: tuple[str, str] = (SERVER, CLIENT),
    *,
    made: bool = True,
    ahead: float = AHEAD,
    answer: int = 40,
) -> list[dict[str, Any]]:
    """Return pid 9: |accept ..[read n][own code][fsync n][write n]..|.

    A question is read 0.002 s after it was sent; own code before and after fsync takes 0.001 s.
    """
    ip, port = ends[1].rsplit(":", 1)
    rows = [call(artifact, 1, 9, ahead - 1, 0.001, "openat", ret=3, path="/srv/orders.log")]
    if made:
        rows.append(call(artifact, 2, 9, ahead, 0.01, "accept4", fd=5, ret=4, peer_ip=ip, peer_port=int(port)))
    at, line, since = ahead + 0.02, 3, ahead + 0.011
    for n, (wait, sync) in enumerate(zip(waits, syncs, strict=True)):
        read = at + 0.002
        rows.append(talk(artifact, line, 9, since, round(read - since, 6), "recvfrom", 100 + n, ends))
        rows.append(call(artifact, line + 1, 9, read + 0.001, sync, "fsync", fd=3))
        rows.append(talk(artifact, line + 2, 9, read + 0.002 + sync, 0.0001, "sendto", answer, ends))
        since = read + 0.002 + sync + 0.0002
        at, line = at + 0.0002 + wait + 0.01, line + 3
    return rows
