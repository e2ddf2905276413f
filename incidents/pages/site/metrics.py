"""The figures of this site for a monitoring system, for whoever has the token."""

from __future__ import annotations

import hmac

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from incidents.content.metrics import exposition
from incidents.storage import meters


@require_GET
@never_cache
def metrics(request: HttpRequest) -> HttpResponse:
    """Answer with all figures; 404 if EXHIBIT_METRICS_TOKEN is not set, a refusal for a caller without the token."""
    if not meters.on():
        raise Http404
    sent = request.headers.get("Authorization", "")
    if not hmac.compare_digest(sent.encode(), f"Bearer {settings.EXHIBIT_METRICS_TOKEN}".encode()):
        return HttpResponse(
            "Send the token of EXHIBIT_METRICS_TOKEN: Authorization: Bearer ...\n",
            "text/plain",
            401,
            headers={"WWW-Authenticate": "Bearer"},
        )
    body, kind = exposition(request.headers.get("Accept", ""))
    return HttpResponse(body, kind)
