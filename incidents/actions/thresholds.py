"""Set thresholds of rules and hide findings in one room: each with a reason and a last day."""

from __future__ import annotations

from datetime import date, timedelta

from django.utils import timezone

from incidents.access import Right, Room
from incidents.actions.record import Deed, deed
from incidents.content.names import known_as
from incidents.errors import Refused
from incidents.models.judging.threshold import IN_FORCE, Suppression, Threshold
from rules.writing.packs import MOST_DAYS
from rules.writing.rule import Rule

#: Maximum number of days that a threshold may last before it must be reviewed.
MOST_THRESHOLD_DAYS = 366
LONGEST_REASON = 500  # characters


def set_threshold(room: Room, rule: Rule, param: str, value: float | int | str, reason: str, until: date) -> Threshold:
    """Set a rule's parameter for this room, replacing an earlier threshold. The rule defines the permitted values."""
    known = rule.file.params.get(param)
    if known is None:
        raise Refused("The rule has no such parameter.", 404)
    why = known.refuse(value)
    if why:
        unit = f" {known.unit}" if known.unit else ""
        raise Refused(f"{param} {why}{unit}.", 422)
    reason = _reason(reason)
    _day(until, MOST_THRESHOLD_DAYS)
    with deed(room, Right.TUNE) as doing:
        before = doing.incident.thresholds.filter(IN_FORCE, rule=rule.id, param=param).first()
        if before is not None:
            if (before.value, before.reason, before.until) == (value, reason, until):
                return before
            before.deleted_by, before.deleted_at = doing.room.user, timezone.now()
            before.save(update_fields=("deleted_by", "deleted_at"))
        row = Threshold.objects.create(
            incident=doing.incident,
            rule=rule.id,
            param=param,
            value=value,
            reason=reason,
            until=until,
            author=doing.room.user,
            author_label=known_as(doing.room.user)[:150],
        )
        _said(doing, "set", f"threshold {rule.id} {param}", value=value, until=until.isoformat())
        return row


def hide(room: Room, rule: Rule, subject: str, host: str | None, reason: str, until: date) -> Suppression:
    """Hide a rule's findings on subjects that match a pattern, on one host or on all; they stay counted and listed."""
    subject = subject.replace("\x00", "").strip() or "*"
    if len(subject) > 200:
        raise Refused("A pattern has at most 200 characters.", 422)
    reason = _reason(reason)
    _day(until, MOST_DAYS)
    with deed(room, Right.TUNE) as doing:
        if doing.incident.suppressions.filter(IN_FORCE, rule=rule.id, subject=subject, host=host or None).exists():
            raise Refused("These findings are hidden already. Show them again first to change reason or day.", 409)
        row = Suppression.objects.create(
            incident=doing.incident,
            rule=rule.id,
            subject=subject,
            host=host or None,
            reason=reason,
            until=until,
            author=doing.room.user,
            author_label=known_as(doing.room.user)[:150],
        )
        _said(doing, "hid", f"findings of {rule.id}", until=until.isoformat())
        return row


def end_threshold(room: Room, id: int) -> Threshold:
    """Remove a threshold: the rule's default applies again. `again_threshold` undoes that."""
    with deed(room, Right.TUNE) as doing:
        row = doing.incident.thresholds.filter(pk=id).first()
        if row is None:
            raise Refused("There is no such threshold.", 404)
        if row.deleted_at is None:
            _end(doing, row)
            _said(doing, "took back", f"threshold {row.rule} {row.param}")
        return row


def again_threshold(room: Room, id: int) -> Threshold:
    with deed(room, Right.TUNE) as doing:
        row = doing.incident.thresholds.filter(pk=id).first()
        if row is None:
            raise Refused("There is no such threshold.", 404)
        if row.deleted_at is not None:
            others = doing.incident.thresholds.filter(IN_FORCE, rule=row.rule, param=row.param)
            _begin(row, others.exists())
            _said(doing, "set", f"threshold {row.rule} {row.param}", value=row.value, until=row.until.isoformat())
        return row


def end_hiding(room: Room, id: int) -> Suppression:
    """Show the findings again. `again_hiding` undoes that."""
    with deed(room, Right.TUNE) as doing:
        row = doing.incident.suppressions.filter(pk=id).first()
        if row is None:
            raise Refused("Nothing is hidden so.", 404)
        if row.deleted_at is None:
            _end(doing, row)
            _said(doing, "showed", f"findings of {row.rule}")
        return row


def again_hiding(room: Room, id: int) -> Suppression:
    with deed(room, Right.TUNE) as doing:
        row = doing.incident.suppressions.filter(pk=id).first()
        if row is None:
            raise Refused("Nothing is hidden so.", 404)
        if row.deleted_at is not None:
            others = doing.incident.suppressions.filter(IN_FORCE, rule=row.rule, subject=row.subject, host=row.host)
            _begin(row, others.exists())
            _said(doing, "hid", f"findings of {row.rule}", until=row.until.isoformat())
        return row


def _end(doing: Deed, row: Threshold | Suppression) -> None:
    row.deleted_by, row.deleted_at = doing.room.user, timezone.now()
    row.save(update_fields=("deleted_by", "deleted_at"))


def _begin(row: Threshold | Suppression, taken: bool) -> None:
    if taken:
        raise Refused("Another one stands there by now.", 409)
    if row.until < timezone.now().date():
        raise Refused("Its last day is over. Set it anew with another day.", 409)
    row.deleted_by, row.deleted_at = None, None
    row.save(update_fields=("deleted_by", "deleted_at"))


def _said(doing: Deed, verb: str, what: str, **detail: object) -> None:
    # Without the reason: the record cannot be changed.
    doing.record(verb, what[:100], **detail)
    doing.tell("case")
    doing.rejudge()


def _reason(text: str) -> str:
    text = " ".join(text.replace("\x00", "").split())
    if not text:
        raise Refused("Give a reason: it stands beside every finding that it changes.", 422)
    if len(text) > LONGEST_REASON:
        raise Refused(f"A reason has at most {LONGEST_REASON} characters.", 422)
    return text


def _day(until: date, most: int) -> None:
    today = timezone.now().date()
    if not today <= until <= today + timedelta(days=most):
        raise Refused(
            f"The last day must be from {today} to {today + timedelta(days=most)}, {most} days ahead at most.", 422
        )
