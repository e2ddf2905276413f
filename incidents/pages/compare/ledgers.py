"""The ledger of a room: each change and action with who and when, what was expected and measured, what remains."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from incidents.content.names import known_as
from incidents.content.visible import visible
from incidents.drawing.exports.flat import guarded
from incidents.models.judging.case import Marker, MarkerKind
from incidents.models.plan.action import Action, ActionState
from incidents.models.room.incident import Incident
from rules.case import phases
from rules.case.case import with_restart
from rules.model import CaseSpec
from rules.model import Marker as RuleMarker
from rules.statistics.contrast import amount, percent

Json = Mapping[str, Any]
#: Compares the chosen series across a border: the phases before and after it.
Measure = Callable[[str, str], Json]

MOST = 200
COLUMNS = (
    *("change", "what changed", "who", "when (UTC)", "between", "expected", "measured", "n before", "n after"),
    *("median before", "median after", "shift", "shift from", "shift to", "unit", "remaining", "verdict", "caveats"),
)


@dataclass(frozen=True)
class Entry:
    """One row: a change that was made, or an action that is planned."""

    label: str
    changed: tuple[str, ...]
    restart_added: bool
    who: str
    at: Any  # datetime, None if the time is unknown
    between: tuple[str, str] | None
    expected: str
    state: str
    action: int | None
    marker: int | None
    measured: Json | None = None
    words: str = ""
    remaining: str = ""
    verdict: str = ""
    caveats: tuple[str, ...] = ()


def entries(
    incident: Incident, spec: CaseSpec, ordered: Sequence[str], measure: Measure, *, symptom: bool
) -> list[Entry]:
    """Return the ledger: changes in the order of phases and times, then actions that changed nothing.

    `symptom`: the measured series is the one that the symptom names (`is_symptom`).
    """
    actions = list(
        incident.actions.filter(deleted_at__isnull=True).select_related("owner", "done_by", "marker")[: MOST + 1]
    )
    of_marker = {row.marker_id: row for row in actions if row.marker_id is not None}
    markers = list(incident.markers.filter(kind=MarkerKind.CHANGE).select_related("author")[: MOST + 1])
    rows = [
        _measured(_of_marker(marker, of_marker.get(marker.pk), ordered), incident, spec, ordered, measure, symptom)
        for marker in markers
    ]
    rows.sort(key=lambda row: _place(row, ordered))
    return (rows + [_planned(row) for row in actions if row.marker_id is None])[:MOST]


def _place(row: Entry, ordered: Sequence[str]) -> tuple[int, bool, float]:
    place = ordered.index(row.between[1]) if row.between and row.between[1] in ordered else len(ordered)
    return place, row.at is None, row.at.timestamp() if row.at else 0.0


def _of_marker(marker: Marker, action: Action | None, ordered: Sequence[str]) -> Entry:
    changed = tuple(with_restart(RuleMarker(changed=tuple(marker.changed))))
    between = (marker.from_phase, marker.to_phase) if marker.from_phase and marker.to_phase else None
    if between is None and len(ordered) == 2:
        between = (ordered[0], ordered[1])  # a marker without phases separates the only two phases that exist
    who = action.done_by if action and action.done_by else marker.author
    return Entry(
        label=marker.label,
        changed=changed,
        restart_added=len(changed) > len(marker.changed),
        who=known_as(who),
        at=marker.at,
        between=between,
        expected=(action.expected or "") if action else "",
        state="done",
        action=action.pk if action else None,
        marker=marker.pk,
    )


def _planned(row: Action) -> Entry:
    words = {
        ActionState.DONE: "It named no change, so there is nothing to compare across.",
        ActionState.DROPPED: "Dropped.",
        ActionState.DOING: "Under way: measured once it is done.",
        ActionState.OPEN: "Not done yet.",
    }
    person = row.done_by or row.owner
    return Entry(
        label=row.text.split("\n", 1)[0][:300],
        changed=(),
        restart_added=False,
        who=known_as(person) if person else "",
        at=row.done_at,
        between=None,
        expected=row.expected or "",
        state=str(row.state),
        action=row.pk,
        marker=None,
        words=words[ActionState(row.state)],
        verdict="–",
    )


def _measured(
    row: Entry, incident: Incident, spec: CaseSpec, ordered: Sequence[str], measure: Measure, symptom: bool
) -> Entry:
    if row.between is None:
        return replace(row, words="It is not between two phases: name them on the Case page, or make a border.", verdict="–")  # fmt: skip
    if any(phase not in ordered for phase in row.between) or row.between[0] == row.between[1]:
        return replace(row, words="At least one of its phases has no evidence.", verdict="–")
    found = measure(*row.between)
    border = phases.between(spec, ordered, *row.between)
    caveats = (
        [f"{len(border.changed)} things at once: their effects cannot be told apart."]
        if len(border.changed) > 1
        else []
    )
    if border.taken_back_by:
        caveats.append(f"Taken back afterwards by “{border.taken_back_by}”.")
    return replace(
        row,
        measured=found,
        words=str(found["headline"]),
        remaining=remaining(incident, found, symptom=symptom),
        verdict=str(found["title"]) + ("; several changes" if len(border.changed) > 1 else ""),
        caveats=tuple(caveats),
    )


def is_symptom(incident: Incident, name: str, title: str) -> bool:
    """Decide whether a series is what the symptom names: connects if it is about connecting, or a series of that name.

    The unit alone does not decide: a listener's cycle and a login are both seconds.
    """
    text = (incident.symptom_text or "").lower()
    if name.partition(":")[0] == "connects":
        return not text or any(word in text for word in ("connect", "log", "session", "time"))
    return bool(text) and (text in title.lower() or title.lower() in text)


def remaining(incident: Incident, found: Json, *, symptom: bool) -> str:
    """Say how much of the symptom is left: the place of the later side between the normal and the bad value."""
    bad, normal, unit = incident.symptom_bad, incident.symptom_normal, incident.symptom_unit or ""
    side = found["second"]
    if bad is None or normal is None:
        return "unknown: say on the Case page which value is bad and which is normal"
    if not symptom or unit != found["unit"]:
        return f"this series does not show it: the symptom is {visible(incident.symptom_text or 'another quantity')}"
    if side is None:
        return "nothing measured after it"
    texts = []
    now, sign = side["median"], 1 if bad > normal else -1
    if (now - normal) * sign <= 0:
        texts.append(f"nothing at the median: {amount(now, unit)}, normal is {amount(normal, unit)}")
    elif (left := (now - normal) / (bad - normal)) > 1:
        texts.append(f"all of it and more: {amount(now, unit)} at the median")
    else:
        texts.append(f"{percent(left)} of the way: {amount(now, unit)} at the median, normal is {amount(normal, unit)}")
    tail = found["tail"]
    if tail and tail["tail1"] and bad > tail["limit"]:
        wilson = tail["wilson2"]
        slow = f"the bad value was one of the slow ones: {tail['tail1']} of {found['n1']} before, {tail['tail2']} of {found['n2']} after"
        texts.append(f"{slow} (at most {percent(wilson['hi'])}, 95 %)")
    return "; ".join(texts)


# --- export -------------------------------------------------------------------------------------------------------


def rows(found: Iterable[Entry]) -> Iterable[list[object]]:
    for one in found:
        m = one.measured
        sides = (m["first"] or {}, m["second"] or {}) if m else ({}, {})
        yield [
            one.label,
            ", ".join(one.changed),
            one.who,
            f"{one.at:%Y-%m-%d %H:%M:%S}" if one.at else "",
            " to ".join(one.between) if one.between else "",
            one.expected,
            one.words,
            m["n1"] if m else "",
            m["n2"] if m else "",
            sides[0].get("median", ""),
            sides[1].get("median", ""),
            *(["" if m is None or m[name] is None else m[name] for name in ("shift", "shift_lo", "shift_hi")]),
            m["unit"] if m else "",
            one.remaining,
            one.verdict,
            " ".join(one.caveats),
        ]


def as_csv(found: Iterable[Entry]) -> str:
    """Write the ledger as CSV; no cell reads as a formula, and invisible characters are spelled out."""
    out = io.StringIO()
    sheet = csv.writer(out, lineterminator="\r\n")
    sheet.writerow(COLUMNS)
    for row in rows(found):
        sheet.writerow([guarded(visible(cell, keep="\n")) if isinstance(cell, str) else cell for cell in row])
    return out.getvalue()


def as_markdown(found: Iterable[Entry], title: str, series_title: str) -> str:
    """Write the ledger as a Markdown table."""
    lines = [f"# Ledger of {_cell(title)}", "", f"Measured: {_cell(series_title)}.", ""]
    lines += ["| change | who | when | expected | measured | remaining | verdict |", "|---|---|---|---|---|---|---|"]
    for one in found:
        when = f"{one.at:%Y-%m-%d %H:%M} UTC" if one.at else (" → ".join(one.between) if one.between else "")
        what = one.label + (f" ({', '.join(one.changed)})" if one.changed else "")
        words = " ".join([one.words, *one.caveats])
        if one.measured and one.measured["shift"] is not None:
            words += " " + str(one.measured["words"][0])
        cells = (what, one.who, when, one.expected, words, one.remaining, one.verdict)
        lines.append("| " + " | ".join(map(_cell, cells)) + " |")
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    """Write a text as a table cell: markup is escaped, line breaks become blanks."""
    plain = visible(" ".join(text.split()))
    for sign in "\\`*_[]<>|#":
        plain = plain.replace(sign, f"\\{sign}")
    return plain
