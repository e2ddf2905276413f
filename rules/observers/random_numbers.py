"""How late the kernel had random numbers: whoever called getrandom before had to wait for them.

Standing out: the line that says so (`crng init done`) `LATE_S` after the start (after the first line of the log, if the
clock is no time since the start), and somebody who wanted them: a program that asked after the first `EARLY_S`, or a
line of another program within `AT_ONCE_S` of it. Normal: within the first seconds, or late and nobody asks for them.
Worked example: `[  214.882013] random: crng init done`: ready 214.882 s after the start.
Cost: one filter over the log lines. Source: Linux drivers/char/random.c; getrandom(2), "has been initialized".
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import Lines, Observer, Sighting, figure, place

OBSERVER = Observer(
    "random-numbers",
    "How late had the kernel random numbers?",
    ("logs",),
    {"linux": "dmesg -T | grep random; cat /proc/sys/kernel/random/entropy_avail; systemd-analyze blame"},
)

READY = r"random: (?:crng init done|nonblocking pool is initialized)"
ASKED = r"random: .*(?:uninitialized urandom read|get_random_\w+ called from|crng_init=0)"
LATE_S, LONGEST_S = 25.0, 7200.0
"""Seconds from which services wait so long that somebody notices, and the most that a start takes."""

EARLY_S, AT_ONCE_S = 5.0, 1.0
"""Seconds in which a start asks for numbers that need not be good, and in which one goes on who waited for good ones."""

SHARE = 0.8
MOST_CITED = 8


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield the line of each artifact that says that random numbers are there, if it came late."""
    columns = [*PLACE_COLUMNS, "part", "line_no", "t_local", "text"]
    said = pl.col("text").str.contains(READY) | pl.col("text").str.contains(ASKED)
    ours = pl.col("text").str.contains("random: ", literal=True) & said & pl.col("t_local").is_finite()
    rows = case.scan("logs", columns, ours).head(1_000).collect(engine="streaming")
    if rows.is_empty():
        return
    stamped = case.scan("logs", ["artifact_id", "part", "t_local", "text"], pl.col("t_local").is_finite())
    others = stamped.filter(~pl.col("text").str.contains("random: ", literal=True))
    first = stamped.group_by("artifact_id", "part").agg(pl.col("t_local").min()).collect(engine="streaming")
    began = {(a, p): t for a, p, t in first.iter_rows()}
    for (artifact, part), held in rows.sort("line_no").group_by("artifact_id", "part", maintain_order=True):
        listed = held.to_dicts()
        ready = next((r for r in listed if re.search(READY, r["text"])), None)
        if ready is None:
            continue
        asked, start = [r for r in listed if r["t_local"] < ready["t_local"]], began[artifact, part]
        went_on = others.filter(
            pl.col("t_local").is_between(ready["t_local"], ready["t_local"] + AT_ONCE_S)
            & (pl.col("artifact_id") == artifact)
            & (pl.col("part") == part)
        )
        wanted = any(r["t_local"] >= start + EARLY_S for r in asked) or not went_on.head(1).collect().is_empty()
        if wanted:
            yield from _late(ready, asked, start)


def _late(ready: dict[str, Any], asked: list[dict[str, Any]], began: float) -> Iterable[Sighting]:
    since_start = ready["t_local"] < LONGEST_S and began < LONGEST_S
    late = ready["t_local"] if since_start else ready["t_local"] - began
    if not LATE_S <= late <= LONGEST_S:
        return
    after = "the start" if since_start else "the first line of the log"
    who = f"; {len(asked)} lines tell of programs that asked before" if asked else ""
    yield Sighting(
        "late",
        "random numbers of the kernel",
        f"The kernel had random numbers only {figure(late, 's')} after {after}{who}",
        "random_ready_s",
        late,
        "s",
        (
            Lines(ready["artifact_id"], ready["line_no"], ready["line_no"], "ready"),
            *(Lines(r["artifact_id"], r["line_no"], r["line_no"], "asked before") for r in asked[: MOST_CITED - 1]),
        ),
        **place(ready),
        t_from=ready["t_local"] - late,
        t_to=ready["t_local"],
        against="the first seconds",
        against_value=LATE_S,
        share=SHARE,
        n=1 + len(asked),
        seen=({"event": "random-numbers-late"},),
    )
