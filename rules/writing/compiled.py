"""Cache on disk the objects that are built from the program's own data files, as Python caches byte code.

A cache file is in the `__pycache__` of the folder whose data it holds: whoever may write there may change the program
too. It begins with a hash of everything that it was made from: the data files, the code of `rules`, the schema of the
tables, and the versions of Python and of the YAML library. If the hash differs, the file is made again, so it is never
stale. There is one file per name; a new one replaces the old in one step. If Python writes no byte code
(`PYTHONDONTWRITEBYTECODE`) or the folder cannot be written, nothing is cached and everything else works the same.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import pickle
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar, cast

import yaml

T = TypeVar("T")

PROGRAM = Path(__file__).parents[2]
CODE = ("rules", "parsers/tables")
"""Folders of the program whose code decides what data files become."""

HASH_BYTES = 32


def compiled(name: str, folder: Path, files: Iterable[Path], make: Callable[[], T]) -> T:
    """Return the result of `make` for these files; read it from the file kept in `folder` if that is up to date."""
    path = folder / "__pycache__" / f"{name}.{sys.implementation.cache_tag}.pickle"
    key = _key(folder, files)
    try:
        held = path.read_bytes()
    except OSError:
        held = b""
    body = held[2 * HASH_BYTES :]
    if held[:HASH_BYTES] == key and held[HASH_BYTES : 2 * HASH_BYTES] == hashlib.sha256(body).digest():
        return cast(T, pickle.loads(body))  # our own file, beside our own code
    made = make()
    if not sys.dont_write_bytecode:
        _keep(path, key, made)
    return made


def _keep(path: Path, key: bytes, made: object) -> None:
    body = pickle.dumps(made, pickle.HIGHEST_PROTOCOL)
    with contextlib.suppress(OSError):  # a folder that cannot be written: it is made again each time
        path.parent.mkdir(exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f"{path.name}.")
        try:
            with os.fdopen(handle, "wb") as out:
                out.write(key + hashlib.sha256(body).digest() + body)
            Path(name).chmod(0o644)
            Path(name).replace(path)
        except OSError:
            Path(name).unlink(missing_ok=True)
            raise


def _key(folder: Path, files: Iterable[Path]) -> bytes:
    made = hashlib.sha256(_code())
    for path in sorted(files):
        text = path.read_bytes()
        made.update(f"{path.relative_to(folder)} {len(text)}\n".encode())
        made.update(text)
    return made.digest()


@functools.cache
def _code() -> bytes:
    """Return a hash of the code that reads data files, and of what it runs on."""
    made = hashlib.sha256(f"{sys.version} {yaml.__version__}".encode())
    for path in sorted(p for folder in CODE for p in (PROGRAM / folder).rglob("*.py")):
        text = path.read_bytes()
        made.update(f"{path.relative_to(PROGRAM)} {len(text)}\n".encode())
        made.update(text)
    return made.digest()
