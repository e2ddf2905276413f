"""Say how a night went, and write it down: `python -m tests.night yes|no PART=SECONDS=true|false ...`, called by `scripts/night`."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

FILE = Path(__file__).with_name("night.json")


def commit() -> str:
    done = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, cwd=FILE.parent)
    return done.stdout.strip() or "unknown"


def main(arguments: Sequence[str]) -> int:
    """Print each part with its seconds; with `yes` as the first argument keep them in night.json. Return 1 if one failed."""
    recorded, *results = arguments
    parts = {}
    for result in results:
        name, seconds, passed = result.split("=")
        parts[name] = {"seconds": int(seconds), "passed": passed == "true"}
        print(f"{name:20} {int(seconds):6} s  {'passed' if passed == 'true' else 'FAILED'}")
    all_passed = bool(parts) and all(part["passed"] for part in parts.values())
    if recorded == "yes":
        night = {"date": f"{datetime.now(UTC):%Y-%m-%d}", "commit": commit(), "passed": all_passed, "parts": parts}
        FILE.write_text(json.dumps(night, indent=1) + "\n", encoding="utf-8")
    return 0 if all_passed else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
