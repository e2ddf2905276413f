"""Who may make an account. allauth asks here; rooms are another matter (incidents/access.py)."""

from __future__ import annotations

from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from django.conf import settings
from django.http import HttpRequest


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]  # allauth has no types
    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """By invitation.

        The page behind an invitation link puts `invitation` into the session before it sends a newcomer here.
        """
        return settings.EXHIBIT_OPEN_SIGNUP or "invitation" in request.session


class SocialAccountAdapter(DefaultSocialAccountAdapter):  # type: ignore[misc]  # allauth has no types
    def is_open_for_signup(self, request: HttpRequest, sociallogin: Any) -> bool:
        """Whoever the team's own identity provider vouches for may have an account; it opens no room."""
        return True
