"""Write a recording: a folder with the JSON of both commands and the pages of the sample rooms.

OUT/parsers.jsonl     one line a file: its path in the checkout and what `python -m parsers --json` printed
OUT/rules.jsonl       one line a case: its path, the exit status and what `python -m rules --json` printed
OUT/pages/ROOM/*      one file a page: address, answer, then one line an element or text
OUT/about.json        commit, and counts and seconds of each section; null for one that is not complete
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from lab.same import commands, pages

ABOUT = "about.json"
SECTIONS = ("parsers", "rules", "pages")


def record(checkout: Path, out: Path, only: list[str] | None, every: int, evidence: Path | None) -> None:
    """Record the named sections of a checkout into `out`; sections recorded there before stay."""
    checkout = checkout.resolve()
    python = _python(checkout)
    evidence = (evidence or checkout).resolve()
    out.mkdir(parents=True, exist_ok=True)
    about: dict[str, Any] = {"commit": _commit(checkout), "evidence": _commit(evidence), "every": every}
    if any(_about(out).get(key, value) != value for key, value in about.items()):
        raise SystemExit(f"{out} holds a recording of something else: {_about(out)['commit']}")
    for section in only or SECTIONS:
        _note(out, about | {section: None})
        since = time.monotonic()
        if section == "parsers":
            counts = commands.record_parsers(checkout, python, evidence, out / "parsers.jsonl", every)
        elif section == "rules":
            counts = commands.record_rules(checkout, python, evidence, out / "rules.jsonl", every)
        else:
            shutil.rmtree(out / "pages", ignore_errors=True)
            counts = pages.record_pages(checkout, python, out / "pages")
        counts |= {"seconds": round(time.monotonic() - since)}
        print(section, counts, flush=True)
        _note(out, about | {section: counts})


def _about(out: Path) -> dict[str, Any]:
    file = out / ABOUT
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}


def _note(out: Path, about: dict[str, Any]) -> None:
    """Add entries to the file about a recording; others stay, because another process may record another section."""
    (out / ABOUT).write_text(json.dumps(_about(out) | about, indent=1) + "\n", encoding="utf-8")


def _python(checkout: Path) -> str:
    own = checkout / ".venv" / "bin" / "python"
    return str(own) if own.exists() else sys.executable


def _commit(checkout: Path) -> str:
    done = subprocess.run(
        ["git", "describe", "--always", "--dirty", "--abbrev=12"], cwd=checkout, capture_output=True, text=True
    )
    return done.stdout.strip() or "unknown"
