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
from rules.walking.targets import LOCKS, POLLS, SLEEPS

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

LATE_US = 10_000.0
"""Minimum wait of a ready thread for a processor: some slices of the processor."""

IN_INTERRUPTS_S = 2.0
"""Minimum seconds in one interrupt: the tools are run for some seconds, which begin with none."""

CALLS_S = 1.0
"""Minimum seconds in one kind of call."""

Row = dict[str, Any]
_COUNT = re.compile(r"[0-9]{1,15}")
_TIME = re.compile(r"[0-9]{1,15}(?:\.[0-9]{1,9})?")


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield what each listing counts, by the headings that its tool prints."""
    columns = [*PLACE_COLUMNS, "part", "table_no", "line_no", "heading", "cells"]
    names = pl.col("heading").list.join(" ").str.to_uppercase() + " " + pl.col("cells").list.join(" ")
    wanted = names.str.contains(
        r"\bARGS\b|\bERR\b|\bT> |\bMISSES\b|\bLAT\(US\)|\b(?:HARD|SOFT)IRQ |^SYSCALL |^.* drops at "
    )
    rows = case.scan("rows", columns, wanted).head(MOST_ROWS).collect(engine="streaming").sort("artifact_id", "line_no")
    for _, table in rows.group_by("artifact_id", "part", "table_no", maintain_order=True):
        held = [{**row, "of": _named(row)} for row in table.to_dicts()]
        for source in _SOURCES:
            yield from source(held)


_REST = {"ARGS", "PATH", "FILENAME"}
"""Words of a last column whose cells hold blanks."""


def _named(row: Row) -> dict[str, str]:
    """Return the cells by the words of the heading.

    A heading whose words stand one blank apart (`RET ARGS`) is one column of the general reader; if there is one word for each
    of them, the words tell.
    """
    names = [n.upper() for n in " ".join(str(n) for n in row["heading"] or () if n).split()]
    words = " ".join(str(c) for c in row["cells"] or () if c).split(None, max(0, len(names) - 1))
    whole = len(words) == len(names) and (names[-1] in _REST or not words[-1].strip().count(" "))
    if names and whole and len(names) > len(row["heading"]):
        return dict(zip(names, words, strict=True))
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


def _late_runs(rows: Sequence[Row]) -> Iterator[Sighting]:
    """Yield threads that were ready and waited for a processor (runqslower)."""
    held = [(float(r["of"]["LAT(US)"]), r) for r in rows if _ready(r["of"]) and _COUNT.fullmatch(r["of"]["LAT(US)"])]
    late = sorted((one for one in held if one[0] >= LATE_US), key=lambda one: -one[0])
    if len(late) < FEW:
        return
    of = f"{len(late):,} times a ready thread waited {figure(LATE_US / 1e6, 's')} or more for a processor"
    text = f"{of}, {late[0][1]['of']['COMM']} longest: {figure(late[0][0] / 1e6, 's')}"
    event = Seen(event="ready-threads-wait-long")
    yield _sighting([r for _, r in late], "late", "run queue", text, len(late), len(late) / len(held), event)


def _ready(of: dict[str, str]) -> bool:
    return "LAT(US)" in of and "COMM" in of and not {"DISK", "FILENAME", "BYTES", "IP", "HOST", "QUERY"} & set(of)


def _interrupts(rows: Sequence[Row]) -> Iterator[Sighting]:
    """Yield the interrupt that takes most of the time in interrupts, if that is seconds (hardirqs, softirqs)."""
    column = next((c for c in rows[0]["of"] if c.startswith("TOTAL_") and c.endswith("SECS")), None)
    word = next((w for w in ("HARDIRQ", "SOFTIRQ") if w in rows[0]["of"]), None)
    if column is None or word is None:
        return
    scale = {"TOTAL_NSECS": 1e-9, "TOTAL_USECS": 1e-6, "TOTAL_MSECS": 1e-3}.get(column, 0.0)
    held = [(float(r["of"][column]) * scale, r) for r in rows if _COUNT.fullmatch(r["of"].get(column, ""))]
    whole = sum(s for s, _ in held)
    for seconds, row in sorted(held, key=lambda one: -one[0])[:1]:
        if seconds < IN_INTERRUPTS_S or seconds < HALF * whole:
            return
        who = row["of"].get(word, "an interrupt")
        text = f"{who} took {figure(seconds, 's')} of the {figure(whole, 's')} in interrupts that are listed"
        yield _sighting([row], "interrupt", who, text, 1, seconds / whole, {"event": "interrupts-take-seconds"})


def _timed_calls(rows: Sequence[Row]) -> Iterator[Sighting]:
    """Yield the call that takes most of the time of calls (syscount -L); what waits for work is left out."""
    held = [
        (float(r["of"]["TIME (US)"]) / 1e6, float(r["of"]["COUNT"]), r)
        for r in rows
        if {"SYSCALL", "COUNT", "TIME (US)"} <= set(r["of"])
        and r["of"]["SYSCALL"] not in _RESTS
        and _TIME.fullmatch(r["of"]["TIME (US)"])
        and _COUNT.fullmatch(r["of"]["COUNT"])
    ]
    whole = sum(s for s, _, _ in held)
    for seconds, n, row in sorted(held, key=lambda one: -one[0])[:1]:
        if seconds < CALLS_S or seconds < HALF * whole or not n:
            return
        name = row["of"]["SYSCALL"]
        text = f"{name} took {figure(seconds, 's')} of the {figure(whole, 's')} in calls that do work, {n:,.0f} calls of {figure(seconds / n, 's')}"
        yield _sighting([row], "call", name, text, n, seconds / whole, {"call": name})


_RESTS = frozenset([*POLLS, *LOCKS, *SLEEPS, "wait4", "waitid", "accept", "accept4", "read", "recvfrom", "recvmsg"])
"""Calls that wait for the next piece of work as long as there is none."""

_SOURCES: tuple[Callable[[Sequence[Row]], Iterator[Sighting]], ...] = (
    _started,
    _not_opened,
    _sent_again,
    _dropped,
    _missed,
    _late_runs,
    _interrupts,
    _timed_calls,
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
