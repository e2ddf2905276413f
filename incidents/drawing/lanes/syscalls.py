"""System calls, one strip for each thread (LWP) of a process.

The stamp of truss is the time of the return, so a bar ends there and begins at most `dur_hi_s` before; user time of the
same thread may lie in it. The stamp of strace is the time of the call, and the bar begins there. If lines are missing
before a call (`contiguous` broken), the bar is drawn as not traced.
"""

from __future__ import annotations

from collections.abc import Sequence

from incidents.drawing.lane import Drawing, Lane, Row, Span, Window, counted, strips
from incidents.drawing.lane import span as bar

BEGINS = "(s.t_local - case when s.stamp = 'start' then 0 else coalesce(s.dur_hi_s, 0) end)"
#: What a call was made on: the other end, a path, an address in memory, else the descriptor.
TARGET = (
    "coalesce(s.peer_ip || coalesce(':' || s.peer_port, ''), left(s.path, 120), '0x' || hex(s.arg_addr), 'fd ' || s.fd)"
)
LANE = Lane(
    title="System calls",
    group="Calls",
    table="syscalls",
    unit="s",
    kind="span",
    keys=("pid", "lwp"),
    fields=("name", "contiguous", "dur_kind", "err", "target"),
    rows=f"""
      select s.clock, s.host, s.artifact_id, s.pid, s.lwp, {BEGINS} as t0,
             s.t_local + case when s.stamp = 'start' then coalesce(s.dur_hi_s, 0) else 0 end as t1,
             coalesce(s.prev_line, s.line_no) as line_from, s.line_no as line_to, s.name, s.contiguous, s.dur_kind, s.err, {TARGET} as target
      from syscalls s where {{here}}""",
)

#: Calls that wait for somebody else: time in them is not work of the thread.
WAITS = frozenset(
    """accept accept4 connect door_call doorfs epoll_pwait epoll_wait fcntl flock futex getmsg io_getevents kaio lwp_cond_wait
    lwp_park lwp_sema_timedwait lwp_wait msgrcv nanosleep pause poll pollsys port_get port_getn ppoll pselect read readv recv
    recvfrom recvmsg select semop semsys semtimedop sigsuspend sigtimedwait sleep wait wait4 waitid waitpid waitsys yield
    clock_nanosleep
    """.split()
)


def draw(rows: Sequence[Row], window: Window) -> list[Drawing]:
    """Draw one strip for each thread."""
    return [
        Drawing(
            lane="syscalls",
            clock=first["clock"],
            host=first["host"],
            label=thread(first["pid"], first["lwp"]),
            unit=LANE.unit,
            spans=[span(row) for row in strip],
            rows=counted(strip),
            process=first["pid"],
            lwp=first["lwp"],
        )
        for first, strip in strips(rows, LANE.keys)
    ]


def thread(pid: int | None, lwp: int | None) -> str:
    """Return the name of a thread: process id and LWP.


    >>> thread(3731, 1), thread(3731, None), thread(None, 2), thread(None, None)
    ('3731/1', '3731', '/2', 'process')
    """
    if pid is None and lwp is None:
        return "process"
    return f"{'' if pid is None else pid}{'' if lwp is None else f'/{lwp}'}"


def span(row: Row) -> Span:
    name = row["name"] or "call with a lost name"
    missing = row["contiguous"] == "broken" and row["total_s"] > 0
    return bar(
        row,
        "not traced" if missing and row["n"] == 1 else name,
        "untraced" if missing else "wait" if name in WAITS else "rest",
        row["dur_kind"] == "gap",
        None if missing else row["target"],
    )
