"""Causes that people add to the board beside those that the rules know."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from incidents.models.room.incident import Incident


class FreeCause(models.Model):
    """A hypothesis entered by a person: a new code (`H-...`), the cause in words, its layer. Removing is soft."""

    incident = models.ForeignKey(Incident, on_delete=models.CASCADE, related_name="free_causes")
    code = models.CharField(max_length=40)
    cause = models.CharField(max_length=200)
    layer = models.CharField(max_length=20, null=True, blank=True)
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    author_label = models.CharField(max_length=100)
    created_at = models.DateTimeField(auto_now_add=True)
    removed_at = models.DateTimeField(null=True, blank=True)
    version = models.PositiveIntegerField(default=1)

    class Meta:
        ordering = ("id",)
        constraints = (
            models.UniqueConstraint(name="free_cause_code_once", fields=("incident", "code")),
            models.CheckConstraint(name="free_cause_code_spelled", condition=Q(code__regex=r"^H-[A-Z]+(-[A-Z]+)*$")),
            models.CheckConstraint(name="free_cause_has_text", condition=~Q(cause="")),
        )

    def __str__(self) -> str:
        return f"{self.code}: {self.cause}"
