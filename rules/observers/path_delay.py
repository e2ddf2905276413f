"""How much longer answers to ping take than the path itself: the shortest answer shows what the path needs.

Standing out: answers that take, in the middle, a tenth of a second longer than the shortest one of the same series; where only
the end of a run is there, its mean against its least. What is longer than the shortest one waited: in a queue on the way, for a radio
that sleeps, or in a host that answers late. Of a route (traceroute), a hop from which on all
answers take `JUMP_S` longer. Normal: a path that is long but even, as one over an ocean is; one late first answer.
Worked example: answers of 28, 45, 288, 318, 330 and 555 ms: the middle one 303 ms, the shortest 28 ms.
Cost: one pass over the series of ping and the ends of its runs. Source: ping(8) (time, rtt min/avg/max/mdev).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import Lines, Observer, Sighting, figure, place

OBSERVER = Observer(
    "path-delay",
    "Do answers over a path wait on their way?",
    ("conn_times", "counters", "logs"),
    {
        "linux": "mtr -r -c 100 ADDRESS; ping -c 100 ADDRESS from another host; iw dev IF get power_save",
        "*": "mtr -r -c 100 ADDRESS; ping -c 100 ADDRESS from another host",
    },
)

WAITED_S = 0.1
"""Minimum seconds over the shortest answer: what a person notices."""

FEW = 4
"""Minimum number of answers of a series of which one is the middle."""

MANY = 20
"""Minimum number of answers of which a mean is told: of fewer one late answer makes it."""

JUMP_S = 0.25
"""Minimum seconds between two hops that no distance explains: light in fibre needs 0.2 s to the other side of the earth and back."""

CITED = 4
MOST_ROWS = 2_000
SHARE = 0.6
"""Share of a path whose answers wait longer than the path needs."""


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield series of ping whose answers wait, then runs of which only the end tells."""
    told: set[int] = set()
    for one in _series(case):
        told.add(one.lines[0].artifact)
        if not one.normal:
            yield one
    yield from (one for one in _ends(case) if one.lines[0].artifact not in told)
    yield from _hops(case)


def _hops(case: CaseTables) -> Iterator[Sighting]:
    """Yield the hop of a route from which on all answers take `JUMP_S` longer than those before it."""
    of_route = pl.col("op").str.starts_with("hop ").fill_null(value=False) & (pl.col("elapsed_s") >= 0)
    columns = [*PLACE_COLUMNS, "part", "line_no", "op", "elapsed_s"]
    rows = case.scan("logs", columns, of_route).head(MOST_ROWS).collect(engine="streaming")
    for _, part in rows.group_by("artifact_id", "part", maintain_order=True):
        hops = part.sort("line_no").to_dicts()
        took = [float(hop["elapsed_s"]) for hop in hops]
        at = next((n for n in range(1, len(hops)) if min(took[n:]) - max(took[:n]) >= JUMP_S), None)
        if at is None:
            continue
        before, after, last = hops[at - 1], hops[at], hops[-1]
        lines = tuple(dict.fromkeys(hop["line_no"] for hop in (before, after, last)))
        text = (
            f"From {after['op']} on, answers take {figure(min(took[at:]), 's')} or more, before it"
            f" {figure(max(took[:at]), 's')} at most"
        )
        yield _waited(after, str(after["op"]), text, took[at], max(took[:at]), lines, len(hops) - at)


def _series(case: CaseTables) -> Iterator[Sighting]:
    """Yield the median answer time of each series that is long enough, compared with its shortest."""
    answered = (pl.col("series") == "ping") & pl.col("ok") & pl.col("elapsed_s").is_not_null()
    took = pl.col("elapsed_s")
    made = (
        case.scan(
            "conn_times", [*PLACE_COLUMNS, "line_no", "series", "ok", "elapsed_s"], answered.fill_null(value=False)
        )
        .group_by(PLACE_COLUMNS)
        .agg(
            pl.len().alias("n"),
            took.min().alias("least"),
            took.median().alias("middle"),
            pl.struct("elapsed_s", "line_no").top_k_by("elapsed_s", CITED - 1).alias("longest"),
            pl.col("line_no").filter(took == took.min()).first().alias("first"),
        )
        .filter(pl.col("n") >= FEW)
        .collect(engine="streaming")
    )
    for row in made.sort("artifact_id").iter_rows(named=True):
        lines = sorted({row["first"], *(one["line_no"] for one in row["longest"])})
        text = (
            f"Half of {row['n']:,} answers to ping took {figure(row['middle'], 's')} or more, the shortest"
            f" {figure(row['least'], 's')}, the longest {figure(row['longest'][0]['elapsed_s'], 's')}"
        )
        yield _waited(row, "ping", text, row["middle"], row["least"], lines, row["n"])


def _ends(case: CaseTables) -> Iterator[Sighting]:
    """Yield the mean answer time of each run with many answers, compared with its minimum."""
    ping = (pl.col("grp") == "ping").fill_null(value=False)
    columns = [*PLACE_COLUMNS, "part", "line_no", "sample", "grp", "item", "name", "value"]
    rows = case.scan("counters", columns, ping).head(MOST_ROWS).collect(engine="streaming")
    for _, run in rows.group_by("artifact_id", "part", "sample", maintain_order=True):
        values = dict(run.select("name", "value").iter_rows())
        if not {"mean", "least"} <= values.keys() or values.get("received", 0.0) < MANY:
            continue
        row = run.row(0, named=True)
        lines = sorted(set(run.filter(pl.col("name").is_in(["mean", "received"]))["line_no"]))
        mean, least, n = values["mean"] / 1e3, values["least"] / 1e3, int(values["received"])
        text = f"{n:,} answers of {row['item']} took {figure(mean, 's')} on average, the shortest {figure(least, 's')}"
        one = _waited(row, str(row["item"]), text, mean, least, lines, n)
        if not one.normal:
            yield one


def _waited(
    row: dict[str, Any], who: str, text: str, value: float, least: float, lines: Iterable[int], n: int
) -> Sighting:
    return Sighting(
        "wait",
        who,
        text,
        "round_trip_ms",
        1e3 * value,
        "ms",
        tuple(Lines(row["artifact_id"], no, no, "an answer to ping") for no in lines),
        **place(row),
        against="the shortest answer",
        against_value=1e3 * least,
        share=SHARE,
        n=n,
        seen=({"event": "answers-wait-on-the-path"},),
        normal=value - least < WAITED_S,
    )
