"""Exhibit as a user starts it: `manage.py up` in a folder of its own. For browser tests, benchmarks and screenshots."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
START_S = 300
NOT_OURS = {"DATABASE_URL", "REDIS_URL", "EXHIBIT_URL", "POLARS_MAX_THREADS"}
"""Variables of a test run that must not reach the Exhibit that it starts."""


@dataclass
class Served:
    """A running Exhibit: its address, the link for the first administrator, its data, what it printed, and its code."""

    url: str
    first_link: str
    var: Path
    process: subprocess.Popen[str]
    printed: list[str] = field(default_factory=list)
    checkout: Path = ROOT
    python: str = sys.executable


@contextmanager
def served(
    env: dict[str, str] | None = None,
    checkout: Path = ROOT,
    python: str = sys.executable,
    fill: Callable[[Path], None] = lambda var: None,
) -> Iterator[Served]:
    """Start everything, wait for the address, and stop it in order; RuntimeError with what it printed if it does not come.

    `checkout`: the tree that is started, if not this one. `fill` may put something into the folder before Exhibit starts there.
    """
    var = Path(tempfile.mkdtemp(prefix="exhibit-served-", dir="/tmp"))
    fill(var)
    kept = {key: value for key, value in os.environ.items() if key not in NOT_OURS}
    kept |= {"EXHIBIT_VAR": str(var), "DJANGO_SETTINGS_MODULE": "config.settings", "PYTHONUNBUFFERED": "1"} | (
        env or {}
    )
    process = subprocess.Popen(
        [python, "manage.py", "up", "--port", "0"],  # one that the system gives: two runs never meet
        cwd=checkout, env=kept, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
    )  # fmt: skip
    printed: list[str] = []
    ready = threading.Event()

    def listen() -> None:
        assert process.stdout is not None
        for line in process.stdout:
            printed.append(line)
            if "Stop: Ctrl-C" in line:
                ready.set()
        ready.set()

    listener = threading.Thread(target=listen, daemon=True)
    listener.start()
    try:
        ready.wait(START_S)
        text = "".join(printed)
        address = re.search(r"Exhibit is at (\S+)", text)
        link = re.search(r"once: (\S+)", text)
        if process.poll() is not None or not address or not link:
            raise RuntimeError(f"Exhibit did not start:\n{text}")
        yield Served(address[1], link[1], var, process, printed, checkout, python)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        listener.join(10)
        if process.stdout is not None:
            process.stdout.close()
        shutil.rmtree(var, ignore_errors=True)
