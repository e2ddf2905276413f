"""What a room found and what people noted, as annotations of Grafana: an array of time, timeEnd, title, text and tags.

Times are milliseconds since 1970. What has no date stays out: a dashboard has no place for it. Of the observations those
come that stand for a mechanism and are neither idle nor within their bounds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from incidents.content.names import known_as
from incidents.content.references import time_place
from incidents.content.report import layer_name
from incidents.content.visible import visible
from incidents.drawing.exports.instants import END_NS, nanoseconds, zero_of
from incidents.drawing.frames import Frame, frames_of
from incidents.models.room.incident import Incident
from incidents.models.words.note import Note

Json = Mapping[str, Any]

#: Tag of what lies on a clock whose zone is not known: it may be some hours off.
ZONE_UNKNOWN = "time zone unknown"
#: Tag of every annotation, by which a dashboard tells them from others.
OURS = "exhibit"


@dataclass(frozen=True)
class Links:
    """Where annotations lead to: the address of the site without a slash at its end, and the room's slug."""

    site: str
    slug: str


def notes_of(incident: Incident) -> list[Note]:
    """Return the notes that may have a time: on a stretch of a clock, or on a finding."""
    rows = incident.notes.filter(deleted_at=None, reply_to=None).exclude(clock=None, finding_key=None)
    return list(rows.select_related("author").order_by("created_at", "id"))


def annotations_of(
    report: Json, notes: Iterable[Note], links: Links | None, begin: int | None = None, end: int | None = None
) -> list[dict[str, Any]]:
    """Return what overlaps the milliseconds from `begin` to `end`, by time; without `links`, no text has an address."""
    placed = _Places(report, links)
    found = [
        one
        for one in (*_claims(report, placed), *_notes(report, notes, placed))
        if (end is None or one["time"] <= end) and (begin is None or one["timeEnd"] >= begin)
    ]
    return sorted(found, key=lambda one: (one["time"], one["timeEnd"], one["title"], one["text"]))


class _Places:
    """The instants of a report's clocks."""

    def __init__(self, report: Json, links: Links | None) -> None:
        self._links = links
        self._frames: dict[str, Frame] = {
            clock["clock"]: frame for frame in frames_of(report) for clock in frame.clocks
        }

    def annotation(self, at: Json, title: str, text: list[str], tags: list[str | None]) -> Iterator[dict[str, Any]]:
        """Yield the annotation of what has `clock`, `t_from` and `t_to`; nothing if no date is known."""
        clock, begin, end = at.get("clock"), at.get("t_from"), at.get("t_to")
        frame = self._frames.get(str(clock))
        if frame is None or begin is None:
            return
        zero, end = zero_of(frame), begin if end is None else end
        add = frame.add(clock)
        if zero.at is None or add is None:
            return
        first, last = (nanoseconds(zero.at, t + add) for t in (begin, max(begin, end)))
        if first < 0 or last >= END_NS:
            return
        told = [*text, f"({zero.caveat})" if zero.caveat else ""]
        if self._links:
            told.append(self._links.site + time_place(self._links.slug, str(clock), begin, end))
        named = [OURS, *tags, ZONE_UNKNOWN if zero.caveat else None]
        yield {
            "time": first // 10**6,
            "timeEnd": last // 10**6,
            "title": visible(title),
            "text": visible("\n".join(filter(None, told)), keep="\n"),
            "tags": [visible(tag) for tag in dict.fromkeys(filter(None, named))],
        }


def _claims(report: Json, placed: _Places) -> Iterator[dict[str, Any]]:
    for row in report.get("findings") or []:
        if row.get("kind") == "finding":
            kinds = [row.get("group"), row.get("severity")]
            yield from placed.annotation(
                row, f"Finding: {row.get('title') or row.get('rule')}", _words(row), ["finding", *kinds, *_about(row)]
            )
    for row in report.get("observations") or []:
        if row.get("mechanism") and not row.get("idle") and not row.get("normal"):
            yield from placed.annotation(
                row, f"Observation: {row.get('means') or row['mechanism']}", _words(row), ["observation", *_about(row)]
            )


def _notes(report: Json, notes: Iterable[Note], placed: _Places) -> Iterator[dict[str, Any]]:
    findings = {row.get("key"): row for row in report.get("findings") or []}
    for note in notes:
        own = {"clock": note.clock, "t_from": note.t_from, "t_to": note.t_to}
        at = own if note.clock is not None else findings.get(note.finding_key) or {}
        writer = f"{note.program}, a program of {known_as(note.author)}" if note.program else known_as(note.author)
        yield from placed.annotation(at, f"Note of {writer}", [note.text], ["note"])


def _words(row: Json) -> list[str]:
    cited = [f"{one.get('file')}:{one.get('line_from')}-{one.get('line_to')}" for one in row.get("citations") or []]
    more = f" and {len(cited) - MOST_CITED} more" if len(cited) > MOST_CITED else ""
    return [str(row.get("headline") or ""), "; ".join(cited[:MOST_CITED]) + more]


#: Maximum number of citations in the text of an annotation.
MOST_CITED = 3


def _about(row: Json) -> list[str | None]:
    layer = row.get("layer")
    return [row.get("rule") or row.get("observer"), layer_name(str(layer)) if layer else None, row.get("host")]
