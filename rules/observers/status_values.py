"""What the values of a server's status say by themselves, whatever tool printed them: queues, waits, means and shares of known names.

Each name stands in a manual, and so does the value from which it tells of a want. A mean is the quotient of two values of one listing (time and
number). Names are compared without their case, with blanks and underscores alike. Standing out: a value at its bound or beyond it. Normal: less.
Worked example: `Server thread count: 256`: "Server thread count is 256, from 200 on ...".
Cost: at most `MOST_ROWS` rows of each table. Source: Slurm, sdiag(1) (MAX_SERVER_THREADS 256); Galera Cluster documentation, wsrep_flow_control_paused
(0 to 1), wsrep_local_recv_queue_avg; IBM Db2 documentation, snapshot monitor elements (lock_wait_time, pool_read_time, lock_escals); Apache
Cassandra, nodetool compactionstats and tpstats (dropped messages); F5, tmsh show ltm pool (request queue); PostgreSQL, pg_stat_bgwriter.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.database_lists import figure_of
from rules.observers.observer import Lines, Observer, Sighting, figure, place

OBSERVER = Observer(
    "status-values",
    "What do known values of a server's status say?",
    ("params", "counters", "rows"),
    {"*": "the same status once more, 60 s later"},
)

MOST_ROWS = 20_000
MOST_CELLS = 400

SHARE = 0.6


@dataclass(frozen=True)
class Known:
    """A name, the value from which it tells of a want, the event, and the name that it is divided by, if any.

    `unit` is the unit of the quotient or value; `least` is the minimum of the divisor, so that the mean tells something.
    """

    name: str
    bound: float
    event: str
    unit: str = "count"
    by: str = ""
    least: float = 1.0


KNOWN = (
    Known("server thread count", 200, "scheduler-threads-full"),
    Known("agent queue size", 1000, "scheduler-behind"),
    Known("dbd agent queue size", 10_000, "scheduler-database-behind"),
    Known("wsrep_flow_control_paused", 0.1, "replication-paused-writes", ""),
    Known("wsrep_local_recv_queue_avg", 10, "replica-applies-late"),
    Known("agents currently waiting on locks", 5, "agents-wait-for-locks"),
    Known("time database waited on locks (ms)", 1000, "lock-waits-long", "ms", "lock waits", 10),
    Known("exclusive lock escalations", 100, "lock-escalations"),
    Known("total buffer pool read time (milliseconds)", 15, "page-reads-slow", "ms", "buffer pool data physical reads", 1000),
    Known("pending tasks", 100, "compactions-behind"),
    Known("bytes currently in the cache", 0.95, "engine-cache-full", "", "maximum bytes configured", 1),
    Known("number of requests queued", 10, "pool-requests-queued"),
    Known("age of oldest request (ms)", 1000, "pool-requests-queued", "ms"),
    Known("connections queued", 1000, "pool-requests-queued"),
)  # fmt: skip
"""Names with their bounds; a mean stands beside the name of its divisor."""

_BY_NAME: Mapping[str, tuple[Known, ...]] = {
    known.name: tuple(k for k in KNOWN if k.name == known.name) for known in KNOWN
}
_NAMES = frozenset(_BY_NAME) | {known.by for known in KNOWN if known.by}


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield known values at their bounds, one of each event."""
    for (_, _), held in _listed(case).items():
        told: set[str] = set()
        for name, (value, row) in held.items():
            for known in _BY_NAME.get(name, ()):
                made = _told(known, value, row, held)
                if made is not None and known.event not in told:
                    told.add(known.event)
                    yield made


def _told(
    known: Known, value: float, row: dict[str, Any], held: Mapping[str, tuple[float, dict[str, Any]]]
) -> Sighting | None:
    lines = [row]
    words = str(row["name"]).strip()
    if known.by:
        divisor = held.get(known.by)
        if divisor is None or divisor[0] < known.least:
            return None
        value /= divisor[0]
        lines.append(divisor[1])
        words += f" by {str(divisor[1]['name']).strip()}"
    if value < known.bound:
        return None
    return Sighting(
        "status",
        str(row["name"]).strip(),
        f"{words} is {figure(value, known.unit)}; from {figure(known.bound, known.unit)} on it tells of a want",
        "status_value",
        value,
        known.unit,
        tuple(Lines(r["artifact_id"], r["line_no"], r["line_no"], str(r["name"])) for r in lines),
        **place(row),
        against="its bound",
        against_value=known.bound,
        share=SHARE,
        seen=({"event": known.event},),
    )


def _key(name: object) -> str:
    return " ".join(str(name or "").replace('"', "").strip(" :").lower().split())


def _listed(case: CaseTables) -> dict[tuple[Any, Any], dict[str, tuple[float, dict[str, Any]]]]:
    """Return the known values of each part, of two of one name the larger."""
    made: dict[tuple[Any, Any], dict[str, tuple[float, dict[str, Any]]]] = {}

    def keep(row: dict[str, Any], name: object, value: float | None) -> None:
        key = _key(name)
        if value is None or key not in _NAMES:
            return
        held = made.setdefault((row["artifact_id"], row["part"]), {})
        if key not in held or held[key][0] < value:
            held[key] = (value, {**row, "name": name})

    for table in ("params", "counters"):
        columns = [*PLACE_COLUMNS, "part", "line_no", "name", "value"]
        for row in case.scan(table, columns).head(MOST_ROWS).collect(engine="streaming").iter_rows(named=True):
            keep(row, row["name"], figure_of(str(row["value"])))
    columns = [*PLACE_COLUMNS, "part", "line_no", "heading", "cells"]
    for row in _rows(case, columns):
        pairs = list(zip(row["heading"], row["cells"], strict=False))[:MOST_CELLS]
        for name, cell in pairs:
            keep(row, name, figure_of(str(cell or "")))
        for (_, first), (_, second) in pairwise(pairs):  # a table of names and values
            keep(row, first, figure_of(str(second or "")))
        if len(pairs) >= 2:  # a table of names and values without a heading: its first row was taken for one
            keep(row, row["heading"][0], figure_of(str(row["heading"][1] or "")))
    return made


def _rows(case: CaseTables, columns: list[str]) -> Iterator[dict[str, Any]]:
    filled = pl.col("heading").is_not_null() & pl.col("cells").is_not_null() & (pl.col("heading").list.len() > 1)
    yield from case.scan("rows", columns, filled).head(MOST_ROWS).collect(engine="streaming").iter_rows(named=True)
