"""How people are called on pages and in mails."""

from __future__ import annotations

from django.contrib.auth.models import User

from incidents.content.visible import visible
from incidents.models.people.stand_ins import stands_in


def known_as(user: User | None) -> str:
    """Name a person by full name, else by user name; the program itself is called Exhibit.

    A person without an active account is a "former member"; the number only distinguishes several of them. Somebody
    whose words came in a room bundle has no account here at all.
    """
    if user is None:
        return "Exhibit"
    if stands_in(user):
        return f"{visible(user.first_name)} (elsewhere)"
    if not user.is_active:
        return f"former member {user.pk}"
    return visible(user.get_full_name() or user.get_username())


def letters_of(user: User | None) -> str:
    """Return two letters for an avatar, from the full name if there is one."""
    if user is None or not user.is_active:
        return "–"
    words = (user.get_full_name() or user.get_username()).replace(".", " ").replace("_", " ").replace("-", " ").split()
    letters = "".join(word[0] for word in words[:2]) if len(words) > 1 else "".join(words)[:2]
    return visible(letters.upper())
