"""Child processes: start them so that they cannot outlive this process, and stop them in steps."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path


def die_with_parent(sig: signal.Signals) -> Callable[[], object] | None:
    """Return a preexec_fn by which the kernel sends `sig` to the child when its parent ends.

    It fires when the parent's *thread* ends, so start children from the main thread. Linux only; None elsewhere.
    """
    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None).prctl  # looked up before the fork

    def ask() -> None:
        # A shell ignores SIGINT and SIGQUIT in what it starts in the background, and children would ignore them too.
        signal.signal(sig, signal.SIG_DFL)
        prctl(1, int(sig), 0, 0, 0)

    return ask


def command_line(pid: int) -> str:
    """Return the command line of a process, "" if it has ended or is a zombie."""
    if sys.platform == "linux":
        try:
            return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
        except OSError:
            return ""
    shown = subprocess.run(["ps", "-o", "command=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return shown.stdout.strip()


def pid_exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def wait_until(condition: Callable[[], bool], seconds: float) -> bool:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def stop_process(process: subprocess.Popen[bytes], steps: list[tuple[signal.Signals, float]]) -> None:
    """Send each signal and wait its seconds; a process that still runs then is killed with its whole group."""
    for sig, seconds in steps:
        if process.poll() is not None:
            break
        process.send_signal(sig)
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            continue
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def end_anyway(seconds: float) -> None:
    """End this process and its children after `seconds`, whatever they are waiting for."""

    def end() -> None:
        try:
            for task in Path("/proc/self/task").glob(
                "*/children"
            ):  # Linux only; elsewhere they end when their pipes close
                try:
                    pids = task.read_text("ascii").split()
                except OSError:  # the thread ended just now
                    continue
                for pid in pids:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(int(pid), signal.SIGKILL)
        finally:
            os._exit(1)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()


def spawn(
    command: list[str], death: signal.Signals, log: Path | None = None, env: Mapping[str, str] | None = None
) -> subprocess.Popen[bytes]:
    """Start a child process. It gets the signal `death` when we die; its output goes to `log`, by default to ours."""
    out: int | None = None
    if log is not None:
        log.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if log.exists() and log.stat().st_size > 20 * 2**20:
            log.replace(log.with_name(f"{log.name}.1"))
        out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=None if out is None else subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C at the terminal reaches the supervisor only, which stops things in order
            preexec_fn=die_with_parent(death),
            env={**os.environ, **(env or {})},
        )
    finally:
        if out is not None:
            os.close(out)


def last_lines(log: Path) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-8:]) if log.exists() else ""
