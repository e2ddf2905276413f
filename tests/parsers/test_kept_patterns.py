"""Test that saved expressions match like compiled ones, are never stale, and contain no text of the evidence."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from parsers import kept_patterns
from parsers.kept_patterns import KeptPatterns, compile_own, is_importing, read
from tests.parsers.patterns import compiled

ROOT = Path(__file__).parents[2]
COMPILER: Any = import_module("re._compiler")
Imported = Callable[..., list[re.Pattern[Any]]]


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the path of a missing file in a temporary folder; one new expression is enough for writing it."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(kept_patterns, "WORTH_A_FILE", 1)
    return tmp_path / "__pycache__" / "patterns"


def started(path: Path) -> KeptPatterns:
    """Return the saved expressions as a new process loads them, with Python's real compiler."""
    real = COMPILER.compile
    while isinstance(getattr(real, "__self__", None), KeptPatterns):
        real = real.__self__._compile

    class Compiler:
        compile = staticmethod(real)
        _parser = COMPILER._parser
        _code = staticmethod(COMPILER._code)

    return KeptPatterns(Compiler, import_module("_sre"), path)


@pytest.fixture
def imported(tmp_path: Path) -> Iterator[Imported]:
    """Return a function that compiles expressions as a module does while it is imported."""
    numbers = count()

    def compile_all(kept: KeptPatterns, *expressions: tuple[str | bytes, int]) -> list[re.Pattern[Any]]:
        file = tmp_path / f"module_{next(numbers)}.py"
        file.write_text("made = [kept.compile(*one) for one in expressions]")
        spec = spec_from_file_location(file.stem, file)
        assert spec is not None
        assert spec.loader is not None
        module = module_from_spec(spec)
        vars(module).update(kept=kept, expressions=expressions)
        sys.modules[file.stem] = module
        # Every import goes through the function that imports modules.
        import_module("importlib._bootstrap")._call_with_frames_removed(spec.loader.exec_module, module)
        made: list[re.Pattern[Any]] = module.made
        return made

    yield compile_all
    for name in [name for name in sys.modules if re.fullmatch(r"module_\d+", name)]:
        del sys.modules[name]


def test_every_pattern_of_the_program_is_the_same_after_it_was_kept(path: Path, imported: Imported) -> None:
    every = sorted({(p.pattern, p.flags) for p in compiled()}, key=str)
    assert len(every) > 700
    first = started(path)
    fresh = imported(first, *every)
    first.write()
    held = read(path)
    assert set(held) == set(every)
    second = started(path)
    for expression, old in zip(every, fresh, strict=True):
        new = second.compile(*expression)
        assert new == old  # text, flags and the code itself
        assert (new.groups, new.groupindex) == (old.groups, old.groupindex)


def test_a_kept_expression_is_not_compiled(path: Path, imported: Imported) -> None:
    first = started(path)
    imported(first, (r"(?P<name>a+)(b)?", re.I))
    first.write()
    second = started(path)
    second._compile = None
    match = second.compile(r"(?P<name>a+)(b)?", re.I).match("xAAb"[1:])
    assert match is not None
    assert (match["name"], match[2], match.lastgroup) == ("AA", "b", None)


def test_what_is_compiled_at_run_time_is_not_kept(path: Path, imported: Imported) -> None:
    kept = started(path)
    imported(kept, ("of the program", 0))
    kept.compile("words of the evidence")
    kept.write()
    assert set(read(path)) == {("of the program", 0)}
    assert not is_importing(sys._getframe())


def test_an_expression_of_the_programs_data_is_kept_at_run_time(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = started(path)
    monkeypatch.setattr(COMPILER, "compile", kept.compile)
    assert compile_own("declared in a list of data", re.I).match("Declared in a list of data")
    kept.write()
    assert set(read(path)) == {("declared in a list of data", int(re.I))}


@pytest.mark.parametrize("damage", ["cut", "changed", "of another Python", "missing"])
def test_a_file_that_does_not_fit_is_not_used(
    path: Path, imported: Imported, damage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = started(path)
    imported(first, ("a", 0))
    first.write()
    content = path.read_bytes()
    if damage == "cut":
        path.write_bytes(content[:-1])
    elif damage == "changed":
        path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    elif damage == "missing":
        path.unlink()
    else:
        monkeypatch.setattr(sys, "version", "another")
    assert read(path) == {}
    assert started(path).compile("a").match("a")


def test_errors_are_those_of_re(path: Path, imported: Imported) -> None:
    kept = started(path)
    with pytest.raises(re.error, match="unterminated"):
        imported(kept, ("(a", 0))
    kept.write()
    assert read(path) == {}


def test_a_large_file_is_cut_to_what_its_writer_used(
    path: Path, imported: Imported, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = started(path)
    imported(first, ("old", 0), ("used", 0))
    first.write()
    monkeypatch.setattr(kept_patterns, "MOST", 2)
    second = started(path)
    imported(second, ("used", 0), ("new", 0))
    second.write()
    assert set(read(path)) == {("used", 0), ("new", 0)}


@pytest.mark.parametrize("why", ["no byte code", "no folder"])
def test_nothing_is_kept_where_nothing_may_be_written(
    path: Path, imported: Imported, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if why == "no byte code":
        monkeypatch.setattr(sys, "dont_write_bytecode", True)
    else:
        path.parent.parent.joinpath("__pycache__").write_text("a file stands where the folder would")
    kept = started(path)
    imported(kept, ("a", 0))
    kept.write()
    assert not path.is_file()


@pytest.mark.parametrize("command", ["parsers", "rules"])
def test_the_commands_use_it(command: str) -> None:
    code = f"""
import re._compiler, runpy, sys
sys.argv = ["{command}", "--list"]
try:
    runpy.run_module("{command}", run_name="__main__")
except SystemExit:
    pass
print(type(re._compiler.compile.__self__).__name__)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "KeptPatterns"
