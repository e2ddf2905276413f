"""What the figures say that a program exposes of itself in the format of Prometheus.

Standing out: a pool whose busy or active members have reached its maximum, with how many wait for one; open descriptors near their
limit; a fifth or more of the time in .NET's collector; a quarter or more of the periods of a group in which its processors were
held back; a histogram of flushes of which a quarter took `FELT_S` or longer. Normal: below.
Names are matched by their words (active, max, pending), so that any library's pool is read.
Worked example: hikaricp_connections_active 10, _max 10, _pending 71: "10 of 10 hikaricp connections are taken, and 71 wait for one".
Cost: one filter by shape over the counters, at most `MOST_ROWS` rows. Source: Prometheus documentation, Metric and label naming,
Histograms; Micrometer and client libraries (hikaricp_*, jdbc_*, tomcat_threads_*, executor_*, go_sql_*, process_*); etcd
documentation, Metrics (99 % of fsyncs should take less than 10 ms); cAdvisor, container_cpu_cfs_*.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import FELT_S, Lines, Observer, Sighting, figure, place
from rules.signatures.signatures import Seen

OBSERVER = Observer(
    "exposed-metrics",
    "What do a program's own metrics say?",
    ("counters",),
    {"*": "the same page of metrics twice, 60 s apart"},
)

MOST_ROWS = 20_000

FULL = 0.98
"""Part of a maximum from which it is reached."""

PART = 0.25
"""Minimum part of the periods or flushes: less comes and goes."""

USED = ("active", "busy", "in_use", "inuse", "used", "current", "open")
LIMIT = ("max", "maximum", "limit", "capacity", "max_open")
WAIT = ("pending", "waiting", "queued", "wait_queue")

THREADS = re.compile(r"thread|worker|executor")
CONNECTIONS = re.compile(r"connection|pool|jdbc|sql|datasource")
NEITHER = re.compile(r"memory|bytes|heap|cache|buffer")
"""Words of pools of memory, of which a full one may be as it should."""

FLUSH = re.compile(r"fsync|wal_sync|log_sync|disk_sync|backend_commit|flush_duration")
COLLECTOR = r"^% [Tt]ime in GC\b"
"""Part of its time that a program of .NET gave to its collector (dotnet-counters, performance counters)."""

COLLECTED_PCT = 20.0
"""Minimum percentage: a fifth of the time is felt."""

LE = re.compile(r'(?:^|, ?)le="([0-9.e+-]+|\+Inf)"')

Held = Mapping[str, dict[str, Any]]
"""Last row of each name that carries the same labels."""


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield what is full, held back or late, the largest share first."""
    words = "|".join((*USED, *LIMIT, *WAIT, "bucket", "periods_total", "fds"))
    shaped = pl.col("name").str.contains(rf"(?:^|_)(?:{words})(?:_|$)|{COLLECTOR}") & pl.col("value").is_finite()
    columns = [*PLACE_COLUMNS, "line_no", "item", "name", "value"]
    rows = case.scan("counters", columns, shaped).head(MOST_ROWS).collect(engine="streaming").sort("line_no")
    found: list[Sighting] = []
    for _, part in rows.group_by("artifact_id", maintain_order=True):
        groups: dict[str, dict[str, dict[str, Any]]] = {}
        for row in part.iter_rows(named=True):
            if str(row["name"]).endswith("_bucket"):
                continue
            groups.setdefault(str(row["item"] or ""), {})[str(row["name"])] = row
        for held in groups.values():
            found += [*_pools(held), *_descriptors(held), *_throttled(held), *_collector(held)]
        found += _flushes(part.filter(pl.col("name").str.ends_with("_bucket")).to_dicts())
    yield from sorted(found, key=lambda s: -(s.share or 0.0))


def _stem(name: str, words: Iterable[str]) -> str | None:
    """Return a name without the word for its role; None if it has none of them.

    >>> _stem("hikaricp_connections_active", USED), _stem("go_sql_max_open_connections", LIMIT), _stem("maximal", LIMIT)
    ('hikaricp_connections', 'go_sql_connections', None)
    """
    for word in sorted(words, key=len, reverse=True):
        made = re.sub(rf"(?:^|_){word}(?=_|$)", "", name, count=1)
        if made != name:
            return re.sub(r"_config(?=_|$)", "", made).strip("_")  # tomcat_threads_config_max_threads
    return None


def _pools(held: Held) -> Iterator[Sighting]:
    limits = {stem: row for name, row in held.items() if (stem := _stem(name, LIMIT))}
    waits = {stem: row for name, row in held.items() if (stem := _stem(name, WAIT))}
    for name, row in held.items():
        stem = _stem(name, USED)
        kind = THREADS.search(name) or CONNECTIONS.search(name)
        limit = limits.get(stem or "")
        if stem is None or kind is None or limit is None or _stem(name, LIMIT) is not None or NEITHER.search(name):
            continue
        most, used = limit["value"], row["value"]
        if most <= 0 or used < FULL * most or used > 2 * most:
            continue
        waiting = waits.get(stem)
        many = waiting["value"] if waiting is not None else 0.0
        wait = f", and {many:,.0f} wait for one" if many > 0 else ""
        threads = THREADS.search(name) is not None
        event = ("threads-full" if threads else "connections-full") + ("-waited" if many > 0 else "")
        lines = [row, limit, *([waiting] if waiting is not None and many > 0 else [])]
        yield _sighting(
            lines,
            stem.replace("_", " "),
            f"{used:,.0f} of {most:,.0f} {stem.replace('_', ' ')} are taken{wait}",
            "waiting_count" if many > 0 else "used_count",
            many if many > 0 else used,
            1.0 if many > 0 else 0.4,
            {"event": f"exposed-{event}"},
        )


def _descriptors(held: Held) -> Iterator[Sighting]:
    used, most = held.get("process_open_fds"), held.get("process_max_fds")
    if used is None or most is None or most["value"] <= 0 or used["value"] < FULL * most["value"]:
        return
    yield _sighting(
        [used, most],
        "open descriptors",
        f"The program has {used['value']:,.0f} of {most['value']:,.0f} descriptors open (process_open_fds)",
        "used_count",
        used["value"],
        min(1.0, used["value"] / most["value"]),
        {"event": "exposed-descriptors-full"},
    )


def _throttled(held: Held) -> Iterator[Sighting]:
    stem = "container_cpu_cfs"
    late, all_ = held.get(f"{stem}_throttled_periods_total"), held.get(f"{stem}_periods_total")
    if late is None or all_ is None or all_["value"] <= 0 or late["value"] < PART * all_["value"]:
        return
    part = min(1.0, late["value"] / all_["value"])
    yield _sighting(
        [late, all_],
        "processors of the container",
        f"The container was held back in {figure(100 * part, '%')} of its periods"
        f" ({late['value']:,.0f} of {all_['value']:,.0f})",
        "throttled_pct",
        100 * part,
        max(part, 0.5),
        {"event": "exposed-throttled"},
    )


def _collector(held: Held) -> Iterator[Sighting]:
    for name, row in held.items():
        pct = row["value"]
        if re.match(COLLECTOR, name) and COLLECTED_PCT <= pct <= 100:
            yield _sighting(
                [row],
                "collector of .NET",
                f"The program gave {figure(pct, '%')} of its time to its collector ({name})",
                "collector_pct",
                pct,
                pct / 100,
                {"event": "exposed-collector"},
            )


def _flushes(rows: list[dict[str, Any]]) -> Iterator[Sighting]:
    """Yield histograms of flushes to disk of which many took long."""
    made: dict[tuple[str, str], list[tuple[float, dict[str, Any]]]] = {}
    for row in rows:
        le = LE.search(str(row["item"] or ""))
        if le is None or not FLUSH.search(str(row["name"])):
            continue
        bound = float("inf") if le[1] == "+Inf" else float(le[1])
        made.setdefault((str(row["name"]), LE.sub("", str(row["item"]))), []).append((bound, row))
    for (name, _), buckets in made.items():
        buckets.sort(key=lambda b: b[0])
        total = buckets[-1][1]["value"]
        quick = max((b for b in buckets if b[0] <= FELT_S), key=lambda b: b[0], default=None)
        if total <= 0 or buckets[-1][0] != float("inf") or quick is None:
            continue
        part = 1.0 - quick[1]["value"] / total
        if part < PART:
            continue
        yield _sighting(
            [quick[1], buckets[-1][1]],
            name.removesuffix("_bucket"),
            f"{figure(100 * part, '%')} of {total:,.0f} flushes took longer than {figure(quick[0], 's')}"
            f" ({name.removesuffix('_bucket')})",
            "late_pct",
            100 * part,
            max(part, 0.5),
            {"event": "exposed-flushes-late"},
        )


def _sighting(
    rows: list[dict[str, Any]], subject: str, headline: str, name: str, value: float, share: float, seen: Seen
) -> Sighting:
    return Sighting(
        "metric",
        subject,
        headline,
        name,
        value,
        "%" if name.endswith("_pct") else "count",
        tuple(Lines(r["artifact_id"], r["line_no"], r["line_no"], str(r["name"])) for r in rows),
        **place(rows[0]),
        against="what is allowed" if name.endswith("_count") else "all of them",
        share=share,
        seen=(seen,),
    )
