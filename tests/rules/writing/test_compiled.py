"""Tests that compiled data files are never stale, and that everything works if they cannot be stored."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from subprocess import CalledProcessError

import pytest

from rules.writing import packs, prepare
from rules.writing.compiled import compiled


@pytest.fixture
def makes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """Return a function that reads a file of the folder through `compiled` and appends what it read to `made`."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    file = tmp_path / "names.yaml"
    file.write_text("a", "utf-8")
    made: list[str] = []

    def read() -> str:
        made.append(file.read_text("utf-8"))
        return made[-1]

    def ask() -> list[str]:
        assert compiled("names", tmp_path, [file], read) == file.read_text("utf-8")
        return made

    return ask


def kept(folder: Path) -> list[Path]:
    return list((folder / "__pycache__").glob("*"))


def test_it_is_made_once_and_again_after_a_change(makes: Callable[[], list[str]], tmp_path: Path) -> None:
    assert makes() == ["a"]
    assert makes() == ["a"]
    (tmp_path / "names.yaml").write_text("b", "utf-8")
    assert makes() == ["a", "b"]
    assert len(kept(tmp_path)) == 1


def test_a_damaged_file_is_made_again(makes: Callable[[], list[str]], tmp_path: Path) -> None:
    makes()
    (file,) = kept(tmp_path)
    file.write_bytes(file.read_bytes()[:-1])
    assert makes() == ["a", "a"]
    assert makes() == ["a", "a"]


def test_other_code_makes_it_again(makes: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    makes()
    monkeypatch.setattr("rules.writing.compiled._code", lambda: b"another version")
    assert makes() == ["a", "a"]


def test_nothing_is_kept_where_python_keeps_no_byte_code(
    makes: Callable[[], list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert makes() == ["a"]
    assert makes() == ["a", "a"]
    assert not kept(tmp_path)


def test_nobody_misses_it_where_the_folder_cannot_be_written(makes: Callable[[], list[str]], tmp_path: Path) -> None:
    (tmp_path / "__pycache__").write_text("a file where the folder should be", "utf-8")
    assert makes() == ["a"]
    assert makes() == ["a", "a"]


def test_the_library_is_the_same_from_both(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    packs.open_library()
    kept_rules = packs.open_library().rules
    monkeypatch.setattr(packs, "_shipped", dict)
    assert kept_rules == packs.open_library().rules


def test_everything_is_compiled_at_the_first_start_and_after_a_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(prepare, "RULES", tmp_path)
    starts: list[bool] = []

    def start() -> bool:
        starts.append(True)
        return True

    monkeypatch.setattr(prepare, "_apart", start)
    (tmp_path / "a.yaml").write_text("a", "utf-8")
    prepare.prepare()
    prepare.prepare()
    assert len(starts) == 1
    (tmp_path / "a.yaml").write_text("b", "utf-8")
    prepare.prepare()
    assert len(starts) == 2


def test_a_start_goes_on_where_it_cannot_be_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(prepare, "RULES", tmp_path)

    def fail() -> bool:
        raise CalledProcessError(1, "prepare")

    monkeypatch.setattr(prepare, "_apart", fail)
    prepare.prepare()
    assert not kept(tmp_path)
