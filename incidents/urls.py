"""Every address of the application but those of single sign-on and administration (config/urls.py).

Each page's own `urls.py` lists its addresses; a new page is found by being there.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from django.urls import URLPattern, URLResolver, include, path

import incidents.pages
from incidents.doors import policy_reports
from incidents.doors.rest.description import reference


def _of_pages() -> list[URLPattern]:
    """Return the addresses of all pages, those with fixed words first: `rooms/new/` is no room named `new`."""
    pages = (found.name for found in iter_modules(incidents.pages.__path__) if found.ispkg)
    found = [address for name in pages for address in import_module(f"incidents.pages.{name}.urls").urlpatterns]
    return sorted(found, key=lambda address: [("<" in word, word) for word in str(address.pattern).split("/")])


urlpatterns: list[URLPattern | URLResolver] = [
    path("api/", reference, name="api-reference"),
    path("api/v1/", include("incidents.doors.rest.urls")),
    path("api/", include("incidents.doors.api.registry")),
    path("policy-reports", policy_reports.take, name="policy-reports"),
    *_of_pages(),
]
