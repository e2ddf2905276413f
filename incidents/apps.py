"""Django's app configuration of `incidents`."""

from __future__ import annotations

from importlib import import_module
from pkgutil import walk_packages
from typing import Any

from django.apps import AppConfig
from django.contrib.auth.signals import user_logged_in, user_logged_out, user_login_failed
from django.http import HttpRequest


class IncidentsConfig(AppConfig):
    name = "incidents"
    default_auto_field = "django.db.models.BigAutoField"

    def import_models(self) -> None:
        """Import each module of `incidents/models/`: its `__init__.py` stays empty, so nothing else does."""
        super().import_models()
        package = import_module("incidents.models")
        for module in walk_packages(package.__path__, "incidents.models."):
            import_module(module.name)

    def ready(self) -> None:
        """Connect signals: sign-ins are recorded, and signing out ends this session's streams within the same second."""
        from allauth.mfa.signals import authentication_failed  # it imports models

        user_logged_in.connect(_record_in, dispatch_uid="incidents.record_in")
        user_login_failed.connect(_record_refused, dispatch_uid="incidents.record_refused")
        authentication_failed.connect(_record_wrong_code, dispatch_uid="incidents.record_wrong_code")
        user_logged_out.connect(_end_streams, dispatch_uid="incidents.end_streams")


def _record_in(sender: Any, request: HttpRequest, user: Any, **_: Any) -> None:
    from incidents.storage import devices  # as below

    devices.record_in(request, user)


def _record_refused(sender: Any, credentials: dict[str, Any], request: HttpRequest | None = None, **_: Any) -> None:
    from incidents.storage import devices  # as below

    devices.record_refused(request, credentials)


def _record_wrong_code(sender: Any, request: HttpRequest, user: Any, **_: Any) -> None:
    from incidents.storage import devices  # as below

    devices.record_wrong_code(request, user)


def _end_streams(sender: Any, request: HttpRequest, user: Any, **_: Any) -> None:
    from incidents.storage import live  # models may be imported only when the apps are ready

    if user is not None and request.session.session_key:
        live.end_streams(user.pk, session=request.session.session_key)
