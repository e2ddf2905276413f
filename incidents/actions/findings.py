"""Object to a finding, and take the objection back."""

from __future__ import annotations

from django.utils import timezone

from incidents.access import Right, Room
from incidents.actions.record import deed
from incidents.errors import Refused
from incidents.models.finding import Dispute


def dispute(room: Room, key: str, reason: str) -> Dispute:
    """Object to a finding with a reason; one open objection per person and finding."""
    reason = reason.replace("\x00", "").strip()
    if not reason:
        raise Refused("Say why: a dispute without a reason helps nobody.")
    with deed(room, Right.DISPUTE) as doing:
        finding = doing.incident.findings.filter(key=key).first()
        if finding is None:
            raise Refused("There is no such finding.", 404)
        if finding.disputes.filter(author=doing.room.user, withdrawn_at__isnull=True).exists():
            raise Refused("You dispute this finding already.", 409)
        row = Dispute.objects.create(
            incident=doing.incident, finding=finding, author=doing.room.user, reason=reason[:20_000]
        )
        doing.record("disputed", f"finding {key}", rule=finding.rule, reason=row.reason)
        doing.tell("dispute", key)
        return row


def withdraw(room: Room, key: str) -> None:
    """Take one's own objection back."""
    with deed(room, Right.DISPUTE) as doing:
        mine = Dispute.objects.filter(finding__incident=doing.incident, finding__key=key, author=doing.room.user)
        if not mine.filter(withdrawn_at__isnull=True).update(withdrawn_at=timezone.now()):
            raise Refused("You do not dispute this finding.", 404)
        doing.record("withdrew", f"dispute of {key}")
        doing.tell("dispute", key)
