"""Loss on a path: of mtr's last hop, and answers of ping that are missing.

Stands out: a report of mtr whose last hop lost packets, with the hop from which on all lose some, or behind whose last answer nobody
answers; a run of ping that lost packets, with another size of packets that the same host answered; a series of ping without an end in
which answers are missing. Normal: hops on the way that lose or answer late, and pass on: routers answer few such questions, and when
they have time (mtr(8), "rate limit").
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
from rules.signatures.signatures import Seen

OBSERVER = Observer(
    "path-loss",
    "Does a path lose packets?",
    ("rows", "conn_times", "counters"),
    {
        "windows": "pathping ADDRESS",
        "linux": "mtr -r -c 100 ADDRESS from both ends; ping -c 100 ADDRESS; ping -M do -s 1372 ADDRESS; tracepath -n ADDRESS",
        "*": "mtr -r -c 100 ADDRESS from both ends; ping -c 100 ADDRESS, and the same with another size (-s)",
    },
)

LOSS = r"(?i)^loss ?%$"
PERCENT = re.compile(r"(\d{1,3}(?:\.\d+)?)%?")
HOP = re.compile(r"\d{1,3}\.(?:\|--)?\s*(?P<host>\S*)")

FIGURE = re.compile(r"\d+(?:\.\d*)?")
SILENT = "???"
"""What mtr prints for a hop of which it never heard."""

MOST_ROWS = 2_000
"""Maximum number of hops that are looked at."""

FEW = 3
"""Minimum number of answers of a series of ping, of packets of a run, or of lost ones: one alone tells nothing."""

MANY = 10
"""Minimum number of packets from which their loss is a rate."""

DECIDES_PCT, HALF = 5.0, 0.5
"""Loss in % from which it decides on the pace of who sends, and the share that it then has at least: see `share_of`."""

SLOWER = 2.0
"""Ratio of a router's time to that of a later hop from which its slowness is its own: the path goes through it."""

ENDS_SHARE = 0.3
"""Share of a path of which nobody answers at the end: hosts and filters that do not answer are common."""

AROUND_MS = 200.0
"""Milliseconds of light in fibre around half the earth and back: 40,000 km at 200,000 km/s."""


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield the loss of each report of mtr, then what each run of ping misses, or its series where no run has an end."""
    yield from _reports(case)
    runs = list(_runs(case))
    yield from runs
    told = {line.artifact for run in runs for line in run.lines}
    yield from (one for one in _pings(case) if one.lines[0].artifact not in told)


@dataclass(frozen=True)
class Hop:
    """A row of a report of mtr: number, host, loss in %, line, packets sent, mean time in ms."""

    number: str
    host: str
    loss: float
    line: int
    sent: str | None
    avg_ms: float | None

    @property
    def silent(self) -> bool:
        """Return whether nobody answered at all."""
        return self.host == SILENT


def _reports(case: CaseTables) -> Iterator[Sighting]:
    lossy = pl.col("heading").list.eval(pl.element().str.contains(LOSS)).list.any()
    columns = [*PLACE_COLUMNS, "part", "line_no", "table_no", "heading", "cells"]
    rows = case.scan("rows", columns, lossy.fill_null(value=False)).head(MOST_ROWS).collect(engine="streaming")
    for _, part in rows.group_by("artifact_id", "part", "table_no", maintain_order=True):
        hops = [hop for hop in map(_hop, part.iter_rows(named=True)) if hop is not None]
        answered = [hop for hop in hops if not hop.silent]
        row = part.row(0, named=True)
        if hops and hops[-1].silent:
            yield _ends(row, hops, answered)
        elif hops and hops[-1].loss > 0:
            yield _loss(row, hops)
        elif hops and hops[-1].avg_ms is not None:
            yield _arrives(row, hops)


def _hop(row: dict[str, Any]) -> Hop | None:
    """Return a row as a hop, None for one without a loss."""
    cells = dict(zip((str(x).lower() for x in row["heading"]), row["cells"] or (), strict=False))
    at = next((n for n, name in enumerate(row["heading"]) if re.match(LOSS, str(name))), None)
    if at is None or at >= len(row["cells"] or ()):
        return None
    loss = PERCENT.fullmatch(str(row["cells"][at]).strip())
    first = str(row["cells"][0] or "").strip()
    named = HOP.match(first)
    host = (named["host"] if named else first) or next((str(c) for c in row["cells"][1:at] if c), "")
    if loss is None:
        return None
    avg = FIGURE.fullmatch(str(cells.get("avg", "")))
    sent = cells.get("snt") or cells.get("sent")
    number = re.match(r"\d+", first)
    return Hop(
        number[0] if number else "",
        host,
        min(100.0, float(loss[1])),
        row["line_no"],
        sent,
        float(avg[0]) if avg else None,
    )


def decides(loss_pct: float, sent: float) -> bool:
    """Return whether a loss is large enough, and measured with enough packets, to limit the sender's throughput.

    >>> decides(20.0, 20), decides(75.0, 4), decides(4.0, 100)
    (True, False, False)
    """
    return loss_pct >= DECIDES_PCT and sent >= MANY and sent * loss_pct / 100 >= FEW - 0.5


def share_of(loss_pct: float, sent: float) -> float:
    """Return the share (0 to 1) of a sender's time that the loss of its path accounts for.

    The throughput of TCP falls with the square root of the loss: at 5 % its window is 1.22 / 0.05 ** 0.5 = 5 segments,
    so the loss limits it whatever the link's capacity. A few lost packets do not determine the rate. Source: M. Mathis
    et al., The Macroscopic Behavior of the TCP Congestion Avoidance Algorithm (1997).

    >>> share_of(40.0, 100), share_of(1.0, 100), share_of(20.0, 5)
    (0.7, 0.01, 0.2)
    """
    whole = loss_pct / 100
    return min(1.0, HALF + whole / 2) if decides(loss_pct, sent) else whole


def _loss(row: dict[str, Any], hops: list[Hop]) -> Sighting:
    last = hops[-1]
    begins = next(n for n in range(len(hops)) if all(h.loss > 0 for h in hops[n:]))
    of = f" of {last.sent} packets" if last.sent else ""
    sent = float(last.sent) if last.sent and last.sent.isdigit() else 0.0
    # A host that answers few such questions looks like a path that loses them, unless the loss begins before it.
    share = share_of(last.loss, sent) if begins < len(hops) - 1 and not hops[begins].silent else last.loss / 100
    return Sighting(
        "loss",
        last.host,
        f"{last.host}, the last of {len(hops):,} hops, lost {figure(last.loss, '%')}{of}; loss begins at {hops[begins].host}",
        "loss_pct",
        last.loss,
        "%",
        (
            Lines(row["artifact_id"], last.line, last.line, "loss at the last hop"),
            Lines(row["artifact_id"], hops[begins].line, hops[begins].line, "loss begins"),
        ),
        **place(row),
        against="no loss",
        against_value=0.0,
        share=share,
        seen=({"log": "mtr: loss at the last hop"},),
    )


def _ends(row: dict[str, Any], hops: list[Hop], answered: list[Hop]) -> Sighting:
    """Return the sighting of a path whose last hops do not answer: the last hop that did, and those behind it."""
    last = answered[-1] if answered else None
    behind = [h for h in hops if last is None or h.line > last.line]
    text = "nobody on the path answered" if last is None else f"behind hop {last.number}, {last.host}, nobody answers"
    of = f" of {behind[0].sent} packets" if behind[0].sent else ""
    slow = max((h for h in answered[:-1] if h.avg_ms is not None), key=lambda h: h.avg_ms or 0.0, default=None)
    beside = None
    if last is not None:
        lossy = sum(h.loss > 0 for h in answered[:-1])
        beside = f"{last.host} itself lost {figure(last.loss, '%')}"
        if lossy and last.loss == 0:
            beside += f", so that what {lossy:,} router{'s' if lossy > 1 else ''} before it did not answer is no loss of the path"
        if slow and last.avg_ms is not None and (slow.avg_ms or 0.0) >= SLOWER * max(1.0, last.avg_ms):
            beside += f"; the {slow.avg_ms:,.0f} ms of hop {slow.number} do not last: it answers after {last.avg_ms:,.1f} ms (mean)"
    return Sighting(
        "path",
        last.host if last else "the path",
        f"{text} ({figure(behind[0].loss, '%')}{of} lost); a filter or a host that does not answer such questions looks the same",
        "loss_pct",
        behind[0].loss,
        "%",
        (
            *(Lines(row["artifact_id"], h.line, h.line, "the last that answers") for h in ([last] if last else [])),
            Lines(row["artifact_id"], behind[0].line, behind[0].line, "nobody answers"),
            *(Lines(row["artifact_id"], h.line, h.line, "slow to answer for itself") for h in ([slow] if slow and beside and "do not last" in beside else [])),
        ),
        **place(row),
        against="an answer of the host itself",
        against_value=0.0,
        share=ENDS_SHARE,
        beside=beside,
    )  # fmt: skip


def _arrives(row: dict[str, Any], hops: list[Hop]) -> Sighting:
    last = hops[-1]
    of = f" of {last.sent} packets" if last.sent else ""
    which = f"the last of {len(hops):,} hops" if len(hops) > 1 else "the only hop"
    return Sighting(
        "path",
        last.host,
        f"{last.host}, {which}, lost none{of} and answered after {last.avg_ms:,.1f} ms (mean)",
        "path_ms",
        last.avg_ms or 0.0,
        "ms",
        (Lines(row["artifact_id"], last.line, last.line, "the last hop"),),
        **place(row),
        against="a path around the earth, light in fibre",
        against_value=AROUND_MS,
        normal=True,
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
    lines = tuple(rows.filter(pl.col("name") != "missing")["line_no"].unique().sort())
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
        share=share_of(loss, run.sent) if run.got else loss / 100 * HALF,
        n=run.sent - run.got,
        seen=_seen(run, loss, smaller=smaller),
        beside=_well(well) if well else None,
    )


def _seen(run: Run, loss: float, *, smaller: bool) -> tuple[Seen, ...]:
    """Return the event that the loss shows. A host that never answers may not answer ping at all, so it gives none."""
    if smaller:
        return ({"event": "only-small-packets-pass"},)
    return ({"event": "echoes-lost"},) if run.got and decides(loss, run.sent) else ()


def _well(run: Run) -> str:
    return f"{run.got:,} of {run.packets} were answered, {figure(0.0, '%')} lost"


def _pings(case: CaseTables) -> Iterator[Sighting]:
    """Yield series of ping without a summary in which answers are missing, counted by gaps in their numbers."""
    ping = (pl.col("series") == "ping").fill_null(value=False)
    rows = case.scan("conn_times", [*PLACE_COLUMNS, "line_no", "series", "contiguous", "ok"], ping)
    broken = pl.col("contiguous") == "broken"
    made = (
        rows.group_by(PLACE_COLUMNS)
        .agg(
            pl.len().alias("all"),
            broken.sum().alias("n"),
            pl.col("line_no").filter(broken).head(3).alias("lines"),
        )
        .filter((pl.col("n") > 0) & (pl.col("all") >= FEW))
        .collect(engine="streaming")
    )
    if made.is_empty():
        return
    missing = (pl.col("grp") == "ping") & (pl.col("name") == "missing")
    holes = case.scan("counters", ["artifact_id", "grp", "name", "value"], missing.fill_null(value=False))
    lost = dict(holes.group_by("artifact_id").agg(pl.col("value").sum()).collect(engine="streaming").iter_rows())
    for row in made.iter_rows(named=True):
        n = int(lost.get(row["artifact_id"], 0.0))
        whole = n + row["all"]
        text = (
            f"{row['all']:,} of {whole:,} pings were answered, {n:,} are missing: {figure(100 * n / whole, '%')} lost"
            if n
            else f"Answers to ping are missing before {row['n']:,} of {row['all']:,} that came"
        )
        share = share_of(100 * n / whole, whole) if n else min(1.0, row["n"] / row["all"]) * HALF
        yield Sighting(
            "loss",
            "ping",
            text,
            "missing_count",
            float(n or row["n"]),
            "count",
            tuple(Lines(row["artifact_id"], line, line, "answers are missing before it") for line in row["lines"]),
            **place(row),
            against="no loss" if n else None,
            against_value=0.0 if n else None,
            share=share,
            n=n or row["n"],
            seen=({"event": "echoes-lost"},) if n and decides(100 * n / whole, whole) else (),
        )
