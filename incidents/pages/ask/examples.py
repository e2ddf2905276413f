"""Example queries by table, each with the columns that lead from a row to its lines.

A test runs every one of them; the page offers those whose tables have rows.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Example:
    title: str
    tables: tuple[str, ...]
    sql: str


EXAMPLES = (
    Example(
        "Longest calls",
        ("syscalls",),
        "select artifact_id, line_no, line_end, pid, name, path, dur_hi_s\nfrom syscalls\nwhere dur_hi_s >= 0.05\n"
        "order by dur_hi_s desc\nlimit 50",
    ),
    Example(
        "Time by call and process",
        ("syscalls",),
        "select pid, name, count(*) as calls, round(sum(dur_hi_s), 6) as seconds,\n       artifact_id, min(line_no) as line_no, "
        "max(line_end) as line_end\nfrom syscalls\ngroup by artifact_id, pid, name\norder by seconds desc nulls last\nlimit 50",
    ),
    Example(
        "Calls that failed",
        ("syscalls",),
        "select err, name, path, count(*) as times,\n       artifact_id, min(line_no) as line_no, max(line_end) as line_end\n"
        "from syscalls\nwhere err is not null\ngroup by artifact_id, err, name, path\norder by times desc\nlimit 50",
    ),
    Example(
        "What never completed",
        ("open_calls",),
        "select artifact_id, line_no, line_end, pid, lwp, name, args, state\nfrom open_calls\nwhere done_line is null\norder by artifact_id, line_no",
    ),
    Example(
        "Signals, in order",
        ("signals",),
        "select artifact_id, line_no, pid, event, signal, in_call\nfrom signals\norder by artifact_id, line_no\nlimit 200",
    ),
    Example(
        "Totals of calls",
        ("syscall_totals",),
        "select artifact_id, line_no, name, n, errors, total_s, total_kind\nfrom syscall_totals\n"
        "where section = 'call'\norder by total_s desc nulls last\nlimit 50",
    ),
    Example(
        "Slow connects",
        ("conn_times",),
        "select artifact_id, line_no, line_end, phase, series, elapsed_s\nfrom conn_times\nwhere elapsed_s > 1\norder by elapsed_s desc\nlimit 50",
    ),
    Example(
        "Connect times by phase",
        ("conn_times",),
        "select coalesce(phase, 'unknown') as phase, count(*) as n, median(elapsed_s) as median_s, max(elapsed_s) as max_s\n"
        "from conn_times\ngroup by 1\norder by 1",
    ),
    Example(
        "Longest waits in Oracle Net traces",
        ("sqlnet",),
        "select artifact_id, line_no, side, thread, func, event, gap_s, text\nfrom sqlnet\nwhere gap_s >= 0.1\norder by gap_s desc\nlimit 50",
    ),
    Example(
        "The run queue over time",
        ("vmstat",),
        "select artifact_id, line_no, sample, r, b, usr, sys, idle\nfrom vmstat_i\norder by artifact_id, line_no\nlimit 200",
    ),
    Example(
        "Samples with a queue",
        ("vmstat",),
        "select artifact_id, line_no, sample, r, idle, scall, cs\nfrom vmstat_i\nwhere r >= 1 and idle < 20\norder by r desc\nlimit 50",
    ),
    Example(
        "Busy processors",
        ("mpstat",),
        "select artifact_id, line_no, sample, cpu, usr, sys, idle, smtx, icsw\nfrom mpstat_i\nwhere idle < 10\norder by artifact_id, line_no\nlimit 200",
    ),
    Example(
        "Slow devices",
        ("iostat",),
        "select artifact_id, line_no, device, sample, r_ps, w_ps, coalesce(asvc_ms, resp_ms) as ms, busy_pct\nfrom iostat_i\n"
        "where coalesce(asvc_ms, resp_ms) > 20\norder by ms desc\nlimit 50",
    ),
    Example(
        "Counters that grew",
        ("counters",),
        "select artifact_id, line_no, grp, item, name, delta, interval_s\nfrom counters_i\nwhere delta > 0\norder by delta desc\nlimit 50",
    ),
    Example(
        "Largest processes",
        ("ps",),
        "select artifact_id, line_no, pid, comm, rss_kb, vsz_kb, cpu_pct, state\nfrom ps\norder by rss_kb desc nulls last\nlimit 50",
    ),
    Example(
        "Threads that wait for a processor",
        ("microstates",),
        "select artifact_id, line_no, pid, lwp, comm, lat, lck, slp, usr, sys\nfrom microstates\nwhere lat >= 1\norder by lat desc\nlimit 50",
    ),
    Example(
        "Shared memory and what of it is resident",
        ("pmap",),
        "select artifact_id, line_no, pid, addr, kbytes, rss_kb, shm_kind, shmid\nfrom pmap\nwhere region = 'shm'\norder by kbytes desc nulls last\nlimit 50",
    ),
    Example(
        "Messages by code",
        ("logs",),
        "select code, severity, count(*) as times,\n       artifact_id, min(line_no) as line_no, max(line_end) as line_end\nfrom logs\n"
        "where code is not null\ngroup by artifact_id, code, severity\norder by times desc\nlimit 50",
    ),
    Example(
        "Connections with retransmissions",
        ("tcp_flows",),
        "select artifact_id, line_no, line_end, src, dst, dport, retransmits, zero_window_s, request_to_first_byte_s\nfrom tcp_flows\n"
        "where retransmits > 0\norder by retransmits desc\nlimit 50",
    ),
    Example(
        "Parameters that are set",
        ("params",),
        "select artifact_id, line_no, scope, entity, name, value\nfrom params\nwhere active is distinct from false\norder by scope, name\nlimit 200",
    ),
    Example(
        "Limits that are near",
        ("resource_use",),
        "select artifact_id, line_no, name, used, peak, limit_num\nfrom resource_use\nwhere limit_num > 0 and peak >= 0.8 * limit_num\norder by name",
    ),
    Example(
        "Waits of the database",
        ("db_waits",),
        "select artifact_id, line_no, event, wait_class, n, total_s, avg_ms\nfrom db_waits\norder by total_s desc nulls last\nlimit 50",
    ),
    Example(
        "Hottest symbols",
        ("profile_symbols",),
        "select artifact_id, line_no, comm, symbol, pct, kernel, lock\nfrom profile_symbols\norder by pct desc nulls last\nlimit 50",
    ),
    Example(
        "Lines that nobody understood",
        ("notes",),
        "select artifact_id, line_no, line_end, kind, text\nfrom notes\nwhere kind in ('unknown', 'damaged')\norder by artifact_id, line_no\nlimit 200",
    ),
    Example(
        "What was read, and how much of it",
        ("artifacts",),
        "select artifact_id, line_no, line_end, kind, host, phase, n_lines, n_read, n_unknown\nfrom artifacts\norder by artifact_id, line_no",
    ),
    Example(
        "Connections the listener served",
        ("listener_cycles",),
        "select artifact_id, line_accept as line_no, line_end, pid, cycle, kind, cycle_s, fork_s, wait_child_s\nfrom listener_cycles\n"
        "order by cycle_s desc nulls last\nlimit 50",
    ),
    Example(
        "Where the time of a thread went",
        ("call_profile",),
        "select artifact_id, line_no, line_end, pid, lwp, name, n, dur_s, share, verdict\nfrom call_profile\nwhere cycle is null\n"
        "order by dur_s desc nulls last\nlimit 50",
    ),
)


def of(name: str) -> list[Example]:
    """Return the queries whose first table is `name`."""
    return [example for example in EXAMPLES if example.tables[0] == name]


def first_rows(name: str, columns: list[str]) -> str:
    """Return a SELECT of a table's first rows: the query that works for every table."""
    shown = [
        column for column in columns if column not in ("part", "phase", "clock", "t", "t_err", "t_local", "sha256")
    ][:9]
    place = [column for column in ("artifact_id", "line_no", "line_end") if column in columns]
    order = f"\norder by {', '.join(place[:2])}" if place else ""
    return f"select {', '.join(dict.fromkeys([*place, *shown]))}\nfrom {name}{order}\nlimit 50"
