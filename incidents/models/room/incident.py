"""The incident and its room: the answers given when it was opened, its status, and its counters."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from incidents.models.words.wording import indexed


class Status(models.TextChoices):
    OPEN = "open", "open"
    MITIGATED = "mitigated", "mitigated"
    RESOLVED = "resolved", "resolved"
    CLOSED = "closed", "closed"


#: How long before an update is due the room reminds of it.
REMIND_AHEAD = timedelta(minutes=5)


class RoomSeverity(models.IntegerChoices):
    """How hard the incident hits people, as people say; the severity of a finding is another thing."""

    STOPPED = 1, "work has stopped"
    HINDERED = 2, "work is badly hindered"
    SLOWED = 3, "work is slowed down"
    NOTICED = 4, "noticed, work goes on"


#: Columns of a room that the search covers.
SEARCHED = ("title", "symptom_text", "affected", "last_change", "measured_how")


class Incident(models.Model):
    """One case and the room in which its members work on it. It is deleted in one way only: incidents/work/deleting.py."""

    # The slug ends in 8 random characters, so that a stranger cannot guess a room from its title.
    slug = models.SlugField(max_length=80, unique=True)
    title = models.CharField(max_length=200)
    status = models.CharField(max_length=12, choices=Status.choices, default=Status.OPEN)

    severity = models.PositiveSmallIntegerField(choices=RoomSeverity.choices, null=True, blank=True)

    symptom_text = models.CharField(max_length=300, null=True, blank=True)
    symptom_unit = models.CharField(max_length=20, null=True, blank=True)
    symptom_bad = models.FloatField(null=True, blank=True)
    symptom_normal = models.FloatField(null=True, blank=True)
    # The time range that somebody marked as bad, in seconds of a clock domain.
    symptom_clock = models.CharField(max_length=60, null=True, blank=True)
    symptom_from = models.FloatField(null=True, blank=True)
    symptom_to = models.FloatField(null=True, blank=True)
    measured_how = models.TextField(null=True, blank=True)
    since = models.DateTimeField(null=True, blank=True)
    ongoing = models.BooleanField(null=True, blank=True)
    affected = models.CharField(max_length=200, null=True, blank=True)
    last_change = models.TextField(null=True, blank=True)

    # The UTC instant that aligned times count from. Set once: alignment never moves it.
    t_zero = models.DateTimeField(null=True, blank=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="rooms_created")
    created_at = models.DateTimeField(auto_now_add=True)
    closed_at = models.DateTimeField(null=True, blank=True)
    closed_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    # A lead asked to close it as soon as the uploads and jobs under way are finished.
    closing_at = models.DateTimeField(null=True, blank=True)
    closing_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    archived_at = models.DateTimeField(null=True, blank=True)
    archived_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")

    # Days that the room is kept after it was closed: None as the site says, 0 for ever.
    keep_days = models.PositiveIntegerField(null=True, blank=True)
    kept_since = models.DateTimeField(null=True, blank=True)  # a deletion was undone: the days count again from here
    # A legal hold: while it lasts, nothing of the room is deleted. One of an administrator only they lift.
    held_at = models.DateTimeField(null=True, blank=True)
    held_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    held_why = models.TextField(blank=True, default="", db_default="")
    held_by_site = models.BooleanField(default=False, db_default=False)
    # When an announced deletion comes (`RoomDeletion`), and whether it has begun: then nobody sees the room any more.
    delete_at = models.DateTimeField(null=True, blank=True)
    deletion_begun = models.BooleanField(default=False, db_default=False)

    next_update_at = models.DateTimeField(null=True, blank=True)  # when the next update is promised
    next_update_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    # Kind of the duty (`DutyKind`) whose holder gives it; `next_update_by` is that person, as long as the duty counts.
    next_update_duty = models.CharField(max_length=14, null=True, blank=True)
    next_update_every = models.PositiveIntegerField(null=True, blank=True)  # minutes from one update to the next
    reminded_of = models.DateTimeField(null=True, blank=True)  # the promised time of which people were reminded
    standing_version = models.PositiveIntegerField(default=1)  # counts changes of the status and of these times

    class Meta:
        ordering = ("-created_at",)
        constraints = (
            models.CheckConstraint(name="incident_status_known", condition=Q(status__in=Status.values)),
            models.CheckConstraint(
                name="incident_severity_known",
                condition=Q(severity__isnull=True) | Q(severity__in=RoomSeverity.values),
            ),
            models.CheckConstraint(
                name="incident_closed_has_time",
                condition=Q(status=Status.CLOSED, closed_at__isnull=False)
                | (~Q(status=Status.CLOSED) & Q(closed_at__isnull=True)),
            ),
            models.CheckConstraint(
                name="incident_update_comes_in_minutes",
                condition=Q(next_update_every__isnull=True) | Q(next_update_every__gte=1),
            ),
            models.CheckConstraint(
                name="incident_archived_is_closed",
                condition=Q(archived_at__isnull=True) | Q(status=Status.CLOSED),
            ),
            models.CheckConstraint(
                name="incident_held_says_who",
                condition=Q(held_at__isnull=True) | (Q(held_by__isnull=False) & ~Q(held_why="")),
            ),
            models.CheckConstraint(
                name="incident_held_or_deleted",
                condition=Q(held_at__isnull=True) | Q(delete_at__isnull=True),
            ),
            models.CheckConstraint(
                name="incident_deleted_is_closed",
                condition=Q(delete_at__isnull=True) | Q(status=Status.CLOSED),
            ),
        )
        indexes = (
            models.Index(fields=("status", "-created_at"), name="incident_by_status"),
            models.Index(fields=("archived_at",), name="incident_archived"),
            *indexed("incident", *SEARCHED),
        )

    def __str__(self) -> str:
        return self.title

    @property
    def closed(self) -> bool:
        return self.status == Status.CLOSED

    @property
    def archived(self) -> bool:
        return self.archived_at is not None

    @property
    def held(self) -> bool:
        """Tell whether a legal hold keeps everything of the room."""
        return self.held_at is not None

    @property
    def to_be_deleted(self) -> bool:
        """Tell whether the room is announced to be deleted: until then it can be read, and nothing in it changes."""
        return self.delete_at is not None

    @property
    def update_late(self) -> bool:
        """Tell whether the promised update of an open or mitigated incident is overdue."""
        return self._update_within(timedelta(0))

    @property
    def update_due(self) -> bool:
        """Tell whether the promised update is due within `REMIND_AHEAD`, or overdue."""
        return self._update_within(REMIND_AHEAD)

    def _update_within(self, time: timedelta) -> bool:
        live = self.status in (Status.OPEN, Status.MITIGATED)
        return live and self.next_update_at is not None and self.next_update_at < timezone.now() + time


class RoomCounter(models.Model):
    """The counters of one room. The row is also the room's lock: whoever writes in the room locks it first.

    It is separate from `Incident`, so that saving an `Incident` read earlier can never restore an old number.
    """

    incident = models.OneToOneField(Incident, on_delete=models.CASCADE, primary_key=True, related_name="counter")
    artifact_number = models.PositiveIntegerField(default=0)
    event_seq = models.PositiveBigIntegerField(default=0)
    activity_seq = models.PositiveBigIntegerField(default=0)
    activity_head = models.CharField(max_length=64, default="")
    # Hash of the index in the object store of the derived tables that the last judgement left; empty without one.
    cache_stored = models.CharField(max_length=64, default="", db_default="", blank=True)

    def __str__(self) -> str:
        return f"counters of {self.incident_id}"

    @classmethod
    def lock(cls, incident_id: int) -> RoomCounter:
        """Lock the room until the transaction ends. Must be called inside `transaction.atomic`."""
        return cls.objects.select_for_update(no_key=True).get(incident_id=incident_id)

    @classmethod
    def next_number(cls, incident_id: int, field: str) -> int:
        """Increment one of the counters under the row's lock and return the new value."""
        cls.objects.filter(incident_id=incident_id).update(**{field: F(field) + 1})
        value: int = cls.objects.values_list(field, flat=True).get(incident_id=incident_id)
        return value
