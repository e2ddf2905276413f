"""Compile byte code, patterns, rules and signatures once for all later starts: `python -m rules.writing.prepare`.

The image is built with it, since nobody can write there later. Elsewhere a process that judges calls `prepare` before it
gives up the right to write beside the program.
"""

from __future__ import annotations

import compileall
import contextlib
import importlib
import os
import pkgutil
import subprocess
import sys

from parsers.kept_patterns import install
from rules.writing.compiled import PROGRAM, compiled

PACKAGES = ("config", "incidents", "parsers", "rules")
LIBRARIES = ("parsers", "rules")
RULES = PROGRAM / "rules"


def prepare() -> None:
    """Compile everything in another process, unless that was done for these files, or nothing may be written there.

    If it fails, that process says why on standard error, and each start reads the files as they are.
    """
    if not sys.dont_write_bytecode and os.access(RULES, os.W_OK):
        with contextlib.suppress(subprocess.CalledProcessError):
            compiled("prepared", RULES, RULES.rglob("*.yaml"), _apart)


def _apart() -> bool:
    command = [sys.executable, "-m", "rules.writing.prepare"]
    return subprocess.run(command, cwd=PROGRAM, stdout=subprocess.DEVNULL, check=True).returncode == 0


def main() -> int:
    """Compile; return the exit status, 1 if a module has no byte code."""
    from rules.signatures.mechanisms import mechanisms
    from rules.signatures.signatures import areas, index
    from rules.writing.packs import open_library

    install()
    made = [compileall.compile_dir(PROGRAM / package, quiet=1) for package in PACKAGES]
    for package in LIBRARIES:  # their expressions are kept when this process ends
        for module in pkgutil.walk_packages([str(PROGRAM / package)], f"{package}."):
            if not module.name.endswith("__main__"):
                importlib.import_module(module.name)
    open_library()
    mechanisms()
    for key in {key for key, _ in areas()}:
        index(key)
    return 0 if all(made) else 1


if __name__ == "__main__":
    sys.exit(main())
