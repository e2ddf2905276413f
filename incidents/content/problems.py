"""Refusals of the REST API as problem details (RFC 9457), wherever they are made."""

from __future__ import annotations

from http.client import responses
from typing import Any

MEDIA_TYPE = "application/problem+json"


def problem(status: int, detail: str, **more: Any) -> dict[str, Any]:
    """Return the members of a problem: `detail` is for people, `more` for programs.

    >>> problem(409, "The room is open.")["title"]
    'Conflict'
    """
    return {
        "type": "about:blank",
        "title": responses.get(status, "Refused"),
        "status": status,
        "detail": detail,
        **more,
    }


def wanted_at(path: str) -> bool:
    """Return whether refusals at this path are problem details; at other API paths they are `{"error": words}`."""
    return path.startswith("/api/v1/")
