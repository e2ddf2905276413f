"""scripts/audit against a pip-audit that is played: an advisory is a failure, nobody to ask is a line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.served import ROOT

FINE = {"name": "django", "version": "5.2.19", "vulns": []}
LACKS = {"name": "own", "skip_reason": "not found on the index"}
WEAK = {
    "name": "parser",
    "version": "1.0",
    "vulns": [{"id": "PYSEC-2026-1", "fix_versions": ["1.1"], "aliases": [], "description": ""}],
}
PLAYED = """#!{python}
import pathlib, sys
arguments = sys.argv[1:]
assert "--disable-pip" in arguments and "--require-hashes" in arguments
answer = {answer!r}
if answer:
    pathlib.Path(arguments[arguments.index("--output") + 1]).write_text(answer)
print("ERROR: nobody answers", file=sys.stderr)
sys.exit({code})
"""


def audit(folder: Path, dependencies: list[object] | None, code: int) -> subprocess.CompletedProcess[str]:
    answer = "" if dependencies is None else json.dumps({"dependencies": dependencies, "fixes": []})
    program = folder / "pip-audit"
    program.write_text(PLAYED.format(python=sys.executable, answer=answer, code=code))
    program.chmod(0o755)
    command = [sys.executable, "scripts/audit", "requirements.lock"]
    environment = os.environ | {"PATH": f"{folder}:{os.environ['PATH']}"}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)


def test_an_advisory_that_fits_is_named_and_fails(tmp_path: Path) -> None:
    done = audit(tmp_path, [FINE, WEAK], 1)
    assert done.returncode == 1, done.stderr
    assert "requirements.lock, 2 of 2 packages, 1 advisories" in done.stdout
    assert "parser 1.0: PYSEC-2026-1, corrected in 1.1" in done.stdout


def test_none_is_said_with_the_number_of_packages_and_what_was_not_asked_about(tmp_path: Path) -> None:
    done = audit(tmp_path, [FINE, LACKS], 0)
    assert done.returncode == 0, done.stderr
    assert "requirements.lock, 1 of 2 packages, 0 advisories" in done.stdout
    assert "not known to the service: own" in done.stdout


def test_a_service_that_knows_no_package_has_proven_nothing(tmp_path: Path) -> None:
    done = audit(tmp_path, [LACKS, LACKS], 0)
    assert done.returncode == 0, done.stderr
    assert "requirements.lock left out, the advisories could not be asked: not found on the index" in done.stdout
    assert " advisories\n" not in done.stdout


@pytest.mark.parametrize("code", [0, 1])
def test_where_nobody_answers_it_says_so_and_proves_nothing(tmp_path: Path, code: int) -> None:
    done = audit(tmp_path, None, code)
    assert done.returncode == 0, done.stderr
    assert "requirements.lock left out, the advisories could not be asked: ERROR: nobody answers" in done.stdout
    assert " advisories\n" not in done.stdout


def test_without_the_tool_it_says_how_to_get_it(tmp_path: Path) -> None:
    empty = {"PATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "scripts/audit"], cwd=ROOT, env=empty, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "pip-audit is not on this machine" in done.stdout


def test_the_night_asks() -> None:
    assert "run audit scripts/audit" in (ROOT / "scripts" / "night").read_text()
