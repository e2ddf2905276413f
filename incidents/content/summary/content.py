"""The content of a summary as plain JSON, the same for page, frozen version and export; what people contribute to it.

A content is `{"schema", "title", "state", "technical", "cells", "sections", "sources", "artifacts", "evaluation",
"observed"}`. A section is `{"key", "title", "sentences"}`, some with a `bar`, a `table` or a lead's `words`. A sentence
is `{"lead", "text", "note", "refs", "by", "at", "signed_at", "missing", "small", "late", "ask"}`: `refs` are numbers of
`sources`, which hold the cited lines; `by` names the person whose statement it is; `ask` is the id of evidence that
could be collected. A sentence with none of these states what nobody knows or did (`missing`) or counts what the room
holds. `observed` is what stands out first in the evidence, `[{"rank", "text", "means", "artifacts", "cited"}]`: it is
shown beside the cited lines, not on the page itself; contents that were frozen before there was any lack it.
Invisible characters in uploaded and typed texts are spelled out here, once, so that no form of the page can forget it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from incidents.content.merging import differences
from incidents.content.visible import visible

Json = dict[str, Any]

SCHEMA = 1
WITHDRAWN = "Evidence withdrawn."
OBSERVED = "What the evidence shows"
#: Sections that a lead may write into.
EDITABLE = ("impact", "decision", "cause", "sure", "not", "effect", "open", "next")
TITLES = {
    "status": "Status",
    "impact": "Impact",
    "decision": "Decision needed",
    "update": "Next update",
    "cause": "Cause",
    "seconds": "Whose seconds",
    "sure": "How sure",
    "not": "It is not",
    "effect": "Effect of the changes",
    "did": "Decisions and changes",
    "open": "Still open",
    "next": "Next",
}


@dataclass(frozen=True)
class Told:
    """A statement of a person."""

    text: str
    by: str
    at: datetime | None = None


@dataclass(frozen=True)
class Asked:
    """A decision that the room is waiting for."""

    question: str
    by: str
    asked_of: str
    needed_by: datetime | None
    late: bool
    others: int = 0


@dataclass(frozen=True)
class Step:
    """A step of the plan that somebody does or will do."""

    text: str
    owner: str
    due_at: datetime | None
    doing: bool
    late: bool


@dataclass(frozen=True)
class Change:
    """A marker of the case: what was changed between two phases, or at an instant."""

    label: str
    changed: Sequence[str]
    phase: str
    at: datetime | None
    by: str


@dataclass(frozen=True)
class Figure:
    """A number that a person stated for a phase."""

    name: str
    subject: str
    num: float
    unit: str
    by: str


@dataclass(frozen=True)
class Objection:
    """An open dispute of a finding."""

    key: str
    reason: str
    by: str
    at: datetime


@dataclass(frozen=True)
class Words:
    """A lead's text for a section; `machine` is Exhibit's own text at the time it was written."""

    text: str
    way: str
    by: str
    at: datetime
    number: int
    machine: str


@dataclass(frozen=True)
class People:
    """All that people stated and did and that the summary shows."""

    title: str
    status: str
    status_at: datetime | None
    milestones: Sequence[tuple[str, datetime]] = ()
    lead: str = ""
    duties: Sequence[tuple[str, str]] = ()  # duties in words and the name of their holder, the lead first
    severity: str = ""
    settled: bool = False
    impact: Sequence[Told] = ()
    asked: Asked | None = None
    update_at: datetime | None = None
    update_by: str = ""
    update_late: bool = False
    steps: Sequence[Step] = ()
    changes: Sequence[Change] = ()
    turning: Sequence[Told] = ()  # decisions and changes, the earliest first
    figures: Sequence[Figure] = ()
    objections: Sequence[Objection] = ()
    words: Mapping[str, Words] = field(default_factory=dict)
    symptom: tuple[float | None, float | None, str] = (None, None, "")
    artifacts: Sequence[Json] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    pending: bool = False
    reading: bool = False


def digest(content: Json) -> str:
    """Hash a content as canonical JSON."""
    return hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def plain(of: Json, own: bool = True) -> str:
    """Write a section as text, one sentence a line; versions are compared by it. `own`: include the lead's words."""
    words = of.get("words")
    if own and words and words["way"] == "instead":
        return f"{words['text']}\n— {words['by']}"
    lines = [line_of(one) for one in of["sentences"]]
    if table := of.get("table"):
        lines += [" | ".join(map(_cell, row["cells"])) for row in table["rows"]]
    if bar := of.get("bar"):
        lines += [f"{piece['label']} {piece['amount']}" for piece in bar["pieces"]]
    if own and words:
        lines.append(f"{words['text']}\n— {words['by']}")
    return "\n".join(lines)


def shown(content: Json) -> list[Json]:
    """List all sections in reading order, the cells first."""
    return [*content["cells"], *content["sections"]]


def changed(before: Json, after: Json) -> list[tuple[str, list[Json]]]:
    """Return the title of each section that changed, with its pieces (`merging.differences`)."""
    old = {one["key"]: one for one in shown(before)}
    found = []
    for one in shown(after):
        was = plain(old.pop(one["key"])) if one["key"] in old else ""
        now = plain(one)
        if was != now:
            found.append((one["title"], pieces(was, now)))
    found += [(one["title"], pieces(plain(one), "")) for one in old.values() if plain(one)]
    was, now = _observed(before), _observed(after)
    if was != now:
        found.append((OBSERVED, pieces(was, now)))
    if before["title"] != after["title"]:
        found.insert(0, ("Title", pieces(before["title"], after["title"])))
    return found


def _observed(content: Json) -> str:
    return "\n".join(one["text"] for one in content.get("observed", ()))


def struck(content: Json, number: int) -> Json | None:
    """Return a frozen content without the words and figures that rest on a purged artifact; None if none of them do."""
    gone = [
        source for source in content["sources"] if any(cited["artifact"] == number for cited in source["citations"])
    ]
    named = [artifact for artifact in content["artifacts"] if artifact["number"] == number]
    observed = [one for one in content.get("observed", ()) if number not in one["artifacts"]]
    if not gone and not named and len(observed) == len(content.get("observed", ())):
        return None
    numbers = {source["n"] for source in gone}

    def told(one: Json) -> Json:
        return one | {"lead": "", "text": WITHDRAWN, "note": ""} if numbers & set(one["refs"]) else one

    def left(one: Json) -> Json:
        kept = {key: value for key, value in one.items() if key not in ("bar", "table")}
        kept["sentences"] = [told(each) for each in one["sentences"]]
        leans = any(numbers & set(refs) for refs in refs_within(one))
        if one.get("words") and leans:
            # The warnings beside the lead's words quote the evidence and go; the words themselves stay.
            kept["words"] = one["words"] | {"warnings": [], "stale": None}
        if not leans:
            return one
        if "bar" in one or "table" in one:
            kept["sentences"].append(sentence(WITHDRAWN))
        return kept

    sources = [
        source
        | {
            "label": WITHDRAWN,
            "citations": [cited | {"lines": [], "withdrawn": True} for cited in source["citations"]],
        }
        if source["n"] in numbers
        else source
        for source in content["sources"]
    ]
    artifacts = [one | {"withdrawn": one["withdrawn"] or one["number"] == number} for one in content["artifacts"]]
    return content | {
        "cells": [left(one) for one in content["cells"]],
        "sections": [left(one) for one in content["sections"]],
        "sources": sources,
        "artifacts": artifacts,
        "technical": WITHDRAWN if gone else content["technical"],
        **({"observed": observed} if "observed" in content else {}),
    }


def section(key: str, sentences: list[Json], title: str = "") -> Json:
    return {"key": key, "title": title or TITLES[key], "sentences": sentences}


def sentence(
    text: str,
    lead: str = "",
    note: str = "",
    refs: Iterable[int] = (),
    by: str = "",
    at: datetime | None = None,
    signed_at: datetime | None = None,
    missing: bool = False,
    small: bool = False,
    late: bool = False,
    ask: str = "",
) -> Json:
    return {
        "text": visible(" ".join(text.split())),
        "lead": visible(lead),
        "note": visible(" ".join(note.split())),
        "refs": list(dict.fromkeys(refs)),
        "by": visible(by),
        "at": at.isoformat(timespec="seconds") if at else None,
        "signed_at": signed_at.isoformat(timespec="seconds") if signed_at else None,
        "missing": missing,
        "small": small,
        "late": late,
        "ask": ask,
    }


def line_of(one: Json) -> str:
    """Write a sentence as a line of text, with its author if it has one."""
    note = f"({one['note']})" if one["note"] else ""
    signed = f"— {one['by']}" if one["by"] else ""
    return " ".join(part for part in (one["lead"], one["text"], moment(one["at"]), note, signed) if part)


def _cell(cell: Json) -> str:
    return " ".join(part for part in (cell["text"], cell["note"], f"— {cell['by']}" if cell["by"] else "") if part)


def moment(iso: str | None) -> str:
    return datetime.fromisoformat(iso).strftime("%Y-%m-%d %H:%M UTC") if iso else ""


def pieces(before: str, after: str) -> list[Json]:
    return [{"what": piece.what, "text": piece.text} for piece in differences(before, after)]


def refs_within(of: Json) -> list[list[int]]:
    found = [one["refs"] for one in of["sentences"]]
    return [*found, (of.get("bar") or {}).get("refs", []), (of.get("table") or {}).get("refs", [])]
