"""The child process that reads files: `python -m parsers.reader_child MB [FOLDER ...]`. It reads and answers JSON lines,
and may be killed.

It writes {"fences": {name: whether it holds}} at once, and {"ready": true} when it can read. A request is {"path",
"hints", "out", "processes", "known", "name", "sha256", "cpu_s"}. While it reads, it writes {"progress": [lines,
bytes, bytes_total]}; the last answer is {"end": {...}} with `report` (the JSON object of the command line, null if
nothing is known), `error` ({"type", "text"} or null), `misfits`, `cut_off`; or with `fault` ({"type", "trace"}) after an
error of ours, `large` where memory was not enough, or `full` where the disk was.
"""

from __future__ import annotations

import json
import math
import os
import resource
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from parsers.allocator import lean
from parsers.errors import ParserError
from parsers.fences import fence
from parsers.kept_patterns import install
from parsers.progress import Progress
from parsers.reader import FULL

if TYPE_CHECKING:
    from parsers.reading import Account

Json = dict[str, Any]
SAY_S = 0.1
"""Minimum interval in seconds between two reports of progress; the first rows are reported at once."""

NO_THREAD = "can't start new thread"
"""Python's error message if the memory limit leaves no room for the stack of a thread."""


class _Said:
    """Callback that reports progress to the parent, at most every SAY_S seconds."""

    def __init__(self, say: Callable[[Json], None]) -> None:
        self._say, self._last, self._lines = say, 0.0, 0

    def __call__(self, progress: Progress) -> None:
        now = time.monotonic()
        if now - self._last >= SAY_S or (progress.lines and not self._lines):
            self._last, self._lines = now, progress.lines
            self._say({"progress": [progress.lines, progress.bytes, progress.bytes_total]})


def serve(requests: IO[str], say: Callable[[Json], None]) -> None:
    """Answer requests, one JSON line each, until the input ends."""
    say({"ready": True})
    for line in requests:
        request = json.loads(line)
        _allow_seconds(request["cpu_s"])
        say({"end": read_one(request, _Said(say))})


def read_one(request: Mapping[str, Any], progress: Callable[[Progress], None]) -> Json:
    """Read one file; turn every failure into an answer."""
    from parsers.layout.parts import PartHint
    from parsers.lines import stops_in_the_middle
    from parsers.reading import read
    from parsers.text.source import Hints, Limits

    path, out = Path(request["path"]), Path(request["out"])
    error: ParserError | None = None
    try:
        try:
            account: Account | None = read(
                path,
                Hints(**request["hints"]),
                out,
                progress=progress,
                limits=Limits(processes=request["processes"]),
                known=[PartHint(k["line_from"], k["line_to"], Hints(**k["hints"])) for k in request["known"]],
                name=request["name"],
                sha256=request["sha256"],
            )
        except ParserError as fault:
            account, error = fault.account, fault
        return {
            "report": account.as_json() if account else None,
            "misfits": [str(misfit) for misfit in account.misfits] if account else [],
            "error": {"type": type(error).__name__, "text": str(error)} if error else None,
            "cut_off": error is None and stops_in_the_middle(path, out),
        }
    except MemoryError:
        return {"large": True}
    except OSError as fault:
        return {"full": True} if fault.errno in FULL else _fault(fault)
    except Exception as fault:
        if str(fault) == NO_THREAD:
            return {"large": True}
        return _fault(fault)


def _fault(fault: Exception) -> Json:
    """Return the answer for an error in our own code; the parent shows its type and logs the traceback."""
    return {"fault": {"type": type(fault).__name__, "trace": traceback.format_exc(limit=20)[-8000:]}}


def _allow_seconds(cpu_s: int) -> None:
    """Limit the processor time of this process to `cpu_s` seconds from now on; then the kernel ends it."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    most = math.ceil(used.ru_utime + used.ru_stime) + cpu_s
    resource.setrlimit(resource.RLIMIT_CPU, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def main(arguments: list[str]) -> None:
    """Restrict the process to `memory in MB` and to the files of `folders`, if there are any; load the formats, serve."""
    memory_mb, *folders = arguments
    install(keeps=False)
    held = fence(data_mb=int(memory_mb), writes=True, files=1024, folders=[Path(folder) for folder in folders])
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # nothing that a library prints may stand between the answers

    def say(what: Json) -> None:
        answers.write(json.dumps(what) + "\n")
        answers.flush()

    say({"fences": held})
    lean()
    from parsers.registry import modules

    modules()
    serve(sys.stdin, say)


if __name__ == "__main__":
    main(sys.argv[1:])
