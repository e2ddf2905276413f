"""The parent's side of the process that reads files: start it, send requests, pass progress on, kill it. Imports no
Polars.

Files from outside are parsed in a child (`parsers.reader_child`) with limits of memory and time and no network. A file
that exceeds them, or breaks the child, costs one reading; the next one gets a new child. One child reads many files,
since loading the formats takes longer than reading a small file.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from parsers import errors
from parsers.errors import ParserError, TookTooLong, TookTooMuch
from parsers.progress import Progress
from parsers.scratch_folder import ScratchFolder

ROOT = Path(__file__).resolve().parents[1]
SCRATCH = "exhibit-reading-"
"""Prefix of the names of folders for the child's temporary files."""

READINGS = 100
"""Maximum number of readings of one child; then a new child starts without the memory that libraries retain."""

LOOK_S = 0.5
"""Interval in seconds at which `progress` is called though nothing new was read."""

WALL = 5
"""Wall time that a reading may take for each second of processor time; a loaded machine gives less than one."""

FULL = (errno.ENOSPC, errno.EDQUOT)

START_S = 5.0
"""Seconds to wait for the status of a child that has closed its pipe."""

MB = 1024 * 1024


@dataclass(frozen=True)
class Bounds:
    """Limits of one reading: memory in MB; processor time in seconds, a base and an addition per MB of the file."""

    memory_mb: int = 2048
    base_s: int = 60
    mb_s: float = 4.0

    def seconds(self, size: int) -> int:
        """Return the processor time in seconds for a file of `size` bytes."""
        return round(self.base_s + self.mb_s * size / MB)


class ReaderFault(Exception):
    """An error in our own code stopped the child: `type` is its class, `trace` the traceback."""

    def __init__(self, type: str, trace: str) -> None:
        super().__init__(f"{type} in the process that reads")
        self.type = type
        self.trace = trace


class DiskFull(Exception):
    """The disk is full. Written tables stay, and the next reading of the file continues behind them."""


@dataclass(frozen=True)
class Outcome:
    """Result of a reading: `report` is the JSON object of the command line, None if nothing is known about the file.

    `misfits` are the named kinds that did not fit. `cut_off`: the text stops in the middle of a line.
    """

    report: dict[str, Any] | None
    error: ParserError | None = None
    misfits: tuple[str, ...] = ()
    cut_off: bool = False


class Reader:
    """A child process that reads one file after the other; one thread at a time may use it.

    `folders` hold all files that it reads and writes; if the kernel can restrict it, it can open no others. Without
    `folders` it can open all files.
    """

    def __init__(self, bounds: Bounds | None = None, folders: Sequence[Path] = ()) -> None:
        self.bounds = bounds or Bounds()
        self.folders = tuple(folders)
        self._scratch: ScratchFolder | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._readings = 0
        self._ready = False

    def warm(self) -> None:
        """Start the child unless it runs; it loads the formats while the caller does something else."""
        if self._process is not None and (self._process.poll() is not None or self._readings >= READINGS):
            self.close()
        if self._process is None:
            self._process, self._readings, self._ready = self._start(), 0, False

    def fences(self) -> dict[str, bool]:
        """Start a child, return which restrictions are in force on this machine, and end it. Not while it reads."""
        self.warm()
        assert self._process is not None
        assert self._process.stdout is not None
        said: dict[str, dict[str, bool]] = json.loads(self._process.stdout.readline() or b"{}")
        self.close()
        return said.get("fences", {})

    def close(self) -> None:
        """Kill the child and the processes that help it; a second call does nothing."""
        process, self._process = self._process, None
        if process is not None:
            with contextlib.suppress(ProcessLookupError):  # it has ended, and no helper is left
                os.killpg(process.pid, signal.SIGKILL)
            process.kill()
            process.communicate()
        scratch, self._scratch = self._scratch, None
        if scratch is not None:
            scratch.close()

    def read(
        self,
        path: Path,
        hints: Mapping[str, Any],
        out: Path,
        *,
        progress: Callable[[Progress], None],
        processes: int | None = None,
        known: Sequence[Mapping[str, Any]] = (),
        name: str | None = None,
        sha256: str | None = None,
    ) -> Outcome:
        """Read one file as `parsers.reading.read` does; `hints` are the fields of `Hints`, `known` those of `PartHint`.

        `progress` is called with the last numbers at least every LOOK_S, also when nothing new was read; whatever it
        raises ends the reading and the child at once. A reading that was ended continues when it is asked for again.

        Raises DiskFull, and ReaderFault after an error in our code; errors of the file are in the outcome's `error`.
        """
        try:
            self.warm()
        except OSError as error:  # no room for its folder of temporary files
            if error.errno not in FULL:
                raise
            raise DiskFull from error
        size = path.stat().st_size
        cpu_s = self.bounds.seconds(size)
        request = {
            "path": str(path),
            "hints": dict(hints),
            "out": str(out),
            "processes": processes,
            "known": [dict(k) for k in known],
            "name": name,
            "sha256": sha256,
            "cpu_s": cpu_s,
        }
        self._readings += 1
        try:
            end = self._end(request, progress, Progress(0, 0, size), time.monotonic() + WALL * cpu_s)
        except TimeoutError:
            self.close()
            return Outcome(None, _too_long(WALL * cpu_s, size))
        except BaseException:
            self.close()
            raise
        if end is None:
            return self._ended(cpu_s, size)
        if "large" in end:
            self.close()
            return Outcome(None, self._too_much(""))
        if "full" in end:
            self.close()
            raise DiskFull
        if "fault" in end:
            self.close()
            raise ReaderFault(end["fault"]["type"], end["fault"]["trace"])
        return Outcome(end["report"], _error(end["error"]), tuple(end["misfits"]), end["cut_off"])

    def _end(
        self, request: Mapping[str, Any], progress: Callable[[Progress], None], last: Progress, until: float
    ) -> dict[str, Any] | None:
        """Send a request and return the child's last answer; None if the child has ended. Raises TimeoutError."""
        process = self._process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.flush()
        except OSError:
            return None
        held = b""
        with selectors.DefaultSelector() as ready:
            ready.register(process.stdout, selectors.EVENT_READ)
            while True:
                if time.monotonic() > until:
                    raise TimeoutError
                if not ready.select(LOOK_S):
                    progress(last)
                    continue
                part = os.read(process.stdout.fileno(), 1 << 16)
                if not part:
                    return None
                *lines, held = (held + part).split(b"\n")
                for line in lines:
                    said: dict[str, Any] = json.loads(line)
                    if "ready" in said:
                        self._ready = True
                        continue
                    if "fences" in said:
                        continue
                    if "end" in said:
                        end: dict[str, Any] = said["end"]
                        return end
                    last = Progress(*said["progress"])
                    progress(last)

    def _ended(self, cpu_s: int, size: int) -> Outcome:
        """Return the error that explains why the child ended during a reading."""
        process = self._process
        assert process is not None
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(START_S)  # its pipe closes a moment before it ends
        self.close()
        if not self._ready:
            raise ReaderFault("NotStarted", f"the process ended with status {process.returncode} before it could read")
        if process.returncode == -signal.SIGXCPU:
            return Outcome(None, _too_long(cpu_s, size))
        status = process.returncode
        how = signal.Signals(-status).name if status < 0 else f"status {status}"
        return Outcome(None, self._too_much(f" (the process that read it ended with {how})"))

    def _too_much(self, how: str) -> TookTooMuch:
        return TookTooMuch(f"reading needed more than the {self.bounds.memory_mb} MB that a file may use{how}")

    def _start(self) -> subprocess.Popen[bytes]:
        kept = {key: os.environ[key] for key in ("PATH", "LANG") if key in os.environ}
        self._scratch = ScratchFolder(SCRATCH)
        kept["TMPDIR"] = str(self._scratch.path)
        folders = [str(folder) for folder in (*self.folders, self._scratch.path)] if self.folders else []
        return subprocess.Popen(
            [sys.executable, "-m", "parsers.reader_child", str(self.bounds.memory_mb), *folders],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env={**kept, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1", "MALLOC_ARENA_MAX": "2"},
            start_new_session=True,
        )


def _too_long(seconds: int, size: int) -> TookTooLong:
    return TookTooLong(
        f"reading took longer than the {seconds} s that a file of {size / MB:.1f} MB may take and was stopped"
    )


def _error(said: Mapping[str, str] | None) -> ParserError | None:
    if said is None:
        return None
    kind: type[ParserError] = getattr(errors, said["type"])
    return kind.__new__(kind, said["text"])
