"""Duties in an incident: who leads it, who tells the others, who writes down. They give no rights; roles do."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Exists, OuterRef, Q

from incidents.models.people.membership import Membership, Role
from incidents.models.room.incident import Incident


class DutyKind(models.TextChoices):
    LEAD = "lead", "lead"
    COMMUNICATIONS = "communications", "communications"
    SCRIBE = "scribe", "scribe"


#: Roles of members who can hold a duty: of several leads one leads, and whoever tells or writes must be able to write.
HOLDERS: dict[str, tuple[str, ...]] = {
    DutyKind.LEAD: (Role.LEAD,),
    DutyKind.COMMUNICATIONS: (Role.LEAD, Role.INVESTIGATOR),
    DutyKind.SCRIBE: (Role.LEAD, Role.INVESTIGATOR),
}


class DutyManager(models.Manager["Duty"]):
    def held(self) -> models.QuerySet[Duty]:
        """Return the duties whose holder is at present an active member with a role that fits the duty."""
        able = Q(pk__in=[])
        for kind, roles in HOLDERS.items():
            members = Membership.objects.filter(
                incident=OuterRef("incident"), user=OuterRef("user"), role__in=roles, user__is_active=True
            )
            able |= Q(Exists(members), kind=kind)
        return self.filter(able)


class Duty(models.Model):
    """One duty and its holder. A room has each duty once; the activity record keeps earlier holders."""

    incident = models.ForeignKey(Incident, on_delete=models.CASCADE, related_name="duties")
    kind = models.CharField(max_length=14, choices=DutyKind.choices)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")

    objects: ClassVar[DutyManager] = DutyManager()

    class Meta:
        verbose_name_plural = "duties"
        ordering = ("incident_id", "kind")
        constraints = (
            models.UniqueConstraint(name="duty_once", fields=("incident", "kind")),
            models.CheckConstraint(name="duty_kind_known", condition=Q(kind__in=DutyKind.values)),
        )

    def __str__(self) -> str:
        return f"{self.kind} of {self.incident_id}"
