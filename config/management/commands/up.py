"""Run everything on this machine: PostgreSQL, the broker, workers, beat, web.

It ends on a signal. What ends by itself is started again, later each time; during the start, everything ends with it.
"""

from __future__ import annotations

import errno
import os
import select
import signal
import socket
import sys
import threading
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from types import FrameType
from typing import Any

from django.conf import settings
from django.core.management import BaseCommand, CommandError, CommandParser, call_command
from django.db import connections

from config import embedded, parts, processes
from config.children import command_line, spawn, stop_process, wait_until

# Signals that stop each process, with the seconds to wait after each. A worker that reads a large file gets little
# time: the job's row records its progress, and the next start continues from there.
STOP = {
    "web": [(signal.SIGTERM, processes.GRACE_S + 2.0)],
    "worker": [(signal.SIGTERM, 5.0), (signal.SIGQUIT, 3.0)],
    "worker-judge": [(signal.SIGTERM, 5.0), (signal.SIGQUIT, 3.0)],
    "worker-large": [(signal.SIGTERM, 3.0), (signal.SIGQUIT, 3.0)],
    "worker-chores": [(signal.SIGTERM, 5.0), (signal.SIGQUIT, 3.0)],
    "beat": [(signal.SIGTERM, 3.0)],
}


WEB_S = 120
"""Seconds within which the web server must answer, on a loaded machine."""


def free_port(host: str, wanted: int | None) -> int:
    """Return the wanted port, or if it is None the first free one from 8000 on."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for port in [wanted] if wanted is not None else range(8000, 8100):
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((host, port))
            except OSError as error:
                if wanted is not None or error.errno != errno.EADDRINUSE:
                    raise CommandError(f"{host} port {port}: {error.strerror}") from None
                continue
            return int(probe.getsockname()[1])
    raise CommandError(f"{host}: every port from 8000 to 8099 is taken; name one with --port")


def has_ended(pid: int) -> bool:
    return not command_line(pid)


def is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class Command(BaseCommand):
    help = (
        "Start PostgreSQL and the broker (unless DATABASE_URL and REDIS_URL name others), workers and the web server."
    )
    requires_system_checks = ()  # the checks need the database, which is not running yet

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: this machine only)")
        parser.add_argument("--port", type=int, help="port to listen on (default: the first free one from 8000 on)")

    def handle(self, *args: Any, host: str, port: int | None, **options: Any) -> None:
        var: Path = settings.EXHIBIT_VAR
        self.parts: dict[str, parts.Part] = {}
        self.asked_to_stop = False
        self.starting = True
        with ExitStack() as stack:
            try:
                tell = stack.enter_context(embedded.only_one(var, f"starting (pid {os.getpid()})"))
            except embedded.AlreadyRunning as error:
                raise CommandError(str(error)) from None
            self.end_leftovers(var)
            port = free_port(host, port)
            url = os.environ.get("EXHIBIT_URL") or f"http://{host if is_loopback(host) else socket.getfqdn()}:{port}"
            tell(f"{url} (pid {os.getpid()})")
            wake = stack.enter_context(self.signals())
            try:
                self.start_servers(stack, var)
                call_command("prepare", verbosity=1)
                link = self.first_link(url)
                stack.callback(self.stop_children)
                # Pages first: workers that load at the same time would make people wait for them.
                self.start_children(processes.all_of(host, port), {"web"}, url, host)
                parts.write(var, self.parts.values())
                self.wait_for_web(host, port)
                self.start_children(processes.all_of(host, port), STOP.keys() - {"web"}, url, host)
                parts.write(var, self.parts.values())
                self.say(f"\n  Exhibit is at {url}\n")
                if link:
                    self.say(f"  First administrator, once: {link}\n")
                self.say(f"  Data: {var}    Stop: Ctrl-C\n")
                self.starting = False
                self.watch(wake, var)
            except embedded.EmbeddedError as error:
                raise CommandError(str(error)) from None
            except KeyboardInterrupt:
                self.say("stopping")

    # --- start ---

    def start_servers(self, stack: ExitStack, var: Path) -> None:
        servers: dict[str, embedded.Postgres | embedded.Broker] = {}
        if settings.EMBEDDED["broker"]:
            servers["the broker"] = embedded.broker(var)  # started first, so it stops last: everything talks to it
        if settings.EMBEDDED["database"]:
            servers["PostgreSQL"] = embedded.postgres(var)
        stack.enter_context(embedded.running(*servers.values()))
        for name, server in servers.items():
            self.parts[name] = parts.Part(name, server.start, server.log, server.process, parts.now())

    def start_children(self, commands: Mapping[str, list[str]], wanted: Collection[str], url: str, host: str) -> None:
        for name, command in commands.items():
            if name in wanted:
                start = partial(
                    spawn,
                    [sys.executable, *command[1:]],
                    death=signal.SIGQUIT if name.startswith("worker") else signal.SIGTERM,
                    env={
                        "EXHIBIT_URL": url,
                        "EXHIBIT_ALLOWED_HOSTS": self.hosts(host),
                        "EXHIBIT_SUPERVISOR": str(os.getpid()),
                    },
                )
                self.parts[name] = parts.Part(name, start)
                self.parts[name].begin()

    def first_link(self, url: str) -> str | None:
        from incidents.actions.accounts import first_admin_link

        path = first_admin_link()
        connections.close_all()  # hold none while the other processes run
        return url + path if path else None

    def hosts(self, host: str) -> str:
        """Return the allowed hosts: beyond loopback, people type this machine's name or the address itself."""
        known = os.environ.get("EXHIBIT_ALLOWED_HOSTS", "")
        return (
            known
            if is_loopback(host)
            else ",".join(filter(None, [known, host, socket.gethostname(), socket.getfqdn()]))
        )

    def wait_for_web(self, host: str, port: int) -> None:
        target = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)

        def answers() -> bool:
            self.fail_if_dead()
            try:
                socket.create_connection((target, port), timeout=1).close()
            except OSError:
                return False
            return True

        if not wait_until(answers, WEB_S):
            raise CommandError(f"the web server does not answer after {WEB_S} s")

    # --- run ---

    @contextmanager
    def signals(self) -> Iterator[int]:
        """Yield a file descriptor that can be read after each signal.

        Handlers run between any two steps of the main thread, even inside a lock, so they do next to nothing. Only the
        start, which may wait long in many places, is interrupted by an exception, and only by the first signal.
        """
        wake, tell = os.pipe()
        for end in (wake, tell):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(tell, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(sig, self.on_stop)
        try:
            yield wake
        finally:
            signal.set_wakeup_fd(-1)
            os.close(wake)
            os.close(tell)

    def on_stop(self, _sig: int, _frame: FrameType | None) -> None:
        first, self.asked_to_stop = not self.asked_to_stop, True
        if first and self.starting:
            raise KeyboardInterrupt

    def fail_if_dead(self) -> None:
        for part in self.parts.values():
            if part.process is not None and (status := part.process.poll()) is not None:
                raise CommandError(
                    f"{part.name} ended by itself with status {status}; everything else is being stopped"
                )

    def watch(self, wake: int, var: Path) -> None:
        """Restart processes that end unexpectedly; return after a signal to stop."""
        while not self.asked_to_stop:
            if news := [said for part in self.parts.values() if (said := part.tend())]:
                parts.write(var, self.parts.values())
                self.say("".join(f"{said}\n" for said in news))
            if select.select([wake], [], [], parts.seconds_to_next(self.parts.values()))[0]:
                os.read(wake, 4096)
        self.say("stopping")

    # --- stop ---

    def stop_children(self) -> None:
        """Stop web first, so that nothing new comes in; then the others at once, since each may take seconds."""
        self.starting = False
        groups = [["web"], [name for name in STOP if name != "web"]]
        for group in groups:
            threads = [
                threading.Thread(target=stop_process, args=(part.process, STOP[name]))
                for name in group
                if (part := self.parts.get(name)) is not None and part.process is not None
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

    def end_leftovers(self, var: Path) -> None:
        """Stop children of a killed supervisor: where no signal follows a parent's death, they still run."""
        for part in parts.read(var).values():
            line = command_line(part["pid"]) if part["pid"] else ""
            if "config.asgi:application" in line or "config.celery" in line:
                os.killpg(part["pid"], signal.SIGTERM)
                if not wait_until(partial(has_ended, part["pid"]), 10):
                    os.killpg(part["pid"], signal.SIGKILL)
        (var / parts.FILE).unlink(missing_ok=True)

    def say(self, text: str) -> None:
        self.stdout.write(text)
        self.stdout.flush()
