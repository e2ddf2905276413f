"""Make an archive of rooms with a checkout: python -m tests.upgrade.make_archive CHECKOUT tests/upgrade/NAME.tar.xz

Starts the checkout, makes the rooms of the pictures (its own tests/gallery_rooms.py), waits until they are judged, and packs
what its `manage.py backup` writes. Nobody stays signed in: sessions are deleted first.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks import inside
from tests.served import Served, served

SETTLED_S = 600
LARGEST_BYTES = 5 * 2**20
ADMINISTRATOR = """
from django.contrib.auth.models import User
User.objects.create_superuser("ada", password="correct horse battery staple")
print('RESULT{}')
"""
SIGN_OUT = """
from django.contrib.sessions.models import Session
Session.objects.all().delete()
print('RESULT{}')
"""


def make(checkout: Path, python: str, archive: Path) -> None:
    with served(checkout=checkout, python=python) as running, tempfile.TemporaryDirectory() as folder:
        inside.run(running, ADMINISTRATOR)
        slugs = _in_gallery(running, "begin()")
        _settle(running)
        _in_gallery(running, f"make({slugs!r})")
        _settle(running)
        inside.run(running, SIGN_OUT)
        backup = Path(folder) / "rooms"
        subprocess.run(
            [python, "manage.py", "backup", str(backup)],
            cwd=checkout,
            env=_environment(running),
            check=True,
        )
        with tarfile.open(archive, "w:xz", preset=9) as tar:
            tar.add(backup, "rooms", filter=_nobodys)
    size = archive.stat().st_size
    print(f"{archive}: {size:,} bytes")
    if size > LARGEST_BYTES:
        raise SystemExit(f"an archive may have {LARGEST_BYTES:,} bytes at most")


def _in_gallery(running: Served, code: str) -> Any:
    return inside.run(running, f"from tests import gallery_rooms\ngallery_rooms.{code}")


def _settle(running: Served) -> None:
    until = time.monotonic() + SETTLED_S
    while _in_gallery(running, "settled()")["left"]:
        if time.monotonic() > until:
            raise RuntimeError(f"the workers were not through after {SETTLED_S} s")
        time.sleep(2)


def _environment(running: Served) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if key not in {"DATABASE_URL", "REDIS_URL"}}
    return kept | {"EXHIBIT_VAR": str(running.var), "DJANGO_SETTINGS_MODULE": "config.settings"}


def _nobodys(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """Keep no owner and no time of the machine that packed it."""
    member.uid = member.gid = member.mtime = 0
    member.uname = member.gname = ""
    return member


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("checkout", type=Path)
    parser.add_argument("archive", type=Path)
    parser.add_argument("--python", default=sys.executable, help="the Python that runs the checkout")
    options = parser.parse_args()
    make(options.checkout.resolve(), options.python, options.archive)


if __name__ == "__main__":
    main()
