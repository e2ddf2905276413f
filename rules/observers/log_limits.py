"""What lines of logs say is full: how much of what is allowed is used, and how many wait for it.

Standing out: a line that names both and where at least four fifths of what is allowed is used, or somebody waits: memory of a
broker, a group or a circuit breaker, a queue of connections or tasks, connections of a pool, threads of a pool. Of lines of one
form the fullest is told, with how many lines there are. Normal: lines with room left.
Worked example: `Pool stats (total=20, active=20, idle=0, waiting=71)`: 20 of 20 connections are taken and 71 callers wait.
Cost: one filter by shape; at most `MOST_ROWS` rows. Source: RabbitMQ vm_memory_monitor; uWSGI core/master_checks.c; HikariCP
HikariPool.logPoolState; PgBouncer objects.c; Go database/sql DBStats;
.NET ThreadPool.GetMinThreads; Tomcat ConnectionPool; Druid DruidDataSource; Elasticsearch EsThreadPoolExecutor.toString,
HierarchyCircuitBreakerService; java.util.concurrent.ThreadPoolExecutor.toString; Linux mm/memcontrol.c
(mem_cgroup_print_oom_meminfo).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.near_limit import NEAR
from rules.observers.observer import Lines, Observer, Sighting, figure, place

OBSERVER = Observer(
    "log-limits",
    "What do the lines of logs say is full?",
    ("logs",),
    {"*": "who holds what is full: a thread dump, the sessions of the database, the size of the pool or queue"},
)

MOST_ROWS = 20_000

CITED = 3

TWICE = 2.0
"""A pool may have more threads than it keeps ready, but adds them slowly: twice as many show that it had to."""

LONGEST = 4_000
"""Maximum number of characters of a line that are looked at."""


@dataclass(frozen=True)
class Form:
    """A form of line: `used` and `allowed` are groups of its pattern, and `waiting` where it has one.

    `from_part` is the part of what is allowed from which it stands out. `event` names it where all is used and the words
    of the line say nothing without its figures.
    """

    unit: str
    words: str
    waits: str
    pattern: re.Pattern[str]
    from_part: float = NEAR
    event: str | None = None


_N = r"([0-9]{1,18})"
FORMS = (
    Form(
        "B",
        "of the memory that is allowed",
        "",
        re.compile(rf"(?i)\bused[:=] ?(?P<used>{_N}),? allowed[:=] ?(?P<allowed>{_N})"),
    ),
    Form(
        "kB",
        "of the group's memory",
        "",
        re.compile(rf"\bmemory: usage (?P<used>{_N})kB, limit (?P<allowed>{_N})kB"),
    ),
    Form(
        "B",
        "of the memory that the circuit breaker allows",
        "",
        re.compile(
            rf"would be \[(?P<used>{_N})/[^\]]{{1,20}}\], which is larger than the limit of \[(?P<allowed>{_N})/"
        ),
    ),
    Form(
        "count",
        "places in the queue of connections",
        "",
        re.compile(rf"\bqueue\b[^()]{{0,60}}(?:\([^()]{{0,20}}\)[^()]{{0,20}})?\bfull\b[ !]*\((?P<used>{_N})/(?P<allowed>{_N})\)"),
    ),
    Form(
        "count",
        "connections of the pool",
        "callers wait",
        re.compile(rf"\(total=(?P<allowed>{_N})(?:/[0-9]+)?, active=(?P<used>{_N}), idle=[0-9]+, waiting=(?P<waiting>{_N})\)"),
    ),
    Form(
        "count",
        "connections of the pool",
        "",
        re.compile(rf"\[size:(?P<allowed>{_N}); busy:(?P<used>{_N}); idle:"),
    ),
    Form(
        "count",
        "connections of the pool",
        "",
        re.compile(rf"\bactive (?P<used>{_N}), maxActive (?P<allowed>{_N})"),
    ),
    Form("count", "connections of the pool", "", re.compile(rf"\bpool full \((?P<used>{_N}) >= (?P<allowed>{_N})\)")),
    Form(
        "count",
        "connections of the pool",
        "",
        re.compile(
            rf"\bMaxOpenConnections:(?P<allowed>{_N}) OpenConnections:[0-9]+ InUse:(?P<used>{_N}) Idle:0 WaitCount:[1-9]"
        ),
        event="exposed-connections-full-waited",
    ),
    Form(
        "count",
        "threads that the pool keeps ready",
        "",
        re.compile(rf"\b(?:WORKER|IOCP): \(Busy=(?P<used>{_N}),Free=[0-9]+,Min=(?P<allowed>{_N}),Max="),
        TWICE,
    ),
    Form(
        "count",
        "threads of the pool",
        "tasks wait",
        re.compile(
            rf"\bpool size = (?P<allowed>{_N}), active threads = (?P<used>{_N}), queued tasks = (?P<waiting>{_N})"
        ),
    ),
)  # fmt: skip

SHAPE = (
    r"(?i)\bused[:=] ?[0-9]+,? allowed|memory: usage [0-9]+kB|larger than the limit of \[|\bfull\b[ !]*\([0-9]+/[0-9]+\)"
    r"|active=[0-9]+, idle=[0-9]+, waiting=|\bbusy:[0-9]+; idle:|\bmaxActive [0-9]|active threads = [0-9]"
    r"|\bpool full \([0-9]+ >= |\bInUse:[0-9]|\(Busy=[0-9]"
)


@dataclass(frozen=True)
class Full:
    """What one line says: used and allowed, and how many wait."""

    row: dict[str, Any]
    used: float
    allowed: float
    waiting: float | None
    from_part: float

    @property
    def stands_out(self) -> bool:
        """Return whether it is nearly used up or waited for."""
        return self.used >= self.from_part * self.allowed or bool(self.waiting)


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield the fullest of each form per artifact."""
    shaped = pl.col("text").str.contains(SHAPE).fill_null(value=False)
    rows = case.scan("logs", [*PLACE_COLUMNS, "line_no", "text"], shaped).head(MOST_ROWS).collect(engine="streaming")
    for _, part in rows.group_by("artifact_id", maintain_order=True):
        held = part.sort("line_no").to_dicts()
        for form in FORMS:
            yield from _sighting(form, [full for row in held if (full := _full(form, row)) is not None])


def _full(form: Form, row: dict[str, Any]) -> Full | None:
    """Return what a line of this form says; of several pools in one line the fullest."""
    told: list[Full] = []
    for found in form.pattern.finditer(str(row["text"])[:LONGEST]):
        named = found.groupdict()
        used, allowed = float(named["used"]), float(named["allowed"])
        waiting = float(named["waiting"]) if named.get("waiting") else None
        if allowed > 0:
            told.append(Full(row, used, allowed, waiting, form.from_part))
    return max(told, key=lambda full: full.used / full.allowed, default=None)


def _sighting(form: Form, lines: list[Full]) -> Iterator[Sighting]:
    full = [one for one in lines if one.stands_out]
    if not full:
        return
    order = sorted(full, key=lambda x: (-(x.waiting or 0.0), -x.used / x.allowed, x.row["line_no"]))
    top = order[0]
    part = figure(100 * top.used / top.allowed, "%")
    amount = (
        f"{top.used:,.0f} of {top.allowed:,.0f} {form.words}"
        if form.unit == "count"
        else f"{top.used:,.0f} {form.unit} of {top.allowed:,.0f} {form.unit}, {part} {form.words},"
    )
    many = f"; {len(full):,} lines say that it is full" if len(full) > 1 else ""
    wait = f", and {top.waiting:,.0f} {form.waits}" if top.waiting else ""
    yield Sighting(
        "limit",
        form.words,
        f"{amount} {'are taken' if form.unit == 'count' else 'is used'}{wait}{many}",
        "waiting_count" if top.waiting else f"used_{'count' if form.unit == 'count' else form.unit.lower()}",
        top.waiting or top.used,
        "count" if top.waiting else form.unit,
        tuple(
            Lines(one.row["artifact_id"], one.row["line_no"], one.row["line_no"], "used and allowed")
            for one in order[:CITED]
        ),
        **place(top.row),
        against="what is allowed",
        against_value=None if top.waiting else top.allowed,
        share=min(1.0, top.used / top.allowed),
        n=len(full),
        seen=({"event": form.event},) if form.event and top.used >= top.allowed else ({"log": str(top.row["text"])},),
    )
