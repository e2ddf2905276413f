"""Receive files that strangers send by a request's link: an ASGI application beside Django, like `uploads`.

    PUT  /give/<token>/<name>     `curl -T` and the page's own script: streamed to disk, the cap enforced while reading
    POST /give/<token>/           the page's forms: passed to Django once the link is checked, cut at the cap

Who may send and how much is decided before the first byte of the body is read.
"""

from __future__ import annotations

import asyncio
from functools import partial
from urllib.parse import unquote

import structlog

from incidents.actions import quarantine
from incidents.doors.uploads import Answer, Call, Gone, Receive, Scope, Send, asked
from incidents.errors import Refused, StoreError, TooLarge
from incidents.models.evidence.quarantine import GiveLink, QuarantinedFile
from incidents.storage import store
from incidents.storage.database import AWAY, patiently

log = structlog.get_logger(__name__)

# Maximum number of bytes that a form adds to a file: boundaries, headers, the other fields.
AROUND = 64 * 1024


async def application(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer one PUT; a refusal is a JSON object with `error`, a text for the sender."""
    gift = Gift(scope, receive)
    try:
        answer = await gift.answer()
    except Refused as error:
        challenge = (("WWW-Authenticate", "Bearer"),) if error.status == 401 else ()
        answer = Answer(error.status, {"error": error.message}, challenge)
    except Gone:
        return
    except (*AWAY, StoreError) as error:
        log.warning("giving.away", error=str(error))
        answer = Answer(
            503, {"error": "The server cannot store files at the moment. Send it again."}, (("Retry-After", "5"),)
        )
    await gift.send(send, answer)


class Gift(Call):
    """One file sent by a link."""

    def __init__(self, scope: Scope, receive: Receive) -> None:
        super().__init__(scope, receive)
        path = scope.get("raw_path") or scope["path"].encode()
        pieces = path.split(b"?")[0].decode("latin-1").split("/")
        self.secret = unquote(pieces[2])
        self.name = unquote("/".join(pieces[3:])) or "unnamed"
        self.caller: str = (scope.get("client") or ("",))[0]

    async def answer(self) -> Answer:
        link = await asked(partial(quarantine.look_at, self.secret, self.caller))
        announced = self._announced("content-length")
        await asked(partial(quarantine.require_room, link, announced or 0))
        incoming = await asyncio.to_thread(store.Incoming)
        try:
            try:
                await self._take(incoming, announced, link.most_bytes)
            except Refused as error:
                raise _too_large(link) if error.status == 413 else error from None
            enter = partial(quarantine.enter, link, incoming, self.name, self.caller)
            file: QuarantinedFile = await asked(partial(patiently, enter))
        finally:
            await asyncio.to_thread(incoming.discard)
        words = "It waits in quarantine until somebody of the team takes it in."
        return Answer(201, {"id": str(file.pk), "size": file.size, "sha256": file.sha256, "next": words})


def _too_large(link: GiveLink) -> TooLarge:
    return TooLarge(f"This link takes files of at most {link.most_bytes / 2**20:,.0f} MiB. Send a part of it.")


async def guarded(scope: Scope, receive: Receive, send: Send, pages: object) -> None:
    """Pass a form to Django, checked and counted here, since Django reads a whole body before a view can refuse it.

    If the link has ended or the body is above the cap, the request is passed on without its body; the page says what is
    wrong.
    """
    gift = Gift(scope, receive)
    try:
        link = await asked(partial(quarantine.look_at, gift.secret, gift.caller))
        announced = gift._announced("content-length")
        most = link.most_bytes + AROUND
        await asked(partial(quarantine.require_room, link, 0))
    except Refused as error:
        await _page(send, error)
        return
    except AWAY:
        await _page(send, Refused("The server cannot store files at the moment. Send it again.", 503))
        return
    if announced is None or announced > most:
        await _page(send, _too_large(link) if announced else Refused("Name its size in Content-Length.", 411))
        return
    taken = 0

    async def counted() -> dict[str, object]:
        nonlocal taken
        message = await receive()
        taken += len(message.get("body", b""))
        return message if taken <= most else {"type": "http.disconnect"}

    await pages(scope, counted, send)  # type: ignore[operator]  # Django's own application


async def _page(send: Send, error: Refused) -> None:
    """Answer a refusal with a small page; the body is not read, so the connection is closed."""
    from django.template.loader import render_to_string

    body = (await asked(partial(render_to_string, "upload_link/give_over.html", {"words": error.message}))).encode()
    headers = [
        (b"content-type", b"text/html; charset=utf-8"),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"no-store"),
        (b"x-content-type-options", b"nosniff"),
        (b"x-robots-tag", b"noindex"),
        (b"referrer-policy", b"strict-origin"),
        (b"connection", b"close"),
    ]
    await send({"type": "http.response.start", "status": error.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
