"""Names of a site: what its people call the things that evidence names. Observations tell them; no rule reads them."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from incidents.models.room.incident import Incident


class NameKind(models.TextChoices):
    """The kinds of `rules.model.NameKind`."""

    PORT = "port", "port"
    HOST = "host", "host or address"
    PATH = "path", "path"
    PROCESS = "process", "process"
    PARAMETER = "parameter", "parameter"
    LOG_TEXT = "log text", "log text"


class SiteName(models.Model):
    """What a thing is called at this site, in the words of the last author. Removing is soft."""

    # NULL: the name is one of the whole site, which administrators edit. A room's own name for the same thing wins.
    incident = models.ForeignKey(Incident, on_delete=models.CASCADE, related_name="site_names", null=True, blank=True)
    kind = models.CharField(max_length=10, choices=NameKind.choices)
    name = models.CharField(max_length=200)
    text = models.CharField(max_length=200)
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    author_label = models.CharField(max_length=100)
    said_at = models.DateTimeField()
    removed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("id",)
        constraints = (
            models.UniqueConstraint(
                name="site_name_once_in_room",
                fields=("incident", "kind", "name"),
                condition=Q(incident__isnull=False, removed_at__isnull=True),
            ),
            models.UniqueConstraint(
                name="site_name_once",
                fields=("kind", "name"),
                condition=Q(incident__isnull=True, removed_at__isnull=True),
            ),
            models.CheckConstraint(name="site_name_kind_known", condition=Q(kind__in=NameKind.values)),
            models.CheckConstraint(name="site_name_has_words", condition=~Q(name="") & ~Q(text="")),
        )

    def __str__(self) -> str:
        return f"{self.kind} {self.name}: {self.text}"
