"""Limit the bodies of requests before Django, which reads a whole body to disk before a view can refuse it.

How much a request may send is decided by its address and headers: a form or an API call as much as pasted text may have,
somebody without session or token a small form, and a member a file of known size where the page takes one
(`takes_files`) and the disk has room for it. An address that expects a few kB says so itself (`takes_at_most`). A longer
body is refused with 413 (507 without space) as soon as that is known, and what still arrives is thrown away for a moment,
so that the browser reads the answer instead of a broken connection.
"""

from __future__ import annotations

import asyncio
import io
import json
import shutil
from collections.abc import Callable
from contextlib import suppress
from functools import partial

import structlog
from django.conf import settings
from django.core.handlers.asgi import ASGIRequest
from django.http.cookie import parse_cookie
from django.http.response import HttpResponseBase
from django.template.loader import render_to_string
from django.urls import Resolver404, resolve

from incidents.content import problems
from incidents.doors.uploads import Receive, Scope, Send, asked, user_of
from incidents.errors import NoSpace, NotAMember, Refused, TooLarge
from incidents.storage.database import AWAY

log = structlog.get_logger(__name__)

View = Callable[..., HttpResponseBase]

AROUND = 64 * 1024
"""Maximum number of bytes that a form adds to its text or file: boundaries, headers, the other fields."""

STRANGER = 2**20
"""Maximum bytes of a request without session or token: forms to sign in or up are a thousandth of it."""

COPIES = 2
"""Number of copies of a file that a form's way makes on the disk for temporary files: the body, and the file in it."""

LINGER_B, LINGER_S = 64 * 2**20, 5.0
"""Bytes and seconds of a refused body that are read and thrown away."""


async def limited(scope: Scope, receive: Receive, send: Send, pages: object) -> None:
    """Pass a request on to Django if its body is not longer than allowed; refuse all others."""
    headers = {name.lower(): value for name, value in scope["headers"]}
    announced = headers.get(b"content-length")
    if announced is None and b"transfer-encoding" not in headers:
        await pages(scope, receive, send)  # type: ignore[operator]  # Django's own application
        return
    try:
        most = await _most(scope, headers, _size(announced))
    except Refused as refused:
        await _refuse(scope, receive, send, refused)
        return
    taken, answering = 0, False

    async def counted() -> dict[str, object]:
        nonlocal taken
        message = await receive()
        taken += len(message.get("body", b""))
        # Django closes its file and ends as if the sender had gone.
        return message if taken <= most else {"type": "http.disconnect"}

    async def noted(message: dict[str, object]) -> None:
        nonlocal answering
        answering = True
        await send(message)

    await pages(scope, counted, noted)  # type: ignore[operator]
    if taken > most and not answering:
        await _refuse(scope, receive, send, _too_large(most))


def _size(announced: bytes | None) -> int | None:
    """Return the announced size, None without one; the server itself refuses a value that is not a number."""
    return int(announced) if announced is not None and announced.isdigit() else None


async def _most(scope: Scope, headers: dict[bytes, bytes], size: int | None) -> int:
    """Return the maximum number of bytes of a body. Raises `Refused` if the announced size is known to be too large."""
    most, view = settings.DATA_UPLOAD_MAX_MEMORY_SIZE + AROUND, _view(scope["path"])
    if little := getattr(view, "takes_at_most", None):
        most = little
    elif not _known(headers):
        most = min(most, STRANGER)
    elif (
        size is not None
        and size > most
        and getattr(view, "takes_files", False)
        and await asked(partial(_is_member, scope))
    ):
        most = settings.EXHIBIT_MAX_FORM_BYTES + AROUND
        _require_space(size)
    if size is not None and size > most:
        raise _too_large(most)
    return most


def _known(headers: dict[bytes, bytes]) -> bool:
    """Return whether a request names its sender (session or token). The view checks whether that is true."""
    cookies = parse_cookie(headers.get(b"cookie", b"").decode("latin-1"))
    return settings.SESSION_COOKIE_NAME in cookies or b"authorization" in headers


def takes_at_most(bytes: int) -> Callable[[View], View]:
    """Return a decorator that limits the body of a view's requests to `bytes`, whoever sends them."""

    def mark(view: View) -> View:
        view.takes_at_most = bytes  # type: ignore[attr-defined]  # read above through the address
        return view

    return mark


def _view(path: str) -> View | None:
    try:
        return resolve(path).func
    except Resolver404:
        return None


def _is_member(scope: Scope) -> bool:
    try:
        user_of(ASGIRequest(scope, io.BytesIO()))
    except NotAMember:
        return False
    except AWAY as error:
        raise Refused("The server cannot store files just now. Send it again in a moment.", 503) from error
    return True


def _require_space(size: int) -> None:
    if shutil.disk_usage(settings.FILE_UPLOAD_TEMP_DIR).free - COPIES * size < settings.EXHIBIT_MIN_FREE_BYTES:
        raise NoSpace(
            "The server's disk has no room for this file. Nothing was stored. Ask an administrator to make space, then"
            " send it again."
        )


def _too_large(most: int) -> TooLarge:
    if most < AROUND:
        return TooLarge(f"This is larger than the {most / 2**10:,.0f} KiB that this address takes; nothing was stored.")
    words = f"This is larger than the {(most - AROUND) / 2**20:,.0f} MiB that this address takes in one piece; nothing was stored."
    return TooLarge(
        f"{words} Go back, what you typed is still there. Drop large files on the evidence page, or send them by curl."
    )


async def _refuse(scope: Scope, receive: Receive, send: Send, refused: Refused) -> None:
    """Answer with the reason, as JSON where programs ask, then throw away for a moment what still arrives."""
    log.info("body.refused", status=refused.status, path=scope["path"][:60])
    if problems.wanted_at(scope["path"]):
        kind = problems.MEDIA_TYPE.encode()
        body = json.dumps(problems.problem(refused.status, refused.message)).encode()
    elif scope["path"].startswith("/api/"):
        kind, body = b"application/json", json.dumps({"error": refused.message}).encode()
    else:
        shown = {"words": refused.message, "request": ASGIRequest(scope, io.BytesIO())}
        page = partial(render_to_string, "413.html", shown)
        kind, body = b"text/html; charset=utf-8", (await asked(page)).encode()
    headers = [
        (b"content-type", kind),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"no-store"),
        (b"x-content-type-options", b"nosniff"),
        (b"referrer-policy", b"strict-origin"),
        (b"connection", b"close"),
    ]
    await send({"type": "http.response.start", "status": refused.status, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": True})
    with suppress(TimeoutError):  # who still sends then has had the time to read the answer
        await asyncio.wait_for(_thrown_away(receive), LINGER_S)
    await send({"type": "http.response.body", "body": b""})


async def _thrown_away(receive: Receive) -> None:
    taken = 0
    while taken <= LINGER_B:
        message = await receive()
        taken += len(message.get("body", b""))
        if message["type"] != "http.request" or not message.get("more_body"):
            return
