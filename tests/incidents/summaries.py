"""The five published incidents as reports, for tests of the summary: judged once per run, as on the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
CASES = ("000", "001", "002", "003", "004")


@cache
def _judged(case: str) -> str:
    folder = ROOT / "tests" / "cases" / case
    done = subprocess.run(
        [sys.executable, "-m", "rules", str(folder), "--json"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.stdout.startswith("{"), done.stderr
    return done.stdout


def report_of(case: str) -> dict[str, Any]:
    """Return a fresh report of a published incident."""
    made: dict[str, Any] = json.loads(_judged(case))
    return made
