"""Servers of the distribution for healthy recordings: PostgreSQL, Redis, nginx, a Java program. Each ends with its
scene.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lab.scene import Missing, Scene, needs, plain

REDIS_PORT, WEB_PORT = 6379, 8080


def as_user(name: str) -> list[str]:
    return ["setpriv", "--reuid", name, "--regid", name, "--init-groups"]


def children(pid: int) -> list[int]:
    """Return the processes that a process has started."""
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
    return [int(p) for p in text.split()]


def named(word: str) -> int:
    """Return the process whose command line contains a word. Raises Missing if there is none."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:  # it has ended in the meantime
            continue
        if word in line and "strace" not in line:
            return int(folder.name)
    raise Missing(f"no process {word}")


def answers(port: int) -> None:
    """Wait until something listens on the port. Raises Missing after ten seconds."""
    for _ in range(100):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise Missing(f"nobody listens on {port}")


@dataclass(frozen=True)
class Postgres:
    """A PostgreSQL of the distribution that listens on the loopback."""

    programs: Path
    work: Path
    pid: int

    def client(self, *argv: str) -> list[str]:
        """Return the command for one of its programs against this server: psql, pgbench ..."""
        return [str(self.programs / argv[0]), "-h", "127.0.0.1", "-U", "postgres", *argv[1:]]

    def sql(self, text: str) -> None:
        subprocess.run([*self.client("psql"), "-q", "-c", text], check=True, capture_output=True, timeout=60)

    def bench(self, *argv: str) -> None:
        subprocess.run(self.client("pgbench", *argv), check=True, capture_output=True, timeout=60, env=plain())


def postgres(stage: Scene, *settings: str) -> Postgres:
    """Start a new PostgreSQL with these settings (`name=value`)."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    if not folders:
        raise Missing("PostgreSQL is not installed")
    stage.work.chmod(0o755)
    data = stage.work / "data"
    data.mkdir()
    shutil.chown(data, "postgres", "postgres")
    user, programs = as_user("postgres"), folders[-1]
    initdb = [*user, str(programs / "initdb"), "-D", str(data), "-A", "trust", "--no-locale", "-E", "UTF8", "-N"]
    subprocess.run(initdb, check=True, capture_output=True, timeout=60, cwd="/")
    told = [x for s in ("unix_socket_directories=", "listen_addresses=127.0.0.1", *settings) for x in ("-c", s)]
    server = stage.start([*user, str(programs / "postgres"), "-D", str(data), *told], cwd="/")
    answers(5432)
    made = Postgres(programs, stage.work, server.pid)
    for _ in range(50):
        if subprocess.run(made.client("pg_isready"), check=False, capture_output=True, timeout=20).returncode == 0:
            return made
        time.sleep(0.2)
    raise Missing("PostgreSQL does not answer")


def redis(stage: Scene, *settings: str) -> int:
    """Start a Redis without a file; return its process."""
    needs("redis-server")
    stage.work.chmod(0o777)
    own = ["--port", str(REDIS_PORT), "--bind", "127.0.0.1", "--save", "", "--dir", str(stage.work), *settings]
    server = stage.start([*as_user("redis"), "redis-server", *own], cwd="/")
    answers(REDIS_PORT)
    return server.pid


NGINX = """
daemon off; user www-data; worker_processes 2; pid {work}/nginx.pid; error_log {work}/error.log;
events {{ worker_connections 256; }}
http {{
    access_log {work}/access.log; client_body_temp_path {work}/body; proxy_temp_path {work}/proxy;
    fastcgi_temp_path {work}/fastcgi; uwsgi_temp_path {work}/uwsgi; scgi_temp_path {work}/scgi;
    server {{ listen 127.0.0.1:8080; root {work}/www; }}
}}
"""


def nginx(stage: Scene) -> int:
    """Start an nginx that serves one small page; return the master process."""
    needs("nginx")
    stage.work.chmod(0o755)
    (stage.work / "www").mkdir()
    (stage.work / "www" / "index.html").write_text("<p>It works.</p>\n" * 40, encoding="ascii")
    told = stage.work / "nginx.conf"
    told.write_text(NGINX.format(work=stage.work), encoding="ascii")
    server = stage.start(["nginx", "-c", str(told)], cwd="/")
    answers(WEB_PORT)
    return server.pid


BROWSER = """
    import http.client, sys, time
    n, pause, keep = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3] == "keep"
    c = http.client.HTTPConnection("127.0.0.1", 8080)
    for _ in range(n):
        c.request("GET", "/"); c.getresponse().read()
        if not keep:
            c.close()
        time.sleep(pause)
"""

ASKER = """
    import socket, sys, time
    n, pause = int(sys.argv[1]), float(sys.argv[2])
    c = socket.create_connection(("127.0.0.1", 6379)); c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for k in range(n):
        key = b"k%d" % (k % 50)
        c.sendall(b"*3\\r\\n$3\\r\\nSET\\r\\n$%d\\r\\n%s\\r\\n$1\\r\\nx\\r\\n" % (len(key), key)); c.recv(64)
        time.sleep(pause)
"""


def java(stage: Scene, name: str, source: str) -> list[str]:
    """Compile a class and return the command that runs it."""
    needs("java", "javac")
    stage.work.chmod(0o755)
    file = stage.work / f"{name}.java"
    file.write_text(source, encoding="ascii")
    subprocess.run(["javac", "-d", str(stage.work), str(file)], check=True, capture_output=True, timeout=90)
    return [
        "java",
        "-XX:TieredStopAtLevel=1",
        "-XX:-UsePerfData",
        "-Xmx64m",
        "-XX:+UseSerialGC",
        "-cp",
        str(stage.work),
        name,
    ]


def run(argv: Sequence[str], seconds: float = 50.0) -> None:
    """Run a program of the scene to its end."""
    subprocess.run(argv, check=False, capture_output=True, timeout=seconds, env=plain())
