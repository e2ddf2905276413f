"""Loss on a path: of mtr's last hop, and answers of ping that are missing.

Stands out: a report of mtr whose last hop lost packets, with the hop from which on all lose some; a run of ping that lost
packets, with another size of packets that the same host answered; a series of ping without an end in which answers are
missing. Normal: hops on the way that lose and pass on: routers answer few such questions (mtr(8), "rate limit").
Worked example: hops 2 and 3 of 3 lose 30 %: "10.0.0.9, the last of 3 hops, lost 30 % of 10 packets; loss begins at 10.0.1.1".
Cost: rows of tables with a column of loss, one pass over the series of ping, and the heads and ends of its runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import Lines, Observer, Sighting, figure, place

OBSERVER = Observer(
    "path-loss",
    "Does a path lose packets?",
    ("rows", "conn_times", "counters"),
    {"windows": "pathping ADDRESS", "*": "mtr -r -c 100 ADDRESS from both ends; ping -c 100 ADDRESS"},
)

LOSS = r"(?i)^loss ?%$"
PERCENT = re.compile(r"(\d{1,3}(?:\.\d+)?)%?")
HOP = re.compile(r"\d{1,3}\.(?:\|--)?\s*(?P<host>\S*)")

MOST_ROWS = 2_000
"""Maximum number of hops that are looked at."""

FEW = 3
"""Minimum number of answers of a series of ping, or of packets of a run: one alone tells nothing."""


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield the loss of each report of mtr, then what each run of ping misses, or its series where no run has an end."""
    yield from _reports(case)
    runs = list(_runs(case))
    yield from runs
    told = {line.artifact for run in runs for line in run.lines}
    yield from (one for one in _pings(case) if one.lines[0].artifact not in told)


def _reports(case: CaseTables) -> Iterator[Sighting]:
    lossy = pl.col("heading").list.eval(pl.element().str.contains(LOSS)).list.any()
    columns = [*PLACE_COLUMNS, "part", "line_no", "table_no", "heading", "cells"]
    rows = case.scan("rows", columns, lossy.fill_null(value=False)).head(MOST_ROWS).collect(engine="streaming")
    for _, part in rows.group_by("artifact_id", "part", "table_no", maintain_order=True):
        hops = [hop for hop in map(_hop, part.iter_rows(named=True)) if hop is not None]
        if hops and hops[-1][1] > 0:
            yield _loss(part.row(0, named=True), hops)


def _hop(row: dict[str, Any]) -> tuple[str, float, int, str | None] | None:
    """Return host, loss in %, line and number of packets of a hop."""
    cells = dict(zip((str(x).lower() for x in row["heading"]), row["cells"] or (), strict=False))
    at = next((n for n, name in enumerate(row["heading"]) if re.match(LOSS, str(name))), None)
    if at is None or at >= len(row["cells"] or ()):
        return None
    loss = PERCENT.fullmatch(str(row["cells"][at]).strip())
    first = str(row["cells"][0] or "").strip()
    named = HOP.match(first)
    host = (named["host"] if named else first) or next((str(c) for c in row["cells"][1:at] if c), "")
    return (host, min(100.0, float(loss[1])), row["line_no"], cells.get("snt") or cells.get("sent")) if loss else None


def _loss(row: dict[str, Any], hops: list[tuple[str, float, int, str | None]]) -> Sighting:
    host, loss, line, sent = hops[-1]
    begins = next(n for n in range(len(hops)) if all(h[1] > 0 for h in hops[n:]))
    of = f" of {sent} packets" if sent else ""
    return Sighting(
        "loss",
        host,
        f"{host}, the last of {len(hops):,} hops, lost {figure(loss, '%')}{of}; loss begins at {hops[begins][0]}",
        "loss_pct",
        loss,
        "%",
        (
            Lines(row["artifact_id"], line, line, "loss at the last hop"),
            Lines(row["artifact_id"], hops[begins][2], hops[begins][2], "loss begins"),
        ),
        **place(row),
        against="no loss",
        against_value=0.0,
        share=loss / 100,
        seen=({"log": "mtr: loss at the last hop"},),
    )


@dataclass(frozen=True)
class Run:
    """A run of ping: the host, how large its packets are, how many went out and came back, first and last line."""

    host: str
    size: int | None
    sent: int
    got: int
    lines: tuple[int, ...]

    @property
    def packets(self) -> str:
        """Return the packets as words."""
        return f"{self.sent:,} pings{f' of {self.size:,} bytes' if self.size else ''}"


def _runs(case: CaseTables) -> Iterator[Sighting]:
    """Yield the runs of ping with loss, those that lost most first, with a size that the same host answered."""
    ping = (pl.col("grp") == "ping").fill_null(value=False)
    columns = [*PLACE_COLUMNS, "part", "line_no", "sample", "grp", "item", "name", "value"]
    rows = case.scan("counters", columns, ping).head(MOST_ROWS).collect(engine="streaming")
    for _, part in rows.group_by("artifact_id", maintain_order=True):
        runs = [_run(one) for _, one in part.group_by("part", "sample", maintain_order=True)]
        lossy = sorted((r for r in runs if r.got < r.sent and r.sent >= FEW), key=lambda r: (r.got / r.sent, -r.sent))
        for run in lossy[:FEW]:
            yield _lossy(part.row(0, named=True), run, [r for r in runs if r.host == run.host and r is not run])


def _run(rows: pl.DataFrame) -> Run:
    values = dict(rows.select("name", "value").iter_rows())
    size = values.get("packet bytes")
    lines = tuple(rows["line_no"].unique().sort())
    sent, got = int(values.get("transmitted", 0)), int(values.get("received", 0))
    return Run(str(rows["item"][0]), int(size) if size else None, sent, got, lines)


def _lossy(row: dict[str, Any], run: Run, others: Sequence[Run]) -> Sighting:
    loss = 100 * (run.sent - run.got) / run.sent
    well = next((r for r in others if r.got >= r.sent > 0), None)
    smaller = bool(well and well.size and run.size and well.size < run.size and run.got == 0)
    shown = [run, well] if well else [run]
    return Sighting(
        "loss",
        run.host,
        f"{run.host} answered {run.got:,} of {run.packets}: {figure(loss, '%')} lost",
        "loss_pct",
        loss,
        "%",
        tuple(
            Lines(row["artifact_id"], line, line, f"{one.got:,} of {one.packets} answered")
            for one in shown
            for line in one.lines
        ),
        **place(row),
        against="no loss",
        against_value=0.0,
        share=loss / 100 * 0.5,
        n=run.sent - run.got,
        seen=({"event": "only-small-packets-pass"},) if smaller else (),
        beside=_well(well) if well else None,
    )


def _well(run: Run) -> str:
    return f"{run.got:,} of {run.packets} were answered, {figure(0.0, '%')} lost"


def _pings(case: CaseTables) -> Iterator[Sighting]:
    ping = (pl.col("series") == "ping").fill_null(value=False)
    rows = case.scan("conn_times", [*PLACE_COLUMNS, "line_no", "series", "contiguous", "ok"], ping)
    missing = pl.col("contiguous") == "broken"
    made = (
        rows.group_by(PLACE_COLUMNS)
        .agg(
            pl.len().alias("all"),
            missing.sum().alias("n"),
            pl.col("line_no").filter(missing).head(3).alias("lines"),
        )
        .filter((pl.col("n") > 0) & (pl.col("all") >= FEW))
        .collect(engine="streaming")
    )
    for row in made.iter_rows(named=True):
        yield Sighting(
            "loss",
            "ping",
            f"Answers to ping are missing before {row['n']:,} of {row['all']:,} that came",
            "missing_count",
            float(row["n"]),
            "count",
            tuple(Lines(row["artifact_id"], n, n, "answers are missing before it") for n in row["lines"]),
            **place(row),
            share=min(1.0, row["n"] / row["all"]) * 0.5,
            n=row["n"],
        )
