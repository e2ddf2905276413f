"""Temporary folders that are removed after the process that made them has ended, even if it was killed.

They hold evidence while it is read or judged. A process locks its folder (flock on the folder itself), and the kernel
releases the lock when the process ends; the next process to start removes folders without a lock.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from pathlib import Path

NEW_S = 60.0
"""Age in seconds below which a folder without a lock is not removed: its process may not have locked it yet."""


class ScratchFolder:
    """A temporary folder whose name begins with `prefix`, locked by this process until `close`."""

    def __init__(self, prefix: str) -> None:
        self.path = Path(tempfile.mkdtemp(prefix=prefix))
        self._held = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
        fcntl.flock(self._held, fcntl.LOCK_EX)

    def close(self) -> None:
        """Remove the folder with its contents."""
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._held)


def remove_abandoned(prefix: str) -> int:
    """Remove this user's folders with this prefix whose processes have ended; return how many."""
    removed = 0
    for folder in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        with contextlib.suppress(OSError):  # it is locked, another user's, or removed already
            if time.time() - folder.stat().st_mtime < NEW_S:
                continue
            held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder)
                removed += 1
            finally:
                os.close(held)
    return removed
