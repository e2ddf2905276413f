"""Django's app configuration of `config`: load Celery, create the folders of the settings."""

from __future__ import annotations

import importlib

from django.apps import AppConfig
from django.conf import settings


class ExhibitConfig(AppConfig):
    name = "config"
    verbose_name = "Exhibit"

    def ready(self) -> None:
        # Imported here and not in config/__init__.py, which stays empty. Without it the web process would use Celery's
        # default broker.
        importlib.import_module("config.celery")
        # Django's checks and WhiteNoise complain about folders that are missing at start.
        for folder in settings.FOLDERS:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
