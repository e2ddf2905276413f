"""The app's entry for Django."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from django.apps import AppConfig


class IncidentsConfig(AppConfig):
    name = "incidents"
    default_auto_field = "django.db.models.BigAutoField"

    def import_models(self) -> None:
        """Load each file of `incidents/models/`: its `__init__.py` stays empty, so nobody else would."""
        super().import_models()
        package = import_module("incidents.models")
        for module in iter_modules(package.__path__, "incidents.models."):
            import_module(module.name)
