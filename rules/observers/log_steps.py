"""Steps of logs that no id joins: what began and ended by its words, and how long a server was gone before it started again.

A line begins something if its message starts with what is being done ("Building index orders_by_day", "Starting Backup ...")
or says of a thing that it starts ("checkpoint starting: time"). A line ends it if it says of the same thing that it is
done. The same thing: all words of the shorter name are words of the longer one. `long-waits` yields these sightings.
Worked example: "Building index orders_by_day" at 10:00:00, "index orders_by_day completed" at 10:01:10: 70 s.
"Instance terminated by USER" at 11:00:00, "Starting ORACLE instance" at 11:02:30: the server was gone for 150 s.
Cost: one streaming pass; what is kept are the first `MOST_ROWS` such lines of each artifact.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.log_times import GAP_S, LONGEST_S, REGULAR, oldest_first, quoted
from rules.observers.observer import Lines, Sighting, figure, place

MOST_ROWS = 20_000
MOST_STEPS = 4
"""Maximum number of steps of a log that are told, the longest first."""

OPEN = 500
"""Maximum number of things that have begun and not ended, at one time of a log."""

STEP_SHARE = 0.3
"""Share of a step: whether somebody waited for it, the log does not tell."""

_PREFIX = r"(?:^|[:|\]>] +)"
BEGUN = re.compile(
    _PREFIX + r"(?P<verb>[A-Z][a-z]{2,}ing) (?P<what>[A-Za-z].{2,80}?)(?: ?\.{2,3}|\.|$)"
    r"|"
    + _PREFIX
    + r"(?P<what2>[A-Za-z][\w -]{2,60}?) (?:is |has )?(?:starting|started|begins?|began|begun)(?=[:.;,]|$| )"
)
"""A line that begins something: what is being done, at the begin of the message, or what starts."""

DONE = re.compile(
    _PREFIX
    + r"(?:Finished|Completed|Done|Started|Stopped|Generated|Loaded|Created|Built|Mounted|Reached target) (?P<what>[A-Za-z].{2,80}?)(?:\.|$)"
    r"|" + _PREFIX + r"(?P<what2>[A-Za-z][\w -]{2,80}?) (?:is |has |was )?(?:successfully )?"
    r"(?:completed?|finished|done|ended|succeeded|failed|ready)(?=[:.;,(]|$| )"
)
"""A line that says of something that it has ended."""

QUICK = (
    r"ing\b|[Ss]tart|[Bb]eg[aiu]n|[Ff]inished|[Cc]omplete|[Dd]one\b|[Ss]topped|[Gg]enerated|[Ll]oaded|[Cc]reated|Built|Mounted"
    r"|Reached|[Ee]nded|[Ss]ucceeded|[Ff]ailed|[Rr]eady"
)
"""What lines have that begin or end something: a quick test."""


NOT_A_THING = frozenset("the and for with from this that into all new has was been not are its".split())

GONE = (
    r"(?i)\binstance terminated by\b|\bdatabase system is shut down\b"
    r"|\b(?:server|daemon|listener|service|instance|mysqld) (?:is |was |has been )?(?:shut ?down|stopped|terminated)\b"
    r"|\bshutdown complete\b|\binstance shutdown complete\b|\breboot: (?:Restarting|Power down|System halted)|\bstopped listening\b"
)
"""Lines after which a server is gone. PostgreSQL says when it starts that it "was shut down at" a time."""

BACK = (
    r"(?i)^\W*(?:starting (?:oracle instance|postgresql|mysqld|mariadbd|the server|up)\b|linux version \d)|\bready (?:for|to accept) connections\b"
    r"|\b(?:server|daemon|listener|service|instance|mysqld|database system) (?:is |has |was )?(?:starting|started|ready|up)\b"
    r"|\bresuming normal operations\b|\bready to start up\b"
)
"""Lines by which it is there again, or starts."""


@dataclass(frozen=True)
class _Begun:
    row: Mapping[str, Any]
    words: frozenset[str]
    at: int


def named_steps(case: CaseTables) -> Iterator[Sighting]:
    """Yield the longest steps between a line that begins something and the one that ends it."""
    for rows in _logs(case, QUICK):
        found: list[tuple[float, Mapping[str, Any], Mapping[str, Any]]] = []
        begun: dict[frozenset[str], _Begun] = {}
        for n, row in enumerate(rows):
            text = str(row["text"])
            if done := DONE.search(text):
                found += _ended(begun, _words(done["what"] or done["what2"]), row, n)
            elif (made := BEGUN.search(text)) and (words := _words(made["what"] or made["what2"])):
                begun.pop(words, None)  # it begins again: what came before has no end in this log
                begun[words] = _Begun(row, words, n)
                if len(begun) > OPEN:
                    begun.pop(next(iter(begun)))
        for took, first, last in sorted(found, key=lambda x: -x[0])[:MOST_STEPS]:
            yield _step(took, first, last)


def _ended(
    begun: dict[frozenset[str], _Begun], words: frozenset[str], row: Mapping[str, Any], n: int
) -> Iterator[tuple[float, Mapping[str, Any], Mapping[str, Any]]]:
    """Yield the step that a line ends: the one with the most words in common, the nearest if several have."""
    same = [one for one in begun.values() if words and (one.words <= words or words <= one.words)]
    same = [one for one in same if one.row["pid"] == row["pid"] or len(one.words & words) > 1]
    if not same:
        return
    one = max(same, key=lambda x: (len(x.words & words), x.at))
    begun.pop(one.words)
    took = float(row["t_local"] - one.row["t_local"])
    beside = one.row["n"] <= REGULAR and n == one.at + 1
    if GAP_S <= took <= LONGEST_S and not beside:  # neighbours of a short log are told as its gap
        yield took, one.row, row


def _words(what: str | None) -> frozenset[str]:
    found = re.findall(r"[a-z][a-z0-9_]{2,}", (what or "").lower())
    return frozenset(w for w in found if w not in NOT_A_THING)


def _logs(case: CaseTables, pattern: str) -> Iterator[list[dict[str, Any]]]:
    """Yield the stamped lines of each part of a log that match, the oldest first, with the number of all its lines."""
    key = [*PLACE_COLUMNS, "part"]
    rows = case.scan("logs", [*key, "line_no", "t_local", "pid", "text"], pl.col("t_local").is_finite())
    told = rows.with_columns(pl.len().over(key).alias("n")).filter(pl.col("text").str.contains(pattern))
    held = oldest_first(told).group_by("artifact_id", maintain_order=True).head(MOST_ROWS).collect(engine="streaming")
    for _, part in held.group_by("artifact_id", "part", maintain_order=True):
        yield part.to_dicts()


def _step(took: float, first: Mapping[str, Any], last: Mapping[str, Any]) -> Sighting:
    said, then = quoted(first["text"], 90), quoted(last["text"], 90)
    return Sighting(
        "step",
        said,
        f'{figure(took, "s")} went by from "{said}" to "{then}"',
        "duration_s",
        took,
        "s",
        _both(first, last, "it begins", "it ends"),
        **place(first),
        t_from=first["t_local"],
        t_to=last["t_local"],
        share=STEP_SHARE,
    )


def _both(first: Mapping[str, Any], last: Mapping[str, Any], begins: str, ends: str) -> tuple[Lines, ...]:
    return tuple(
        Lines(r["artifact_id"], r["line_no"], r["line_no"], role) for r, role in ((first, begins), (last, ends))
    )


def absences(case: CaseTables) -> Iterator[Sighting]:
    """Yield how long a server was gone: from the line that reports its end to the first line of its next start."""
    for rows in _logs(case, f"(?:{GONE})|(?:{BACK})"):
        gone: dict[str, Any] | None = None
        found: list[tuple[float, Mapping[str, Any], Mapping[str, Any]]] = []
        for row in rows:
            if re.search(GONE, str(row["text"])):
                gone = row
            elif gone is not None:
                found.append((float(row["t_local"] - gone["t_local"]), gone, row))
                gone = None
        for took, first, last in sorted(found, key=lambda x: -x[0])[:MOST_STEPS]:
            if GAP_S <= took <= LONGEST_S:
                said, then = quoted(first["text"], 80), quoted(last["text"], 80)
                yield Sighting(
                    "absence",
                    said,
                    f'The server was gone for {figure(took, "s")}, from "{said}" to "{then}"',
                    "absence_s",
                    took,
                    "s",
                    _both(first, last, said, then),
                    **place(first),
                    t_from=first["t_local"],
                    t_to=last["t_local"],
                    seconds=took,
                    n=len(found),
                )
