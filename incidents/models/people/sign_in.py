"""The record of sign-ins: who came in, and what was refused. What somebody typed as a name is never stored."""

from __future__ import annotations

from datetime import timedelta
from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q

KEPT = timedelta(days=90)

_BROWSERS = (
    ("Edg", "Edge"), ("OPR/", "Opera"), ("Firefox/", "Firefox"), ("Chrome/", "Chrome"), ("Safari/", "Safari"),
    ("curl/", "curl"), ("Wget/", "wget"),
)  # fmt: skip
"""Marks in the order in which they decide: Edge calls itself Chrome, and Chrome Safari."""
_SYSTEMS = (
    ("Windows", "Windows"), ("iPhone", "iPhone"), ("iPad", "iPad"), ("Android", "Android"), ("Mac OS X", "macOS"),
    ("SunOS", "Solaris"), ("Linux", "Linux"),
)  # fmt: skip


def browser_name(agent: str) -> str:
    """Return a short name for what a browser calls itself.

    >>> browser_name("Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"), browser_name("")
    ('Firefox on Linux', 'Unknown browser')
    """
    browser = next((name for mark, name in _BROWSERS if mark in agent), "Unknown browser")
    system = next((name for mark, name in _SYSTEMS if mark in agent), "")
    return f"{browser} on {system}" if system else browser


class Outcome(models.TextChoices):
    IN = "in", "signed in"
    PASSWORD = "password", "wrong password"
    CODE = "code", "wrong second factor"
    HALF = "half", "right password, no second factor"


class SignIn(models.Model):
    """One try to sign in. `user` is None if no account has the name, `address` if the server does not know it."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, null=True, related_name="+")
    at = models.DateTimeField(auto_now_add=True)
    outcome = models.CharField(max_length=8, choices=Outcome.choices)
    address = models.GenericIPAddressField(null=True)
    agent = models.CharField(max_length=300, blank=True)

    class Meta:
        ordering = ("-at", "-id")
        indexes: ClassVar[tuple[models.Index, ...]] = (
            models.Index(fields=["-at", "-id"], name="sign_in_by_time"),
            models.Index(fields=["user", "-at", "-id"], name="sign_in_by_user"),
            models.Index(fields=["-at", "-id"], name="sign_in_refused", condition=~Q(outcome="in")),
        )
        constraints = (models.CheckConstraint(name="sign_in_outcome_known", condition=Q(outcome__in=Outcome.values)),)

    def __str__(self) -> str:
        return f"{self.get_outcome_display()} at {self.at}"

    @property
    def refused(self) -> bool:
        return self.outcome != Outcome.IN

    @property
    def browser(self) -> str:
        """A short name for what the browser calls itself.

        >>> SignIn(agent="Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0").browser
        'Firefox on Linux'
        """
        return browser_name(self.agent)
