"""allauth adapters: who may create an account. Access to rooms is decided in incidents/access.py."""

from __future__ import annotations

import base64
import secrets
from collections.abc import Mapping
from typing import Any, ClassVar

from allauth.account.adapter import DefaultAccountAdapter
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.utils import is_mfa_enabled
from allauth.mfa.webauthn.internal.flows import did_use_passwordless_login
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpRequest, HttpResponse

from incidents.actions import members
from incidents.errors import Refused
from incidents.pages.shell import refusal
from incidents.storage import devices, seals
from incidents.storage.devices import NO_ADDRESS


class AccountAdapter(DefaultAccountAdapter):
    error_messages: ClassVar[Mapping[str, object]] = {
        **DefaultAccountAdapter.error_messages,
        "username_blacklisted": "This user name cannot be used. Choose another one.",
        "username_password_mismatch": "The user name or the password is not right.",
        "username_taken": "Somebody has this user name already. Choose another one.",
    }

    def get_client_ip(self, request: HttpRequest) -> str:
        """Return the address of the client; a placeholder if the server listens on a socket in the file system."""
        return str(super().get_client_ip(request)) if request.META.get("REMOTE_ADDR") else NO_ADDRESS

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """Allow sign-up if it is open to all, or by an invitation that is usable and has no account yet.

        The page behind an invitation link puts `invitation` into the session before it sends a newcomer here.
        """
        return settings.EXHIBIT_OPEN_SIGNUP or members.may_sign_up(request.session.get("invitation", ""))

    def pre_login(self, request: HttpRequest, user: Any, **kwargs: Any) -> HttpResponse | None:
        """Record that the password was right before the second factor is asked for: many leave at that question."""
        refused: HttpResponse | None = super().pre_login(request, user, **kwargs)
        if refused is None and is_mfa_enabled(user) and not did_use_passwordless_login(request, user):
            devices.record_half(request, user)
        return refused

    def save_user(self, request: HttpRequest, user: User, form: Any, commit: bool = True) -> User:
        """Make an account; without open sign-up it is the only one of its invitation, also if two ask at once."""
        try:
            with transaction.atomic():
                made: User = super().save_user(request, user, form, commit)
                # The identity provider vouches for whoever comes by it.
                if not settings.EXHIBIT_OPEN_SIGNUP and not hasattr(form, "sociallogin"):
                    members.sign_up(made, request.session.get("invitation", ""))
        except Refused as refused:
            raise ImmediateHttpResponse(refusal(request, refused)) from refused
        return made


class SocialAccountAdapter(DefaultSocialAccountAdapter):
    def is_open_for_signup(self, request: HttpRequest, sociallogin: Any) -> bool:
        """Allow an account for everybody whom the team's identity provider vouches for; it gives access to no room."""
        return True


class MFAAdapter(DefaultMFAAdapter):
    """Keep the secrets of second factors sealed, so that a copy of the database alone gives nobody their codes."""

    def get_public_key_credential_rp_entity(self) -> dict[str, str]:
        """Return the party that a security key is bound to: the host of the request, under the program's name."""
        return {**super().get_public_key_credential_rp_entity(), "name": "Exhibit"}

    def encrypt(self, text: str) -> str:
        return seals.seal(text)

    def decrypt(self, encrypted_text: str) -> str:
        """Decrypt the secret; if it was sealed with another key, return a random one, so that no code fits."""
        told = seals.unseal(encrypted_text)
        return base64.b32encode(secrets.token_bytes(20)).decode("ascii") if told is None else told
