"""Durations of connects, pings or commands in their order: a series without a clock has no place in time."""

from __future__ import annotations

from collections.abc import Sequence

from incidents.drawing.lane import Drawing, Lane, Row, Window, counted, sample, strips

LANE = Lane(
    title="Timings, in their order",
    group="Timings",
    table="conn_times",
    unit="s",
    kind="counter",
    keys=("phase", "series"),
    fields=(),
    rows="""
      select s.clock, s.host, s.artifact_id, s.phase, s.series, {t} - {dt} as t0, {t} as t1, s.line_no as line_from,
             s.line_no as line_to, s.elapsed_s as low, s.elapsed_s as high, s.elapsed_s as value
      from conn_times s where {here} and s.elapsed_s is not null""",
    order="s.seq",
    timed=False,
    shown=False,  # hidden by default: the figure of timings below the frames shows them with their medians
)


def draw(rows: Sequence[Row], window: Window) -> list[Drawing]:
    """Draw one strip for each phase and series."""
    return [
        Drawing(
            lane="connects",
            clock=first["clock"],
            host=first["host"],
            label=" ".join(part for part in (first["phase"], first["series"]) if part) or "attempts",
            unit=LANE.unit,
            samples=[sample(row) for row in strip],
            rows=counted(strip),
            kind="counter",
        )
        for first, strip in strips(rows, LANE.keys)
    ]
