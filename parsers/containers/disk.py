"""Flush files to disk."""

from __future__ import annotations

import os
from pathlib import Path


def sync(path: Path) -> None:
    """Flush a file, or the entries of a folder, to disk (fsync)."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
