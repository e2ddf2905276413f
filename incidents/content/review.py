"""The whole of an incident on paper: verdict, people, course, review and follow-ups; as data and as Markdown."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db.models import OuterRef

from incidents.content.citations import escaped
from incidents.content.course import Done, course_of
from incidents.content.durations import length
from incidents.content.milestones import lead_and_duties, people_of, severity_words, standing
from incidents.content.names import known_as
from incidents.content.report import Outlook
from incidents.models.plan.review import FollowUp, Review
from incidents.models.room.incident import Incident
from incidents.models.room.standing import Moment

#: Parts of the review -> their titles.
PARTS = {"surprised": "What surprised us", "helped": "What helped", "hindered": "What got in the way"}
#: Spans between two milestones -> their names.
SPANS = {
    (Moment.STARTED.value, Moment.DETECTED.value): "until noticed",
    (Moment.DETECTED.value, Moment.MITIGATED.value): "from noticed to mitigated",
    (Moment.STARTED.value, Moment.RESOLVED.value): "in all",
}
NO_VERDICT = "Nothing was judged."


@dataclass(frozen=True)
class Paper:
    """What the review's page and its files say. `spans` are lengths between milestones, in words."""

    title: str
    status: str
    severity: str
    verdict: str
    reasoning: str
    people: list[tuple[str, str]]
    milestones: list[tuple[str, datetime]]
    spans: list[tuple[str, str]]
    course: list[Done]
    parts: list[tuple[str, str]]
    written_by: str
    written_at: datetime | None
    follow_ups: list[FollowUp]

    @property
    def written(self) -> bool:
        return any(text for _, text in self.parts)


def gather(incident: Incident) -> Paper:
    """Read everything that the review shows, in a few queries."""
    newest = incident.evaluations.filter(accepted=True).order_by("-number").first()
    verdict = Outlook(newest.report, incident.slug).verdict if newest else None
    on_duty = lead_and_duties(Incident.objects.filter(pk=incident.pk).values(**people_of(OuterRef("pk"))).get())
    reached = {row.kind: row.at for row in standing(incident)["milestones"]}
    review = Review.objects.select_related("edited_by").filter(incident=incident).first()
    living = incident.follow_ups.filter(deleted_at__isnull=True).select_related("owner", "done_by")
    return Paper(
        title=incident.title,
        status=incident.get_status_display(),
        severity=severity_words(incident),
        verdict=verdict.told if verdict else NO_VERDICT,
        reasoning=verdict.reasoning if verdict else "",
        people=[(one.duties, known_as(one.user)) for one in on_duty["on_duty"]],
        milestones=list(reached.items()),
        spans=[
            (words, length(reached[last] - reached[first]))
            for (first, last), words in SPANS.items()
            if first in reached and last in reached
        ],
        course=course_of(incident),
        parts=[(title, getattr(review, name) if review else "") for name, title in PARTS.items()],
        written_by=known_as(review.edited_by) if review else "",
        written_at=review.edited_at if review else None,
        follow_ups=sorted(living, key=_urgency),
    )


def _urgency(row: FollowUp) -> tuple[bool, bool, str, int]:
    """Return the sort key of a follow-up: open ones first, the earliest due first."""
    return (row.done_at is not None, row.due_on is None, row.due_on.isoformat() if row.due_on else "", row.pk)


def markdown(paper: Paper, at: datetime, link: str) -> str:
    """Write the paper as Markdown, with everything escaped that Markdown or HTML would interpret."""
    out = [f"# {escaped(paper.title)}", "", f"Review of an incident, as of {_stamp(at)}", ""]
    out += [f"- **Status:** {escaped(paper.status)}"]
    if paper.severity:
        out.append(f"- **Severity:** {escaped(paper.severity)}")
    out += [f"- **{escaped(duty.capitalize())}:** {escaped(name)}" for duty, name in paper.people]
    out += [f"- **{kind.capitalize()}:** {_stamp(when)}" for kind, when in paper.milestones]
    out += [f"- **{words.capitalize()}:** {span}" for words, span in paper.spans]
    out += ["", "## Verdict", "", escaped(paper.verdict), ""]
    if paper.reasoning:
        out += [*_lines(paper.reasoning), ""]
    for title, text in paper.parts:
        out += [f"## {title}", "", *(_lines(text) if text else ["Nobody has written this yet."]), ""]
    if paper.written_at:
        out += [f"Last written by {escaped(paper.written_by)}, {_stamp(paper.written_at)}.", ""]
    out += ["## Follow-ups", ""]
    out += [_follow_up(row) for row in paper.follow_ups] or ["None."]
    out += ["", "## What people did", ""]
    if paper.course:
        out += ["| When (UTC) | Kind | What | Who |", "| --- | --- | --- | --- |"]
        out += [
            f"| {one.at:%Y-%m-%d %H:%M} | {one.kind_name} | {_cell(one)} | {escaped(one.who)} |" for one in paper.course
        ]
    else:
        out.append("Nothing was written down.")
    return "\n".join([*out, "", f"<{link}>", ""])


def _follow_up(row: FollowUp) -> str:
    owner = escaped(known_as(row.owner)) if row.owner else "nobody yet"
    due = f", by {row.due_on:%Y-%m-%d}" if row.due_on else ""
    done = f", done {_stamp(row.done_at)}" if row.done_at else ""
    return f"- [{'x' if row.done_at else ' '}] {escaped(row.text)} ({owner}{due}{done})"


def _cell(one: Done) -> str:
    note = f"{escaped(one.note)}: " if one.note else ""
    return note + escaped(one.text)


def _lines(text: str) -> list[str]:
    return [escaped(line) if line.strip() else "" for line in text.split("\n")]


def _stamp(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC"
