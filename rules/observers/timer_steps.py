"""Which durations crowd at fixed values: timers, whatever the work.

Stands out: system calls of one name and target of at least `LEAST_S` whose durations agree within `NEAR` at least `CROWD`
times, or a single one within `NEAR` of a timer that a signature knows. Normal: durations that spread with their work.
Calls that end by their own time-out and sleeps are what this looks for; waits for work (accept) are left out.
Worked example: 12 polls on 10.0.0.53:53 of 5.004 to 5.009 s: value 5.005, n 12, seconds 60.06.
Cost: the calls of `LEAST_S` or more. Source: resolver(5), tcp(7): defaults of timers are round and fixed.
"""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import Lines, Observer, Sighting, figure, place
from rules.observers.traced import calls, middle, on, seen, union
from rules.signatures.signatures import recognise
from rules.walking.threads import OWN_S

OBSERVER = Observer(
    "timer-steps",
    "Which durations crowd at fixed values?",
    ("syscalls",),
    {
        "*": "the settings of the time-out; a packet capture of the time",
    },
    wordless=True,
)

LEAST_S = 0.5
"""Minimum duration in seconds: shorter timers are too close together to be told from work."""

LONGEST_S = 30 * 86400.0
"""Maximum believable duration in seconds."""

NEAR = 0.005
"""Maximum difference, as part of the duration, between two that one timer ended."""

MOST_CALLS = 100_000
"""Maximum number of long calls that are looked at of a batch: the longest."""

CROWD = 3
"""Minimum number of equal durations: two may agree by chance."""


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield groups of equal durations and single durations of known timers, those with the longest total first."""
    parts = [rows.top_k(MOST_CALLS, by="own_s") for rows in calls(case, OWN_S.is_between(LEAST_S, LONGEST_S))]
    if not parts:
        return
    key = [*PLACE_COLUMNS, "name", "target"]
    rows = pl.concat(parts).filter(pl.col("kind") != "accept").sort(*key, "own_s")
    # A new crowd begins where the next duration is further than NEAR from the one before.
    apart = (pl.col("own_s") > pl.col("own_s").shift(1).over(key) * (1 + NEAR)).fill_null(value=True)
    rows = rows.with_columns(apart.cum_sum().over(key).alias("crowd"))
    found = []
    for _, crowd in rows.group_by(*key, "crowd", maintain_order=True):
        first, usual = crowd.row(0, named=True), middle(crowd["own_s"])
        wide = crowd.row(-1, named=True)["own_s"] - first["own_s"] > 2 * NEAR * usual  # sorted by their length
        if wide or (crowd.height < CROWD and not recognise(seconds=round(usual, 6))):
            continue
        lines = tuple(Lines(first["artifact_id"], n, n, "same duration") for n in crowd["line_no"].sort().head(4))
        what = f"{crowd.height:,} times {figure(usual, 's')} long" if crowd.height > 1 else f"{figure(usual, 's')} long"
        text = (
            f"{on(first)} was {what}, within {100 * NEAR:.1f} % of each other"
            if crowd.height > 1
            else f"{on(first)} was {what}"
        )
        polls = "timer of a periodic sleep" if first["kind"] == "sleep" and crowd.height == rows.height else None
        found.append(
            Sighting(
                "timer",
                on(first),
                text,
                "duration_s",
                usual,
                "s",
                lines,
                **place(first),
                seconds=union(crowd),
                n=crowd.height,
                seen=({"seconds": round(usual, 6)}, *seen(first)),
                idle=polls,
            )
        )
    yield from sorted(found, key=lambda s: -(s.seconds or 0.0))
