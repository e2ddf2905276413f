"""Draw some of a large set of cases, so that everybody waits for `scripts/test` and nobody for what the night can do.

`scripts/night` runs every case. `scripts/test` runs a sample, drawn by the hash of the commit: the same for everybody who
tests this commit, another one after the next commit. The start of a run prints the seed; `EXHIBIT_DRAW=<seed>` draws the
same sample again, and `EXHIBIT_NIGHT=1` takes everything.
"""

from __future__ import annotations

import hashlib
import math
import os
import subprocess
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

NIGHT = os.environ.get("EXHIBIT_NIGHT") == "1"
WITHOUT_GIT = "no commit"
NIGHTLY = 5
"""The night tries this many times as many generated examples as the day."""


@cache
def seed() -> str:
    """Return what decides the sample: EXHIBIT_DRAW, else the hash of the commit, else a fixed word."""
    if "EXHIBIT_DRAW" not in os.environ:
        command = ["git", "-C", str(Path(__file__).parent), "rev-parse", "HEAD"]
        try:
            done = subprocess.run(command, capture_output=True, text=True)
            commit = done.stdout.strip() if done.returncode == 0 else ""
        except FileNotFoundError:
            commit = ""
        os.environ["EXHIBIT_DRAW"] = commit or WITHOUT_GIT  # processes started from here on draw the same
    return os.environ["EXHIBIT_DRAW"]


def rank(case: object) -> str:
    """Return a text by which cases are sorted to be drawn; the same for the same seed and the same case."""
    return hashlib.sha256(f"{seed()} {case}".encode()).hexdigest()


def shuffled(cases: Sequence[T], name: Callable[[T], object] = str) -> list[T]:
    """Put cases into the order in which they are drawn; `name` tells them apart."""
    return sorted(cases, key=lambda case: rank(name(case)))


def drawn(cases: Sequence[T], count: int, name: Callable[[T], object] = str) -> list[T]:
    """Return so many of the cases, in their own order; at night all of them."""
    if NIGHT or len(cases) <= count:
        return list(cases)
    chosen = {str(name(case)) for case in shuffled(cases, name)[:count]}
    return [case for case in cases if str(name(case)) in chosen]


def is_drawn(case: object, one_of: int) -> bool:
    """Tell whether a case is tried: at night each, by day about one of so many. The other cases do not matter."""
    return NIGHT or int(rank(case), 16) % one_of == 0


def examples(count: int) -> int:
    """Return how many examples hypothesis shall make: `count` at night, by day a fifth of them."""
    return count if NIGHT else math.ceil(count / NIGHTLY)
