"""Shares of CPU time of a host, stacked: user, system, waiting for I/O, stolen. The rest up to 100 % was idle."""

from __future__ import annotations

from collections.abc import Sequence

from incidents.drawing.lane import Drawing, Lane, Row, Window, counted, sample, strips

LANE = Lane(
    title="CPU: user, system, wait, stolen",
    group="Host",
    table="vmstat",
    unit="%",
    kind="counter",
    keys=(),
    fields=(),
    rows="""
      select s.clock, s.host, s.artifact_id, {t} - {dt} as t0, {t} as t1, s.line_no as line_from, s.line_no as line_to,
             coalesce(s.usr, 0) + coalesce(s.nice, 0) as s0,
             coalesce(s.sys, 0) + coalesce(s.irq, 0) + coalesce(s.soft, 0) as s1, coalesce(s.wa, 0) as s2, coalesce(s.st, 0) as s3,
             s0 + s1 + s2 + s3 as value, value as low, value as high
      from vmstat s where {here} and coalesce(not s.first, true) and (s.usr is not null or s.sys is not null)""",
    order="s.sample",
    stack=("user", "system", "wait", "stolen"),
)


def draw(rows: Sequence[Row], window: Window) -> list[Drawing]:
    """Draw one strip for each host and clock."""
    return [
        Drawing(
            lane="cpu",
            clock=first["clock"],
            host=first["host"],
            label="CPU",
            unit=LANE.unit,
            samples=[sample(row, len(LANE.stack)) for row in strip],
            rows=counted(strip),
            kind="counter",
            stack=LANE.stack,
        )
        for first, strip in strips(rows, LANE.keys)
    ]
