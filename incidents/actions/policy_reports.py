"""Count reports of the content policy in their groups, and forget them."""

from __future__ import annotations

from dataclasses import asdict

from django.contrib.auth.models import AnonymousUser, User
from django.db import connection
from django.utils import timezone

from incidents import access
from incidents.models.people.sign_in import browser_name
from incidents.models.site.policy_report import FURTHER, MOST, PolicyReport, Seen


def note(seen: Seen, agent: str) -> None:
    """Count a report in its group, or in `FURTHER` if there are `MOST` groups; simultaneous reports are all counted."""
    groups = PolicyReport.objects
    if not groups.filter(**asdict(seen)).exists() and groups.count() >= MOST:
        seen = FURTHER
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {PolicyReport._meta.db_table} AS known"
            " (directive, blocked, page, source, browser, count, first_at, last_at)"
            " VALUES (%(directive)s, %(blocked)s, %(page)s, %(source)s, %(browser)s, 1, %(now)s, %(now)s)"
            " ON CONFLICT (directive, blocked, page, source) DO UPDATE"
            " SET count = known.count + 1, browser = excluded.browser, last_at = excluded.last_at",
            {**asdict(seen), "browser": browser_name(agent), "now": timezone.now()},
        )


def forget_all(user: User | AnonymousUser) -> None:
    """Forget every group, after its cause was mended. For administrators of the site only."""
    access.require_administrator(user)
    PolicyReport.objects.all().delete()
