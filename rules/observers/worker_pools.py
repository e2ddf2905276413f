"""How busy a pool of workers is, as its own status page says: PHP-FPM, Apache (mod_status), Puma, uWSGI; .NET's thread pool.

Standing out: no idle worker while requests wait in the queue (or in the backlog of the listening socket); no idle worker; requests in
the queue although workers are idle; a pool that was at its limit some time since its start. Normal: idle workers and an empty queue,
told with how many were busy at most.
A status page is of one instant: a full pool without a queue may be full for a moment only.
Worked example: idle processes 0, active processes 33, listen queue 57: all 33 workers are busy and 57 requests wait.
Cost: one filter by name over the counters. Source: PHP manual, FPM status page; Apache HTTP Server 2.4, mod_status; Puma,
docs/stats.md; uWSGI documentation, The uWSGI Stats Server; .NET documentation, Debug ThreadPool starvation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import Lines, Observer, Sighting, figure, place

OBSERVER = Observer(
    "worker-pools",
    "How busy is a pool of workers?",
    ("counters", "params"),
    {"*": "the same status page several times, 1 s apart, and what the busy workers do (their stacks, the slow log)"},
)

MOST_ROWS = 5_000
FULL_PCT = 80.0
"""Part of the workers in percent from which a peak finds none idle: that of any limit here."""


@dataclass(frozen=True)
class Names:
    """Names of counters on a status page, in lower case with blanks: for workers, the queue, limits, slow requests."""

    what: str
    idle: str
    busy: str | None
    whole: str | None
    queue: str | None
    queue_most: str | None = None
    busy_most: str | None = None
    reached: str | None = None
    slow: str | None = None


PAGES = (
    Names(
        "workers of PHP-FPM",
        "idle processes",
        "active processes",
        "total processes",
        "listen queue",
        "max listen queue",
        "max active processes",
        "max children reached",
        "slow requests",
    ),
    Names("workers of Apache", "idleworkers", "busyworkers", None, None),
    Names("threads of Puma", "pool capacity", None, "max threads", "backlog"),
)


DOTNET_QUEUE, DOTNET_THREADS = "threadpool queue length", "threadpool thread count"
"""Counters of .NET's thread pool as dotnet-counters prints them."""

SINCE_9 = {
    "dotnet.thread pool.queue.length": DOTNET_QUEUE,
    "dotnet.thread pool.thread.count": DOTNET_THREADS,
}
"""Their names as metrics since .NET 9, with blanks."""

QUEUED = 100.0
"""Minimum number of work items in the queue of .NET's thread pool, if they are more than its threads: a burst of a moment is shorter."""


def _names(page: Names) -> list[str]:
    every = (page.idle, page.busy, page.whole, page.queue, page.queue_most, page.busy_most, page.reached, page.slow)
    return [name for name in every if name]


WANTED = sorted({name for page in PAGES for name in _names(page)} | {DOTNET_QUEUE, DOTNET_THREADS})


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield the state of each pool of an artifact; of several samples the last."""
    plain = pl.col("name").str.to_lowercase().str.replace_all(r"[-_ ]+", " ").str.replace(r" \(\{[a-z ]{1,40}\}\)$", "")
    plain = plain.replace(SINCE_9)
    columns = [*PLACE_COLUMNS, "line_no", "item", "name", "value"]
    rows = (
        case.scan("counters", columns, plain.is_in(WANTED) & pl.col("value").is_between(0, 1e12))
        .with_columns(plain.alias("name"))
        .head(MOST_ROWS)
        .collect(engine="streaming")
        .sort("artifact_id", "item", "line_no", nulls_last=False)
    )
    for _, group in groupby(rows.iter_rows(named=True), key=lambda r: (r["artifact_id"], r["item"])):
        named = {row["name"]: row for row in group}
        for page in PAGES:
            yield from _pool(page, named)
        yield from _dotnet(named)


def _pool(page: Names, named: Mapping[str, dict[str, Any]]) -> Iterator[Sighting]:
    def of(name: str | None) -> float | None:
        return named[name]["value"] if name is not None and name in named else None

    idle, busy, whole, queue = of(page.idle), of(page.busy), of(page.whole), of(page.queue)
    if idle is None or (busy is None and whole is None):
        return
    whole = whole if whole is not None else idle + (busy or 0.0)
    busy = busy if busy is not None else whole - idle
    if whole <= 0 or busy > whole:
        return
    row = named[page.idle]
    reached, slow, most = of(page.reached), of(page.slow), of(page.busy_most)
    more = _more(page, of(page.queue_most), most, whole, reached, slow)
    pct = 100 * busy / whole
    waits = queue is not None and queue > 0
    if idle == 0 and busy > 0:
        queued = f" and {figure(queue or 0.0, 'count')} requests wait in the queue" if waits else ""
        headline = f"All {figure(whole, 'count')} {page.what} are busy{queued}"
        event, share, normal = ("pool-full-queue" if waits else "pool-full"), 1.0, False
    elif waits:
        headline = f"{figure(queue or 0.0, 'count')} requests wait although {figure(idle, 'count')} of {figure(whole, 'count')} {page.what} are idle"
        event, share, normal = "pool-queue", 0.4, False
    else:
        headline = f"{figure(idle, 'count')} of {figure(whole, 'count')} {page.what} are idle" + (
            " and no request waits" if queue is not None else ""
        )
        event, share, normal = "pool-was-full", 0.1, not reached
    told = [n for n in _names(page) if n in named]
    lines = sorted({named[n]["line_no"] for n in told if (n in (page.idle, page.queue, page.slow) or of(n))})
    yield Sighting(
        "pool",
        page.what,
        headline,
        "workers_busy_pct",
        pct,
        "%",
        tuple(Lines(row["artifact_id"], no, no, "state of the pool") for no in lines),
        **place(row),
        against="four fifths of the workers",
        against_value=FULL_PCT,
        share=share,
        n=int(whole) or 1,
        seen=({"event": event},),
        normal=normal,
        beside=more,
    )


def _dotnet(named: Mapping[str, dict[str, Any]]) -> Iterator[Sighting]:
    """Yield the queue of .NET's thread pool; it stands out if more work items wait than there are threads."""
    if DOTNET_QUEUE not in named:
        return
    queue, threads = named[DOTNET_QUEUE], named.get(DOTNET_THREADS)
    many = threads["value"] if threads else 0.0
    long = queue["value"] >= max(QUEUED, many)
    whose = f"one of the {figure(many, 'count')} threads of .NET's pool" if threads else "a thread of .NET's pool"
    yield Sighting(
        "pool",
        "thread pool of .NET",
        f"{figure(queue['value'], 'count')} pieces of work wait for {whose}",
        "work_items_waiting",
        queue["value"],
        "count",
        tuple(Lines(r["artifact_id"], r["line_no"], r["line_no"], "state of the pool") for r in (queue, threads) if r),
        **place(queue),
        against="as many as it has threads, a hundred at least",
        against_value=max(QUEUED, many),
        share=1.0 if long else None,
        n=int(queue["value"]) or 1,
        seen=({"event": "pool-full-queue"},),
        normal=not long,
    )


def _more(
    page: Names, queue_most: float | None, most: float | None, whole: float, reached: float | None, slow: float | None
) -> str | None:
    """Describe what a status page counted since the start of the pool."""
    told = []
    if reached:
        told.append(f"the limit on them was reached {figure(reached, 'count')} times since the start")
    if most is not None:
        told.append(f"at most {figure(most, 'count')} were busy at once")
    if queue_most:
        told.append(f"at most {figure(queue_most, 'count')} requests waited")
    if slow is not None:
        told.append(f"{figure(slow, 'count')} requests were slow" if slow else "no request was slow")
    return "; ".join(told) or None
