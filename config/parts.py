"""The parts of a running Exhibit, as `up` keeps them: what runs, what ended by itself, and when it is started again."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from config.embedded import EmbeddedError

FILE = "parts.json"  # in EXHIBIT_VAR; the status page of the site reads it
CALM_S = 600.0
"""A part that ended this long ago counts as sound again."""
LONGEST_WAIT_S = 60.0
KEPT = 20
"""So many ends of a part are remembered."""

Process = subprocess.Popen[bytes]


def wait_before(ends: int) -> float:
    """Return the seconds to wait before a restart of a part that ended `ends` times within CALM_S.

    >>> [wait_before(ends) for ends in (1, 2, 3, 7, 8)]
    [1.0, 2.0, 4.0, 60.0, 60.0]
    """
    return min(LONGEST_WAIT_S, 2.0 ** min(ends - 1, 10))


@dataclass(frozen=True)
class End:
    """One unexpected end of a process: when, as ISO 8601 in UTC, and the exit status, negative for a signal.

    `status` is None if it could not be started; `why` says why then.
    """

    at: str
    status: int | None
    why: str = ""


@dataclass
class Part:
    """A process and how to start it. `start` returns the process, or raises EmbeddedError with the reason.

    `log`: where it says why it ended, if not at the terminal.
    """

    name: str
    start: Callable[[], Process]
    log: Path | None = None
    process: Process | None = None
    since: str = ""
    ends: list[End] = field(default_factory=list)
    due: float | None = None  # time.monotonic() of the next start; None while it runs
    _recent: list[float] = field(default_factory=list)

    def begin(self) -> None:
        self.process, self.since, self.due = self.start(), now(), None

    def tend(self) -> str:
        """Record that the process has ended, or restart it if it is due. Return a message, "" if nothing changed."""
        if self.due is None:
            status = self.process.poll() if self.process is not None else None
            return "" if status is None else self._ended(End(now(), status))
        if time.monotonic() < self.due:
            return ""
        try:
            self.begin()
        except (EmbeddedError, OSError) as error:
            return self._ended(End(now(), None, str(error)))
        return f"{self.name} runs again"

    def _ended(self, end: End) -> str:
        here = time.monotonic()
        self._recent = [at for at in self._recent if here - at < CALM_S] + [here]
        self.ends = [*self.ends, end][-KEPT:]
        wait = wait_before(len(self._recent))
        self.process, self.due = None, here + wait
        what = f"could not be started: {end.why}" if end.status is None else f"ended by itself with status {end.status}"
        often = f", {len(self._recent)} times within {CALM_S / 60:.0f} minutes" if len(self._recent) > 1 else ""
        where = f" (its log: {self.log})" if self.log else ""
        return f"{self.name} {what}{often}{where}; it is started again in {wait:.0f} s"


def seconds_to_next(parts: Iterable[Part]) -> float | None:
    """Return the seconds until the next part is due, None if all run."""
    due = [part.due for part in parts if part.due is not None]
    return max(0.0, min(due) - time.monotonic()) if due else None


def write(folder: Path, parts: Iterable[Part]) -> None:
    """Write the state of the parts to the file atomically, since other processes read it meanwhile."""
    told = {
        part.name: {
            "pid": part.process.pid if part.process is not None else None,
            "since": part.since,
            "ends": [asdict(end) for end in part.ends],
        }
        for part in parts
    }
    draft = folder / f"{FILE}.new"
    draft.write_text(json.dumps(told))
    draft.replace(folder / FILE)


def read(folder: Path) -> dict[str, dict[str, Any]]:
    """Read what `write` wrote, by name; {} if `up` did not start what runs here."""
    try:
        told: dict[str, dict[str, Any]] = json.loads((folder / FILE).read_text())
    except FileNotFoundError:
        return {}
    return told


def now() -> str:
    """Return this second as ISO 8601 in UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds")
