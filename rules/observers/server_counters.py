"""What counters of databases and caches say of themselves: hit ratios, use of limits, what was evicted, refused or forced.

Standing out: less than 90 % of 1,000 looks-up or more found in memory; four fifths of the allowed connections or memory in
use; evictions, refused connections, deadlocks; more checkpoints on demand than by time; pages written by sessions
themselves; half a second for a copy of the server (fork); five sessions that wait for row locks now, where a wait takes a second.
Normal: the others; ratios, uses, and temporary files and tables
on disk are told as measures. Totals since the start say nothing of the hour.
Worked example: Redis with keyspace_hits 1000 and keyspace_misses 900000: 0.11 % of the looks-up were hits.
Cost: a filter by name over the counters, one pass over what is left. Source: Redis INFO; memcached protocol.txt, stats; MySQL
Reference Manual, Server Status Variables; PostgreSQL documentation, pg_stat_bgwriter, pg_stat_database.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import Lines, Observer, Sighting, figure, place

OBSERVER = Observer(
    "server-counters",
    "What do a database's own counters say?",
    ("counters", "params", "rows"),
    {
        "*": "the same counters once more, 60 s later: redis-cli info, mysqladmin extended-status, psql -c 'select * from pg_stat_database'"
    },
)

HIT_PCT = 90.0
"""Hit ratio below which the rest costs noticeably: each look-up that misses is a hundred times slower."""

LOOKS = 1000.0
"""Minimum number of looks-up for a ratio: a cache that has just begun misses all."""

NEAR_PCT = 80.0
FULL_PCT = 99.0
"""Use of a limit from which the next one is refused: servers keep one or some connections for administrators."""

CONNECTED = ("connected_clients", "curr_connections", "threads_connected", "numbackends")
"""Names of connections that are open now; the most that there ever were may be of another day."""

LOCKED_PCT = 10.0
"""Part of the requests for locks on tables that wait, from which readers and writers stand in each other's way."""

FORK_S = 0.5
"""Seconds of a copy of the server from which it is told: nobody is answered meanwhile."""

LARGEST = 1e18
MOST = 5000
"""Maximum number of counters that are looked at."""

HITS = (
    ("keyspace_hits", "keyspace_misses", False), ("get_hits", "get_misses", False), ("blks_hit", "blks_read", False),
    ("heap_blks_hit", "heap_blks_read", False), ("idx_blks_hit", "idx_blks_read", False),
    ("innodb_buffer_pool_read_requests", "innodb_buffer_pool_reads", True), ("key_read_requests", "key_reads", True),
    ("table_open_cache_hits", "table_open_cache_misses", False), ("qcache_hits", "qcache_inserts", False),
)  # fmt: skip
"""Names of hits and misses; with True the first one counts all looks-up."""

USES = (
    ("connected_clients", "maxclients"), ("used_memory", "maxmemory"), ("curr_connections", "max_connections"), ("bytes", "limit_maxbytes"),
    ("threads_connected", "max_connections"), ("max_used_connections", "max_connections"), ("numbackends", "max_connections"),
    ("open_files", "open_files_limit"),
)  # fmt: skip
"""Names of what is used and of its limit; 0 is no limit."""

STILL: Mapping[str, str] = {
    "evicted_keys": "keys were evicted for want of memory", "evictions": "items were evicted for want of memory",
    "rejected_connections": "connections were refused at the limit", "connection_errors_max_connections": "connections were refused at the limit",
    "listen_disabled_num": "times no connection was accepted at the limit", "deadlocks": "deadlocks were resolved by a rollback",
    "innodb_deadlocks": "deadlocks were resolved by a rollback", "innodb_row_lock_current_waits": "row locks are waited for now",
    "innodb_buffer_pool_wait_free": "times a page had to be freed first", "innodb_log_waits": "times the log buffer was full",
    "blocked_clients": "clients are blocked now", "buffers_backend_fsync": "times a session had to flush by itself",
    "maxwritten_clean": "times the background writer stopped at its limit",
}  # fmt: skip
"""Counters that stay at 0 where nothing is short."""

ON_DISK = (
    ("temp_files", "temp_bytes", "xact_commit", "temporary files were written", "transactions"),
    ("created_tmp_disk_tables", "", "created_tmp_tables", "temporary tables went to disk", "temporary tables in all"),
)
"""Names of what went to disk for want of memory, of its bytes, and of what it is compared with; then their words."""

VALUE = r"(?i)^(?:variable_)?value$"
"""Name of the column of values in a table of names and values."""

LISTED = 3
"""Minimum number of known counters among the columns of a table."""

WAITING_NOW, WAITED_MS = 5.0, 1000.0
"""Number of sessions that wait for row locks at this moment, and the mean of all waits in ms, from which they hold up work."""

FORCED, FORCED_LEAST = 0.9, 100.0
"""Part and number of requested checkpoints from which they come of the amount of log, not of an administrator."""

NO_FREE, NO_FREE_LEAST = "innodb_buffer_pool_wait_free", 1000.0
"""Counter of waits for a free page of the buffer pool, which stands at zero where the pool suffices."""

ON_DEMAND = (("checkpoints_req", "checkpoints_timed"), ("num_requested", "num_timed"))
NAMES = frozenset(
    [name for one, other, _ in HITS for name in (one, other)]
    + [name for pair in (*USES, *ON_DEMAND) for name in pair]
    + [
        *STILL,
        "latest_fork_usec",
        "innodb_row_lock_time_avg",
        "table_locks_waited",
        "table_locks_immediate",
        "buffers_backend",
        "buffers_checkpoint",
        "buffers_clean",
    ]
    + [name for found in ON_DISK for name in found[:3] if name]
)


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield the sightings of each listing, from the last sample of each counter."""
    key = [*PLACE_COLUMNS, "part", "line_no", "name"]
    known = pl.col("name").str.to_lowercase().is_in(list(NAMES))
    # A table of two columns that a client wrote with tabs has the names among its items.
    named = pl.when(pl.col("name").str.contains(VALUE)).then("item").otherwise("name").alias("name")
    counters = case.scan("counters", [*key, "item", "value"]).with_columns(named).drop("item").filter(known).head(MOST)
    params = case.scan("params", [*key, "num"]).filter(known).head(MOST).rename({"num": "value"})
    rows = pl.concat([counters, params], how="diagonal_relaxed").collect(engine="streaming")
    if not (listed := _listed(case)).is_empty():
        rows = pl.concat([rows, listed], how="diagonal_relaxed")
    good = rows.filter(pl.col("value").is_between(0, LARGEST) & pl.col("line_no").is_not_null())
    found: list[Sighting] = []
    for _, part in good.sort("line_no").group_by("artifact_id", "part", maintain_order=True):
        found += _said({row["name"].lower(): row for row in part.iter_rows(named=True)})
    return sorted(found, key=lambda s: (s.normal, -(s.share or 0.0)))


def _listed(case: CaseTables) -> pl.DataFrame:
    """Return the counters of views that are printed as a table of one row, a column for each (pg_stat_bgwriter)."""
    columns = [*PLACE_COLUMNS, "part", "table_no", "line_no", "heading", "cells"]
    known = pl.col("heading").list.eval(pl.element().str.to_lowercase().is_in(list(NAMES))).list.sum() >= LISTED
    tables = case.scan("rows", columns, known.fill_null(False)).head(MOST).collect(engine="streaming")
    single = tables.filter(pl.len().over("artifact_id", "part", "table_no") == 1)
    pairs = single.filter(pl.col("heading").list.len() == pl.col("cells").list.len()).explode("heading", "cells")
    value = pl.col("cells").str.strip_chars().cast(pl.Float64, strict=False).alias("value")
    named = pairs.rename({"heading": "name"}).with_columns(value).drop("table_no", "cells")
    return named.filter(pl.col("name").str.to_lowercase().is_in(list(NAMES)) & pl.col("value").is_not_null())


def _said(of: Mapping[str, Mapping[str, Any]]) -> Iterator[Sighting]:
    for hit, miss, all_looks in HITS:
        if hit in of and miss in of:
            looks = of[hit]["value"] + (0.0 if all_looks else of[miss]["value"])
            hits = max(0.0, looks - of[miss]["value"])
            if looks >= LOOKS:
                pct = 100 * hits / looks
                text = f"{figure(pct, '%')} of {looks:,.0f} looks-up were hits, {of[miss]['value']:,.0f} were not ({of[miss]['name']})"
                part = 1 - pct / 100 if pct < HIT_PCT else None
                yield _one((of[hit], of[miss]), text, "hit_pct", pct, "%", HIT_PCT, pct >= HIT_PCT, part)
    for used, limit in USES:
        if used in of and limit in of and of[limit]["value"] > 0:
            pct = 100 * of[used]["value"] / of[limit]["value"]
            text = f"{of[used]['name']} is {of[used]['value']:,.0f} of {of[limit]['value']:,.0f} ({of[limit]['name']}), {figure(pct, '%')}"
            made = _one(
                (of[used], of[limit]), text, "used_pct", pct, "%", NEAR_PCT, pct < NEAR_PCT, min(1.0, pct / 100)
            )
            full = pct >= FULL_PCT and used in CONNECTED
            yield replace(made, seen=({"event": "connections-at-limit"},)) if full else made
    for name, does in STILL.items():
        if name in of and of[name]["value"] > 0:
            text = f"{of[name]['value']:,.0f} {does} ({of[name]['name']})"
            if name == "innodb_row_lock_current_waits" and _hold_up(of):
                rows = (of[name], of["innodb_row_lock_time_avg"])
                text += f"; a wait took {figure(rows[1]['value'] / 1e3, 's')} on average"
                made = _one(rows, text, "events_count", of[name]["value"], "count", 0.0, False, 0.6)
                yield replace(made, seen=({"event": "rows-wait-now"},))
                continue
            made = _one((of[name],), text, "events_count", of[name]["value"], "count", 0.0, False, 0.25)
            short = name == NO_FREE and of[name]["value"] >= NO_FREE_LEAST
            yield replace(made, share=0.6, seen=({"event": "buffer-pool-without-free-page"},)) if short else made
    if "latest_fork_usec" in of and (took := of["latest_fork_usec"]["value"] / 1e6) >= FORK_S:
        text = (
            f"The server stood still for {figure(took, 's')} while it made the last copy of itself (latest_fork_usec)"
        )
        made = _one((of["latest_fork_usec"],), text, "fork_s", took, "s", FORK_S, False, 0.6)
        yield replace(made, seen=({"event": "server-copies-itself"},))
    yield from _table_locks(of)
    yield from _on_disk(of)
    for asked, timed in ON_DEMAND:
        if asked in of and timed in of and (whole := of[asked]["value"] + of[timed]["value"]) > 0:
            part = of[asked]["value"] / whole
            text = f"{of[asked]['value']:,.0f} of {whole:,.0f} checkpoints were requested, not by time, {figure(100 * part, '%')}"
            made = _one((of[asked], of[timed]), text, "requested_pct", 100 * part, "%", 50.0, part <= 0.5, part)
            forced = part >= FORCED and of[asked]["value"] >= FORCED_LEAST
            yield replace(made, seen=({"event": "checkpoints-forced"},)) if forced else made
    writers = [of[n] for n in ("buffers_backend", "buffers_checkpoint", "buffers_clean") if n in of]
    if len(writers) == 3 and (whole := sum(w["value"] for w in writers)) > 0:
        part = writers[0]["value"] / whole
        text = (
            f"Sessions wrote {writers[0]['value']:,.0f} of {whole:,.0f} pages by themselves, {figure(100 * part, '%')}"
        )
        yield _one(writers, text, "backend_writes_pct", 100 * part, "%", 50.0, part <= 0.5, part)


def _hold_up(of: Mapping[str, Mapping[str, Any]]) -> bool:
    """Return whether sessions wait for row locks now, several and as long as people notice."""
    average = of.get("innodb_row_lock_time_avg")
    now = of["innodb_row_lock_current_waits"]["value"]
    return average is not None and average["value"] >= WAITED_MS and now >= WAITING_NOW


def _table_locks(of: Mapping[str, Mapping[str, Any]]) -> Iterator[Sighting]:
    """Yield how many requests for a lock on a table had to wait."""
    waited, at_once = of.get("table_locks_waited"), of.get("table_locks_immediate")
    if waited is None or at_once is None or (whole := waited["value"] + at_once["value"]) < LOOKS:
        return
    pct = 100 * waited["value"] / whole
    text = f"{waited['value']:,.0f} of {whole:,.0f} requests for a lock on a table waited, {figure(pct, '%')}"
    made = _one((waited, at_once), text, "waited_pct", pct, "%", LOCKED_PCT, pct < LOCKED_PCT, 0.6)
    yield replace(made, seen=({"event": "table-locks-wait"},)) if pct >= LOCKED_PCT else made


def _on_disk(of: Mapping[str, Mapping[str, Any]]) -> Iterator[Sighting]:
    """Yield what went to disk since the counters were reset, as measures, because the time of that is unknown."""
    for count, size, whole, does, things in ON_DISK:
        if count not in of or whole not in of or not of[count]["value"] or not of[whole]["value"]:
            continue
        held = f", {figure(of[size]['value'] / 1024, 'kB')} in all," if size in of else ""
        n, all_ = of[count]["value"], of[whole]["value"]
        text = f"{n:,.0f} {does}{held} beside {all_:,.0f} {things} ({of[count]['name']})"
        rows = [of[name] for name in (count, size, whole) if name in of]
        yield _one(rows, text, "on_disk_count", n, "count", all_, True, None)


def _one(
    rows: Iterable[Mapping[str, Any]],
    text: str,
    name: str,
    value: float,
    unit: str,
    bound: float,
    normal: bool,
    share: float | None,
) -> Sighting:
    cited = list(rows)
    lines = tuple(Lines(int(r["artifact_id"]), int(r["line_no"]), int(r["line_no"]), str(r["name"])) for r in cited)
    return Sighting(
        "counter", str(cited[0]["name"]), text, f"{cited[0]['name']} {name}", float(value), unit, lines, **place(cited[0]),
        against="the usual bound", against_value=bound, share=share, normal=normal,
    )  # fmt: skip
