"""Django's app configuration of `incidents`."""

from __future__ import annotations

from importlib import import_module
from pkgutil import walk_packages
from typing import Any

from django.apps import AppConfig
from django.contrib.auth.signals import user_logged_in, user_logged_out
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
        """Connect Django's signals: a new sign-in is listed, and signing out ends the streams within the same second."""
        user_logged_in.connect(_note_signed_in, dispatch_uid="incidents.note_signed_in")
        user_logged_out.connect(_end_streams, dispatch_uid="incidents.end_streams")


def _note_signed_in(sender: Any, request: HttpRequest, user: Any, **_: Any) -> None:
    from incidents.storage import devices  # as below

    devices.note_signed_in(request, user)


def _end_streams(sender: Any, request: HttpRequest, user: Any, **_: Any) -> None:
    from incidents.storage import live  # models may be imported only when the apps are ready

    if user is not None and request.session.session_key:
        live.end_streams(user.pk, session=request.session.session_key)
