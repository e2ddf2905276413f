"""Edit the summary page: texts by leads, frozen versions, share links for people without an account."""

from __future__ import annotations

import ipaddress
from datetime import timedelta

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from incidents import tasks
from incidents.access import Right, Room
from incidents.actions.limits import count_try
from incidents.actions.record import Deed, deed
from incidents.content.names import known_as
from incidents.content.summary import gathering as summary
from incidents.content.summary.content import EDITABLE, plain, shown
from incidents.errors import Refused, WrongSecret
from incidents.models.people.link import hash_secret, new_secret
from incidents.models.room.activity import Activity
from incidents.models.room.incident import RoomCounter
from incidents.models.words.summary import ShareLink, ShareOpening, SummaryText, SummaryVersion, Way

LONGEST = 2_000  # characters of one section
DAYS, MOST_DAYS = 7, 90  # validity of a share link: default and maximum
# High enough for an office behind one address; nobody guesses 192 bits at this rate.
MOST_OPENED, OPENED_S = 120, 300
GONE = "This link was taken back. Ask whoever gave it to you for a new one."
EXPIRED = "This link has expired. Ask whoever gave it to you for a new one."


class Conflict(Refused):
    """Somebody else changed the section since this person opened it. Nothing was written."""

    status = 409

    def __init__(self, base: str, row: SummaryText) -> None:
        super().__init__("Somebody changed this text meanwhile. Nothing of yours was saved over it.")
        self.base, self.row, self.name = base, row, known_as(row.author)


def put_text(room: Room, section: str, text: str, way: str, seen: int) -> SummaryText | None:
    """Write a lead's text for a section, or withdraw it with an empty text. `seen`: number of the text the person saw.

    In a closed room a new version is frozen at once: the version frozen at its close stays as it is.
    """
    text = text.replace("\r\n", "\n").replace("\x00", "").strip()
    if section not in EDITABLE:
        raise Refused("There is no such section.", 404)
    if len(text) > LONGEST:
        raise Refused(f"At most {LONGEST} characters: this is one page for people with two minutes.", 413)
    if way not in Way.values:
        raise Refused("Choose where your words stand.")
    with deed(room, Right.SHARE) as doing:
        rows = doing.incident.summary_texts.filter(section=section).select_related("author")
        last = rows.order_by("-number").first()
        if last is None and not text:
            return None
        if last is not None and (last.text, last.way) == (text, way if text else last.way):
            return last  # sent twice, or nothing changed
        if last is not None and last.number != seen:
            base = rows.filter(number=seen).first()
            raise Conflict(base.text if base else "", last)
        now = {one["key"]: one for one in shown(summary.gather(doing.incident).content)}
        machine = plain(now[section], own=False) if section in now else ""
        row = SummaryText.objects.create(
            incident=doing.incident,
            section=section,
            number=last.number + 1 if last else 1,
            text=text,
            way=way,
            machine=machine,
            author=doing.room.user,
        )
        # Without the text: the record cannot be changed, and a withdrawn text must not stay in it.
        doing.record("wrote" if text else "took back", f"summary section {section}", number=row.number)
        doing.tell("summary", section, row.number)
        if doing.incident.closed:
            _freeze(doing, f"The lead’s words on “{section}” changed after the room was closed.")
        return row


def freeze(room: Room, why: str) -> SummaryVersion:
    """Freeze the summary as it is now; 409 if it equals the last version."""
    with deed(room, Right.SHARE) as doing:
        version, made = _freeze(doing, why.strip() or "On demand.")
        if not made:
            raise Refused(f"Nothing has changed since version {version.number}: that is the one to send.", 409)
        tasks.hint_hooks_on_commit()
        return version


def share(room: Room, number: int, label: str, days: int = DAYS) -> str:
    """Create a link to a frozen version; return its secret, which is shown once and stored hashed."""
    label = " ".join(label.split())
    if not label:
        raise Refused("Say whom the link is for.")
    if not 1 <= days <= MOST_DAYS:
        raise Refused(f"A link lasts from 1 to {MOST_DAYS} days.")
    with deed(room, Right.SHARE) as doing:
        version = doing.incident.summary_versions.filter(number=number).first()
        if version is None:
            raise Refused("There is no such version. Freeze one first.", 404)
        secret, hashed = new_secret()
        link = ShareLink.objects.create(
            incident=doing.incident,
            version=version,
            token_hash=hashed,
            label=label[:100],
            created_by=doing.room.user,
            expires_at=timezone.now() + timedelta(days=days),
        )
        doing.record("shared", f"summary version {number}", link=link.pk, label=link.label, days=days)
        doing.tell("summary", "links")
        return secret


def revoke(room: Room, id: int) -> None:
    """Revoke a link at once. It needs a right that also holds in a room that is archived, or is to be deleted."""
    with deed(room, Right.EXPORT) as doing:
        links = doing.incident.share_links.filter(pk=id)
        if not links.exists():
            raise Refused("There is no such link.", 404)
        if links.filter(revoked_at__isnull=True).update(revoked_at=timezone.now(), revoked_by=doing.room.user):
            doing.record("revoked", f"share link {id}")
            doing.tell("summary", "links")


def open_link(secret: str, caller: str) -> ShareLink:
    """Return a usable link and count its opening; 401 for an invented link, 410 for a revoked or expired one."""
    count_try("shared-summary", caller, MOST_OPENED, OPENED_S)
    link = ShareLink.objects.select_related("version", "incident").filter(token_hash=hash_secret(secret)).first()
    if link is None:
        raise WrongSecret("There is no such link. Check that it was copied as a whole, or ask whoever sent it to you.")
    with transaction.atomic():
        RoomCounter.lock(link.incident_id)
        link.refresh_from_db(fields=("revoked_at", "expires_at"))
        if link.revoked_at is not None:
            raise Refused(GONE, 410)
        if not link.usable:
            raise Refused(EXPIRED, 410)
        _note(link, masked(caller))
    return link


def masked(address: str) -> str:
    """Return the network of an address: enough to tell two networks apart, and no more.

    >>> masked("203.0.113.77"), masked("2001:db8:1:2::3"), masked("::ffff:10.1.2.3"), masked("testclient")
    ('203.0.113.0/24', '2001:db8:1::/48', '10.1.2.0/24', 'unknown')
    """
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return "unknown"
    if isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped:
        found = found.ipv4_mapped
    bits = 24 if found.version == 4 else 48
    return str(ipaddress.ip_network(f"{found}/{bits}", strict=False))


def _note(link: ShareLink, address: str) -> None:
    """Count an opening. The activity record gets one row per address and hour, so that nobody can flood it."""
    now = timezone.now()
    hour = now.replace(minute=0, second=0, microsecond=0)
    opening, first = ShareOpening.objects.get_or_create(
        link=link, address=address, hour=hour, defaults={"first_at": now, "last_at": now}
    )
    if first:
        Activity.objects.append(
            link.incident_id, None, "Somebody with a link", "opened", f"share link {link.pk}", address=address
        )
    else:
        ShareOpening.objects.filter(pk=opening.pk).update(count=F("count") + 1, last_at=now)
    ShareLink.objects.filter(pk=link.pk).update(opened=F("opened") + 1, opened_at=now)


def _freeze(doing: Deed, why: str) -> tuple[SummaryVersion, bool]:
    return summary.freeze(doing.incident, doing.room.user.pk, doing.room.actor_name, why)
