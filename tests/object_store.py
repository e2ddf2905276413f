"""A real object store for tests: rclone's S3 server over a folder, in a process of its own, and a proxy that does harm
on the way.

The server checks signatures and takes uploads in pieces; it keeps what it holds in plain files, so it may be killed
and started again. It shows neither versions nor locks of objects, and does not compare the SHA-256 that a request
announces, as Amazon's does: that bytes were changed on the way up is seen here when they are fetched.
"""

from __future__ import annotations

import http.client
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

BUCKET = "evidence"
KEY_ID, SECRET = "exhibit-tests", "only-for-tests-0123456789"
START_S = 20.0


def free_port() -> int:
    with socket.socket() as asked:
        asked.bind(("127.0.0.1", 0))
        port: int = asked.getsockname()[1]
        return port


class Server:
    """rclone over `<folder>/<bucket>`. `kill` ends it as a loss of power would; `start` starts it at the same
    address.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self.process: subprocess.Popen[bytes] | None = None
        (folder / BUCKET).mkdir(parents=True)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        program = shutil.which("rclone", path=str(Path(sys.executable).parent)) or shutil.which("rclone")
        assert program, "rclone is missing: scripts/venv requirements-dev.txt"
        with (self.folder.parent / "object-store.log").open("ab") as log:
            self.process = subprocess.Popen(
                [program, "serve", "s3", "--config", "", "--auth-key", f"{KEY_ID},{SECRET}", "--vfs-cache-mode", "off",
                 "--addr", f"127.0.0.1:{self.port}", str(self.folder)],
                stdout=log,
                stderr=log,
            )  # fmt: skip
        deadline = time.monotonic() + START_S
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                assert self.process.poll() is None, "the object store ended"
                assert time.monotonic() < deadline, "the object store does not start"
                time.sleep(0.02)

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def held(self) -> set[str]:
        """Return the keys of what it holds, from its folder."""
        root = self.folder / BUCKET
        return {file.relative_to(root).as_posix() for file in root.rglob("*") if file.is_file()}

    def file(self, key: str) -> Path:
        return self.folder / BUCKET / key


Harm = Callable[[str, str], str | None]
"""Given method and path of a request: "503", "slow", "cut", "lie", "reset", or None to let it through."""
SLOW_S = 3.0


class Proxy:
    """Stands before a server. `harm` says what to do to each request; `seen` lists method and path of all of them."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.harm: Harm = lambda method, path: None
        self.seen: list[tuple[str, str]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, format: str, *args: object) -> None:
                pass

            def pass_on(self) -> None:
                outer._pass_on(self)

            do_GET = do_PUT = do_HEAD = do_POST = do_DELETE = pass_on

        class Many(ThreadingHTTPServer):
            request_queue_size = 128
            daemon_threads = True

        self._http = Many(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._http.serve_forever, daemon=True).start()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()

    def _pass_on(self, request: BaseHTTPRequestHandler) -> None:
        path = urlsplit(request.path).path
        self.seen.append((request.command, path))
        body = request.rfile.read(int(request.headers.get("Content-Length") or 0))
        harm = self.harm(request.command, path)
        if harm == "reset":
            request.close_connection = True
            request.connection.shutdown(socket.SHUT_RDWR)
            return
        if harm == "503":
            request.send_response(503)
            request.send_header("Content-Length", "0")
            request.end_headers()
            return
        if harm == "slow":
            time.sleep(SLOW_S)
        upstream = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=60)
        try:
            # The name of the host is part of the signature, so the header stays as it came.
            upstream.putrequest(request.command, request.path, skip_host=True, skip_accept_encoding=True)
            for name, value in request.headers.items():
                upstream.putheader(name, value)
            upstream.endheaders(body)
            answer = upstream.getresponse()
            content = answer.read()
        except OSError:
            request.close_connection = True
            return
        finally:
            upstream.close()
        if harm == "lie" and content:
            content = bytes([content[0] ^ 1]) + content[1:]
        request.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in {"transfer-encoding", "connection", "content-length"}:
                request.send_header(name, value)
        length = answer.getheader("Content-Length") if request.command == "HEAD" else str(len(content))
        request.send_header("Content-Length", length or "0")
        request.end_headers()
        if harm == "cut":
            request.wfile.write(content[: len(content) // 2])
            request.close_connection = True
            return
        with suppress(OSError):  # the sender does not wait any more
            request.wfile.write(content)
