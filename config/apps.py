"""Django's app configurations: `config` loads Celery and creates the folders of the settings; the admin has a site of ours."""

from __future__ import annotations

import importlib

from django.apps import AppConfig
from django.conf import settings
from django.contrib.admin.apps import AdminConfig as DjangosAdminConfig


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


class AdminConfig(DjangosAdminConfig):
    default_site = "config.admin_site.AdminSite"
