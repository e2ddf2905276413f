"""The client as an installed package: what its metadata promise is there, and the commands start."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import tomllib
from importlib.metadata import Distribution, PathDistribution
from pathlib import Path

import pytest

CLIENT = Path(__file__).resolve().parents[4] / "client"
SCRIPT = """
import importlib.metadata, sys
sys.path.insert(0, sys.argv.pop(1))
found = importlib.metadata.distribution("exhibit-client").entry_points.select(group="console_scripts", name=sys.argv[0])
sys.exit(next(iter(found)).load()())
"""


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the source package with the back end that pyproject.toml names, and unpack it; nothing is downloaded."""
    pytest.importorskip("setuptools", reason="setuptools is not installed")
    folder = tmp_path_factory.mktemp("package")
    shutil.copytree(CLIENT, folder / "client", ignore=shutil.ignore_patterns("__pycache__"))
    back_end = tomllib.loads((CLIENT / "pyproject.toml").read_text())["build-system"]["build-backend"]
    build = f"import {back_end} as back_end; print(back_end.build_sdist(r'{folder}'))"
    done = subprocess.run(
        [sys.executable, "-c", build], cwd=folder / "client", capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    name = done.stdout.splitlines()[-1]
    with tarfile.open(folder / name) as archive:
        archive.extractall(folder, filter="data")
    return folder / name.removesuffix(".tar.gz")


def distribution(unpacked: Path) -> Distribution:
    return PathDistribution(next(unpacked.glob("*.egg-info")))


def test_it_needs_nothing_but_mcp_for_the_server(unpacked: Path):
    found = distribution(unpacked)
    assert found.requires == ['mcp<3,>=2.3; extra == "mcp"']
    assert found.metadata["Requires-Python"] == ">=3.11"


def test_it_installs_two_commands_of_the_files_that_are_there(unpacked: Path):
    found = distribution(unpacked)
    commands = {one.name: one.value for one in found.entry_points if one.group == "console_scripts"}
    assert commands == {"exhibit": "exhibit:main", "exhibit-mcp": "exhibit_mcp:main"}
    assert (found.read_text("top_level.txt") or "").split() == ["exhibit", "exhibit_mcp"]
    for file in ("exhibit.py", "exhibit_mcp.py"):
        assert (unpacked / file).read_bytes() == (CLIENT / file).read_bytes()


def run(name: str, unpacked: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Do what the console script of this name does."""
    # `-c` is the first argument of such a script; the name stands there in an installed one.
    body = f"import sys; sys.argv[0] = {name!r}\n{SCRIPT}"
    return subprocess.run(
        [sys.executable, *options, "-c", body, str(next(unpacked.glob("*.egg-info")).parent), "--help"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={},
    )


@pytest.mark.parametrize("name", ["exhibit", "exhibit-mcp"])
def test_each_command_says_how_it_is_used(unpacked: Path, name: str):
    done = run(name, unpacked, "-I")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"usage: {name} ")


def test_without_mcp_the_server_says_what_it_needs(unpacked: Path):
    done = run("exhibit-mcp", unpacked, "-I", "-S")  # -S: no package that is installed is seen
    assert done.returncode == 1
    assert "This needs the package mcp" in done.stderr
    assert "Traceback" not in done.stderr
    assert run("exhibit", unpacked, "-I", "-S").returncode == 0, "the client needs nothing"
