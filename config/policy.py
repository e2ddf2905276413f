"""Where browsers report what the content policy stopped."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest
from django.http.response import HttpResponseBase

GROUP = "exhibit"
"""Name by which the policy speaks of the address."""
ADDRESS = "/policy-reports"


def with_address(get_response: Callable[[HttpRequest], HttpResponseBase]) -> Callable[[HttpRequest], HttpResponseBase]:
    """Return a middleware that adds the address of the report group `GROUP` to each response whose policy names it."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        if f"report-to {GROUP}" in response.get("Content-Security-Policy", ""):
            response["Reporting-Endpoints"] = f'{GROUP}="{ADDRESS}"'
        return response

    return middleware
