"""Django admin pages, read only. Rows are written by `incidents.actions`, which also write the activity record."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.http import HttpRequest

from incidents.actions.closing_accounts import close_account
from incidents.errors import Refused
from incidents.models.evidence.artifact import Artifact
from incidents.models.people.membership import Membership
from incidents.models.room.activity import Activity
from incidents.models.room.incident import Incident
from incidents.models.room.job import Job

admin.site.unregister(User)


@admin.register(User)
class PeopleAdmin(UserAdmin):  # type: ignore[type-arg]  # as below
    """Accounts. An account is closed, never deleted: what the person wrote must keep an author."""

    actions = ("close_accounts",)

    @admin.action(description="Close the chosen accounts; what these people wrote stays")
    def close_accounts(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        for user in queryset:
            try:
                close_account(user)
            except Refused as refused:
                self.message_user(request, f"{user}: {refused.message}", level="error")

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class ReadOnly(admin.ModelAdmin):  # type: ignore[type-arg]  # Django takes no subscript here
    """Base class that only shows rows. A change here would bypass permissions, events and the activity record."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(Incident)
class IncidentAdmin(ReadOnly):
    list_display = ("title", "slug", "status", "created_by", "created_at")
    list_filter = ("status",)
    search_fields = ("title", "slug")


@admin.register(Membership)
class MembershipAdmin(ReadOnly):
    list_display = ("incident", "user", "role", "team")
    list_filter = ("role", "team")


@admin.register(Artifact)
class ArtifactAdmin(ReadOnly):
    list_display = ("incident", "number", "name", "state", "size", "received_at")
    list_filter = ("state",)


@admin.register(Job)
class JobAdmin(ReadOnly):
    """Jobs of the workers and why they failed: the first place to look when a room makes no progress."""

    list_display = ("id", "kind", "incident", "state", "attempt", "worker", "heartbeat_at", "cause")
    list_filter = ("state", "kind", "queue")


@admin.register(Activity)
class ActivityAdmin(ReadOnly):
    list_display = ("incident", "seq", "at", "actor_name", "verb", "object")
    list_filter = ("verb",)
