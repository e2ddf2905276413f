"""Which statement takes the time of a database, in lists of statements with their total time and number of calls.

Standing out: a statement with `HALF` of the time that is listed (or that its own column of shares tells) whose calls take `FELT_S` on average.
Of a statement with as much time and quick calls it is told how often it is called. Normal: less. Lists are known by the names of their
columns (pg_stat_statements, sys.statement_analysis, v$sqlarea, sys.dm_exec_query_stats), and the profile of pt-query-digest by its heading.
Worked example: 900 calls of one SELECT took 4,500,000 ms of 4,600,000 ms that are listed: 97.8 % of the time, 5 s for each call.
Cost: one pass over the rows. Source: PostgreSQL documentation, pg_stat_statements; MySQL Reference Manual, sys.statement_analysis; Oracle
Database Reference, V$SQLAREA; Microsoft Learn, sys.dm_exec_query_stats; Percona Toolkit documentation, pt-query-digest.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from parsers.columns.statement_verbs import verb
from rules.derived.derived_table import CaseTables
from rules.observers.database_lists import STATEMENTS, Listed, figure_of, is_known, listings
from rules.observers.observer import Observer, Sighting, figure, place

OBSERVER = Observer(
    "statement-totals",
    "Which statement takes the time of the database?",
    ("rows",),
    {"*": "EXPLAIN ANALYZE of the statement; its rows, blocks and waits in the same view"},
    alone=True,
)

HALF = 0.5
FELT_S = 1.0
"""Minimum mean time of a call that a person waits for."""

LEAST_S = 10.0
"""Minimum total time in seconds of a statement: less is one look at a list."""

LEAST_ROWS = 2
TOTALS: Mapping[str, float] = {
    "total_exec_time": 1e-3, "total_time": 1e-3, "total_exec_time_ms": 1e-3, "total_time_ms": 1e-3, "total_ms": 1e-3,
    "total_seconds": 1.0, "total_s": 1.0, "total_sec": 1.0, "total_time_s": 1.0, "total_elapsed_time": 1e-6, "total_elapsed_ms": 1e-3,
    "total_elapsed_s": 1.0, "total_elapsed_time_ms": 1e-3, "total_worker_time": 1e-6, "sum_timer_wait": 1e-12, "sum_timer_wait_s": 1.0,
    "elapsed_time": 1e-6, "elapsed_seconds": 1.0, "elapsed_time_s": 1.0, "elapsed_s": 1.0, "ela_secs": 1.0, "total_duration_ms": 1e-3,
    "time_s": 1.0, "exec_time": 1.0, "response_time": 1.0,
}  # fmt: skip
"""Columns of the total time, with the unit that their views use, in seconds."""

CALLS = ("calls", "exec_count", "count_star", "executions", "execution_count", "num_executions", "n_calls", "exec")
SPOKEN = ("query_text", "digest_text", "item", "normalized_query", "short_query", "substring", "left")
SHARES = ("pct", "percent", "percentage", "response_pct", "total")
"""Columns of the part of the whole time; `%Total` of AWR is one too."""

_SIZES = {
    "ps": 1e-12,
    "ns": 1e-9,
    "us": 1e-6,
    "µs": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "m": 60.0,
    "min": 60.0,
    "h": 3600.0,
    "d": 86400.0,
}
_WITH_UNIT = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,9})?) ?(ps|ns|us|µs|ms|s|m|min|h|d)")


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield the statement with most time of each list."""
    for names, listing in listings(case):
        yield from _largest(names, listing)


def _seconds(cell: str | None, unit: float) -> float | None:
    if (plain := figure_of(cell)) is not None:
        return plain * unit
    found = _WITH_UNIT.fullmatch((cell or "").strip())
    return float(found[1]) * _SIZES[found[2]] if found else None


def _largest(names: frozenset[str], listing: Sequence[Listed]) -> Iterator[Sighting]:
    total = next((n for n in ("total_latency", *TOTALS) if n in names), None)
    calls = next((n for n in CALLS if n in names), None)
    said = next((n for n in (*STATEMENTS, *SPOKEN, "sql_id", "queryid") if n in names), None)
    if total is None or calls is None or said is None or len(listing) < LEAST_ROWS:
        return
    share_at = next((n for n in SHARES if n in names and (n != "total" or "%" in listing[0].printed[n])), None)
    timed = [(s, one) for one in listing if (s := _seconds(one.of[total], TOTALS.get(total, 1.0))) and s > 0]
    whole = sum(s for s, _ in timed)
    if len(timed) < LEAST_ROWS:
        return
    spent, one = max(timed, key=lambda x: x[0])
    listed = figure_of((one.of.get(share_at or "") or "").rstrip("% "))
    share = listed / 100 if listed is not None and 0 < listed <= 100 else spent / whole
    n = figure_of(one.of[calls])
    if not n or n < 1 or share < HALF or spent < LEAST_S or not is_known(one.of[said]):
        return
    mean = spent / n
    what = verb(one.of[said]) or "A statement"
    yield Sighting(
        "statement",
        f"{what} on line {one.row['line_no']}",
        f"{what} on line {one.row['line_no']} has {figure(100 * share, '%')} of the time of the listed statements,"
        f" {figure(spent, 's')} in {n:,.0f} calls, {figure(mean, 's')} each",
        "statement_s",
        spent,
        "s",
        (one.line("the statement with most time"),),
        **place(one.row),
        against="all listed statements",
        against_value=whole,
        share=min(1.0, share),
        n=int(min(n, 1e15)),
        seen=({"event": "one-statement-takes-the-time"},) if mean >= FELT_S else (),
    )
