"""Addresses of the REST API: its operations, its description, and a problem for every other address below."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, path, re_path
from django.views.decorators.csrf import csrf_exempt

from incidents.doors.rest import description
from incidents.doors.rest.api import answered, unknown
from incidents.doors.rest.operations import api


def _operations() -> list[URLPattern | URLResolver]:
    """Return ninja's addresses, each answering a method that it does not take with a problem."""
    found = [entry for entry in api.urls[0] if isinstance(entry, URLPattern) and entry.name != "api-root"]
    for entry in found:
        entry.callback = answered(entry.callback)
    return [*found]


operations = _operations()
urlpatterns: list[URLPattern | URLResolver] = [
    path("openapi.json", description.openapi, name="api-openapi"),
    *operations,
    # No CSRF check before it: an address that is none is a 404 for every method.
    re_path(r"^(?P<rest>.*)$", csrf_exempt(answered(unknown)), name="api-unknown"),
]
