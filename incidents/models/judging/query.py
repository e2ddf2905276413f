"""SQL queries on the evidence tables: those saved under a name, and the last ones that each person ran."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from incidents.models.room.incident import Incident


class SavedQuery(models.Model):
    """A query with a name. Unless `shared`, only its author sees it. Deleting is soft: `restore` brings it back."""

    incident = models.ForeignKey(Incident, on_delete=models.CASCADE, related_name="queries")
    title = models.CharField(max_length=200)
    sql = models.TextField()
    chart = models.JSONField(default=dict, blank=True)  # {"kind", "x", "y"}; empty: a table
    shared = models.BooleanField(default=False)
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    edited_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    edited_at = models.DateTimeField(null=True, blank=True)
    deleted_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    deleted_at = models.DateTimeField(null=True, blank=True)
    version = models.PositiveIntegerField(default=1)
    client_id = models.UUIDField(null=True, blank=True)  # id of the form: sent twice, it is stored once

    class Meta:
        verbose_name_plural = "saved queries"
        ordering = ("title", "id")
        constraints = (
            models.UniqueConstraint(name="query_sent_once", fields=("incident", "author", "client_id")),
            models.CheckConstraint(name="query_has_text", condition=~Q(sql="") & ~Q(title="")),
        )
        indexes = (models.Index(fields=("incident", "author", "shared"), name="query_by_author"),)

    def __str__(self) -> str:
        return self.title


class AskedQuery(models.Model):
    """A query that a person ran in a room, kept so that nothing typed is lost. Only they see it; one row a text."""

    incident = models.ForeignKey(Incident, on_delete=models.CASCADE, related_name="asked_queries")
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    sql = models.TextField()
    sha256 = models.CharField(max_length=64)
    asked_at = models.DateTimeField()

    class Meta:
        verbose_name_plural = "asked queries"
        ordering = ("-asked_at", "-id")
        constraints = (
            models.UniqueConstraint(name="asked_query_once", fields=("incident", "person", "sha256")),
            models.CheckConstraint(name="asked_query_has_text", condition=~Q(sql="")),
        )
        indexes = (models.Index(fields=("incident", "person", "-asked_at"), name="asked_query_newest"),)

    def __str__(self) -> str:
        return self.in_a_line[:60]

    @property
    def in_a_line(self) -> str:
        """Return the query without its line breaks, for lists."""
        return " ".join(self.sql[:1000].split())
