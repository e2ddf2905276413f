"""`/healthz`: whether this process can do its work. Asked by supervisors; it says nothing about rooms or people."""

from __future__ import annotations

from collections.abc import Callable

import redis
from django.db import Error, connection
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from incidents import live, store
from incidents.errors import Refused


@require_safe
@never_cache
def healthz(request: HttpRequest) -> JsonResponse:
    """Answer 200 while the database answers, else 503; what else is wrong is named and does not stop the pages."""
    found = {name: _word(check) for name, check in _CHECKS.items()}
    return JsonResponse({"state": found}, status=200 if found["database"] == "ok" else 503)


def _database() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")


def _space() -> None:
    store.require_space(0)


_CHECKS: dict[str, Callable[[], object]] = {"database": _database, "broker": live.ping, "space": _space}


def _word(check: Callable[[], object]) -> str:
    try:
        check()
    except (Error, redis.RedisError, OSError, Refused):
        return "not available"
    return "ok"
