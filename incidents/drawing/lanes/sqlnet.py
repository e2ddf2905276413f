"""Oracle Net traces: the time between one record and the next of the same thread.

A gap was spent after what the earlier record reports, so its bar is labelled with the function of that record and ends
at the next record. A listener's wait that a connection request ended is idle time: nobody had asked for anything.
"""

from __future__ import annotations

from collections.abc import Sequence

from incidents.drawing.lane import Drawing, Lane, Row, Span, Window, counted, strips
from incidents.drawing.lane import span as bar

LANE = Lane(
    title="Oracle Net calls",
    group="Calls",
    table="sqlnet",
    unit="s",
    kind="span",
    keys=("side", "thread"),
    fields=("contiguous", "ended_by"),
    rows="""
      select s.clock, s.host, s.artifact_id, s.side, s.thread, s.t_local - coalesce(s.gap_s, 0) as t0, s.t_local as t1,
             coalesce(s.prev_line, s.line_no) as line_from, s.line_no as line_to, s.contiguous, s.func as ended_by
      from sqlnet s where {here}""",
    # The record before a gap names the function in which it was spent.
    finish="""
      select p.*, coalesce(w.func, p.ended_by) as func
      from p left join sqlnet w on w.artifact_id = p.artifact_id and w.line_no = p.line_from and p.n = 1 and p.total_s > 0""",
)

#: Functions in which a process waits for bytes, an event or a connection.
WAITS = frozenset(
    "nsevwait nsprecv nsbasic_brc nsrdr nttrd nttfprd nttmrd ntprd ntusrd nttcni sntpcall snlinGetAddrInfo".split()
)


def draw(rows: Sequence[Row], window: Window) -> list[Drawing]:
    """Draw one strip for each thread of each trace."""
    return [
        Drawing(
            lane="sqlnet",
            clock=first["clock"],
            host=first["host"],
            label=" ".join(str(part) for part in (first["side"] or "trace", first["thread"]) if part is not None),
            unit=LANE.unit,
            spans=[span(row) for row in strip],
            rows=counted(strip),
        )
        for first, strip in strips(rows, LANE.keys)
    ]


def span(row: Row) -> Span:
    missing = row["contiguous"] == "broken" and row["total_s"] > 0
    waiting = row["func"] in WAITS and row["n"] == 1
    return bar(
        row,
        "not traced" if missing and row["n"] == 1 else f"{row['func'] or 'record'}{' waits' if waiting else ''}",
        "untraced" if missing else "wait" if waiting else "rest",
    )
