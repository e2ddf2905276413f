"""Lanes whose rows hold their own label and class: their SELECT returns `label` and `cls`.

Spans: connects and pings with a stamp, calls of a SQL trace, cycles of a listener, the tree of processes, traced
requests, and requests of a client in packets. Events: signals, errors, log lines, failed calls, samples of a profile,
packets.
"""

from __future__ import annotations

from collections.abc import Sequence

from incidents.drawing.lane import Draw, Drawing, Kind, Lane, Row, Window, counted, span, strips


def _lane(
    title: str, group: str, table: str, keys: tuple[str, ...], rows: str, kind: Kind = "span", **more: bool | str
) -> Lane:
    fields = ("label", "cls", "at_most")
    return Lane(title, group, table, "s", kind, keys, fields, rows, **more)  # type: ignore[arg-type]  # names of Lane's own fields


_PLACE = "select s.clock, s.host, s.artifact_id"
_LINES = "s.line_no as line_from, s.line_no as line_to"

SEVERE = "'error', 'err', 'severe', 'crit', 'critical', 'alert', 'emerg', 'fatal', 'panic'"
"""Severities of log lines from an error upwards: of syslog, java.util.logging, log4j and PostgreSQL, in small letters."""

LANES: dict[str, Lane] = {
    "conn_times": _lane(
        "Timings", "Timings", "conn_times", ("series",),
        f"""{_PLACE}, s.series, s.t_local as t0, s.t_local + coalesce(s.elapsed_s, 0) as t1, {_LINES},
            coalesce(s.err, case when s.ok = false then 'failed' else 'connect' end) as label,
            case when s.ok = false or s.err is not null then 'error' else 'wait' end as cls, false as at_most
            from conn_times s where {{here}}""",
    ),
    "db_calls": _lane(
        "Calls of a SQL trace", "Database", "db_calls", ("pid",),
        f"""{_PLACE}, s.pid, s.t_local - coalesce(s.elapsed_s, 0) as t0, s.t_local as t1, {_LINES},
            coalesce(s.call, 'call') || coalesce(' of cursor ' || s.cursor, '') as label, 'rest' as cls, false as at_most
            from db_calls s where {{here}}""",
    ),
    "cycles": _lane(
        "Listener cycles", "Listener", "listener_cycles", ("pid", "lwp"),
        f"""{_PLACE}, s.pid, s.lwp, s.t_accept as t0, s.t_end as t1, s.line_accept as line_from, s.line_end as line_to,
            'connection ' || s.cycle as label, 'rest' as cls, true as at_most
            from listener_cycles s where {{here}} and s.t_accept is not null and s.t_end is not null""",
        time="s.t_end",
    ),
    "processes": _lane(
        "Processes: fork, exec, exit", "Processes", "proc_tree", ("ppid", "pid"),
        f"""{_PLACE}, s.ppid, s.pid, s.t_fork as t0, coalesce(s.t_exit, {{end}}) as t1, coalesce(s.line_fork, s.line_exec, s.line_exit) as line_from,
            coalesce(s.line_fork, s.line_exec, s.line_exit) as line_to,
            coalesce(parse_filename(s.path), 'child') || case when s.t_exit is null then ' (end not seen)' else '' end as label,
            'rest' as cls, false as at_most
            from proc_tree s where {{here}} and s.t_fork is not null and line_from is not null""",
        time="coalesce(s.t_exit, {end})",
    ),
    "requests": _lane(
        "Requests in a trace of calls", "Requests", "requests", ("pid", "lwp", "kind"),
        f"""{_PLACE}, s.pid, s.lwp, s.kind, s.t_from as t0, s.t_to as t1, s.line_from, s.line_to,
            s.kind || coalesce(' ' || s.peer, '') as label, case when s.idle then 'wait' else 'rest' end as cls, true as at_most
            from requests s where {{here}} and s.t_from is not null and s.t_to is not null""",
        time="s.t_to", shown=False,
    ),
    "exchanges": _lane(
        "Requests in packets", "Network", "packets", ("asked",),
        """select s.*, s.prior as t0 from (
             select s.clock, s.host, s.artifact_id, s.src || ':' || s.sport as asked, lag(s.src) over w as prior_src, s.t_local as t1,
                    lag(s.t_local) over w as prior, coalesce(lag(s.line_no) over w, s.line_no) as line_from, s.line_no as line_to,
                    'answer to ' || s.dst || ':' || s.dport as label, 'wait' as cls, false as at_most, s.src as me
             from packets s where {clock} and s.len > 0
             window w as (partition by s.artifact_id, s.clock, s.proto, least(s.src || ':' || s.sport, s.dst || ':' || s.dport),
                          greatest(s.src || ':' || s.sport, s.dst || ':' || s.dport) order by s.t_local, s.line_no))
           s where {here} and s.prior_src <> s.me and s.prior is not null""",
        time="s.t1",
    ),
    "signals": _lane(
        "Signals", "Events", "signals", ("pid",),
        f"""{_PLACE}, s.pid, s.t_local as t0, s.t_local as t1, {_LINES}, coalesce(s.event, '') || ' ' || coalesce(s.signal, '') as label,
            case when s.event in ('fault', 'killed') or s.signal in ('SIGSEGV', 'SIGBUS', 'SIGABRT', 'SIGKILL') then 'error' else 'rest' end as cls,
            false as at_most from signals s where {{here}}""",
        "event",
    ),
    "net_errors": _lane(
        "Errors of Oracle Net", "Events", "sqlnet", ("side",),
        f"""{_PLACE}, s.side, s.t_local as t0, s.t_local as t1, {_LINES}, s.err as label, 'error' as cls, false as at_most
            from sqlnet s where {{here}} and s.err is not null""",
        "event",
    ),
    "failed": _lane(
        "System calls that failed", "Events", "syscalls", ("pid", "err"),
        f"""{_PLACE}, s.pid, s.err, s.t_local as t0, s.t_local as t1, {_LINES}, coalesce(s.name, 'call') || ' ' || s.err as label,
            'error' as cls, false as at_most from syscalls s where {{here}} and s.err is not null""",
        "event", shown=False,
    ),
    "logs": _lane(
        "Lines of logs", "Events", "logs", ("source",),
        f"""{_PLACE}, s.source, s.t_local as t0, s.t_local as t1, s.line_no as line_from, coalesce(s.line_end, s.line_no) as line_to,
            coalesce(s.code || ' ', '') || left(coalesce(s.text, s.op, ''), 120) as label,
            case when s.ok = false or s.code is not null or lower(s.severity) in ({SEVERE}) then 'error' else 'rest' end as cls,
            false as at_most from logs s where {{here}}""",
        "event",
    ),
    "profile": _lane(
        "Samples of a profile", "Profiles", "profile_stacks", ("comm", "pid"),
        f"""{_PLACE}, s.comm, s.pid, s.t_local as t0, s.t_local as t1, s.line_no as line_from, coalesce(s.line_end, s.line_no) as line_to,
            coalesce(s.leaf, 'sample') as label, 'rest' as cls, false as at_most
            from profile_stacks s where {{here}} and s.unit = 'samples'""",
        "event",
    ),
    "packets": _lane(
        "Packets", "Network", "packets", ("src", "dst"),
        f"""{_PLACE}, s.src, s.dst, s.t_local as t0, s.t_local as t1, {_LINES},
            coalesce(s.flags || ' ', '') || coalesce(s.len || ' bytes', '') || coalesce(' ' || s.payload, '') as label,
            case when s.flags like '%R%' then 'error' else 'rest' end as cls, false as at_most from packets s where {{here}}""",
        "event", shown=False,
    ),
}  # fmt: skip

_WORDS = {
    "conn_times": "connects",
    "db_calls": "SQL trace",
    "cycles": "cycles",
    "processes": "process",
    "requests": "request",
    "exchanges": "asked of",
    "signals": "signals",
    "net_errors": "errors",
    "failed": "failed",
    "logs": "log",
    "profile": "profile of",
    "packets": "packets",
}


def drawer(name: str) -> Draw:
    """Return the function that draws the lane `name`: one strip for each of its keys."""
    lane = LANES[name]

    def draw(rows: Sequence[Row], window: Window) -> list[Drawing]:
        return [
            Drawing(
                lane=name,
                clock=first["clock"],
                host=first["host"],
                label=label(name, [first[key] for key in lane.keys]),
                unit=lane.unit,
                spans=[span(row, row["label"], row["cls"], row["at_most"]) for row in strip],
                rows=counted(strip),
                kind=lane.kind,
                process=first.get("pid"),
            )
            for first, strip in strips(rows, lane.keys)
        ]

    return draw


def label(name: str, keys: Sequence[object]) -> str:
    """Return the label of a strip from the lane's name and the strip's keys.


    >>> label("processes", [22626, 3728]), label("cycles", [7, None]), label("packets", ["a", "b"])
    ('3728 of 22626', 'cycles 7', 'packets a to b')
    """
    named = [str(key) for key in keys if key is not None]
    if name == "processes":
        return f"{named[-1]} of {named[0]}" if len(named) > 1 else f"process {named[-1]}"
    return f"{_WORDS[name]} {(' to ' if name == 'packets' else ' ').join(named)}".strip()
