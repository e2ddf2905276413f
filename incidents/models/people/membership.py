"""Members of a room, with role and team."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from incidents.models.room.incident import Incident


class Role(models.TextChoices):
    LEAD = "lead", "lead"
    INVESTIGATOR = "investigator", "investigator"
    VIEWER = "viewer", "viewer"


class Team(models.TextChoices):
    DBA = "dba", "DBA"
    NETWORK = "network", "network"
    SYSTEM = "system", "system"
    OTHER = "other", "other"


class Membership(models.Model):
    """A member. Removing someone deletes the row; the activity record still shows the former membership."""

    incident = models.ForeignKey(Incident, on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="memberships")
    role = models.CharField(max_length=12, choices=Role.choices)
    team = models.CharField(max_length=10, choices=Team.choices, default=Team.OTHER)
    joined_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("joined_at", "id")
        constraints = (
            models.UniqueConstraint(name="membership_once", fields=("incident", "user")),
            models.CheckConstraint(name="membership_role_known", condition=Q(role__in=Role.values)),
            models.CheckConstraint(name="membership_team_known", condition=Q(team__in=Team.values)),
        )
        indexes = (models.Index(fields=("user", "incident"), name="membership_by_user"),)

    def __str__(self) -> str:
        return f"{self.user} ({self.role})"
