"""The stage of an incident: programs that are started, tools that watch them, and files with the output of the tools.

Everything is limited: each program is killed at the end of its scene at the latest, nothing listens outside the
loopback, and everything is written to a folder of its own. Raw output only: nothing that a tool prints is filtered or
rounded.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

LONGEST_S = 60.0
"""Maximum duration of a scene in seconds."""

PYTHON = next((p for p in ("/usr/bin/python3", "/usr/local/bin/python3") if Path(p).exists()), sys.executable)
"""The system's own interpreter: a trace should not show where this project is installed."""

STRACE = ("strace", "-f", "-ttt", "-T")


LARGEST = 60_000
"""Maximum bytes of one file of a healthy recording; a longer one is recorded for a shorter time, its text is never cut.
"""

CALM_PCT = 40.0
"""Minimum percentage of idle processor time at which a machine counts as calm."""


class Missing(RuntimeError):
    """Raised when this machine lacks a program or a right."""


@dataclass
class Scene:
    """One run of one incident: the run with the cause (`bad`), or the twin without it. Evidence is written to `out`."""

    out: Path
    bad: bool
    work: Path
    said: dict[str, Any] = field(default_factory=dict)
    """Keys of case.yaml that only the run itself can determine."""

    _started: list[subprocess.Popen[bytes]] = field(default_factory=list)
    _watching: list[subprocess.Popen[bytes]] = field(default_factory=list)
    _began: float = field(default_factory=time.monotonic)

    def script(self, name: str, text: str) -> list[str]:
        """Write a Python program and return the command that runs it."""
        path = self.work / name
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return [PYTHON, "-S", str(path)]

    def start(self, argv: Sequence[str], **more: Any) -> subprocess.Popen[bytes]:
        """Start a program of the scene; it is killed at the end of the scene."""
        process = subprocess.Popen(
            argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True, **more
        )
        self._started.append(process)
        return process

    def watch(self, file: str, argv: Sequence[str], **more: Any) -> None:
        """Start a tool that prints into `file` until it ends by itself; `finish` waits for it."""
        with (self.out / file).open("wb") as into:
            self._watching.append(subprocess.Popen(argv, stdout=into, stderr=subprocess.DEVNULL, env=plain(), **more))

    def print(self, file: str, argv: Sequence[str]) -> None:
        """Store the output of a tool that ends at once; a second call appends."""
        with (self.out / file).open("ab") as into:
            subprocess.run(argv, stdout=into, stderr=subprocess.DEVNULL, env=plain(), check=False, timeout=LONGEST_S)

    def keep(self, file: str, source: str) -> None:
        """Store a file of /proc or /sys; a second call appends."""
        with (self.out / file).open("ab") as into:
            into.write(Path(source).read_bytes())

    def traced(self, file: str, argv: Sequence[str], options: Sequence[str] = (), **more: Any) -> None:
        """Run a program to its end under strace and store the trace. RuntimeError if it takes too long."""
        command = [*STRACE, *options, "-o", str(self.out / file), *argv]
        subprocess.run(
            command,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
            timeout=LONGEST_S,
            env=plain(),
            cwd=self.work,
            **more,
        )

    def attach(self, file: str, pid: int, seconds: float, options: Sequence[str] = ()) -> None:
        """Trace a running process for a while."""
        watched = subprocess.Popen(
            [*STRACE, *options, "-o", str(self.out / file), "-p", str(pid)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(seconds)
        watched.send_signal(signal.SIGINT)
        watched.wait(timeout=10)

    def finish(self) -> None:
        """Wait for the tools that print by themselves."""
        for tool in self._watching:
            tool.wait(timeout=LONGEST_S)

    def end(self) -> None:
        """Kill everything that still runs."""
        for process in (*self._started, *self._watching):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL) if process in self._started else process.kill()
            process.wait(timeout=10)


def processor_ticks() -> tuple[int, int]:
    """Return the idle ticks and all ticks of the processors since boot (proc_stat(5); steal counts, guests count as
    user).
    """
    ticks = [int(n) for n in Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0].split()[1:9]]
    return ticks[3] + ticks[4], sum(ticks)


def idle_pct(since: tuple[int, int]) -> float:
    """Return the percentage of the processors' time that was idle since `since`."""
    idle, total = processor_ticks()
    return 100.0 * (idle - since[0]) / max(total - since[1], 1)


def await_calm(longest_s: float) -> None:
    """Wait until the processors are idle enough for two seconds. Raises Missing after `longest_s`."""
    until = time.monotonic() + longest_s
    while time.monotonic() < until:
        since = processor_ticks()
        time.sleep(2.0)
        if idle_pct(since) >= CALM_PCT + 15:
            return
    raise Missing("others use the processors")


def plain() -> Mapping[str, str]:
    """Return an environment in which tools print as the manuals show."""
    path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    return {"PATH": path, "HOME": "/", "LC_ALL": "C", "TZ": "UTC", "S_TIME_FORMAT": "ISO", "S_COLORS": "never"}


@contextlib.contextmanager
def scene(out: Path, *, bad: bool) -> Iterator[Scene]:
    """Open a scene; at its end, also after an error, all its processes are killed."""
    out = out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="incident-") as work:
        made = Scene(out, bad, Path(work))
        try:
            yield made
        finally:
            made.end()


@contextlib.contextmanager
def control_group(controller: str, setting: str, value: str) -> Iterator[Path]:
    """Create a control group (version 1) with one limit for a scene's programs, which must have ended when it is left.

    Raises Missing if that is not possible.
    """
    root = Path("/sys/fs/cgroup") / controller
    if not os.access(root, os.W_OK):
        raise Missing(f"no writable {controller} controller")
    group = root / "exhibit-incident"
    group.mkdir(exist_ok=True)
    try:
        (group / setting).write_text(value, encoding="ascii")
        yield group
    finally:
        time.sleep(0.5)
        group.rmdir()


def installed_paths(folder: Path) -> list[str]:
    """Return the files of a recording that show a home directory or where this project is installed; they must be
    recorded again.
    """
    own = re.compile(rf"{re.escape(str(Path(__file__).parents[1]))}\b|/root/|/home/")
    return sorted(p.name for p in folder.glob("*.txt") if own.search(p.read_text(encoding="utf-8", errors="replace")))


def needs(*programs: str) -> None:
    """Raise Missing if a program is not installed."""
    for program in programs:
        if not any((Path(folder) / program).exists() for folder in os.environ.get("PATH", "").split(os.pathsep)):
            raise Missing(f"{program} is not installed")
