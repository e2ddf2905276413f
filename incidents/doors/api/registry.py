"""Find the resources of the API: every module of this folder with `urlpatterns`. To add one, add a file."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []
for found in iter_modules([str(Path(__file__).parent)], "incidents.doors.api."):
    if found.name != __name__:
        urlpatterns += import_module(found.name).urlpatterns
