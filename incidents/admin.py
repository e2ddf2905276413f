"""Django admin pages, read only but for accounts and names of the whole site. Rows are written by `incidents.actions`."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.http import HttpRequest

from incidents.access import is_administrator
from incidents.actions import names
from incidents.actions.closing_accounts import close_account
from incidents.errors import Refused
from incidents.models.evidence.artifact import Artifact
from incidents.models.judging.site_name import SiteName
from incidents.models.people.membership import Membership
from incidents.models.room.activity import Activity
from incidents.models.room.incident import Incident
from incidents.models.room.job import Job
from rules.case.site_names import problem_of_name, problem_of_text

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


class SiteNameForm(forms.ModelForm):  # type: ignore[type-arg]  # Django takes no subscript here
    """A name of the whole site; an invalid value gives a message beside its field."""

    class Meta:
        model = SiteName
        fields = ("kind", "name", "text")

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        if cleaned.get("name") and (why := problem_of_name(cleaned.get("kind", ""), cleaned["name"])):
            self.add_error("name", why)
        if cleaned.get("text") and (why := problem_of_text(cleaned["text"])):
            self.add_error("text", why)
        others = SiteName.objects.filter(incident__isnull=True, removed_at__isnull=True).exclude(pk=self.instance.pk)
        if others.filter(kind=cleaned.get("kind"), name=cleaned.get("name")).exists():
            self.add_error("name", "This has a name already; change that one.")
        if not self.instance.pk and others.count() >= names.MOST:
            self.add_error(None, f"There are {names.MOST} names already; remove one first.")
        return cleaned


@admin.register(SiteName)
class SiteNameAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # as above
    """Names of things for all rooms. A room shows a change after its next judgement."""

    form = SiteNameForm
    list_display = ("kind", "name", "text", "author_label", "said_at", "removed_at")
    list_filter = ("kind",)
    search_fields = ("name", "text")
    actions = ("remove", "put_back")

    def has_module_permission(self, request: HttpRequest) -> bool:
        return is_administrator(request.user)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.has_module_permission(request)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return self.has_module_permission(request)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.has_module_permission(request)

    def get_queryset(self, request: HttpRequest) -> QuerySet[SiteName]:
        return SiteName.objects.filter(incident__isnull=True)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def save_model(self, request: HttpRequest, obj: SiteName, form: Any, change: bool) -> None:
        assert isinstance(request.user, User)
        row = names.put_for_all(request.user, obj.kind, obj.name, obj.text, obj.pk)
        obj.pk = row.pk

    @admin.action(description="Remove the chosen names; they can be put back")
    def remove(self, request: HttpRequest, queryset: QuerySet[SiteName]) -> None:
        assert isinstance(request.user, User)
        for row in queryset:
            names.remove_for_all(request.user, row.pk)

    @admin.action(description="Put the chosen names back")
    def put_back(self, request: HttpRequest, queryset: QuerySet[SiteName]) -> None:
        assert isinstance(request.user, User)
        for row in queryset:
            try:
                names.put_back_for_all(request.user, row.pk)
            except Refused as refused:
                self.message_user(request, f"{row}: {refused.message}", level="error")
