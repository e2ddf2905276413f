"""Secrets shown only once: invitations, upload tokens, the first administrator's link. Only hashes are stored."""

from __future__ import annotations

import hashlib
import secrets

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from incidents.models.people.membership import Role, Team
from incidents.models.room.incident import Incident


def new_secret() -> tuple[str, str]:
    """Make a secret of 192 bits; return the text to show once and the hash to store."""
    text = secrets.token_urlsafe(24)
    return text, hash_secret(text)


def hash_secret(text: str) -> str:
    """Return the SHA-256 in hex. A plain hash is enough: the secret is random, not chosen by a person."""
    return hashlib.sha256(text.encode()).hexdigest()


class Invitation(models.Model):
    """A link that makes one person a member; it can be used once. `account` is the one that was made to use it."""

    incident = models.ForeignKey(Incident, on_delete=models.CASCADE, related_name="invitations")
    token_hash = models.CharField(max_length=64, unique=True)
    role = models.CharField(max_length=12, choices=Role.choices)
    team = models.CharField(max_length=10, choices=Team.choices, default=Team.OTHER)
    email = models.EmailField(null=True, blank=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, blank=True)
    used_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    account = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-created_at",)
        constraints = (
            models.CheckConstraint(name="invitation_role_known", condition=Q(role__in=Role.values)),
            models.CheckConstraint(name="invitation_team_known", condition=Q(team__in=Team.values)),
        )

    def __str__(self) -> str:
        return f"invitation {self.pk} as {self.role}"

    @property
    def usable(self) -> bool:
        return self.used_at is None and self.revoked_at is None and self.expires_at > timezone.now()

    @property
    def makes_accounts(self) -> bool:
        """Tell whether a newcomer may make an account with it: it is usable, and nobody has made one yet."""
        return self.usable and self.account_id is None


class UploadToken(models.Model):
    """A bearer token for `curl -T`: it can put evidence into one room and do nothing else."""

    incident = models.ForeignKey(Incident, on_delete=models.CASCADE, related_name="upload_tokens")
    token_hash = models.CharField(max_length=64, unique=True)
    label = models.CharField(max_length=100)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-created_at",)

    def __str__(self) -> str:
        return self.label

    @property
    def usable(self) -> bool:
        return self.revoked_at is None and self.expires_at > timezone.now()


class FirstAdminLink(models.Model):
    """The link that `up` prints on first start. It creates the first administrator and can be used once."""

    token_hash = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, blank=True)
    used_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")

    def __str__(self) -> str:
        return f"first administrator's link {self.pk}"

    @property
    def usable(self) -> bool:
        return self.used_at is None and self.expires_at > timezone.now()
