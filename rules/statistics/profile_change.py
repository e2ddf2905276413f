"""Compare two profiles call by call: where the seconds went that only one side has.

Rows are those of `call_profile`; a process is identified by its role (listener, its child, a program) and not by its
pid, which changes with each restart. Over complete listener cycles the seconds are those of one cycle, so that sides
may have different numbers of cycles; over whole threads they are sums, and sides of different length are compared by
their shares.
Worked example (one cycle before, one after): read 4 calls 0.1995 -> 4 calls 0.0959 s, -0.1036; fork1 0.0300 -> 0.0358,
+0.0058; together 0.2962 -> 0.2012.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Part:
    """What one side spent in one call: seconds and calls (of one cycle, or all), and the first and last line of them."""

    n: float = 0.0
    seconds: float = 0.0
    cpu_s: float | None = None
    artifact: int | None = None
    line_from: int | None = None
    line_to: int | None = None


@dataclass(frozen=True)
class Change:
    """One call of one process on both sides; `difference` is second minus first, in seconds."""

    process: str
    call: str
    first: Part
    second: Part

    @property
    def difference(self) -> float:
        return round(self.second.seconds - self.first.seconds, 9)


@dataclass(frozen=True)
class ProfileChange:
    """All calls, the largest difference first, and their sums."""

    changes: list[Change]
    first_s: float
    second_s: float
    cycles: tuple[int, int] | None = None
    processes: Mapping[str, tuple[tuple[int, ...], tuple[int, ...]]] = field(default_factory=dict)

    @property
    def difference(self) -> float:
        return round(self.second_s - self.first_s, 9)


def compare(
    before: Iterable[Mapping[str, Any]], after: Iterable[Mapping[str, Any]], cycles: tuple[int, int] | None = None
) -> ProfileChange:
    """Pair rows (process, pid, name, n, dur_s, cpu_s, artifact_id, line_no, line_end) by process and call.

    `cycles` is the number of complete cycles of each side; if set, everything is divided by it.
    """
    sides = [_summed(rows, cycles[k] if cycles else 1) for k, rows in enumerate((before, after))]
    pids: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {}
    for process in sorted({key[0] for side, _ in sides for key in side}):
        pids[process] = (tuple(sorted(sides[0][1].get(process, ()))), tuple(sorted(sides[1][1].get(process, ()))))
    first, second = sides[0][0], sides[1][0]
    changes = [
        Change(process, call, first.get((process, call), Part()), second.get((process, call), Part()))
        for process, call in {**first, **second}
    ]
    changes.sort(key=lambda one: (-abs(one.difference), -one.first.seconds - one.second.seconds, one.process, one.call))
    totals = [round(sum(part.seconds for part in side.values()), 9) for side in (first, second)]
    return ProfileChange(changes, totals[0], totals[1], cycles, pids)


def _summed(rows: Iterable[Mapping[str, Any]], over: int) -> tuple[dict[tuple[str, str], Part], dict[str, set[int]]]:
    found: dict[tuple[str, str], Part] = {}
    pids: dict[str, set[int]] = {}
    for row in rows:
        key = (row["process"], row["name"] or "call with a lost name")
        if row.get("pid") is not None:
            pids.setdefault(key[0], set()).add(int(row["pid"]))
        known = found.get(key)
        cpu = None if row["cpu_s"] is None else row["cpu_s"] / over
        part = Part(row["n"] / over, row["dur_s"] / over, cpu, row["artifact_id"], row["line_no"], row["line_end"])
        if known is None:
            found[key] = part
            continue
        both = None if known.cpu_s is None and part.cpu_s is None else (known.cpu_s or 0) + (part.cpu_s or 0)
        same = known.artifact == part.artifact  # a link points into one artifact: the one with more seconds
        larger = known if same or known.seconds >= part.seconds else part
        lines = (
            (min(known.line_from or 1, part.line_from or 1), max(known.line_to or 1, part.line_to or 1))
            if same
            else (larger.line_from, larger.line_to)
        )
        found[key] = Part(known.n + part.n, known.seconds + part.seconds, both, larger.artifact, *lines)
    return found, pids
