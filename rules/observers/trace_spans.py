"""Which span of a distributed trace owns the time: its own, without that of the spans that it waits for.

A trace lists spans, each with an id, mostly that of its parent, a beginning and a length. The own time of a span is its
length without the union of its children. Standing out: in a trace whose longest span takes `LONG_S` or longer, the span
whose own time is at least half of it. Normal: quicker traces, and those whose time is spread.
Worked example: GET /cart 9.2 s with a child SELECT of 9.0 s: the child owns 98 %.
Cost: at most `MOST_ROWS` rows, sorted by their beginning. Source: Jaeger, model of JSON (duration in us); Zipkin API v2
(duration in us); OpenTelemetry protocol, trace.proto (times in ns); Datadog, spans (times in ns).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import Observer, Sighting, figure, lines_of, place
from rules.observers.split import HALF, percent

OBSERVER = Observer(
    "trace-spans",
    "Which span of a trace owns the time?",
    ("rows",),
    {"*": "the log of the service that owns the span, and its stacks or profile, at that time"},
)

MOST_ROWS = 20_000
LONG_S = 1.0
TOLD = 3

IDS = ("spanid", "span_id", "id")
PARENTS = ("parentspanid", "parentid", "parent_id", "parent_span_id", "references.spanid")
TRACES = ("traceid", "trace_id")
NAMES = ("operationname", "name", "resource")
SERVICES = ("localendpoint.servicename", "service", "servicename", "process.servicename")
BEGINS: Mapping[str, float] = {"starttime": 1e-6, "timestamp": 1e-6, "starttimeunixnano": 1e-9, "start": 1e-9}
ENDS: Mapping[str, float] = {"endtimeunixnano": 1e-9}

_STATEMENT = re.compile(
    r"(?i)(?:select|insert|update|delete|merge|call|with|commit|begin|query|execute|find|aggregate|hgetall|get|set)\b(?! */)"
    r"|.*\b(?:sql|jdbc|mysql|postgres(?:ql)?|mongo(?:db)?|redis|oracle|cassandra|elasticsearch|dynamodb)\b"
)
_ASKS = re.compile(r"(?i)(?:SPAN_KIND_)?(?:CLIENT|PRODUCER)|3|4")


@dataclass
class Span:
    """One span: its times in seconds, and where it stands."""

    of: Mapping[str, str]
    row: Mapping[str, Any]
    id: str
    parent: str | None
    begin: float
    seconds: float

    @property
    def name(self) -> str:
        """Return the name of the span with its service, where the list has it."""
        service, name = _first(self.of, SERVICES), _first(self.of, NAMES) or "a span"
        return f"{name} of {service}" if service else name


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield the span that owns most of each slow trace, the slowest trace first."""
    columns = [*PLACE_COLUMNS, "part", "line_no", "line_end", "heading", "cells"]
    known = pl.col("heading").list.len() >= 4
    rows = case.scan("rows", columns, known).head(MOST_ROWS).collect(engine="streaming")
    traces: dict[tuple[int, str], list[Span]] = {}
    for row in rows.iter_rows(named=True):
        if (span := _span(row)) is not None:
            traces.setdefault((row["artifact_id"], _first(span.of, TRACES) or ""), []).append(span)
    made = [sighting for spans in traces.values() for sighting in _owner(spans)]
    yield from sorted(made, key=lambda s: -(s.of_s or 0.0))[:TOLD]


def _first(of: Mapping[str, str], names: Iterable[str]) -> str | None:
    return next((of[name] for name in names if of.get(name)), None)


def _span(row: Mapping[str, Any]) -> Span | None:
    of = {str(h).lower(): str(c) for h, c in zip(row["heading"], row["cells"], strict=False)}
    if not any(name in of for name in TRACES) or (id_ := _first(of, IDS)) is None:
        return None
    begin = next((_figure(of[n]) * scale for n, scale in BEGINS.items() if n in of), None)
    end = next((_figure(of[n]) * scale for n, scale in ENDS.items() if n in of), None)
    length = _figure(of["duration"]) * (1e-9 if "start" in of else 1e-6) if "duration" in of else None
    if begin is None or (length is None and end is None):
        return None
    seconds = length if length is not None else (end or 0.0) - begin
    return Span(of, row, id_, _first(of, PARENTS), begin, seconds) if seconds >= 0 else None


def _figure(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


def own_time(span: Span, children: Sequence[Span]) -> float:
    """Return the seconds of a span in which none of its children runs."""
    covered, until = 0.0, span.begin
    for child in sorted(children, key=lambda c: c.begin):
        begin, end = max(child.begin, until), min(child.begin + child.seconds, span.begin + span.seconds)
        if end > begin:
            covered, until = covered + end - begin, end
    return max(0.0, span.seconds - covered)


def _owner(spans: Sequence[Span]) -> Iterator[Sighting]:
    root = max(spans, key=lambda s: s.seconds)
    if root.seconds < LONG_S or len(spans) < 2:
        return
    children: dict[str, list[Span]] = {}
    for span in spans:
        if span.parent and span.parent != span.id:
            children.setdefault(span.parent, []).append(span)
    owns = {id(s): own_time(s, children.get(s.id, ())) for s in spans}
    first = max(spans, key=lambda s: owns[id(s)])
    own = owns[id(first)]
    if own < HALF * root.seconds:
        return
    of = "" if first is root else f" of the {figure(root.seconds, 's')} of {root.name}"
    yield Sighting(
        "span",
        first.name,
        f"{first.name} owns {figure(own, 's')} ({percent(own, root.seconds)}){of or ' of its own time'}; {len(spans):,} spans",
        "own_s",
        own,
        "s",
        (*lines_of(first.row, "owns the time"), *(() if first is root else lines_of(root.row, "the whole trace"))),
        **place(first.row),
        against="the whole trace",
        against_value=root.seconds,
        seconds=own,
        share=own / root.seconds,
        of_s=root.seconds,
        n=len(spans),
        seen=({"event": _event(first)},),
    )


def _event(span: Span) -> str:
    if _STATEMENT.match(_first(span.of, NAMES) or "") or _STATEMENT.match(_first(span.of, SERVICES) or ""):
        return "span-of-statement"
    return "span-asks-another" if _ASKS.fullmatch(span.of.get("kind", "")) else "span-of-service"
