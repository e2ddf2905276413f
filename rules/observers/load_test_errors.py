"""What a load test says of requests that failed: wrk and ab.

Standing out: requests without an answer in time, errors at connecting, reading or writing, answers that are errors. Normal: none.
A time-out of wrk is an answer that took longer than its own limit, 2 s if nothing else was asked for (--timeout).
Worked example: `Socket errors: connect 0, read 12, write 0, timeout 765`: 765 requests had no answer in time, 12 failed at reading.
Cost: one filter by name over the counters. Source: wrk, README and src/wrk.c (SOCKET_TIMEOUT_MS); ab(1), Failed requests, Non-2xx responses.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import Lines, Observer, Sighting, figure, place

OBSERVER = Observer(
    "load-test-errors",
    "Which requests of a load test failed?",
    ("counters",),
    {"*": "the log of the server of the same minute; ss -lnt and ss -s on both ends during the test"},
)

MOST_ROWS = 1_000
KINDS: Mapping[str, str] = {
    "Socket errors timeout": "had no answer in time",
    "Socket errors connect": "failed at connecting",
    "Socket errors read": "failed at reading",
    "Socket errors write": "failed at writing",
    "Failed requests": "failed",
    "Write errors": "failed at writing",
    "Non-2xx or 3xx responses": "were answered with an error",
    "Non-2xx responses": "were answered with an error",
}
"""Names of wrk and ab, and what they count, in the order in which they are told."""

TOTAL = "Complete requests"
UNKNOWN_SHARE = 0.3
"""Share by which failures rank where the number of all requests is not read."""


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield the failures of the last load test of each artifact."""
    name = pl.col("name")
    columns = [*PLACE_COLUMNS, "line_no", "name", "value"]
    wanted = name.is_in([*KINDS, TOTAL]) & pl.col("value").is_between(1, 1e15)
    rows = (
        case.scan("counters", columns, wanted)
        .head(MOST_ROWS)
        .collect(engine="streaming")
        .sort("artifact_id", "line_no")
    )
    for _, held in rows.group_by("artifact_id", maintain_order=True):
        last = {row["name"]: row for row in held.iter_rows(named=True)}
        failed = [last[kind] for kind in KINDS if kind in last]
        if not failed:
            continue
        first, total = failed[0], last.get(TOTAL)
        told = ", ".join(
            f"{figure(row['value'], 'count')}{' requests' if row is first else ''} {KINDS[row['name']]}"
            for row in failed
        )
        of = f" (of {figure(total['value'], 'count')})" if total else ""
        cited = {row["line_no"]: row["name"] for row in [*failed, *([total] if total else [])]}
        timed_out = first["name"] == "Socket errors timeout"
        yield Sighting(
            "failure",
            "requests of the load test",
            f"In the load test {told}{of}",
            "requests_failed",
            first["value"],
            "count",
            tuple(Lines(first["artifact_id"], no, no, what) for no, what in sorted(cited.items())),
            **place(first),
            against="none",
            against_value=0.0,
            share=min(1.0, first["value"] / total["value"]) if total else UNKNOWN_SHARE,
            n=int(first["value"]),
            seen=({"event": "load-test-timeouts" if timed_out else "load-test-errors"},),
        )
