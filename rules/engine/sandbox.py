"""The parent's side of the query process: start it, send requests, wait with a limit, kill it. Imports neither DuckDB
nor Polars.

A shipped rule runs over views of the files; a draft or a person's SQL runs over rows loaded into memory, in a child of
its own whose address space is limited and whose configuration is locked. Messages of the engine are for logs; a page
shows `RuleFailed.cause` only after `plain_cause`.
"""

from __future__ import annotations

import json
import os
import re
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any

from rules.errors import RuleFailed, RuleTooLarge, RuleTooSlow, stopped_after

ROOT = Path(__file__).resolve().parents[2]
PATH = re.compile(r"(?:(?<=^)|(?<=[\s'\"(\[=:]))/[^\s'\",;)\]]*/[^\s'\",;)\]]*")
"""A path in a message of the engine; readers of a report must not see where this machine stores its files."""

START_S = 20.0
"""Maximum time in seconds for a child to start and open its views, on a loaded machine."""

KILL_S = 1.0
"""Time in seconds that a query has to stop by itself after its limit, before its process is killed."""


@dataclass(frozen=True)
class Fence:
    """Limits of a child process.

    `address_mb` and `cpu_s` are process limits (0 = none), `memory_mb` is the engine's limit, `limit_s` applies per
    query.
    """

    memory_mb: int = 512
    address_mb: int = 4096
    cpu_s: int = 0
    limit_s: float = 30.0
    max_rows: int = 5000

    def of_query(self, limit_s: float | None = None, memory_mb: int | None = None) -> Fence:
        """Return a copy with another time and memory limit per query; None keeps the present limit."""
        mb = self.memory_mb if memory_mb is None else memory_mb
        seconds = self.limit_s if limit_s is None else limit_s
        return replace(self, limit_s=seconds, memory_mb=mb, address_mb=self.address_mb - self.memory_mb + mb)


DRAFT = Fence(memory_mb=256, address_mb=1200, cpu_s=30, limit_s=2.0, max_rows=200)
"""Limits for drafts and people's SQL, from measurements: the memory limit alone does not stop a function that builds
gigabytes.
"""

MAX_DRAFT_ROWS = 2_000_000


@dataclass(frozen=True)
class Rows:
    """A result: columns in order, rows as mappings; `more` counts rows beyond the limit that were not fetched."""

    columns: tuple[str, ...]
    rows: tuple[dict[str, Any], ...]
    more: int


class Sandbox:
    """A child process and its open views. Use as a context manager; leaving it kills the child."""

    def __init__(self, fence: Fence | None = None) -> None:
        self.fence = fence or Fence()
        self._process: subprocess.Popen[bytes] | None = None
        self._opened: dict[str, Any] | None = None

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def is_open(self) -> bool:
        """Return whether views were opened.

        Views of a killed child count too, because the next query opens them again.
        """
        return self._opened is not None

    def warm(self) -> None:
        """Start the child unless it runs; it loads the engine while the caller does something else."""
        if self._process is None:
            self._process = self._start()

    def close(self) -> None:
        """Kill the child; a second call does nothing."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def open(self, views: Mapping[str, str], spill: Path | None = None) -> None:
        """Give the child views (name -> SELECT) over the files of a case.

        Views that it has already stay; views not in `views` are dropped. `spill` is a folder of the caller in which
        sorting and grouping may put what exceeds the memory limit.
        """
        folder = str(spill) if spill else ""
        again = self._opened is not None and self._opened["op"] == "open" and self._opened["spill"] == folder
        had = self._opened["views"] if again and self._opened else None
        self._opened = {"op": "open", "views": dict(views), "memory_mb": self.fence.memory_mb, "spill": folder}
        if self._process is not None and had is not None and had.items() <= self._opened["views"].items():
            self._send(
                "open", {"op": "add", "views": {name: select for name, select in views.items() if name not in had}}
            )
        else:
            self._send("open", self._opened)

    def draft(self, views: Mapping[str, str], load: Mapping[str, list[str] | None], rows: int = MAX_DRAFT_ROWS) -> None:
        """Make the child load columns of tables (None: all) into memory and lock itself."""
        wanted = {name: views[name] for name in load}
        self._opened = {
            "op": "draft",
            "views": wanted,
            "load": dict(load),
            "rows": rows,
            "memory_mb": self.fence.memory_mb,
        }
        self._send("draft", self._opened)

    def query(self, rule: str, sql: str, params: Mapping[str, Any] | None = None, max_rows: int | None = None) -> Rows:
        """Run one statement; raise RuleFailed, RuleTooSlow or RuleTooLarge with `rule` as its name.

        After a kill the next query starts a new child.
        """
        return self._answered(rule, {"op": "query"}, sql, params, max_rows)

    def apart(
        self,
        rule: str,
        views: Mapping[str, str],
        sql: str,
        params: Mapping[str, Any] | None = None,
        file: Path | None = None,
        max_rows: int | None = None,
    ) -> Rows:
        """Run one statement over these views instead of the open ones.

        With a `file`, all its rows are written there as Parquet and none are returned.
        """
        return self._answered(
            rule, {"op": "apart", "views": dict(views), "file": str(file or "")}, sql, params, max_rows
        )

    def _answered(
        self, rule: str, head: Mapping[str, Any], sql: str, params: Mapping[str, Any] | None, max_rows: int | None
    ) -> Rows:
        if self._process is None and self._opened is not None:
            self._send(rule, self._opened)
        request = {
            **head,
            "sql": sql,
            "params": dict(params or {}),
            "limit_s": self.fence.limit_s,
            "max_rows": max_rows or self.fence.max_rows,
        }
        made = self._ask(rule, request, self.fence.limit_s + KILL_S, stopped_after(self.fence.limit_s))
        if "error" in made:
            raise _error(rule, made["error"])
        columns = tuple(made["columns"])
        return Rows(columns, tuple(dict(zip(columns, row, strict=True)) for row in made["rows"]), made["more"])

    def _send(self, rule: str, request: Mapping[str, Any]) -> None:
        made = self._ask(rule, request, START_S, f"its tables could not be opened within {START_S:g} s")
        if "error" in made:
            raise _error(rule, made["error"])

    def _ask(self, rule: str, request: Mapping[str, Any], wait_s: float, late: str) -> dict[str, Any]:
        self.warm()
        process = self._process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps(request, allow_nan=False).encode() + b"\n")
            process.stdin.flush()
            line = _line(process.stdout.fileno(), time.monotonic() + wait_s)
        except TimeoutError:
            self.close()
            raise RuleTooSlow(rule, late) from None
        except OSError:
            line = b""
        if not line:
            self.close()
            ended = _ending(process.returncode)
            raise RuleTooLarge(rule, f"the query process ended ({ended}), as it does where memory is not enough")
        made: dict[str, Any] = json.loads(line)
        return made

    def _start(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", "rules.engine.child", str(self.fence.address_mb), str(self.fence.cpu_s)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env={"PYTHONPATH": str(ROOT), "LC_ALL": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1", "MALLOC_ARENA_MAX": "2"},
            start_new_session=True,
        )


def _line(descriptor: int, until: float) -> bytes:
    """Read one line until time `until`; return b"" if the other side closed. Raise TimeoutError when time is up."""
    made = b""
    with selectors.DefaultSelector() as ready:
        ready.register(descriptor, selectors.EVENT_READ)
        while not made.endswith(b"\n"):
            if not ready.select(max(until - time.monotonic(), 0)):
                raise TimeoutError
            part = os.read(descriptor, 1 << 16)
            if not part:
                return b""
            made += part
    return made


def _ending(code: int | None) -> str:
    return signal.Signals(-code).name if code is not None and code < 0 else f"status {code}"


def _error(rule: str, error: Mapping[str, str]) -> RuleFailed:
    made = {"slow": RuleTooSlow, "large": RuleTooLarge}.get(error["kind"], RuleFailed)
    return made(rule, PATH.sub("(a file)", error["text"]))


def plain_cause(error: RuleFailed) -> str:
    """Return what a page may show: the kind of failure, not the engine's message, which may contain paths."""
    if isinstance(error, RuleTooSlow):
        return "took too long and was stopped"
    return "needed too much memory and was stopped" if isinstance(error, RuleTooLarge) else "failed while it ran"
