"""Measure every kind and dialect: samples of the corpus, lines and MB per second, and whether time grows with size.

    python -m benchmarks.kinds [--mb 4] [--kinds ss,ping] [--keep]

The largest sample of a dialect is repeated up to a quarter of the size and up to all of it; both are read as that
dialect, each twice in one process that has read others before, and the smaller time counts. A `growth` of about 4 means
that time grows linearly with size. Repeated text starts again and again (headers, clocks that jump back), so these
figures are lower than those of one long capture in `parse.json`. `--keep` writes `benchmarks/results/kinds.json` and
the table in `docs/performance.md`.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

from benchmarks.machine import keep
from parsers.errors import ParserError
from parsers.reading import Account, read
from parsers.registry import all_formats
from parsers.text.source import Hints

ROOT = Path(__file__).resolve().parent.parent
CORPUS, PERFORMANCE = ROOT / "tests" / "corpus", ROOT / "docs" / "performance.md"
BEGIN, END = "<!-- kinds: made by benchmarks/kinds.py -->\n", "<!-- /kinds -->\n"


def account_of(path: Path, hints: Hints, out: Path | None = None) -> Account | None:
    """Read a file; a file that cannot be read as the requested dialect still has an account."""
    try:
        return read(path, hints, out)
    except ParserError as error:
        account: Account | None = getattr(error, "account", None)
        return account


def samples(kinds: set[str]) -> dict[tuple[str, str], list[Path]]:
    """Return the corpus's texts by the dialect as which they are read, the largest first."""
    found = defaultdict(list)
    for path in sorted(CORPUS.glob("*/*.txt"), key=lambda p: p.stat().st_size, reverse=True):
        account = account_of(path, Hints()) if not kinds or path.parent.name in kinds else None
        largest = (
            max((p for p in account.parts if p.kind), key=lambda p: p.line_to - p.line_from, default=None)
            if account
            else None
        )
        if largest is not None and largest.kind and largest.variant:
            found[largest.kind, largest.variant].append(path)
    return found


def timed(path: Path, hints: Hints, scratch: Path) -> tuple[float, Account]:
    """Return the smaller wall clock time of two readings, in seconds, and the account."""
    walls = []
    for n in range(2):
        began = time.perf_counter()
        account = account_of(path, hints, scratch / f"{path.stem}-{n}")
        walls.append(time.perf_counter() - began)
    assert account is not None
    return min(walls), account


def measure(mb: float, kinds: set[str]) -> dict[str, Any]:
    """Measure each dialect that has a sample; name those without one."""
    rows: list[dict[str, Any]] = []
    have = samples(kinds)
    for form, _ in all_formats():
        texts = have.get((form.kind, form.variant), [])
        if not texts or (kinds and form.kind not in kinds):
            continue
        content = texts[0].read_bytes()
        content += b"" if content.endswith(b"\n") else b"\n"
        hints = Hints(kind=form.kind, variant=form.variant)
        with tempfile.TemporaryDirectory() as folder:
            walls = []
            for share in (4, 1):
                path = Path(folder) / f"text-{share}.txt"
                path.write_bytes(content * max(1, int(mb * 2**20 / share / len(content))))
                wall, account = timed(path, hints, Path(folder))
                walls.append(wall)
        rows.append({
            "kind": form.kind, "variant": form.variant, "samples": len(texts), "text": texts[0].name, "lines": account.lines,
            "seconds": round(walls[1], 2), "lines_per_s": round(account.lines / walls[1]), "mb_per_s": round(account.bytes / walls[1] / 2**20, 2),
            "growth": round(walls[1] / walls[0], 1), "unknown": account.account.unknown,
        })  # fmt: skip
        print(json.dumps(rows[-1]), file=sys.stderr)
    return {"mb": mb, "dialects": rows}


def table(rows: list[dict[str, Any]]) -> str:
    head = "| kind | dialect | samples | lines per s | MB per s | growth |\n|---|---|---|---|---|---|\n"
    return head + "".join(
        f"| {r['kind']} | {r['variant']} | {r['samples']} | {r['lines_per_s']:,} | {r['mb_per_s']} | {r['growth']} |\n"
        for r in rows
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--mb", type=float, default=4)
    parser.add_argument("--kinds", default="")
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args()
    told = measure(options.mb, set(options.kinds.split(",")) - {""})
    if options.keep:
        keep("kinds", told)
        text = PERFORMANCE.read_text(encoding="utf-8")
        PERFORMANCE.write_text(
            re.sub(f"{BEGIN}.*?{END}", lambda _: BEGIN + table(told["dialects"]) + END, text, flags=re.DOTALL),
            encoding="utf-8",
        )
