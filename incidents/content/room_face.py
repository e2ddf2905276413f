"""The face of a room: label, headline, what they rest on, by the verdict's state or by what is read and not read.

A face holds words only; each has an icon and an edge of its own, so that none depends on a colour.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from django.urls import reverse

from incidents.content.faces import OPEN, face_of, unread_face
from incidents.content.report import Outlook


@dataclass(frozen=True)
class Statement:
    """One thing that the face rests on: `lead` in bold, then `text`; `tone` is good, warn or empty."""

    lead: str
    text: str = ""
    tone: str = ""
    href: str = ""


@dataclass(frozen=True)
class Progress:
    """How many files of the room were read, could not be read, and whether any is being read or judged now."""

    total: int
    read: int
    failed: int
    under_way: bool

    @property
    def left(self) -> int:
        return max(self.total - self.read - self.failed, 0)

    @property
    def percent(self) -> str:
        return f"{100 * self.read / self.total:.0f}%" if self.total else "0%"


@dataclass(frozen=True)
class Face:
    """What the head of a room shows. `reasoning` is the expert's sentence, `steps` the support as filled boxes."""

    name: str
    label: str
    headline: str
    reasoning: str = ""
    steps: list[bool] = field(default_factory=list)
    statements: list[Statement] = field(default_factory=list)
    judging: Progress | None = None

    @property
    def long(self) -> bool:
        """Return whether the headline needs two lines or a smaller size at full width."""
        return len(self.headline) > 84


def face(outlook: Outlook, progress: Progress, takes: bool = True) -> Face:
    """Return the face of a room; `takes`: whether who looks can add evidence now."""
    if not outlook.exists:
        return _unjudged(progress, takes)
    unread = max(progress.failed, len(outlook.unread))
    state = outlook.verdict.state
    could_change = bool(unread) and state in OPEN and not progress.under_way
    made = _not_read(outlook, unread, max(progress.total, unread)) if could_change else _judged(outlook)
    if progress.under_way and progress.left:
        n = progress.left
        news = Statement(f"{n} file{'s' if n > 1 else ''} being read;", "may change", "now")
        made = replace(made, statements=[*made.statements, news])
    return made


def _unjudged(progress: Progress, takes: bool) -> Face:
    n, files = progress.total, f"file{'s' if progress.total != 1 else ''}"
    if progress.under_way and n:
        which = "it is" if n == 1 else "all are"
        said = Statement(f"Read {progress.read} of {n}", "", "now")
        return Face(
            "judging",
            "Judging",
            f"Reading {n} {files}. No verdict before {which} judged.",
            statements=[said],
            judging=progress,
        )
    if progress.failed:
        return Face(
            "unread", "Not read", f"{progress.failed} of {n} {files} could not be read, and nothing was judged."
        )
    if n:
        return Face("cannot", "No verdict", "Nothing was judged yet: there is no evidence that could be read.")
    if not takes:
        return Face("cannot", "No evidence", "Nothing was judged: this room holds no evidence.")
    return Face("cannot", "No evidence", "Nothing was judged yet: add what you have, and say what is slow.")


def _not_read(outlook: Outlook, unread: int, total: int) -> Face:
    verdict = outlook.verdict
    which = f"{unread} of {total} files" if unread < total else "The only file" if total == 1 else f"All {total} files"
    one = unread == 1
    headline = f"{which} {'is' if one else 'are'} not understood; {'it is' if one else 'they are'} kept and can be read as text."
    label = unread_face(unread).label
    looks = _to_look_at(outlook)
    if unread == total:
        return Face("unread", label, headline, verdict.sentence, statements=looks)
    first = next((seen.headline for seen in outlook.standing_out if not seen.normal), "nothing stands out")
    said = Statement("From the others:", f"{first.rstrip('.')}.")
    return Face("unread", label, headline, verdict.sentence, statements=[said, *looks])


def _to_look_at(outlook: Outlook) -> list[Statement]:
    """Lead to the first file that was not understood, or to why none could be read: whoever knows it says what it is."""
    if not outlook.slug:
        return []
    if not outlook.unread:
        return [Statement("See why:", "Evidence", href=reverse("evidence", args=[outlook.slug]))]
    number, name = outlook.unread[0]
    return [Statement("Look at it, or say what it is:", name, href=reverse("lines", args=[outlook.slug, number]))]


def _judged(outlook: Outlook) -> Face:
    verdict = outlook.verdict
    made = Face(
        face_of(verdict.state).look,
        verdict.label,
        verdict.headline,
        verdict.reasoning,
        verdict.steps if verdict.support != "none" else [],
        [_support(outlook), *_beside(outlook)][:2],
    )
    if verdict.disputed:
        claim, more = verdict.disputed[0], len(verdict.disputed) - 1
        text = f"{claim.headline}{f' and {more} more' if more else ''}"
        dispute = Statement("Under dispute:", text, "warn", f"{claim.href}#dispute")
        made = replace(made, statements=[made.statements[0], dispute])
    return made


def _support(outlook: Outlook) -> Statement:
    """Say how strong the support is and what it counts; without a cause, how many explanations fit."""
    verdict = outlook.verdict
    word = verdict.support.capitalize()
    match verdict.state:
        case "nothing wrong seen":
            return Statement("Looked at:", outlook.kinds_read or "what could be read", "good")
        case "cannot tell":
            return Statement("No cause yet:", _fitting(outlook))
        case "undecided" if not verdict.basis:
            return Statement(f"{word} support, for both")
        case "lead":
            seen = len(outlook.points_to)
            counted = (
                f"{seen} observation{'s' if seen != 1 else ''} point{'s' if seen == 1 else ''} there" if seen else ""
            )
            return Statement(f"{word} support{':' if counted else ''}", counted)
    return Statement(f"{word} support{':' if verdict.basis else ''}", verdict.basis)


def _fitting(outlook: Outlook) -> str:
    n = outlook.fitting
    if n == 0:
        return "no explanation has evidence for it"
    return "one explanation fits, too weakly" if n == 1 else f"{n} explanations fit, none is ahead"


def _beside(outlook: Outlook) -> list[Statement]:
    """Say what is missing, what looks the same, what decides it, what is cleared, or what to bring: by the state."""
    verdict = outlook.verdict
    ask = next(iter(outlook.best_asks), None)
    settled = f"{ask.short}{f', {ask.host}' if ask.host else ''}" if ask else ""
    found: list[Statement] = []
    if verdict.state == "lead" and verdict.rival:
        found.append(Statement("Looks the same:", verdict.rival, "warn"))
    elif verdict.state == "suspect" and settled:
        found.append(Statement("Missing:", settled, "warn"))
    elif verdict.state == "undecided" and settled:
        found.append(Statement("Decides it:", settled))
    elif verdict.state == "nothing wrong seen" and outlook.blind_rules:
        n = outlook.blind_rules
        found.append(Statement("Not looked at:", f"{n} rule{'s' if n > 1 else ''} had nothing to look at", "warn"))
    found += [
        Statement(f"Not {claim.layer_name}:", claim.bound or claim.magnitude or claim.headline, "good", claim.href)
        for claim in verdict.cleared[:1]
        if claim.key
    ]
    if verdict.state == "cannot tell" and settled and ask:
        found.append(Statement("Bring:", f"{settled} ({ask.who})" if ask.who else settled))
    return found
