"""The same command twice with one word changed or one option more: which took long, and which did not.

Standing out: two timings of one host whose commands differ in one word, or in an option that the quick one has, where the
longer took `TIMES` times as long and `FELT_S` (0.1 s) or more: what the word stands for makes the difference. Normal:
timings that are alike, and commands that differ in more. The same command without a change is compared by its phases
(difference).
Worked example: `client -connect a` took 8.2 s, `client -connect b` 0.010 s: "with b in place of a it took 10 ms".
Cost: at most `MOST_ROWS` timings, compared in pairs. Source: house convention; the method of difference (Mill, A System of Logic, III 8).
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import FELT_S, MOST, Lines, Observer, Sighting, figure, place
from rules.signatures.signatures import recognise

OBSERVER = Observer("command-twins", "Does a command take long with one argument only?", ("conn_times",), across=True)

MOST_ROWS = 100
"""Maximum number of timings that are compared with each other."""

TIMES = 10.0
"""Minimum ratio of the longer to the shorter: the second run of a command finds its files in memory, which is a few times quicker."""

SHARE = 0.3
"""Factor of its share: it tells where to look, not what waits."""

KNOWN_SHARE = 0.8
"""Share of one whose option a signature knows: what it leaves out is what took the time."""


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield pairs of timings, the longest first."""
    columns = [*PLACE_COLUMNS, "series", "line_no", "line_end", "elapsed_s", "cpu_s"]
    named = pl.col("series").str.contains(" ").fill_null(value=False)
    timed = pl.col("cpu_s").is_not_null() & pl.col("elapsed_s").is_finite() & named
    rows = case.scan("conn_times", columns, timed).head(MOST_ROWS).collect(engine="streaming").to_dicts()
    found = [made for a, b in combinations(rows, 2) if a["host"] == b["host"] and (made := _pair(a, b))]
    yield from sorted(found, key=lambda s: -s.value)[:MOST]


def other_word(one: str, other: str) -> tuple[str, str] | None:
    """Return the word of each command in which they differ; None if they differ in no word or in several.

    >>> other_word("curl -s a.example", "curl -s b.example"), other_word("ls a b", "ls c d"), other_word("ls -l a", "rm -l a")
    (('a.example', 'b.example'), None, None)
    """
    a, b = one.split(), other.split()
    apart = [(x, y) for x, y in zip(a, b, strict=False) if x != y]
    return apart[0] if len(a) == len(b) and len(apart) == 1 and a[0] == b[0] else None


def option_more(long: str, short: str) -> str | None:
    """Return the words that the quick command has more than the long one, if they are one option; None otherwise.

    >>> option_more("ssh till9 true", "ssh -o GSSAPIAuthentication=no till9 true"), option_more("ls a", "ls a b")
    ('-o GSSAPIAuthentication=no', None)
    """
    a, b = long.split(), short.split()
    n = next((n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), len(a))
    more = b[n : n + len(b) - len(a)]
    return " ".join(more) if 0 < len(more) <= 2 and b[n + len(more) :] == a[n:] and more[0].startswith("-") else None


def _pair(one: dict[str, Any], other: dict[str, Any]) -> Sighting | None:
    long, short = (one, other) if one["elapsed_s"] >= other["elapsed_s"] else (other, one)
    words = other_word(str(long["series"]), str(short["series"]))
    option = option_more(str(long["series"]), str(short["series"]))
    if (
        (words is None and option is None)
        or long["elapsed_s"] < FELT_S
        or long["elapsed_s"] < TIMES * short["elapsed_s"]
    ):
        return None
    instead = f"{words[1]} in place of {words[0]}" if words else str(option)
    known = bool(option and recognise(event="quick-with", log=option))
    ends = {id(r): r["line_end"] or r["line_no"] for r in (long, short)}
    return Sighting(
        "twins",
        str(long["series"])[:120],
        f"{str(long['series'])[:120]} took {figure(long['elapsed_s'], 's')}; with {instead} it took"
        f" {figure(short['elapsed_s'], 's')}",
        "duration_s",
        long["elapsed_s"],
        "s",
        tuple(
            Lines(r["artifact_id"], max(r["line_no"], ends[id(r)] - 2), ends[id(r)], role)
            for r, role in ((long, "took long"), (short, "took little"))
        ),
        **place(long),
        against="the same command with another word" if words else "the same command with that option",
        against_value=short["elapsed_s"],
        share=KNOWN_SHARE if known else SHARE,
        seen=({"event": "quick-with", "log": option},) if known and option else (),
    )
