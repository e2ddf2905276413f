"""A folder of Exhibit as its first start leaves it, made once per test run and copied for each start after that.

A first start makes the database's tables and the files of the pages: 27 s of processor time. One test of the suite goes
through it (`tests/config/test_up.py`); the others begin where it ends.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path

from config import embedded

ROOT = Path(__file__).resolve().parent.parent
COPIED = ("pg", "static", "secret-key")


def environment(var: Path) -> dict[str, str]:
    """Return the environment of a process that runs Exhibit in this folder, with services of its own."""
    ours = {"DATABASE_URL", "REDIS_URL", "SECRET_KEY", "EXHIBIT_URL"}
    known = {name: value for name, value in os.environ.items() if name not in ours}
    return known | {"DJANGO_SETTINGS_MODULE": "config.settings", "EXHIBIT_VAR": str(var)}


def prepared() -> Path:
    """Return the prepared folder; the first process of this run that asks makes it, the others wait."""
    shared = Path(os.environ["EXHIBIT_TEST_SHARED"])
    var = shared / "prepared"
    with (shared / "prepared.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not var.exists():
            making = shared / "making"
            with embedded.running(embedded.postgres(making)):
                command = [sys.executable, "manage.py", "prepare"]
                subprocess.run(command, cwd=ROOT, env=environment(making), check=True, stdout=subprocess.DEVNULL)
            making.rename(var)
    return var


def fill(var: Path, *parts: str) -> None:
    """Put a copy of the prepared folder, or of some parts of it, where Exhibit will start."""
    var.mkdir(parents=True, exist_ok=True, mode=0o700)
    for name in parts or COPIED:
        source = prepared() / name
        if source.is_dir():
            shutil.copytree(source, var / name, dirs_exist_ok=True)
        elif source.exists():
            shutil.copy2(source, var / name)
