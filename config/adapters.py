"""allauth adapters: who may create an account. Access to rooms is decided in incidents/access.py."""

from __future__ import annotations

from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from django.conf import settings
from django.http import HttpRequest


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]  # allauth has no types
    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """Allow sign-up if it is open to all, or by invitation.

        The page behind an invitation link puts `invitation` into the session before it sends a newcomer here.
        """
        return settings.EXHIBIT_OPEN_SIGNUP or "invitation" in request.session


class SocialAccountAdapter(DefaultSocialAccountAdapter):  # type: ignore[misc]  # allauth has no types
    def is_open_for_signup(self, request: HttpRequest, sociallogin: Any) -> bool:
        """Allow an account for everybody whom the team's identity provider vouches for; it gives access to no room."""
        return True
