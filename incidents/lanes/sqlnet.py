"""Oracle Net traces: what passed between one record and the next of the same thread.

A gap was spent after what the earlier record says, so its bar bears the function of that record and runs up to the record
that ends it. A listener's wait that a connection request ended is idle: nobody asked for anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from incidents.lanes.drawing import Drawing, Lane, Row, Span, Window

LANE = Lane(
    title="Oracle Net",
    table="sqlnet",
    unit="s",
    query="""
      records as (
        select s.clock, s.host, s.side, s.thread, s.artifact_id, s.line_no, coalesce(s.prev_line, s.line_no) as line_from,
               s.contiguous, coalesce(s.gap_s, 0) as gap, s.t_local + c.shift as t_end, s.func
        from sqlnet s join clocks c on c.clock = s.clock
        where s.t_local + c.shift >= $start and s.t_local + c.shift - coalesce(s.gap_s, 0) <= $end),
      pixels as (
        select clock, host, side, thread, artifact_id,
               case when gap >= 2 * $pixel then -line_no else floor((t_end - $start) / $pixel) end as pixel,
               min(t_end - gap) as t0, max(t_end) as t1, count(*) as n, sum(gap) as total_s, max(gap) as worst_s,
               arg_max(line_from, gap) as line_from, arg_max(line_no, gap) as line_to, arg_max(contiguous, gap) as contiguous,
               arg_max(func, gap) as ended_by
        from records group by all)
      select p.*, coalesce(w.func, p.ended_by) as func
      from pixels p left join sqlnet w on w.artifact_id = p.artifact_id and w.line_no = p.line_from and p.n = 1 and p.total_s > 0
      order by host nulls last, clock, side nulls last, thread nulls first, t0, t1
    """,
)

#: Functions in which a process waits for bytes, an event or a connection.
WAITS = frozenset(
    "nsevwait nsprecv nsbasic_brc nsrdr nttrd nttfprd nttmrd ntprd ntusrd nttcni sntpcall snlinGetAddrInfo".split()
)


def draw(rows: Sequence[Row], window: Window) -> list[Drawing]:
    """Draw one strip for each thread of each trace; rows as `LANE.query` orders them."""
    key = ("host", "clock", "side", "thread", "artifact_id")
    return [
        Drawing(
            lane="sqlnet",
            clock=clock,
            host=host,
            label=f"{side or 'trace'}{'' if thread is None else f' {thread}'}",
            unit=LANE.unit,
            spans=[span(row) for row in strip],
            rows=sum(row["n"] for row in strip),
        )
        for (host, clock, side, thread, _), group in groupby(rows, key=lambda r: tuple(r[name] for name in key))
        if (strip := list(group))
    ]


def span(row: Row) -> Span:
    missing = row["contiguous"] == "broken" and row["total_s"] > 0
    waiting = row["func"] in WAITS and row["n"] == 1
    return Span(
        start=row["t0"],
        end=row["t1"],
        label="not traced" if missing and row["n"] == 1 else f"{row['func'] or 'record'}{' waits' if waiting else ''}",
        cls="untraced" if missing else "wait" if waiting else "rest",
        artifact=row["artifact_id"],
        line_from=row["line_from"],
        line_to=row["line_to"],
        at_most=False,
        n=row["n"],
        total_s=row["total_s"],
        worst_s=row["worst_s"],
    )
