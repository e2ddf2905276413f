"""The scripts on a machine that lacks something, played by programs of the same name that come first in PATH."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PYTHONS = ("python3", "python3.14", "python3.13", "python3.12", "python3.11")
TOO_OLD = "exit 1"
NO_VENV = 'case "$2" in *ensurepip*) exit 1;; esac'
# `-m venv` makes a Python that notes what it is asked to install.
WHOLE = """case "$*" in *"-m venv"*)
  mkdir -p .venv/bin
  printf '#!/bin/sh\\ncase "$*" in *install*) echo "$*" >>.venv/installed;; esac\\n' >.venv/bin/python
  chmod +x .venv/bin/python
esac"""


@pytest.fixture
def clone(tmp_path):
    """A copy of what the scripts need, and a runner that puts a made-up Python first."""
    shutil.copytree(ROOT / "scripts", tmp_path / "clone" / "scripts")
    for name in ("constraints.txt", *(f"requirements{dev}.{kind}" for dev in ("", "-dev") for kind in ("txt", "lock"))):
        shutil.copy(ROOT / name, tmp_path / "clone")
    fakes = tmp_path / "fakes"
    fakes.mkdir()

    def run(script: str, python: str) -> subprocess.CompletedProcess[str]:
        for name in PYTHONS:
            (fakes / name).write_text(f"#!/bin/sh\n{python}\n")
            (fakes / name).chmod(0o755)
        environment = os.environ | {"PATH": f"{fakes}:{os.environ['PATH']}"}
        command = [str(tmp_path / "clone" / "scripts" / script), "requirements.txt"]
        return subprocess.run(command, env=environment, capture_output=True, text=True)

    run.folder = tmp_path / "clone"  # type: ignore[attr-defined]  # a function may carry what its callers look at
    return run


@pytest.mark.parametrize("script", ["venv", "up"])
def test_without_a_venv_module_the_exact_line_is_printed(clone, script):
    done = clone(script, NO_VENV)
    assert done.returncode == 1
    assert "sudo apt-get install -y python3-venv" in done.stderr
    assert not (clone.folder / ".venv").exists()


def test_without_a_python_that_is_new_enough_the_exact_line_is_printed(clone):
    done = clone("venv", TOO_OLD)
    assert done.returncode == 1
    assert "Python 3.11 or newer is needed" in done.stderr
    assert "sudo apt-get install -y python3 python3-venv" in done.stderr


def test_it_installs_once_and_again_when_the_lists_changed(clone):
    installed = clone.folder / ".venv" / "installed"
    assert clone("venv", WHOLE).returncode == 0
    assert installed.read_text().count("--require-hashes -r requirements.lock") == 1
    assert clone("venv", WHOLE).returncode == 0
    assert len(installed.read_text().splitlines()) == 1
    for times, name in enumerate(("constraints.txt", "requirements.lock"), start=2):
        with (clone.folder / name).open("a") as file:
            file.write("# changed\n")
        assert clone("venv", WHOLE).returncode == 0
        assert len(installed.read_text().splitlines()) == times


def test_every_script_stops_at_the_first_failure_and_can_be_started():
    scripts = [
        file
        for file in [*(ROOT / "scripts").iterdir(), ROOT / ".ci" / "run"]
        if file.is_file() and file.read_bytes().startswith(b"#!/usr/bin/env bash")
    ]
    assert {file.name for file in scripts} >= {"up", "test", "check", "venv", "run"}
    for file in scripts:
        assert os.access(file, os.X_OK), file
        assert "set -euo pipefail" in file.read_text() or "set -uo pipefail" in file.read_text(), file
