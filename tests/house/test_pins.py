"""The lists with hashes: complete, of the versions that are pinned, and for every platform at once."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
LISTS = ("requirements.txt", "requirements-dev.txt")
ENTRY = re.compile(r"([\w.-]+)==([^ ;]+)(?: ; ([^\\\n]+?))?((?: \\\n    --hash=sha256:[0-9a-f]{64})+)\n")


@pytest.fixture(scope="module")
def pins() -> dict[str, Any]:
    """The names of the script."""
    return runpy.run_path(str(ROOT / "scripts" / "pins"))


def locked(name: str) -> dict[str, tuple[str, str | None, list[str]]]:
    """Return version, marker and hashes of each entry of a lock; fail if any line is of another form."""
    head, _, text = (ROOT / name.replace(".txt", ".lock")).read_text().partition("\n")
    assert head.startswith("# Made by scripts/pins")
    assert ENTRY.sub("", text) == "", "a line that is no entry with hashes"
    return {
        canonicalize_name(name): (version, marker, re.findall(r"sha256:([0-9a-f]+)", hashes))
        for name, version, marker, hashes in ENTRY.findall(text)
    }


def listed(name: str) -> list[Requirement]:
    lines = [line.split("#")[0].strip() for line in (ROOT / name).read_text().splitlines()]
    own = [Requirement(line) for line in lines if line and not line.startswith("-")]
    return own + (listed("requirements.txt") if "-r requirements.txt" in lines else [])


@pytest.mark.parametrize("name", LISTS)
def test_every_package_of_a_list_is_locked_at_its_pin(name: str, pins: dict[str, Any]) -> None:
    there, known = locked(name), pins["pins"]()
    assert {canonicalize_name(one.name) for one in listed(name)} <= set(there)
    assert {package: version for package, (version, _, _) in there.items()} == {
        package: known[package] for package in there
    }, "run scripts/pins"


@pytest.mark.parametrize("name", LISTS)
def test_what_a_locked_package_needs_here_is_locked_too(name: str, pins: dict[str, Any]) -> None:
    from importlib.metadata import PackageNotFoundError, distribution

    there, looked = locked(name), 0
    for package in there:
        try:
            needs = distribution(package).requires or []
        except PackageNotFoundError:
            continue  # of another platform, or not of this list
        looked += 1
        for need in map(Requirement, needs):
            if need.marker is None or need.marker.evaluate({"extra": ""}):
                assert canonicalize_name(need.name) in there, f"{package} needs {need.name}"
    assert looked > 50


def test_packages_built_for_platforms_have_a_hash_of_each(pins: dict[str, Any]) -> None:
    there = locked("requirements.txt")
    for package in ("numpy", "pyarrow", "polars-runtime-32", "psycopg-binary", "duckdb", "cryptography"):
        assert len(there[package][2]) > 5, package
    assert len(there["django"][2]) == 1, "wheels only: an sdist is taken where there is no wheel"


def test_everything_pinned_is_locked_somewhere(pins: dict[str, Any]) -> None:
    assert set(pins["pins"]()) == set(locked("requirements.txt")) | set(locked("requirements-dev.txt"))
    assert set(locked("requirements.txt")) <= set(locked("requirements-dev.txt"))


def test_no_address_of_a_registry_is_in_a_list() -> None:
    for name in LISTS:
        assert "://" not in (ROOT / name.replace(".txt", ".lock")).read_text()


def test_another_file_than_the_hashed_one_is_refused(tmp_path: Path) -> None:
    """By pip itself, from a folder that stands for a registry that was broken into."""
    package = tmp_path / "wheels"
    package.mkdir()
    (package / "vine-5.1.0-py3-none-any.whl").write_bytes(b"PK\5\6" + bytes(18))
    entry = re.search(r"^vine==[^=]+(?: \\\n    --hash=[^\n]+)+", (ROOT / "requirements.lock").read_text(), re.M)
    assert entry is not None
    (tmp_path / "one.lock").write_text(entry[0] + "\n" if "\n" in entry[0] else entry[0])
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "download",
            "--no-index",
            "--no-deps",
            "--require-hashes",
            "--dest",
            str(tmp_path),
            "--find-links",
            str(package),
            "-r",
            str(tmp_path / "one.lock"),
        ],
        capture_output=True,
        text=True,
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
    )
    assert done.returncode != 0
    assert "DO NOT MATCH THE HASHES" in done.stderr


def test_the_lines_of_the_script_hold_wheels_of_all_systems_and_an_sdist_only_without_a_wheel(
    pins: dict[str, Any],
) -> None:
    def file(digit: str) -> dict[str, Any]:
        return {"url": f"https://registry.example/{digit}", "hashes": {"sha256": digit * 64}}

    made = list(
        pins["lines"](
            [
                {"name": "b", "version": "2", "wheels": [file("3"), file("2")], "sdist": file("4")},
                {"name": "a", "version": "1", "sdist": file("1")},
                {"name": "w", "version": "1", "wheels": [file("5")], "marker": "sys_platform == 'win32'"},
                {"name": "m", "version": "1", "wheels": [file("6")], "marker": "sys_platform == 'darwin'"},
            ]
        )
    )
    assert made == [
        f"a==1 \\\n    --hash=sha256:{'1' * 64}\n",
        f"b==2 \\\n    --hash=sha256:{'2' * 64} \\\n    --hash=sha256:{'3' * 64}\n",
        f"m==1 ; sys_platform == 'darwin' \\\n    --hash=sha256:{'6' * 64}\n",
    ]
