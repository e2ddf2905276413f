"""Write the rows of span lanes as OTLP JSON (`resourceSpans`), which collectors and trace viewers of OpenTelemetry read.

A resource is an artifact of a host on one clock, a scope is a lane, a trace is a strip of it, such as a thread. Ids are
hashes of room, artifact and lines, so a second export has the same, also after clocks were aligned anew. No span has a
parent: the evidence does not say who called whom across strips.

Times are nanoseconds since 1970. Where the date of a clock is not known, 0 of its axis stands there, or the first whole
second before its rows, and the resource says so.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from typing import Any

from incidents.drawing import frames
from incidents.drawing.exports.flat import Export
from incidents.drawing.exports.instants import nanoseconds, shown, zero_of
from rules.engine.read import ReadOnly

Json = Mapping[str, Any]

#: Last second whose nanoseconds fit into OTLP's 64 bits.
LAST_S = 2**64 // 10**9 - 1
#: Kind of every span: INTERNAL. The evidence does not say which side of a call is the client.
INTERNAL = 1

_resource = itemgetter("host", "artifact", "clock")


def documents(parts: Iterable[Export], source: ReadOnly, report: Json, room: str) -> Iterator[str]:
    """Write one `ExportTraceServiceRequest` of all frames in pieces; `room` goes into the ids."""
    files = {artifact["id"]: str(artifact.get("file") or "") for artifact in report.get("artifacts") or []}
    yield '{"resourceSpans": ['
    comma = ""
    for part in parts:
        if part.frame.ordered:
            continue  # places in an order are no seconds
        with frames.alone(part.frame, source):
            zero, sql, about = _placed(part, source, report)
            rows = (dict(zip(names, row, strict=True)) for names, piece in source.rows(sql) for row in piece)
            for of, own in groupby(rows, _resource):
                resource = _attributes(_names(of, files) | about)
                yield f'{comma}{{"resource": {{"attributes": {json.dumps(resource)}}}, "scopeSpans": ['
                yield from _scopes(own, zero, room)
                yield "]}"
                comma = ",\n"
    yield "]}\n"


def _placed(part: Export, source: ReadOnly, report: Json) -> tuple[float, str, dict[str, Any]]:
    """Return where 0 of the axis lies, the SELECT of what can be placed from there, and what each resource says of it."""
    known = zero_of(part.frame)
    asked = f"select min(begin_s) as first from ({part.sql})"
    first = source.query(asked)[0]["first"] or 0.0
    zero = float(max(0, math.ceil(-first))) if known.at is None else known.at
    fits = f"begin_s >= {-zero!r} and end_s <= {LAST_S - zero!r}"
    left_out = source.query(f"select count(*) as n from ({part.sql}) where not ({fits})")[0]["n"]
    about: dict[str, Any] = {
        "exhibit.frame": part.frame.name,
        "exhibit.clock.note": shown(frames.reason(part.frame, report)),
        "exhibit.clock.unknown": known.caveat or None,
        "exhibit.left_out": left_out or None,
    }
    same = "artifact, lane, strip, line_from, line_to"
    sql = (
        f"select *, row_number() over (partition by {same} order by begin_s, end_s, label) as nth"
        f" from ({part.sql}) where {fits}"
        " order by host nulls first, artifact, clock, lane, begin_s, line_from, line_to, strip, nth"
    )
    return zero, sql, about


def _names(of: tuple[str | None, int, str], files: Mapping[int, str]) -> dict[str, Any]:
    host, artifact, clock = of
    file = files.get(artifact) or f"artifact {artifact}"
    return {
        "service.name": shown(f"{host or 'unknown host'}: {file}"),
        "host.name": host and shown(host),
        "exhibit.artifact": artifact,
        "exhibit.file": shown(file),
        "exhibit.clock": clock,
    }


def _scopes(rows: Iterator[Json], zero: float, room: str) -> Iterator[str]:
    comma = ""
    for lane, own in groupby(rows, itemgetter("lane")):
        yield f'{comma}{{"scope": {json.dumps({"name": lane})}, "spans": ['
        between = ""
        for row in own:
            yield between + json.dumps(_span(row, zero, room))
            between = ",\n"
        yield "]}"
        comma = ",\n"


def _span(row: Json, zero: float, room: str) -> dict[str, Any]:
    strip = (room, row["artifact"], row["lane"], row["strip"])
    begin = nanoseconds(zero, row["begin_s"])
    return {
        "traceId": _trace_id(*strip),
        "spanId": _id(8, *strip, row["line_from"], row["line_to"], row["nth"]),
        "name": shown(row["label"] or row["lane"]),
        "kind": INTERNAL,
        "startTimeUnixNano": str(begin),
        "endTimeUnixNano": str(max(begin, nanoseconds(zero, row["end_s"]))),
        "attributes": _attributes(
            {
                "exhibit.strip": shown(row["strip"]) or None,
                "exhibit.line_from": row["line_from"],
                "exhibit.line_to": row["line_to"],
                "exhibit.at_most": True if row["at_most"] else None,
            }
        ),
    }


@lru_cache(maxsize=8192)
def _trace_id(*strip: object) -> str:
    """Return the id of a strip's trace; its spans have the same one."""
    return _id(16, *strip)


def _id(size: int, *of: object) -> str:
    """Return an id of `size` bytes as hex: the same for the same values."""
    return hashlib.blake2b(json.dumps(of).encode(), digest_size=size, person=b"exhibit.otlp").hexdigest()


def _attributes(values: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Write attributes in OTLP's form, without those that are not known; whole numbers are texts there.

    >>> _attributes({"a": 7, "b": None, "c": True})
    [{'key': 'a', 'value': {'intValue': '7'}}, {'key': 'c', 'value': {'boolValue': True}}]
    """
    return [{"key": key, "value": _value(value)} for key, value in values.items() if value is not None]


def _value(value: bool | int | str) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    return {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}
