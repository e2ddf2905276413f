"""Measure the processor time of all formats' claims on heads of 64 KiB, of other formats and their own.

    python -m benchmarks.claims [--times 5]

A head consists of the samples of one kind one after the other, repeated up to 64 KiB. The best of several runs counts,
because other work on the machine only adds time. `rank` asks every format once; `recognise` also removes line prefixes
and looks for prompts.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.machine import keep
from parsers.layout.recognition import recognise
from parsers.registry import formats_of, modules, rank
from parsers.text.source import HEAD_BYTES, Head

CORPUS = Path(__file__).resolve().parent.parent / "tests" / "corpus"
TARGET_MS = 20.0
FOREIGN_MS, OWN_MS = 0.15, 2.0


def heads() -> dict[str, list[str]]:
    """Return one head for each kind of the corpus."""
    found = {}
    for folder in sorted(path for path in CORPUS.iterdir() if path.is_dir()):
        text = b"".join(path.read_bytes() for path in sorted(folder.glob("*.txt")))
        if text:
            whole = (text * (HEAD_BYTES // len(text) + 1))[:HEAD_BYTES].decode("utf-8", "replace")
            found[folder.name] = whole.replace("\r\n", "\n").split("\n")[:-1]
    return found


def best_ms(work: Callable[[], object], times: int) -> float:
    """Return the smallest processor time (of all threads) of several runs, in milliseconds."""
    spent = []
    for _ in range(times):
        began = time.process_time()
        work()
        spent.append(time.process_time() - began)
    return min(spent) * 1000


def _asked(claim: Callable[[Head], object], lines: list[str]) -> float:
    head = Head(lines)
    _ = head.text, head.spread
    began = time.process_time()
    claim(head)
    return (time.process_time() - began) * 1000


def _ranked(lines: list[str]) -> object:
    return rank(Head(lines))


def measure(times: int) -> dict[str, Any]:
    """Measure rank, recognise and each module's claim on the head of each kind."""
    kinds: dict[str, Any] = {}
    modules_ms: dict[str, dict[str, float]] = {}
    for kind, lines in heads().items():
        rank(Head(lines))
        kinds[kind] = {
            "rank_ms": round(best_ms(partial(_ranked, lines), times), 2),
            "recognise_ms": round(best_ms(partial(recognise, Head(lines)), times), 2),
        }
        for module in modules():
            name = module.__name__.rpartition(".")[2]
            modules_ms.setdefault(name, {})[kind] = min(_asked(module.claim, lines) for _ in range(times))
    claims = {}
    for name, by_kind in sorted(modules_ms.items()):
        own_kind = formats_of(next(m for m in modules() if m.__name__.endswith(f".{name}")))[0].kind
        foreign = {kind: ms for kind, ms in by_kind.items() if kind != own_kind}
        worst = max(foreign, key=lambda kind: foreign[kind])
        claims[name] = {
            "own_ms": round(by_kind[own_kind], 3) if own_kind in by_kind else None,
            "foreign_mean_ms": round(sum(foreign.values()) / len(foreign), 3),
            "foreign_worst_ms": round(foreign[worst], 3),
            "foreign_worst_on": worst,
        }
    ranks = [k["rank_ms"] for k in kinds.values()]
    return {
        "targets": {"rank_ms": TARGET_MS, "foreign_ms": FOREIGN_MS, "own_ms": OWN_MS},
        "rank_ms": {"mean": round(sum(ranks) / len(ranks), 2), "worst": max(ranks), "over": sorted(k for k in kinds if kinds[k]["rank_ms"] > TARGET_MS)},
        "slow_on_foreign": sorted(n for n, c in claims.items() if (c["foreign_mean_ms"] or 0) > FOREIGN_MS),
        "kinds": kinds,
        "claims": claims,
    }  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--times", type=int, default=5)
    keep("claims", measure(parser.parse_args().times))
