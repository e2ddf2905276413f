"""What listings of tracers with one line for each event count: programs started, files not opened, segments sent again, packets dropped.

Standing out: one command line that makes a fifth or more of at least `LEAST` started programs; opens of a program that failed, if they
are half or more of all listed and at least `LEAST`; a peer to which half or more of at least `FEW` repeated segments went, and
connection requests to it that were sent `FEW` times; a function of the kernel in which most of at least `DROPS` packets
were dropped; a cache of files that held less than half of what was looked for, in most samples.
Normal: less. Such tools list nothing else, so that a listing has no whole beside its own lines: the share is that of the listing.
Worked example: execsnoop with ten lines, five of them `/usr/bin/which node` within 0.3 s: "5 of 10 started programs are
`/usr/bin/which node`, by process 881 and its children".
Cost: the first `MOST_ROWS` rows of listings with such headings, one pass. Source: bcc execsnoop(8), opensnoop(8), tcpretrans(8),
cachestat(8) with their examples; dropwatch(1).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from statistics import median
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import Lines, Observer, Sighting, figure, place
from rules.signatures.signatures import Seen

OBSERVER = Observer(
    "tracer-lists",
    "What happens again and again in listings with one line for each event?",
    ("rows",),
    {"linux": "the same tool for a minute while it is slow, and for a minute while it is not"},
    alone=True,
    like="listed-values",
)

MOST_ROWS = 50_000
LEAST = 5
"""Minimum number of events of one kind: fewer happen by the way."""

FEW = 3
"""Minimum number of segments that were sent again to one peer, or of connection requests."""

FIFTH, HALF = 0.2, 0.5
DROPS = 100.0
"""Minimum number of packets that a function dropped: a few are dropped in ordinary work."""

CITED = 4
SAMPLES = 3
"""Minimum number of samples of a cache."""

SOUGHT = 1_000.0
"""Minimum number of look-ups in a sample of a cache: an idle one says nothing."""

Row = dict[str, Any]
_COUNT = re.compile(r"[0-9]{1,15}")


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield what each listing counts, by the headings that its tool prints."""
    columns = [*PLACE_COLUMNS, "part", "table_no", "line_no", "heading", "cells"]
    names = pl.col("heading").list.join(" ").str.to_uppercase() + " " + pl.col("cells").list.join(" ")
    wanted = names.str.contains(r"\bARGS\b|\bERR\b|\bT> |\bMISSES\b|^.* drops at ")
    rows = case.scan("rows", columns, wanted).head(MOST_ROWS).collect(engine="streaming").sort("artifact_id", "line_no")
    for _, table in rows.group_by("artifact_id", "part", "table_no", maintain_order=True):
        held = [{**row, "of": _named(row)} for row in table.to_dicts()]
        for source in _SOURCES:
            yield from source(held)


def _named(row: Row) -> dict[str, str]:
    return {str(n).upper(): str(c) for n, c in zip(row["heading"] or (), row["cells"] or (), strict=False) if n and c}


def _started(rows: Sequence[Row]) -> Iterator[Sighting]:
    held = [r for r in rows if {"ARGS", "PPID"} <= set(r["of"])]
    for args, n in Counter(r["of"]["ARGS"] for r in held).most_common(2):
        if n < LEAST or n < FIFTH * len(held):
            return
        same = [r for r in held if r["of"]["ARGS"] == args]
        text = f"{n:,} of {len(held):,} started programs are `{args[:80]}`"
        yield _sighting(same, "started", args[:80], text, n, n / len(held), {"event": "same-program-again"})


def _not_opened(rows: Sequence[Row]) -> Iterator[Sighting]:
    held = [r for r in rows if {"ERR", "PATH"} <= set(r["of"])]
    failed = [r for r in held if r["of"]["ERR"].isdecimal() and r["of"]["ERR"] != "0"]
    for comm, n in Counter(r["of"].get("COMM", "a program") for r in failed).most_common(2):
        if n < LEAST or n < HALF * len(held):
            return
        same = [r for r in failed if r["of"].get("COMM", "a program") == comm]
        paths = len({r["of"]["PATH"] for r in same})
        text = f"{n:,} of {len(held):,} listed opens are of {comm} and failed, of {paths:,} different paths"
        yield _sighting(same, "not-opened", comm, text, n, n / len(held), {"event": "opens-fail"})


def _sent_again(rows: Sequence[Row]) -> Iterator[Sighting]:
    held = [r for r in rows if "T>" in r["of"] and "RADDR:RPORT" in r["of"]]
    for peer, n in Counter(r["of"]["RADDR:RPORT"] for r in held).most_common(2):
        if n < FEW or n < HALF * len(held):
            return
        same = [r for r in held if r["of"]["RADDR:RPORT"] == peer]
        opening = [r for r in same if r["of"].get("STATE", "").replace("_", "-") == "SYN-SENT"]
        share = n / len(held)
        text = f"{n:,} of {len(held):,} segments that were sent again went to {peer}"
        if len(opening) >= FEW:
            text += f", {len(opening):,} of them to open a connection"
        yield _sighting(same, "sent-again", peer, text, n, share, {"event": "segments-again"})


def _dropped(rows: Sequence[Row]) -> Iterator[Sighting]:
    of: dict[str, list[tuple[float, Row]]] = {}
    for row in rows:
        cells = [str(c) for c in row["cells"] or ()]
        if len(cells) > 3 and cells[1:3] == ["drops", "at"] and _COUNT.fullmatch(cells[0]):
            of.setdefault(cells[3].split("+")[0], []).append((float(cells[0]), row))
    whole = sum(n for held in of.values() for n, _ in held)
    for function, held in sorted(of.items(), key=lambda o: -sum(n for n, _ in o[1]))[:1]:
        n = sum(n for n, _ in held)
        if n < DROPS or n < HALF * whole:
            return
        text = f"{figure(n, 'count')} of {figure(whole, 'count')} dropped packets were dropped in {function}"
        yield _sighting(
            [r for _, r in held], "dropped", function, text, n, n / whole, {"event": f"dropped in {function}"}
        )


def _missed(rows: Sequence[Row]) -> Iterator[Sighting]:
    held = [r for r in rows if {"HITS", "MISSES"} <= set(r["of"])]
    parts = []
    for row in held:
        hits, misses = (row["of"][c] for c in ("HITS", "MISSES"))
        if _COUNT.fullmatch(hits) and _COUNT.fullmatch(misses) and float(hits) + float(misses) >= SOUGHT:
            parts.append((float(misses) / (float(hits) + float(misses)), row))
    if len(parts) < SAMPLES:
        return
    middle = median(p for p, _ in parts)
    if middle > HALF:
        text = f"The cache of files held {figure(100 * (1 - middle), '%')} of what was looked for (median of {len(parts)} samples)"
        yield _sighting(
            [r for _, r in parts], "missed", "cache of files", text, len(parts), middle, {"event": "files-not-cached"}
        )


_SOURCES: tuple[Callable[[Sequence[Row]], Iterator[Sighting]], ...] = (
    _started,
    _not_opened,
    _sent_again,
    _dropped,
    _missed,
)


def _sighting(rows: Sequence[Row], kind: str, subject: str, text: str, n: float, share: float, seen: Seen) -> Sighting:
    return Sighting(
        kind,
        subject,
        text,
        "listed_count",
        float(n),
        "count",
        tuple(Lines(r["artifact_id"], r["line_no"], r["line_no"], kind.replace("-", " ")) for r in rows[:CITED]),
        **place(rows[0]),
        against="all lines of the listing",
        share=min(1.0, share),
        n=int(n),
        seen=(seen,),
    )
