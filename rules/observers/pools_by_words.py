"""Pools that are full and queues that nobody empties, by the words in the names of any listing: idle, busy, max, waiting, consumers.

Within one row, or within `NEAR` lines of one part and thing: something waits (`waiters`, `queued`, `backlog`) while nothing is free (`idle` is 0)
or as many are busy as there may be (`active` 50 of `maxTotal` 50). Or very much waits (`QueueSize`, `ready`) and nobody is there to take it
(`ConsumerCount` 0). Standing out: both at once. Normal: one of them alone, because a full pool without a queue is just enough.
Names of times, sizes and rates have no part in it, nor those of which `status-values` knows more.
Worked example: `active=50 idle=0 maxTotal=50 waiters=87`: "87 wait (waiters) while none is free (idle)".
Cost: at most `MOST_ROWS` rows of each table, one pass. Source: the words of Apache Commons DBCP, c3p0, HikariCP, node-postgres, Go database/sql,
Puma, Airflow, ActiveMQ, beanstalkd for the same four things.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.database_lists import figure_of
from rules.observers.observer import Lines, Observer, Sighting, figure, place

OBSERVER = Observer(
    "pools-by-words",
    "Does something wait while a pool is full, or while nobody empties a queue?",
    ("params", "counters", "rows"),
    {"*": "the same status once more, 10 s later, and what the busy ones do (their stacks, their sessions)"},
)

MOST_ROWS = 20_000
NEAR = 4
"""Maximum number of lines between the values of one pool."""

DEEP = 1000.0
"""Minimum length of a queue that nobody takes from: a consumer that just starts again leaves fewer."""

SHARE = 0.6

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9]+")
_NO_COUNT = re.compile(
    r"\b(?:time|ms|millis|seconds|secs|duration|latency|age|bytes|mb|kb|gb|mem|memory|heap|disk|percent|pct|rate|ratio|timeout|interval|since"
    r"|cumulative|pods?|replicas?|nodes?|hosts?|shards?|tickets?|swap|cores?|vcores|id|port)\b"
)
_WAITS = re.compile(r"\b(?:waiting|waiters?|queued|backlog|awaiting|wait count|pending)\b")
_FREE = re.compile(r"\b(?:idle|free|available|spare|capacity)\b|^open$")  # open connections are not free ones
_BUSY = re.compile(r"\b(?:busy|active|inuse|in use|used|running|checked out|working|borrowed)\b")
_WHOLE = re.compile(r"\b(?:max|maximum|limit|slots|total|maxtotal|max active)\b")
_OF_POOL = re.compile(
    r"\b(?:threads?|workers?|conn|connections?|slots?|pool|executors?|handlers?|sessions?|checkout|waiters?|idle|clients?)\b"
)
_OF_CONNECTIONS = re.compile(r"\b(?:conn|connections?|checkout|waiters?|borrowed|sessions?)\b")
_DEPTH = re.compile(r"\b(?:ready|queue size|queue depth|msg backlog|messages|depth|undelivered|jobs ready)\b")
_TAKERS = re.compile(r"\b(?:consumers?|consumer count|workers|subscribers|listeners)\b")

Row = dict[str, Any]


@dataclass(frozen=True)
class Value:
    """A value with the words of its name, its number, the thing that it belongs to, and its row."""

    words: str
    name: str
    number: float
    of: str
    row: Row

    @property
    def line(self) -> int:
        """Return the number of its line."""
        return int(self.row["line_no"])


@functools.lru_cache(maxsize=50_000)
def words_of(name: str) -> str:
    """Return the words of a name in small letters.

    >>> words_of("numThreadsAwaitingCheckout"), words_of("current-jobs-ready")
    ('num threads awaiting checkout', 'current jobs ready')
    """
    return " ".join(part.lower() for part in _CAMEL.split(name[:100]) if part)


@functools.lru_cache(maxsize=50_000)
def _role(words: str) -> str:
    """Return the letters of the roles that a name may have; empty for any other name.

    >>> _role("num threads awaiting checkout"), _role("idle count"), _role("max total"), _role("idle time"), _role("consumer count")
    ('w', 'f', 'a', '', 't')
    """
    if _NO_COUNT.search(words):
        return ""
    held = (("w", _WAITS), ("d", _DEPTH), ("t", _TAKERS), ("f", _FREE), ("a", _WHOLE), ("b", _BUSY))
    found = "".join(letter for letter, shape in held if shape.search(words))
    return found[:1] if found[:1] in ("w", "t") or len(found) < 2 else found


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield full pools with a queue, then queues that nobody empties, one of each part and thing."""
    told: set[Any] = set()  # a line of JSON is both a row and names with values
    for groups in _grouped(case).values():
        for held in groups:
            made = _full(held) or _left(held)
            if made is not None and (key := (made.lines[0].artifact, made.lines[0].line_from)) not in told:
                told.add(key)
                yield made


def _full(held: Sequence[Value]) -> Sighting | None:
    waiting = next((v for v in held if "w" in _role(v.words) and v.number >= 1), None)
    if waiting is None or not any(_OF_POOL.search(v.words) for v in held):
        return None
    near = [v for v in held if v is not waiting and abs(v.line - waiting.line) <= NEAR]
    wholes = [v for v in near if "a" in _role(v.words) and v.number > 0]
    busy = next(
        (
            (b, a)
            for b in near
            for a in wholes
            if b is not a and "b" in _role(b.words) and b.number == a.number and "b" not in _role(a.words)
        ),
        None,
    )
    free = next((v for v in near if _role(v.words) == "f" and v.number == 0), None)
    at_work = any("b" in _role(v.words) and v.number > 0 for v in near) or any(v.number > 0 for v in wholes)
    if any(_role(v.words) == "f" and v.number > 0 for v in near):
        return None
    others: tuple[Value, ...]
    if busy is not None:
        others = busy
        because = f"all {figure(busy[1].number, 'count')} are busy ({busy[0].name} of {busy[1].name})"
    elif free is not None and at_work:
        others = (free,)
        because = f"none is free ({free.name})"
    else:
        return None
    of = f" of {waiting.of}" if waiting.of else ""
    event = "connections-all-taken" if any(_OF_CONNECTIONS.search(v.words) for v in held) else "workers-all-busy"
    text = f"{figure(waiting.number, 'count')} wait{of} ({waiting.name}) while {because}"
    return _made(waiting, others, text, event)


def _left(held: Sequence[Value]) -> Sighting | None:
    takers = next((v for v in held if _role(v.words) == "t" and v.number == 0), None)
    deep = next(
        (
            v
            for v in held
            if v.number >= DEEP
            and (set(_role(v.words)) & {"d", "w"})
            and takers
            and abs(v.line - takers.line) <= 2 * NEAR
        ),
        None,
    )
    if takers is None or deep is None:
        return None
    of = f" of {deep.of}" if deep.of else ""
    text = (
        f"{figure(deep.number, 'count')} wait{of} ({deep.name}) and nobody is there to take them ({takers.name} is 0)"
    )
    return _made(deep, [takers], text, "queue-without-consumers")


def _made(first: Value, others: Sequence[Value], text: str, event: str) -> Sighting:
    cited = {v.line: Lines(v.row["artifact_id"], v.line, v.line, v.name) for v in (first, *others)}
    return Sighting(
        "pool",
        first.of or first.name,
        text,
        "waiting_count",
        first.number,
        "count",
        tuple(cited.values()),
        **place(first.row),
        against="none",
        against_value=0.0,
        share=SHARE,
        seen=({"event": event},),
    )


def _grouped(case: CaseTables) -> Mapping[Any, list[list[Value]]]:
    """Return the values with a role: those of each row of a table, and those of each thing of a part."""
    made: dict[Any, list[list[Value]]] = {}
    things: dict[Any, list[Value]] = {}
    for table, title in (("params", "entity"), ("counters", "item")):
        columns = [*PLACE_COLUMNS, "part", "line_no", title, "name", "value"]
        for row in case.scan(table, columns).head(MOST_ROWS).collect(engine="streaming").iter_rows(named=True):
            if (value := _value(row, row["name"], row["value"], str(row[title] or ""))) is not None:
                things.setdefault((row["artifact_id"], row["part"], row[title]), []).append(value)
    for key, held in things.items():
        made.setdefault(key, []).extend(_apart(sorted(held, key=lambda v: v.line)))
    columns = [*PLACE_COLUMNS, "part", "line_no", "heading", "cells"]
    filled = pl.col("heading").is_not_null() & pl.col("cells").is_not_null() & (pl.col("heading").list.len() > 2)
    for row in case.scan("rows", columns, filled).head(MOST_ROWS).collect(engine="streaming").iter_rows(named=True):
        pairs = list(zip(row["heading"], row["cells"], strict=False))[:100]
        of = next((str(c) for _, c in pairs if c and str(c)[:1].isalpha()), "")
        values = [v for name, cell in pairs if (v := _value(row, name, cell, of)) is not None]
        if len(values) > 1:
            made.setdefault((row["artifact_id"], row["part"], None), []).append(values)
    return made


def _apart(held: Sequence[Value]) -> Iterator[list[Value]]:
    """Yield groups of values none of which stands further than `NEAR` lines from the one above it."""
    group: list[Value] = []
    for value in held:
        if group and value.line - group[-1].line > NEAR:
            yield group
            group = []
        group.append(value)
    if group:
        yield group


def _value(row: Row, name: object, cell: object, of: str) -> Value | None:
    number = None if cell is None else figure_of(str(cell))
    words = words_of(str(name or ""))
    return Value(words, str(name).strip('" :'), number, of[:60], row) if number is not None and _role(words) else None
