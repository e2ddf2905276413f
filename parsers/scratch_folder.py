"""Temporary folders that end with the process that made them, also if it is killed.

Evidence lies in them while it is read or judged. A folder is locked by its process (flock on the folder itself), and the
lock ends with the process however that ends; whoever starts next removes what nobody holds any more.
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
"""Seconds in which a folder is left alone even if nobody holds it: its maker may not have come to lock it."""


class ScratchFolder:
    """A temporary folder whose name begins with `prefix`, held by this process until `close`."""

    def __init__(self, prefix: str) -> None:
        self.path = Path(tempfile.mkdtemp(prefix=prefix))
        self._held = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
        fcntl.flock(self._held, fcntl.LOCK_EX)

    def close(self) -> None:
        """Remove the folder with all it holds."""
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._held)


def remove_abandoned(prefix: str) -> int:
    """Remove the folders with this prefix whose processes are gone; return how many. Those of other users are left alone."""
    removed = 0
    for folder in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        with contextlib.suppress(OSError):  # it is held, another user's, or gone already
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
