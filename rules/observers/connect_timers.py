"""Connects that took as long as a lost SYN waits: 1, 3, 7 or 15 s, on older systems 3, 9 or 21 s, and a moment more.

Standing out: of the connects that a log or a list times at `LEAST_S` or more, two thirds at those times, at least two
and one of 2.9 s or more: the first packet of a connection was lost, or nobody had room to take it, and was sent again by
its timer. Normal: quick connects, and long ones that spread as work does.
Worked example: "connected to till9 in 3003 ms" and "... in 1002 ms" among others of 2 ms: both at a timer.
Cost: one filter by word over log lines and timings. Source: RFC 6298, 2 (RTO of 1 s, doubled); RFC 1122, 4.2.3.1 (3 s before).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.log_times import times_told
from rules.observers.observer import Lines, Observer, Sighting, figure, place

OBSERVER = Observer(
    "connect-timers",
    "Do connects take as long as a lost SYN waits?",
    ("logs", "conn_times"),
    {"*": "nstat -az TcpExtTCPSynRetrans TcpExtListenDrops on both ends; a packet capture of one slow connect"},
)

TIMERS = (1.0, 3.0, 7.0, 9.0, 15.0, 21.0)
AFTER_S = 0.12
"""Seconds after a timer within which a connect ends that was answered at once when the packet came again."""

LEAST_S, OLD_S = 0.9, 2.9
PART = 2 / 3
SHARE = 0.6
MOST_ROWS, MOST_CITED = 50_000, 8

_CONNECTS = r"(?i)\b(?:re)?connect(?:ed|ion|ing|s)?\b|\btcp[ _-]?(?:handshake|open)\b|\btime_connect\b"
_ENDS = r"(?i)time[sd]?[ -]?out|refus|fail|retry|reset|closed|idle|pool(?:ed)? for|lasted|duration|uptime"
"""Words of connections that were not made, or of how long one lived."""


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield what stands out of each artifact."""
    text = pl.col("text")
    connects = text.str.contains(_CONNECTS) & ~text.str.contains(_ENDS)
    lines = case.scan("logs", [*PLACE_COLUMNS, "line_no", "line_end", "text", "elapsed_s"], connects).head(MOST_ROWS)
    told = times_told(lines.filter(pl.col("elapsed_s").is_null()).drop("elapsed_s"))
    known = lines.filter(pl.col("elapsed_s").is_not_null()).with_columns(pl.col("elapsed_s").alias("took"))
    series = pl.col("series").str.contains(_CONNECTS).fill_null(value=False)
    timed = case.scan("conn_times", [*PLACE_COLUMNS, "line_no", "series", "elapsed_s"], series).head(MOST_ROWS)
    wanted = [*PLACE_COLUMNS, "line_no", "took"]
    rows = pl.concat(
        [told.select(wanted), known.select(wanted), timed.rename({"elapsed_s": "took"}).select(wanted)]
    ).collect(engine="streaming")
    for _, part in rows.filter(pl.col("took").is_finite()).group_by("artifact_id", maintain_order=True):
        yield from _of(part.to_dicts())


def timer_of(seconds: float) -> float | None:
    """Return the timer at which a connect ended; None for one that ended at none.

    >>> timer_of(3.011), timer_of(1.9), timer_of(7.0)
    (3.0, None, 7.0)
    """
    return next((t for t in TIMERS if t <= seconds + 1e-9 and seconds - t <= AFTER_S), None)


def _of(rows: list[dict[str, Any]]) -> Iterable[Sighting]:
    long = [r for r in rows if r["took"] >= LEAST_S]
    at = sorted((r for r in long if timer_of(r["took"]) is not None), key=lambda r: -r["took"])
    if len(at) < 2 or len(at) < PART * len(long) or at[0]["took"] < OLD_S:
        return
    first = at[0]
    times = ", ".join(figure(r["took"], "s") for r in at[:4])
    of = f" of {len(rows):,} connects" if len(rows) > len(at) else " connects"
    yield Sighting(
        "wait",
        "connects at the timer of a lost SYN",
        f"{len(at):,}{of} took as long as a lost SYN waits until it is sent again: {times}",
        "duration_s",
        first["took"],
        "s",
        tuple(Lines(r["artifact_id"], r["line_no"], r["line_no"], "ended at a timer") for r in at[:MOST_CITED]),
        **place(first),
        against="connects without a loss",
        against_value=min(r["took"] for r in rows),
        share=SHARE,
        n=len(at),
        seen=({"event": "connects-at-syn-timers"},),
    )
