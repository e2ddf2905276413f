"""Write rows of the timeline for Timesketch: one JSON object a line, with the members that it requires.

Each line has `message`, `datetime` (ISO 8601 with microseconds, in UTC) and `timestamp_desc`; the rest are attributes.
Timesketch takes only what has a date. Rows without one are left out; the last lines say in words how many, why, and
which clocks are not aligned with others. Their `datetime` is the time of the judgement.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from incidents.drawing import frames
from incidents.drawing.exports import flat
from incidents.drawing.exports.flat import Export
from incidents.drawing.exports.instants import END_NS, nanoseconds, shown, zero_of
from incidents.drawing.lane import length
from rules.engine.read import ReadOnly

Json = Mapping[str, Any]

_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode

_1970 = datetime(1970, 1, 1, tzinfo=UTC)
#: Attributes that a line has if they are known, named as the columns of the flat table.
ATTRIBUTES = ("lane", "host", "clock", "artifact", "line_from", "line_to", "strip")


def lines(parts: Iterable[Export], source: ReadOnly, report: Json, judged_at: datetime) -> Iterator[str]:
    """Write the rows of each frame, then the remarks; yields pieces of text, each a number of whole lines."""
    remarks: list[str] = []
    apart: list[str] = []
    files = {artifact["id"]: str(artifact.get("file") or "") for artifact in report.get("artifacts") or []}
    for part in parts:
        title = shown(frames.title(part.frame, report))
        with frames.alone(part.frame, source):
            zero, without = zero_of(part.frame), flat.without_time(part, source)
            if without:
                remarks.append(f"{_rows(without)} of “{title}” left out: no time stands in them.")
            if zero.at is None:
                many = flat.count(part, source)
                remarks += [f"{_rows(many)} of “{title}” left out: {shown(zero.caveat)}."] if many else []
                continue
            apart.append(title)
            note = "; ".join(filter(None, (shown(frames.reason(part.frame, report)), zero.caveat)))
            odd = 0
            for names, piece in source.rows(part.sql):
                made = [
                    _line(dict(zip(names, row, strict=True)), part.frame.name, zero.at, note, files) for row in piece
                ]
                odd += made.count(None)
                yield "".join(line for line in made if line)
            if odd:
                remarks.append(f"{_rows(odd)} of “{title}” left out: their clock is out of the calendar.")
    if len(apart) > 1:
        named = ", ".join(f"“{title}”" for title in apart)
        remarks.append(
            f"These clocks are not aligned with each other, so the order of their rows may be wrong: {named}."
        )
    yield "".join(_remark(text, judged_at) for text in remarks)


def _line(row: Json, frame: str, zero: float, note: str, files: Mapping[int, str]) -> str | None:
    """Write one row; None if its time is out of the calendar."""
    sample = row["value"] is not None
    begin = nanoseconds(zero, row["begin_s"])
    end = max(begin, nanoseconds(zero, row["end_s"]))
    if begin < 0 or end >= END_NS:
        return None
    event = _dated(end if sample else begin)
    event |= {"message": _message(row), "timestamp_desc": _stamp(row, sample), "data_type": "exhibit:timeline:row"}
    event |= {name: row[name] for name in ATTRIBUTES}
    if sample:
        event |= {"value": row["value"], "unit": row["unit"]} if math.isfinite(row["value"]) else {}
    elif end > begin:
        event |= {"end": _dated(end)["datetime"], "length_s": row["length_s"]}
    if row["at_most"]:
        event["at_most"] = True
    event |= {"file": files.get(row["artifact"]), "frame": frame, "clock_note": note}
    known = {name: value for name, value in event.items() if value not in (None, "")}
    return _written({name: shown(value) if isinstance(value, str) else value for name, value in known.items()})


def _message(row: Json) -> str:
    of = " ".join(filter(None, (row["lane"], row["strip"])))
    if row["value"] is not None:
        return f"{of}: {row['value']:g} {row['unit'] or ''}".rstrip()
    if row["end_s"] > row["begin_s"]:
        bound = "at most " if row["at_most"] else ""
        return f"{row['label'] or row['lane']}, {bound}{length(row['length_s'])} ({of})"
    return row["label"] or of


def _stamp(row: Json, sample: bool) -> str:
    if sample:
        return "End of the sample"
    if row["end_s"] > row["begin_s"]:
        return "Begin at the earliest" if row["at_most"] else "Begin"
    return "Moment"


def _remark(text: str, judged_at: datetime) -> str:
    at = round((judged_at - _1970) / timedelta(microseconds=1)) * 1000
    return _written(
        _dated(at) | {"message": text, "timestamp_desc": "Room judged", "data_type": "exhibit:timeline:remark"}
    )


def _dated(at: int) -> dict[str, Any]:
    """Return the members of an instant; `timestamp` is in microseconds."""
    moment = _1970 + timedelta(microseconds=at // 1000)
    return {"datetime": moment.isoformat(timespec="microseconds"), "timestamp": at // 1000}


def _written(event: Json) -> str:
    return _encode(event) + "\n"


def _rows(many: int) -> str:
    return f"{many:,} row{'' if many == 1 else 's'}"
