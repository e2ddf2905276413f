"""The units in docs/systemd: the commands of `up`, the operators' page names them, and systemd understands them."""

from __future__ import annotations

import configparser
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from config import processes

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "systemd"
UNITS = {file.name: file for file in sorted(FOLDER.iterdir())}
PYTHON = "/opt/exhibit/.venv/bin/python"


class Unit(configparser.ConfigParser):
    """A unit file; its names keep their capitals."""

    def optionxform(self, optionstr: str) -> str:
        return optionstr


def unit(name: str) -> Unit:
    read = Unit(strict=False, interpolation=None)
    read.read(UNITS[name])
    return read


def command(name: str) -> list[str]:
    return shlex.split(unit(name)["Service"]["ExecStart"].replace("%%", "%"))


def test_the_parts_are_started_with_the_commands_of_up() -> None:
    parts = processes.all_of("127.0.0.1", 8000) | {"prepare": processes.prepare()}
    for name, wanted in parts.items():
        assert command(f"exhibit-{name}.service") == [PYTHON, *wanted[1:]]
    assert {f"exhibit-{name}.service" for name in parts} | {"exhibit.service", "exhibit.target"} == set(UNITS)


def test_up_is_started_as_its_help_says() -> None:
    words = command("exhibit.service")
    shown = subprocess.run(
        [sys.executable, *words[1:3], "--help"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    assert all(word in shown for word in words[3:] if word.startswith("--"))


@pytest.mark.parametrize("name", [name for name in UNITS if name.endswith(".service")])
def test_every_unit_is_started_again_and_survives_the_death_of_a_child(name: str) -> None:
    service = unit(name)["Service"]
    # By default systemd stops a whole unit when the kernel kills one of its processes for want of memory.
    assert service["OOMPolicy"] == "continue"
    assert service["User"] == "exhibit"
    assert service["NoNewPrivileges"] == "yes"
    if name != "exhibit-prepare.service":
        assert service["Restart"] == "always"
        assert unit(name)["Unit"]["StartLimitIntervalSec"] == "0", "never given up"


def test_operators_are_told_of_them() -> None:
    assert "docs/systemd" in (ROOT / "docs" / "operations.md").read_text()


# On the build machine it runs; a Mac and a small container have no systemd, and the tests above need none.
@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_understands_them(tmp_path: Path) -> None:
    """Verified with a program that exists in place of the installed one."""
    for name, file in UNITS.items():
        (tmp_path / name).write_text(file.read_text().replace(PYTHON, "/bin/true"))
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *(str(tmp_path / name) for name in UNITS)],
        capture_output=True,
        text=True,
        check=False,
    )
    ours = [line for line in done.stderr.splitlines() if re.search("exhibit", line)]
    assert ours == []
