"""Take in what browsers report of the content policy: small, few, and stripped of all that names a room or opens one.

Both forms are read: that of `report-uri` (one object in `csp-report`) and that of `report-to` (a list). Of an address only
the name of its route stays, or its origin if it is another's: never a path, a query, a fragment or a sample of a script.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import SplitResult, urlsplit

import structlog
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import Resolver404, resolve
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from incidents.actions.limits import count_try
from incidents.actions.policy_reports import note
from incidents.doors.bodies import takes_at_most
from incidents.errors import Refused
from incidents.models.site.policy_report import Seen
from incidents.storage.database import AWAY

log = structlog.get_logger(__name__)

MOST_B = 16 * 2**10
"""Maximum bytes of a body; a browser sends one or two kB for each report."""
MOST_AT_ONCE = 10
"""Reports of one body that are read."""
FROM_ONE, FROM_ALL, WITHIN_S = 60, 600, 300
"""Maximum number of bodies from one address and from all, within so many seconds."""

KINDS = {"application/csp-report", "application/reports+json", "application/json"}
DIRECTIVE = re.compile(r"[a-z]+(?:-[a-z]+){1,3}")
WORDS = {"inline", "eval", "wasm-eval", "trusted-types-policy", "trusted-types-sink", "self", "data", "blob"}
"""What browsers write for something that has no address; `data` and `blob` are schemes whose rest would be content."""
SCHEME = re.compile(r"[a-z][a-z0-9+.-]{0,20}")
HOST = re.compile(r"[a-z0-9._-]{1,80}|\[[0-9a-f:.]{2,45}\]")
OUR_FILE = re.compile(r"(?P<name>[\w./-]{1,80}?)(?:\.[0-9a-f]{12})?(?P<end>\.(?:js|css|mjs))")
"""A file of ours, whose name changes with its content (`page.0123456789ab.js`)."""
UNKNOWN = "unknown"


@csrf_exempt
@require_POST
@takes_at_most(MOST_B)
def take(request: HttpRequest) -> HttpResponse:
    """Count the reports of one body. Browsers send them by themselves, without a token, and show nobody the answer."""
    try:
        _take(request)
    except Refused as refused:
        return HttpResponse(refused.message, "text/plain", refused.status)
    except AWAY as error:
        log.warning("policy_reports.away", error=str(error))
        return HttpResponse(status=503)
    return HttpResponse(status=204)


def _take(request: HttpRequest) -> None:
    count_try("policy-reports", request.META.get("REMOTE_ADDR", ""), FROM_ONE, WITHIN_S)
    count_try("policy-reports-of-all", "", FROM_ALL, WITHIN_S)
    if request.content_type not in KINDS:
        raise Refused("A report of the content policy is JSON.", 415)
    for said in _reports(request.body):
        seen = _seen(said, request.get_host())
        if seen is not None:
            note(seen, request.headers.get("User-Agent", ""))


def _reports(body: bytes) -> Iterator[dict[str, Any]]:
    """Yield the reports of a body under the names of `report-uri`."""
    try:
        told = json.loads(body)
    except (ValueError, RecursionError):
        raise Refused("This is no JSON.", 400) from None
    if isinstance(told, dict):
        if isinstance(one := told.get("csp-report"), dict):
            yield one
        return
    for one in told[:MOST_AT_ONCE] if isinstance(told, list) else ():
        if isinstance(one, dict) and one.get("type") == "csp-violation" and isinstance(said := one.get("body"), dict):
            yield {
                "effective-directive": said.get("effectiveDirective"),
                "blocked-uri": said.get("blockedURL"),
                "document-uri": said.get("documentURL"),
                "source-file": said.get("sourceFile"),
            }


def _seen(said: dict[str, Any], host: str) -> Seen | None:
    """Return what is stored of a report; None if it does not come from a page of ours."""
    parts = _parts(_text(said, "document-uri"))
    if parts is None or parts.netloc.lower() != host.lower():
        return None
    directive = (_text(said, "effective-directive") or _text(said, "violated-directive")).split(" ")[0].lower()
    return Seen(
        directive[:40] if DIRECTIVE.fullmatch(directive) else UNKNOWN,
        _origin(_text(said, "blocked-uri"), host) or UNKNOWN,
        _route(parts.path),
        _origin(_text(said, "source-file"), host),
    )


def _text(said: dict[str, Any], name: str) -> str:
    value = said.get(name)
    return value if isinstance(value, str) else ""


def _parts(address: str) -> SplitResult | None:
    """Split an address into its parts; return None if it is not an address."""
    try:
        return urlsplit(address)
    except ValueError:
        return None


def _origin(address: str, host: str) -> str:
    """Reduce an address to what may be stored: a word, a scheme, an origin, a file of ours or "self"; "" for none.

    >>> _origin("https://cdn.example/a/b.js?key=1", "us"), _origin("data:text/html,secret", "us"), _origin("inline", "us")
    ('https://cdn.example', 'data', 'inline')
    >>> _origin("moz-extension://0d1c/inject.js", "us"), _origin("https://us/rooms/a-room/", "us")
    ('moz-extension', 'self')
    """
    if address in WORDS or not address:
        return address
    parts = _parts(address)
    if parts is None or not SCHEME.fullmatch(parts.scheme):
        return UNKNOWN
    if parts.scheme not in {"http", "https", "ws", "wss"}:
        return parts.scheme
    if parts.netloc.lower() == host.lower():
        return _file(parts.path) or "self"
    try:
        name, port = parts.hostname or "", parts.port
    except ValueError:  # no number, or none of a port
        return f"{parts.scheme}://{UNKNOWN}"
    name = f"[{name}]" if ":" in name else name
    return f"{parts.scheme}://{name if HOST.fullmatch(name) else UNKNOWN}" + (f":{port}" if port else "")


def _file(path: str) -> str:
    """Return the name of a file of ours without the hash in it, "" for any other address."""
    before = f"/{settings.STATIC_URL.strip('/')}/"
    found = OUR_FILE.fullmatch(path.removeprefix(before)) if path.startswith(before) else None
    return f"{found['name']}{found['end']}" if found else ""


def _route(path: str) -> str:
    """Return the name of the route of an address of ours: no room's name, no link's secret."""
    try:
        return resolve(path).view_name[:80]
    except Resolver404:
        return UNKNOWN
