"""Create the first administrator by a one-time link instead of a password that ships with the program."""

from __future__ import annotations

from datetime import timedelta

from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone

from incidents.actions.limits import count_try
from incidents.errors import Refused, WrongSecret
from incidents.models.people.link import FirstAdminLink, hash_secret, new_secret

LASTS = timedelta(days=7)  # validity of the link


def first_admin_link() -> str | None:
    """Return the path of a new one-time link, None once there is an administrator. Earlier links stop working."""
    with transaction.atomic():
        if User.objects.filter(is_superuser=True).exists():
            return None
        secret, hashed = new_secret()
        FirstAdminLink.objects.filter(used_at__isnull=True).delete()
        FirstAdminLink.objects.create(token_hash=hashed, expires_at=timezone.now() + LASTS)
    return f"/first/{secret}/"


WRONG_LINK = (
    "This link makes no administrator: there is one already, or it ran out or was not copied whole. The server prints a"
    " new one when it starts without an administrator."
)


def look_at_first(secret: str, caller: str = "") -> None:
    """Raise `WrongSecret` unless the link can still be used."""
    if caller:
        count_try("first", caller)
    link = FirstAdminLink.objects.filter(token_hash=hash_secret(secret)).first()
    if link is None or not link.usable or User.objects.filter(is_superuser=True).exists():
        raise WrongSecret(WRONG_LINK)


def first_admin(secret: str, username: str, password: str, email: str = "") -> User:
    """Use the link and create the administrator. Raises `Refused` with what is wrong with the name or password."""
    with transaction.atomic():
        # Locked, so that two people with the link cannot both become administrators.
        link = FirstAdminLink.objects.select_for_update().filter(token_hash=hash_secret(secret)).first()
        if link is None or not link.usable or User.objects.filter(is_superuser=True).exists():
            raise WrongSecret(WRONG_LINK)
        user = User(username=username.strip(), email=email.strip(), is_staff=True, is_superuser=True)
        user.set_password(password)
        try:
            user.full_clean()
            validate_password(password, user)
        except ValidationError as error:
            raise Refused(" ".join(error.messages)) from error
        user.save()
        link.used_at, link.used_by = timezone.now(), user
        link.save(update_fields=("used_at", "used_by"))
        return user
