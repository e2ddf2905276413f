"""On the build machine a skipped test fails, unless its reason is listed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ONE = "import pytest\n\ndef test_one():\n    pytest.skip('no such thing here')\n"
WHOLE_FILE = "import pytest\n\npytest.skip('no such thing here', allow_module_level=True)\n"
EXPECTED_FAILURE = "import pytest\n\n@pytest.mark.xfail\ndef test_one():\n    assert False\n"


def run(tmp_path: Path, text: str, ci: str) -> str:
    file = tmp_path / "test_made.py"
    file.write_text(text)
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-c",
            str(ROOT / "pyproject.toml"),
            "--rootdir",
            str(ROOT),
            "-p",
            "tests.conftest",
            "-p",
            "no:cacheprovider",
            "-q",
            str(file),
        ],
        cwd=ROOT,
        env=os.environ | {"CI": ci},  # DATABASE_URL is in it, so no second PostgreSQL is started
        capture_output=True,
        text=True,
    )
    return done.stdout.strip().splitlines()[-1]


@pytest.mark.parametrize(("text", "word"), [(ONE, "1 failed"), (WHOLE_FILE, "1 error")])
def test_a_skip_fails_on_the_build_machine_only(tmp_path, text, word):
    assert word in run(tmp_path, text, "true")
    assert "1 skipped" in run(tmp_path, text, "")


def test_an_expected_failure_is_no_skip(tmp_path):
    assert "1 xfailed" in run(tmp_path, EXPECTED_FAILURE, "true")


def test_listed_reasons_are_reasons():
    from tests.conftest import listed_skips

    assert all(len(reason) > 8 for reason in listed_skips())
