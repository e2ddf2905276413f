"""Keep regular expressions compiled from one start to the next, as Python keeps byte code (decision 0025).

Importing the parsers and rules compiles some 1,500 expressions, which takes half a second in each process. Expressions
that a module compiles during its import, and those compiled by `compile_own`, are saved in one file by text and flags.
No others are saved, because they may contain words of the evidence. The file begins with a hash of the version of
Python and of its content. An expression that the file lacks is compiled as usual, so the file is never stale. Nothing
is saved where Python writes no byte code or the folder is not writable.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import marshal
import os
import re
import sys
import tempfile
from array import array
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any, TypeAlias

PATH = Path(__file__).parent / "__pycache__" / f"patterns.{sys.implementation.cache_tag}.marshal"
MOST = 6_000
"""Maximum number of expressions in the file, four times those of the program; above it only those used are saved."""

WORTH_A_FILE = 20
"""Minimum number of new expressions for which the file is written; fewer do not slow a start."""

IMPORTER = "<frozen importlib._bootstrap>"
"""File name of the frame that executes a module during import."""

Key: TypeAlias = tuple["str | bytes", int]
Code: TypeAlias = tuple[int, bytes, int, dict[str, int]]
"""Flags, 32-bit code words for the engine of `re`, number of groups, numbers of the named groups."""


_OWN: set[Key] = set()


def compile_own(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Compile an expression from the program's own data, which is saved although no import compiles it."""
    _OWN.add((pattern, int(flags)))
    return re.compile(pattern, flags)


class KeptPatterns:
    """Saved expressions for one process. `compiler` and `machine` are the modules of `re` that compile and match."""

    def __init__(self, compiler: Any, machine: Any, path: Path = PATH) -> None:
        self._compiler = compiler
        self._compile = compiler.compile
        self._machine = machine
        self._path = path
        self._held = read(path)
        self._used: set[Key] = set()
        self._new: set[Key] = set()

    def compile(self, pattern: Any, flags: int = 0) -> re.Pattern[Any]:
        """Return a compiled expression: from the saved code if there is some, else compiled now."""
        key = (pattern, int(flags))
        held = self._held.get(key) if isinstance(pattern, str | bytes) else None
        if held is None:
            made: re.Pattern[Any] = self._compile(pattern, flags)
            if isinstance(pattern, str | bytes) and (key in _OWN or is_importing(sys._getframe(1))):
                self._new.add(key)
            return made
        self._used.add(key)
        all_flags, words, groups, names = held
        by_number: list[str | None] = [None] * (groups + 1)
        for name, number in names.items():
            by_number[number] = name
        code = array("I", words).tolist()
        kept: re.Pattern[Any] = self._machine.compile(pattern, all_flags, code, groups, dict(names), tuple(by_number))
        return kept

    def write(self) -> None:
        """Save the newly compiled expressions, if there are enough and Python may write byte code."""
        if len(self._new) < WORTH_A_FILE or sys.dont_write_bytecode:
            return
        held = {**read(self._path), **{key: self._code(*key) for key in self._new}}
        if len(held) > MOST:
            held = {key: code for key, code in held.items() if key in self._used or key in self._new}
        body = marshal.dumps(held)
        with contextlib.suppress(OSError):  # the folder is not writable: each start compiles anew
            self._path.parent.mkdir(exist_ok=True)
            handle, name = tempfile.mkstemp(dir=self._path.parent, prefix=f"{self._path.name}.")
            try:
                with os.fdopen(handle, "wb") as out:
                    out.write(head(body) + body)
                Path(name).chmod(0o644)
                Path(name).replace(self._path)
            except OSError:
                Path(name).unlink(missing_ok=True)
                raise

    def _code(self, pattern: str | bytes, flags: int) -> Code:
        tree = self._compiler._parser.parse(pattern, flags)
        words = array("I", self._compiler._code(tree, flags)).tobytes()
        return flags | tree.state.flags, words, tree.state.groups - 1, dict(tree.state.groupdict)


def install(keeps: bool = True) -> None:
    """Make `re` use the saved expressions in this process; a second call does nothing.

    Call it before importing modules with many expressions. At the end of the process, newly compiled expressions are
    saved. Pass `keeps` False in a process that cannot write then, such as a child behind fences.
    """
    compiler: Any = import_module("re._compiler")
    if isinstance(getattr(compiler.compile, "__self__", None), KeptPatterns):
        return
    kept = KeptPatterns(compiler, import_module("_sre"))
    compiler.compile = kept.compile
    if keeps:
        atexit.register(kept.write)


def read(path: Path) -> dict[Key, Code]:
    """Return the expressions in a file; none if the file is missing, cut off, or from another version of Python."""
    try:
        content = path.read_bytes()
    except OSError:
        return {}
    size = hashlib.sha256().digest_size
    body = content[size:]
    return marshal.loads(body) if content[:size] == head(body) else {}


def head(body: bytes) -> bytes:
    """Return the hash with which a file with this content begins."""
    return hashlib.sha256(sys.version.encode() + body).digest()


def is_importing(frame: FrameType | None) -> bool:
    """Return whether a frame runs during the import of a module."""
    while frame is not None and frame.f_code.co_name != "<module>":
        frame = frame.f_back
    return frame is not None and frame.f_back is not None and frame.f_back.f_code.co_filename == IMPORTER
