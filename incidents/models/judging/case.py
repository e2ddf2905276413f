"""The case as people entered it: hosts, phases, markers, statements, clock offsets. Together: `case.yaml`."""

from __future__ import annotations

from django.conf import settings
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import F, Q

from incidents.models.evidence.artifact import Artifact
from incidents.models.room.incident import Incident
from incidents.models.words.wording import Grams, indexed, said


class Host(models.Model):
    """A machine of the case. Unknown values are NULL, never 0."""

    incident = models.ForeignKey(Incident, on_delete=models.CASCADE, related_name="hosts")
    name = models.CharField(max_length=100)
    os = models.CharField(max_length=40, null=True, blank=True)
    os_release = models.CharField(max_length=60, null=True, blank=True)
    model = models.CharField(max_length=100, null=True, blank=True)
    role = models.CharField(max_length=40, null=True, blank=True)  # client, db, app
    ncpu = models.PositiveIntegerField(null=True, blank=True)
    mem_gib = models.FloatField(null=True, blank=True)
    tz = models.CharField(max_length=60, null=True, blank=True)

    class Meta:
        ordering = ("name",)
        indexes = (GinIndex(Grams(said("name")), name="host_grams"),)
        constraints = (
            models.UniqueConstraint(name="host_name_once", fields=("incident", "name")),
            models.CheckConstraint(name="host_ncpu_from_1", condition=Q(ncpu__isnull=True) | Q(ncpu__gte=1)),
            models.CheckConstraint(name="host_memory_positive", condition=Q(mem_gib__isnull=True) | Q(mem_gib__gt=0)),
        )

    def __str__(self) -> str:
        return self.name


class Phase(models.Model):
    """Lines of one artifact that belong to a different phase than the rest of their part."""

    incident = models.ForeignKey(Incident, on_delete=models.CASCADE, related_name="phases")
    artifact = models.ForeignKey(Artifact, on_delete=models.CASCADE, related_name="phases")
    line_from = models.PositiveBigIntegerField()
    line_to = models.PositiveBigIntegerField()
    phase = models.CharField(max_length=40)

    class Meta:
        ordering = ("artifact", "line_from")
        constraints = (
            models.CheckConstraint(
                name="phase_lines_in_order", condition=Q(line_from__gte=1, line_to__gte=F("line_from"))
            ),
        )

    def __str__(self) -> str:
        return f"{self.phase}: {self.line_from}-{self.line_to}"


class MarkerKind(models.TextChoices):
    CHANGE = "change", "change"
    START = "start", "start"
    END = "end", "end"


class Marker(models.Model):
    """An instant with a kind, or the border between two phases when nobody knows the time."""

    incident = models.ForeignKey(Incident, on_delete=models.CASCADE, related_name="markers")
    at = models.DateTimeField(null=True, blank=True)
    from_phase = models.CharField(max_length=40, null=True, blank=True)
    to_phase = models.CharField(max_length=40, null=True, blank=True)
    kind = models.CharField(max_length=8, choices=MarkerKind.choices, default=MarkerKind.CHANGE)
    label = models.CharField(max_length=300)
    changed = models.JSONField(default=list, blank=True)  # everything that changed, one text each
    hypothesis = models.CharField(max_length=40, null=True, blank=True)  # what the change tests
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("id",)
        constraints = (
            models.CheckConstraint(name="marker_kind_known", condition=Q(kind__in=MarkerKind.values)),
            models.CheckConstraint(
                name="marker_has_place",
                condition=Q(at__isnull=False) | Q(from_phase__isnull=False, to_phase__isnull=False),
            ),
        )

    def __str__(self) -> str:
        return self.label


class Statement(models.Model):
    """A fact that a person typed in. A finding that relies on one is marked as such."""

    incident = models.ForeignKey(Incident, on_delete=models.CASCADE, related_name="statements")
    name = models.CharField(max_length=60)
    subject = models.CharField(max_length=100, null=True, blank=True)
    num = models.FloatField(null=True, blank=True)
    unit = models.CharField(max_length=20, null=True, blank=True)
    text = models.TextField()
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    author_label = models.CharField(max_length=100)  # as it is quoted: "DBA", a name
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("id",)
        indexes = (
            models.Index(fields=("incident", "name"), name="statement_by_name"),
            *indexed("statement", "name", "text", "author_label"),
        )

    def __str__(self) -> str:
        return f"{self.name}: {self.text}"


class ClockOffset(models.Model):
    """The offset between two clocks as a person stated it: `clock` minus `ref` lies between `lo` and `hi` seconds."""

    incident = models.ForeignKey(Incident, on_delete=models.CASCADE, related_name="clock_offsets")
    clock = models.CharField(max_length=60)
    ref = models.CharField(max_length=60)
    lo = models.FloatField()
    hi = models.FloatField()
    text = models.TextField(blank=True)
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("id",)
        constraints = (
            models.UniqueConstraint(name="offset_once", fields=("incident", "clock", "ref")),
            models.CheckConstraint(name="offset_in_order", condition=Q(lo__lte=F("hi"))),
            models.CheckConstraint(name="offset_of_two_clocks", condition=~Q(clock=F("ref"))),
        )

    def __str__(self) -> str:
        return f"{self.clock} - {self.ref}"
