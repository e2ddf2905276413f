"""System calls, one strip for each thread (LWP) of a process.

A stamp of truss is that of the return, so a bar ends there and begins at most `dur_hi_s` before: user time of the same
thread may lie in it. Where lines are missing before a call (`contiguous` broken) the bar is drawn as not traced.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from incidents.lanes.drawing import Drawing, Lane, Row, Span, Window

LANE = Lane(
    title="System calls",
    table="syscalls",
    unit="s",
    query="""
      calls as (
        select s.clock, s.host, s.pid, s.lwp, s.artifact_id, s.line_no, coalesce(s.prev_line, s.line_no) as line_from,
               s.name, s.contiguous, s.dur_kind, coalesce(s.dur_hi_s, 0) as dur, s.t_local + c.shift as t_end
        from syscalls s join clocks c on c.clock = s.clock
        where s.t_local + c.shift >= $start and s.t_local + c.shift - coalesce(s.dur_hi_s, 0) <= $end)
      select clock, host, pid, lwp, artifact_id,
             case when dur >= 2 * $pixel then -line_no else floor((t_end - $start) / $pixel) end as pixel,
             min(t_end - dur) as t0, max(t_end) as t1, count(*) as n, sum(dur) as total_s, max(dur) as worst_s,
             arg_max(name, dur) as name, arg_max(line_from, dur) as line_from, arg_max(line_no, dur) as line_to,
             arg_max(contiguous, dur) as contiguous, arg_max(dur_kind, dur) as dur_kind
      from calls group by all
      order by host nulls last, clock, pid nulls first, lwp nulls first, t0, t1
    """,
)

#: Calls that wait for somebody else: time in them is not work of the thread.
WAITS = frozenset(
    """accept accept4 connect door_call doorfs epoll_pwait epoll_wait fcntl flock futex getmsg io_getevents kaio lwp_cond_wait
    lwp_park lwp_sema_timedwait lwp_wait msgrcv nanosleep pause poll pollsys port_get port_getn ppoll pselect read readv recv
    recvfrom recvmsg select semop semsys semtimedop sigsuspend sigtimedwait sleep wait wait4 waitid waitpid waitsys yield
    """.split()
)


def draw(rows: Sequence[Row], window: Window) -> list[Drawing]:
    """Draw one strip for each thread; rows as `LANE.query` orders them."""
    return [
        Drawing(
            lane="syscalls",
            clock=clock,
            host=host,
            label=thread(pid, lwp),
            unit=LANE.unit,
            spans=[span(row) for row in strip],
            rows=sum(row["n"] for row in strip),
        )
        for (host, clock, pid, lwp), group in groupby(rows, key=lambda r: (r["host"], r["clock"], r["pid"], r["lwp"]))
        if (strip := list(group))
    ]


def thread(pid: int | None, lwp: int | None) -> str:
    """
    >>> thread(3731, 1), thread(3731, None), thread(None, 2), thread(None, None)
    ('3731/1', '3731', '/2', 'process')
    """
    if pid is None and lwp is None:
        return "process"
    return f"{'' if pid is None else pid}{'' if lwp is None else f'/{lwp}'}"


def span(row: Row) -> Span:
    name = row["name"] or "call with a lost name"
    missing = row["contiguous"] == "broken" and row["total_s"] > 0
    return Span(
        start=row["t0"],
        end=row["t1"],
        label="not traced" if missing and row["n"] == 1 else name,
        cls="untraced" if missing else "wait" if name in WAITS else "rest",
        artifact=row["artifact_id"],
        line_from=row["line_from"],
        line_to=row["line_to"],
        at_most=row["dur_kind"] == "gap",
        n=row["n"],
        total_s=row["total_s"],
        worst_s=row["worst_s"],
    )
