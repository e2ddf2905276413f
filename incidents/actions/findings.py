"""Dispute a finding, answer a dispute, withdraw a dispute."""

from __future__ import annotations

from django.utils import timezone

from incidents.access import Right, Room
from incidents.actions import notices
from incidents.actions.record import deed
from incidents.errors import Refused
from incidents.models.judging.finding import OPEN_DISPUTE, Dispute

LONGEST = 10_000  # characters


def dispute(room: Room, key: str, reason: str) -> Dispute:
    """Dispute a finding with a reason; one open dispute per person and finding."""
    reason = _checked(reason, "Say why: a dispute without a reason helps nobody.")
    with deed(room, Right.DISPUTE) as doing:
        finding = doing.incident.findings.filter(key=key).first()
        if finding is None:
            raise Refused("There is no such finding.", 404)
        mine = finding.disputes.filter(OPEN_DISPUTE, author=doing.room.user).first()
        if mine is not None and mine.reason == reason:
            return mine  # repeated because the response to the first try got lost
        if mine is not None:
            raise Refused("You dispute this finding already.", 409)
        row = Dispute.objects.create(incident=doing.incident, finding=finding, author=doing.room.user, reason=reason)
        notices.of_dispute(doing, row, reason)
        doing.record("disputed", f"finding {key}", rule=finding.rule, reason=row.reason)
        doing.tell("dispute", key)
        return row


def answer(room: Room, id: int, text: str) -> Dispute:
    """Answer somebody else's dispute, which is then no longer open.

    A person who disagrees with the answer may dispute again; dispute and answer stay beside the finding.
    """
    text = _checked(text, "An answer without words helps nobody.")
    with deed(room, Right.DISPUTE) as doing:
        row = doing.incident.disputes.select_related("finding").filter(pk=id).first()
        if row is None:
            raise Refused("There is no such dispute.", 404)
        if row.author_id == doing.room.user.pk:
            raise Refused("Your own dispute is not for you to answer: take it back instead.", 409)
        if row.answer == text and row.answered_by_id == doing.room.user.pk:
            return row
        if not row.open:
            done = "taken back" if row.withdrawn_at else "answered"
            raise Refused(f"This dispute was {done} meanwhile.", 409)
        row.answer, row.answered_by, row.answered_at = text, doing.room.user, timezone.now()
        row.save(update_fields=("answer", "answered_by", "answered_at"))
        notices.of_dispute(doing, row, text)
        doing.record("answered", f"dispute of {row.finding.key}", answer=text)
        doing.tell("dispute", row.finding.key)
        return row


def withdraw(room: Room, key: str) -> None:
    """Withdraw this person's dispute. It stays visible as withdrawn."""
    with deed(room, Right.DISPUTE) as doing:
        mine = Dispute.objects.filter(finding__incident=doing.incident, finding__key=key, author=doing.room.user)
        if not mine.filter(OPEN_DISPUTE).update(withdrawn_at=timezone.now()):
            raise Refused("You do not dispute this finding.", 404)
        doing.record("withdrew", f"dispute of {key}")
        doing.tell("dispute", key)


def _checked(text: str, empty: str) -> str:
    text = text.replace("\r\n", "\n").replace("\x00", "").strip()
    if not text:
        raise Refused(empty)
    if len(text) > LONGEST:
        raise Refused(f"At most {LONGEST} characters; upload longer texts as evidence.", 413)
    return text
