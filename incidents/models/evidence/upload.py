"""A resumable upload under way (tus). Its bytes lie in the store; the length of that file is the upload's offset."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models

from incidents.models.evidence.artifact import Artifact
from incidents.models.people.link import UploadToken
from incidents.models.room.incident import Incident


class Upload(models.Model):
    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    incident = models.ForeignKey(Incident, on_delete=models.CASCADE, related_name="uploads")
    uploader = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    token = models.ForeignKey(UploadToken, on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    name = models.CharField(max_length=255)
    size = models.PositiveBigIntegerField()  # as announced; the upload is complete when this many bytes have arrived
    said = models.JSONField(default=dict)  # kind, host, phase ... as the uploader entered them
    created_at = models.DateTimeField(auto_now_add=True)
    artifact = models.ForeignKey(Artifact, on_delete=models.CASCADE, null=True, blank=True, related_name="+")

    class Meta:
        indexes = (models.Index(fields=("created_at",), name="upload_by_age"),)

    def __str__(self) -> str:
        return f"{self.name} ({self.id})"
