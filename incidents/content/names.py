"""How people are called on pages and in mails."""

from __future__ import annotations

from django.contrib.auth.models import User

from incidents.content.visible import visible

#: What user names of people begin with who only exist where a room bundle came from; nobody can choose such a name.
STAND_IN = "elsewhere:"


def known_as(user: User | None) -> str:
    """Name a person by full name, else by user name; the program itself is called Exhibit.

    A person without an active account is a "former member"; the number only distinguishes several of them. Somebody
    whose words came in a room bundle has no account here at all.
    """
    if user is None:
        return "Exhibit"
    if user.username.startswith(STAND_IN):
        return f"{visible(user.first_name)} (elsewhere)"
    if not user.is_active:
        return f"former member {user.pk}"
    return visible(user.get_full_name() or user.get_username())


def signs_as(user: User) -> str:
    """Return the name under which a person's word stands in a case: the user name, or whom an account stands in for."""
    return user.first_name if user.username.startswith(STAND_IN) else user.get_username()


def letters_of(user: User | None) -> str:
    """Return two letters for an avatar, from the full name if there is one."""
    if user is None or not user.is_active:
        return "–"
    words = (user.get_full_name() or user.get_username()).replace(".", " ").replace("_", " ").replace("-", " ").split()
    letters = "".join(word[0] for word in words[:2]) if len(words) > 1 else "".join(words)[:2]
    return visible(letters.upper())
