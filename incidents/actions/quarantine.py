"""Upload links for people without an account, and the quarantine behind them: receive, take in, refuse.

A link's holder is a stranger: they see the text of the evidence request and nothing else of the room.
"""

from __future__ import annotations

import uuid
from datetime import timedelta
from functools import partial

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from incidents import access
from incidents.access import Right, Room
from incidents.actions import artifacts
from incidents.actions.limits import count_try
from incidents.actions.record import Deed, deed
from incidents.actions.requests import close_with
from incidents.content.visible import visible, visible_name
from incidents.errors import AlreadyHere, Refused, StoreError, TooLarge, WrongSecret
from incidents.models.evidence.artifact import Artifact, Way
from incidents.models.evidence.quarantine import GiveLink, Quarantined, QuarantinedFile
from incidents.models.evidence.request import EvidenceRequest, RequestState
from incidents.models.people.link import hash_secret, new_secret
from incidents.models.people.notification import Told
from incidents.models.room.activity import Activity
from incidents.models.room.incident import RoomCounter
from incidents.storage import live, store
from incidents.work import arrivals

HOURS, LONGEST_HOURS = 48, 14 * 24  # validity of a link: default and maximum
FILES, MOST_FILES = 10, 50  # files of a link: default and maximum
MIB, MOST_MIB = 256, 4096  # MiB of one file: default and maximum
TRIES_EACH, TRIES_LINK = 120, 600
LABEL = "The team that works on it"
GONE = {
    RequestState.ANSWERED: "What was asked for here has arrived. Nothing more is needed: thank you.",
    RequestState.WITHDRAWN: "What was asked for here is not needed any more. Nothing needs to be sent.",
    RequestState.EXPIRED: "This link ran out. Ask whoever sent it to you for a new one.",
}
RAN_OUT = "This link ran out. Ask whoever sent it to you for a new one."
NO_MORE = "This link does not take files any more. Ask whoever sent it to you."


# --- links --------------------------------------------------------------------------------------------------------


def make_link(
    room: Room, request_id: int, label: str = "", hours: int = HOURS, files: int = FILES, mib: int = MIB
) -> str:
    """Create a link to an evidence request's upload page; return its secret, which is shown once and stored hashed."""
    label = visible(label.strip())[:80] or LABEL
    if not 1 <= hours <= LONGEST_HOURS:
        raise Refused(f"A link lasts from 1 to {LONGEST_HOURS} hours.")
    if not 1 <= files <= MOST_FILES:
        raise Refused(f"A link takes from 1 to {MOST_FILES} files.")
    if not 1 <= mib <= MOST_MIB:
        raise Refused(f"A link takes files of 1 to {MOST_MIB} MiB.")
    with deed(room, Right.PLAN) as doing:
        doing.room.require(Right.UPLOAD)
        row = doing.incident.requests.filter(pk=request_id).first()
        if row is None:
            raise Refused("There is no such request.", 404)
        if not row.open:
            raise Refused("This request is not open any more: open it again first.", 409)
        secret, hashed = new_secret()
        link = GiveLink.objects.create(
            request=row,
            token_hash=hashed,
            label=label,
            created_by=doing.room.user,
            expires_at=timezone.now() + timedelta(hours=hours),
            most_files=files,
            most_bytes=min(mib * 2**20, settings.EXHIBIT_MAX_UPLOAD_BYTES),
        )
        _moved(doing, row)
        doing.record("made", f"upload link {link.pk}", request=row.pk, hours=hours, files=files, mib=mib)
    return secret


def revoke_link(room: Room, request_id: int, link_id: int) -> None:
    with deed(room, Right.PLAN) as doing:
        links = GiveLink.objects.filter(request__incident=doing.incident, request=request_id, pk=link_id)
        link = links.select_related("request").filter(revoked_at__isnull=True).first()
        if link is None:
            raise Refused("There is no such link.", 404)
        link.revoked_at = timezone.now()
        link.save(update_fields=("revoked_at",))
        _moved(doing, link.request)
        doing.record("revoked", f"upload link {link_id}", request=request_id)


UNKNOWN_LINK = "There is no such link. Check that it was copied as a whole, or ask whoever sent it to you."


def look_at(secret: str, caller: str = "") -> GiveLink:
    """Return an upload link that accepts files now.

    Raises `WrongSecret` for an invented link, `Refused` with 410 and the reason for one that takes files no more.
    """
    if caller:
        count_try("give", caller, most=TRIES_EACH)
    hashed = hash_secret(secret)
    link = GiveLink.objects.select_related("request__incident", "created_by").filter(token_hash=hashed).first()
    if link is None:
        raise WrongSecret(UNKNOWN_LINK)
    count_try("give-link", hashed, most=TRIES_LINK)
    _require_living(link)
    return link


def sent(secret: str, id: uuid.UUID) -> QuarantinedFile | None:
    """Return a file that came by this link, for the sender's receipt."""
    return QuarantinedFile.objects.filter(link__token_hash=hash_secret(secret), pk=id).first()


def _require_living(link: GiveLink) -> None:
    request = link.request
    if request.state in GONE:
        raise Refused(GONE[RequestState(request.state)], 410)
    if link.expired:
        raise Refused(RAN_OUT, 410)
    maker = access.enter_by_id(link.created_by_id, request.incident_id)
    # A link works only while its creator may upload, and pauses while the room takes no uploads.
    if link.revoked_at is not None or maker is None or not maker.may(Right.UPLOAD) or request.incident.closing_at:
        raise Refused(NO_MORE, 410)


def require_room(link: GiveLink, size: int = 0) -> None:
    """Refuse a file before its first byte that the link would not take: too many files, too large, or a full disk."""
    if link.files.count() >= link.most_files:
        raise Refused(_used_up(link), 410)
    if size > link.most_bytes:
        raise TooLarge(f"This link takes files of at most {link.most_bytes / 2**20:,.0f} MiB. Send a part of it.")
    store.require_space(size)


def _used_up(link: GiveLink) -> str:
    return f"This link took its {link.most_files} files already. Ask whoever sent it to you for a new one."


# --- receive ------------------------------------------------------------------------------------------------------


def enter(link: GiveLink, incoming: store.Incoming, name: str, caller: str = "") -> QuarantinedFile:
    """Put a received file into quarantine. The same content sent again returns the existing row, so a retry is safe.

    The bytes are safe on disk before the row is committed. The limits are checked again under the room's lock, so that
    ten simultaneous senders each get a clear answer. Never discards `incoming`.
    """
    if incoming.size == 0:
        raise Refused("The file is empty. Nothing was kept.")
    with transaction.atomic():
        RoomCounter.lock(link.request.incident_id)
        link = GiveLink.objects.select_related("request__incident").get(pk=link.pk)
        _require_living(link)
        same = link.files.filter(sha256=incoming.sha256, state=Quarantined.WAITING).first()
        if same is not None:
            return same
        require_room(link, incoming.size)
        id = uuid.uuid4()
        incoming.set_aside(id)
        request = link.request
        file = QuarantinedFile.objects.create(
            id=id,
            incident_id=request.incident_id,
            link=link,
            name=visible_name(name),
            size=incoming.size,
            sha256=incoming.sha256,
            address=caller[:60],
        )
        Activity.objects.append(
            request.incident_id,
            None,
            f"upload link {link.pk}",
            "sent",
            f"request {request.pk}",
            sha256=file.sha256,
            size=file.size,
            address=file.address,
        )
        request.version += 1
        request.save(update_fields=("version",))
        live.tell(request.incident_id, "request", request.pk, request.version)
        for user_id in {request.asked_by_id, link.created_by_id}:
            arrivals.tell(request, user_id, Told.WAITING)
    return file


# --- settle -------------------------------------------------------------------------------------------------------


def take_in(room: Room, request_id: int, file_id: uuid.UUID) -> Artifact:
    """Make a quarantined file evidence, as if this member had uploaded it; it answers its evidence request."""
    incoming: store.Incoming | None = None
    try:
        with deed(room, Right.UPLOAD) as doing:
            doing.room.require_more_evidence()
            file = _waiting(doing, request_id, file_id)
            incoming = store.out_of_quarantine(file.pk)
            if incoming.sha256 != file.sha256:
                raise StoreError("a file in quarantine is not what was sent")
            request = file.link.request
            said = {"host": request.host} if request.host else {}
            try:
                artifact = artifacts.receive(room, incoming, file.name, Way.LINK, said)
            except AlreadyHere as here:
                artifact = doing.incident.artifacts.get(number=here.number)
            _settled(doing, file, Quarantined.TAKEN, "", artifact)
            doing.record("took in", f"request {request.pk}", sha256=file.sha256, artifact=artifact.number)
            request.incident = doing.incident
            if request.state != RequestState.WITHDRAWN:
                close_with(doing, request, [artifact])
        return artifact
    finally:
        if incoming is not None:
            incoming.discard()


def refuse(room: Room, request_id: int, file_id: uuid.UUID, reason: str) -> None:
    """Refuse a quarantined file: its bytes are deleted; hash, size, reason and who refused it stay."""
    reason = reason.strip()[:1000]
    if not reason:
        raise Refused("Say why it is refused: that is what stays of it.")
    with deed(room, Right.UPLOAD) as doing:
        doing.require_no_hold()
        file = _waiting(doing, request_id, file_id)
        _settled(doing, file, Quarantined.REFUSED, reason, None)
        doing.record(
            "refused", f"request {request_id}", sha256=file.sha256, size=file.size, name=file.name, reason=reason
        )
        _moved(doing, file.link.request)


def _waiting(doing: Deed, request_id: int, file_id: uuid.UUID) -> QuarantinedFile:
    files = QuarantinedFile.objects.filter(incident=doing.incident, link__request=request_id, pk=file_id)
    file = files.select_related("link__request").first()
    if file is None:
        raise Refused("There is no such file.", 404)
    if file.state != Quarantined.WAITING:
        raise Refused(f"This file was {file.get_state_display()} already.", 409)
    return file


def _settled(doing: Deed, file: QuarantinedFile, state: Quarantined, reason: str, artifact: Artifact | None) -> None:
    file.state, file.reason, file.artifact = state, reason, artifact
    file.settled_at, file.settled_by = timezone.now(), doing.room.user
    file.save(update_fields=("state", "reason", "artifact", "settled_at", "settled_by"))
    transaction.on_commit(partial(store.drop_quarantined, file.pk))


def _moved(doing: Deed, request: EvidenceRequest) -> None:
    request.version += 1
    request.save(update_fields=("version",))
    doing.tell("request", request.pk, request.version)
