"""Accounts that stand in for people of another site whose words came in a room bundle. Nobody signs in with one."""

from __future__ import annotations

from django.contrib.auth.models import User

#: What their user names begin with: no form takes a colon, so nobody can choose such a name.
STAND_IN = "elsewhere:"


def stands_in(user: User) -> bool:
    return user.username.startswith(STAND_IN)


def signs_as(user: User) -> str:
    """Return the name that signs a person's statements in a case: the user name, or the name that a stand-in holds."""
    return user.first_name if stands_in(user) else user.get_username()
