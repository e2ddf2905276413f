"""Automatic steps on evidence requests: notify askers what an answer changed, expire links and quarantined files.

Run by workers after each job and by `sweep`; every step checks the rows under the room's lock and can be repeated.
"""

from __future__ import annotations

from datetime import timedelta

from django.db import transaction
from django.db.models import Exists, OuterRef
from django.utils import timezone

from incidents.content.report import Held, Outlook, changes
from incidents.models.evidence.artifact import Artifact
from incidents.models.evidence.quarantine import GiveLink, Quarantined, QuarantinedFile
from incidents.models.evidence.request import EvidenceRequest, RequestState
from incidents.models.judging.finding import Evaluation
from incidents.models.people.notification import Told
from incidents.models.room.activity import Activity
from incidents.models.room.incident import Incident, RoomCounter
from incidents.models.room.job import CHANGING, Job, JobState
from incidents.storage import live, store
from incidents.work.notifying import notify

QUARANTINE_DAYS = 14  # days after which an unsettled file expires
STRAY_S = 24 * 3600  # seconds after which a quarantined file without a row is removed
AT_ONCE = 50  # maximum number of rows that one run handles
LONGEST = 2_000  # characters of the text of what an answer changed
UNREAD = "What came could not be read, so nothing was judged anew."
SAME = "Judged with the answer: nothing changed."


def look() -> None:
    """Do everything that is due."""
    tell_what_changed()
    expire_files()
    expire_requests()


# --- what an answer changed ---------------------------------------------------------------------------------------


def tell_what_changed() -> int:
    """Store in each answered request what the judgement with its answer changed; notify the askers; return how many."""
    due = EvidenceRequest.objects.filter(state=RequestState.ANSWERED, changed__isnull=True, incident__archived_at=None)
    told = 0
    for id, incident_id in due.order_by("settled_at").values_list("pk", "incident_id")[:AT_ONCE]:
        with transaction.atomic():
            RoomCounter.lock(incident_id)
            request = due.select_related("incident").filter(pk=id).first()
            words = _changed(request) if request is not None else None
            if request is None or words is None:
                continue
            request.changed, request.changed_at = words[:LONGEST], timezone.now()
            request.version += 1
            request.save(update_fields=("changed", "changed_at", "version"))
            Activity.objects.append(incident_id, None, "Exhibit", "judged", f"request {id}")
            live.tell(incident_id, "request", id, request.version)
            tell(request, request.asked_by_id, Told.CHANGED)
            told += 1
    return told


def _changed(request: EvidenceRequest) -> str | None:
    """Return what the answer changed, as a sentence; None while the room is still reading or judging it."""
    incident = request.incident
    answers = Artifact.objects.filter(answered__request=request, answered__taken=True)
    from_archives = Artifact.objects.filter(came_in__archive__in=answers)
    ids = set(answers.values_list("pk", flat=True)) | set(from_archives.values_list("pk", flat=True))
    under_way = Job.objects.filter(incident=incident, kind__in=CHANGING, state__in=(JobState.QUEUED, JobState.RUNNING))
    if under_way.exists():
        return None
    numbers = set(Artifact.objects.filter(pk__in=ids).values_list("number", flat=True))
    judged = list(
        incident.evaluations.filter(accepted=True).order_by("-number").values_list("pk", "report__artifacts")[:AT_ONCE]
    )
    holding = [bool(numbers & {entry.get("id") for entry in artifacts or []}) for _, artifacts in judged]
    if True not in holding:
        return UNREAD if not incident.closed else None
    # The first judgement with the answer, and the last one without it.
    first = max(index for index, holds in enumerate(holding) if holds)
    reports = dict(
        Evaluation.objects.filter(pk__in=[pk for pk, _ in judged[first : first + 2]]).values_list("pk", "report")
    )
    held = [
        Held(number, name)
        for number, name in Artifact.objects.filter(incident=incident, number__in=numbers).values_list("number", "name")
    ]
    after = Outlook(reports[judged[first][0]], incident.slug, held)
    if first + 1 >= len(judged):
        return f"First judgement of the room. {after.verdict.told}"
    before = Outlook(reports[judged[first + 1][0]], incident.slug, held)
    return "; ".join(changes(before, after)) or SAME


def tell(request: EvidenceRequest, user_id: int, kind: Told, actor_id: int | None = None, mailed: bool = False) -> None:
    """Notify a member about a request, in a transaction that holds the room's lock. A repeated one is unread again."""
    notify(request.incident_id, user_id, kind, actor_id, mailed, request=request)


# --- expiry -------------------------------------------------------------------------------------------------------


def expire_files() -> int:
    """Expire quarantined files that nobody settled in time, and remove files without a row; return how many expired."""
    past = timezone.now() - timedelta(days=QUARANTINE_DAYS)
    waiting = QuarantinedFile.objects.filter(state=Quarantined.WAITING)
    expired = waiting.filter(received_at__lt=past, incident__held_at__isnull=True)
    gone = 0
    for file in list(expired.select_related("link__request")[:AT_ONCE]):
        with transaction.atomic():
            RoomCounter.lock(file.incident_id)
            reason = f"nobody took it in within {QUARANTINE_DAYS} days"
            if not waiting.filter(pk=file.pk).update(
                state=Quarantined.EXPIRED, settled_at=timezone.now(), reason=reason
            ):
                continue
            request = file.link.request
            Activity.objects.append(
                file.incident_id, None, "Exhibit", "let go", f"request {request.pk}", sha256=file.sha256, size=file.size
            )
            live.tell(file.incident_id, "request", request.pk, request.version)
            gone += 1
        store.drop_quarantined(file.pk)
    for id in store.quarantined_ids(STRAY_S):
        if not waiting.filter(pk=id).exists():
            store.drop_quarantined(id)
    return gone


def expire_requests() -> int:
    """Expire open requests whose last link expired, if no member was asked and no file waits; return how many."""
    now = timezone.now()
    links = GiveLink.objects.filter(request=OuterRef("pk"), revoked_at__isnull=True)
    waits = QuarantinedFile.objects.filter(link__request=OuterRef("pk"), state=Quarantined.WAITING)
    due = EvidenceRequest.objects.filter(
        Exists(links.filter(expires_at__lte=now)),
        ~Exists(links.filter(expires_at__gt=now)),
        ~Exists(waits),
        state=RequestState.OPEN,
        asked_of__isnull=True,
    )
    ended = 0
    for id, incident_id in list(due.values_list("pk", "incident_id")[:AT_ONCE]):
        with transaction.atomic():
            RoomCounter.lock(incident_id)
            request = due.filter(pk=id).first()
            if request is None:
                continue
            request.state, request.settled_at, request.settled_by = RequestState.EXPIRED, now, None
            request.version += 1
            request.save(update_fields=("state", "settled_at", "settled_by", "version"))
            Activity.objects.append(incident_id, None, "Exhibit", "expired", f"request {id}")
            live.tell(incident_id, "request", id, request.version)
            ended += 1
    return ended


def waiting_in(incident: Incident) -> int:
    """Count the files that wait in a room's quarantine."""
    return QuarantinedFile.objects.filter(incident=incident, state=Quarantined.WAITING).count()
