"""The child processes that judge a room and build its overviews: their limits, one that waits ahead, what their failures say.

A child keeps DuckDB and Polars out of the process that forks, and a runaway rule kills only the child. Where the kernel can
fence it in, it reaches the evidence and a folder of its own, and no socket.
"""

from __future__ import annotations

import ctypes
import functools
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

import structlog
from django.conf import settings

from incidents.errors import IncidentError
from parsers.scratch_folder import ScratchFolder
from rules.model import CaseSpec

log = structlog.get_logger(__name__)

# Limits of a child. Each rule has tighter limits of its own. The memory is address space in bytes, of which Polars and
# DuckDB reserve more than they use: three quarters of the machine's memory leave enough for the rest of it (a room with
# 5,000,000 syscall rows did not fit into 4 GiB).
CHILD_MEMORY = max(4 * 2**30, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") * 3 // 4)
CHILD_SECONDS = 600  # maximum run time of a child, also its CPU time
# Seconds after which a child that waits ahead begins to load, so that what people wait for goes first: the start of all
# parts, or the pages that show a verdict.
STARTING_S, SHOWING_S = 8.0, 0.5
# Size in bytes above which an artifact may have enough rows for an overview.
LARGE = 4_000_000
# How the names of the folders begin in which cases lie while they are judged.
SCRATCH = "exhibit-case-"
_LIBC = ctypes.CDLL(None)
# Exit statuses with a report: all evaluated; some rule failed.
_WITH_REPORT = (0, 6)


class JudgingFailed(IncidentError):
    """The child process gave no report; the message tells the room why."""


class _Child:
    """A running child; its output goes to two files, so that it never waits for a reader.

    Its first line says which fences hold. It reads its case and writes temporary files in a folder of its own.
    """

    def __init__(self, *arguments: str) -> None:
        with ExitStack() as files:
            folder = ScratchFolder(SCRATCH)
            files.callback(folder.close)
            self._folder = folder.path
            self.out: IO[bytes] = files.enter_context(tempfile.TemporaryFile())
            self.err: IO[bytes] = files.enter_context(tempfile.TemporaryFile())
            self.process = subprocess.Popen(
                [sys.executable, "-m", *arguments],
                stdin=subprocess.PIPE,
                stdout=self.out,
                stderr=self.err,
                cwd=settings.BASE_DIR,
                env=_environment(self._folder),
                start_new_session=True,
                preexec_fn=_fences,
            )
            self._files = files.pop_all()

    def ask(self, spec: CaseSpec, cache: Path | None) -> bool:
        """Give it a case and the folder of the room's derived tables; return False if the child has ended."""
        assert self.process.stdin is not None
        case = self._folder / "case.json"
        case.write_text(json.dumps(spec.as_json()), encoding="utf-8")
        request = {"case": str(case), "cache": str(cache) if cache else None}
        try:
            self.process.stdin.write(json.dumps(request).encode() + b"\n")
            self.process.stdin.close()
        except OSError:
            return False
        return True

    def wait(self, each_second: Callable[[], None] | None) -> int:
        """Return the exit status; whatever `each_second` raises ends the child."""
        deadline = time.monotonic() + CHILD_SECONDS
        while time.monotonic() < deadline:
            try:
                return self.process.wait(1)
            except subprocess.TimeoutExpired:
                if each_second:
                    each_second()
        raise JudgingFailed(f"The rules took over {CHILD_SECONDS} s and were stopped. The room keeps what it had.")

    def report(self) -> dict[str, Any]:
        """Return what it made, once it has ended."""
        self.out.seek(0)
        self.out.readline()
        made: dict[str, Any] = json.load(self.out)
        return made

    def words(self) -> str:
        """Return the end of what it wrote to standard error."""
        self.err.seek(0)
        return self.err.read()[-4000:].decode(errors="replace")

    def close(self) -> None:
        """Kill the child if it runs, with its own children."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.communicate()
        self._files.close()


class JudgeProcess:
    """Judges rooms, each in a child that ends with it. Not for several threads at once.

    After `warm` there is always a child that waits with everything loaded: loading takes longer than most judgements.
    """

    def __init__(self) -> None:
        self._ahead = False
        self._waiting: _Child | None = None

    def warm(self, later_s: float = STARTING_S) -> None:
        """Start a child now, and another after each judgement. If there is no room for one, the next judgement starts its own.

        The child loads `later_s` seconds later, or when it is asked.
        """
        self._ahead = True
        if self._waiting is None:
            try:
                self._waiting = _judge(later_s)
            except OSError as error:
                log.warning("analysis.no_child_ahead", error=str(error))

    def close(self) -> None:
        """End the child that waits; a second call does nothing."""
        child, self._waiting = self._waiting, None
        if child is not None:
            child.close()

    def judge(
        self, spec: CaseSpec, each_second: Callable[[], None] | None = None, cache: Path | None = None
    ) -> dict[str, Any]:
        """Judge a case and return the report's JSON object; raise JudgingFailed if there is none."""
        child = self._asked(spec, cache)
        try:
            status = child.wait(each_second)
            if status in _WITH_REPORT:
                return child.report()
            words = child.words()
        finally:
            child.close()
            if self._ahead:
                self.warm(SHOWING_S)
        log.error("analysis.child_failed", status=status, stderr=words)
        raise JudgingFailed(
            f"The rules could not be run over this room ({_ending(status, words)}). The room keeps what it had."
        )

    def _asked(self, spec: CaseSpec, cache: Path | None) -> _Child:
        """Return a child that has this case: the one that waits, if it still lives, else a new one."""
        child, self._waiting = self._waiting or _judge(), None
        try:
            if not child.ask(spec, cache):
                child.close()
                child = _judge()
                child.ask(spec, cache)  # if this one has ended too, its status says why
        except OSError:  # no room for the case
            child.close()
            raise
        return child


def overlook(spec: CaseSpec, each_second: Callable[[], None] | None, cache: Path) -> None:
    """Build the overviews of large artifacts for the timeline, in a child like those that judge.

    Without them the timeline draws from the rows, only slower: an error is logged and the judgement stays valid.
    """
    if not any(os.path.exists(a.original or "") and os.path.getsize(a.original or "") > LARGE for a in spec.artifacts):
        return
    child = _Child("incidents.drawing.overviews_child", str(settings.EVIDENCE_ROOT))
    try:
        child.ask(spec, cache)
        if status := child.wait(each_second):
            log.error("analysis.overviews_failed", status=status, stderr=child.words())
    except JudgingFailed as slow:
        log.error("analysis.overviews_too_slow", error=str(slow))
    finally:
        child.close()


def write_tables(spec: CaseSpec, each_second: Callable[[], None] | None, cache: Path, folder: Path) -> None:
    """Write a case's tables as Parquet into a folder of the evidence, in a child like those that judge.

    Raises `JudgingFailed` if the child did not come to its end.
    """
    child = _Child("incidents.drawing.tables_child", str(settings.EVIDENCE_ROOT), str(folder))
    try:
        child.ask(spec, cache)
        if status := child.wait(each_second):
            log.error("export.child_failed", status=status, stderr=child.words())
            raise JudgingFailed(f"The tables could not be written ({_ending(status, child.words())}).")
    finally:
        child.close()


@functools.cache
def fences() -> Mapping[str, bool]:
    """Return which fences hold around judging on this server; tried once in each process, by a child without a case."""
    with tempfile.TemporaryDirectory(prefix=SCRATCH) as folder:
        done = subprocess.run(
            [sys.executable, "-m", *_judging()],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            cwd=settings.BASE_DIR,
            env=_environment(Path(folder)),
            check=True,
        )
    held: dict[str, bool] = json.loads(done.stdout)["fences"]
    return held


def _judge(later_s: float = 0.0) -> _Child:
    return _Child(*_judging(later_s))


def _judging(later_s: float = 0.0) -> list[str]:
    """Return the module and the arguments of a child that judges."""
    limits = (settings.EXHIBIT_RULE_SECONDS, settings.EXHIBIT_RULE_MB)
    return ["rules.judge_child", *map(str, (later_s, *limits, settings.EVIDENCE_ROOT, *settings.EXHIBIT_RULES))]


def _environment(folder: Path) -> dict[str, str]:
    """Return the environment of a child: none of our settings, and a folder for temporary files."""
    return {"TMPDIR": str(folder), **{key: os.environ[key] for key in ("PATH", "LANG") if key in os.environ}}


def _fences() -> None:
    """Set limits between fork and exec (only system calls here): memory, CPU, no core files, death with the worker."""
    if sys.platform == "linux":
        _LIBC.prctl(1, signal.SIGKILL, 0, 0, 0)  # PR_SET_PDEATHSIG
    resource.setrlimit(resource.RLIMIT_AS, (CHILD_MEMORY, CHILD_MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (CHILD_SECONDS, CHILD_SECONDS + 5))


def _ending(status: int, words: str) -> str:
    if "memory allocation" in words or "MemoryError" in words or "Out of Memory" in words:
        return "it needed more memory than the server gives it"
    if status < 0:
        return f"stopped by {signal.Signals(-status).name}"
    return f"exit status {status}"
