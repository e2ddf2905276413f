"""Receive large bodies in an ASGI application beside Django, which reads a whole body before a view can refuse it.

    PUT  /api/rooms/<slug>/uploads/<name>      `curl -T`, with `Authorization: Bearer <token>`
    POST /api/rooms/<slug>/uploads/            tus 1.0: create (Upload-Length, Upload-Metadata)
    HEAD, PATCH, DELETE  .../uploads/<id>      tus 1.0: how far, go on, give up; also POST with X-HTTP-Method-Override,
                                               for clients that know no other method (old versions of wget)

Sender, origin and size are checked before the first byte of the body is read. Sessions need the CSRF header and an
origin of this server; a token works for PUT and tus alike. Every upload ends in `actions.artifacts.receive`.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import io
import json
import uuid
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any, TypeVar
from urllib.parse import unquote

import structlog
from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib.auth import get_user
from django.contrib.auth.models import User
from django.core.handlers.asgi import ASGIRequest
from django.http.request import split_domain_port, validate_host
from django.middleware.csrf import CsrfViewMiddleware

from incidents import access
from incidents.access import Right, Room
from incidents.actions import artifacts
from incidents.actions.limits import count_try
from incidents.content.visible import visible_name
from incidents.errors import AlreadyHere, NotAMember, Refused, RoomClosed, StoreError
from incidents.models.evidence.artifact import Artifact, CorrectedField, Way
from incidents.models.evidence.upload import Upload
from incidents.storage import quotas, store
from incidents.storage.database import AWAY, let_go, patiently

log = structlog.get_logger(__name__)

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]
T = TypeVar("T")

TUS = (b"tus-resumable", b"1.0.0")
# Bytes gathered before one write in the disk's thread: small enough that ten uploads at once cost little memory.
GATHER = 1 << 20
# Seconds of silence after which a sender counts as gone; what it sent stays on disk, so that it can resume.
SILENT_S = 120
_HASHES_KEPT = 64


class Gone(Exception):
    """The sender broke the connection."""


def user_of(request: ASGIRequest) -> User:
    """Return whose session a request has; raises `NotAMember`."""
    engine = import_module(settings.SESSION_ENGINE)
    request.session = engine.SessionStore(request.COOKIES.get(settings.SESSION_COOKIE_NAME))
    user = get_user(request)
    if not isinstance(user, User) or not user.is_active:
        raise NotAMember
    return user


@dataclass(frozen=True)
class Answer:
    status: int
    body: Mapping[str, Any] | None = None
    headers: tuple[tuple[str, str], ...] = ()


async def application(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer one request; a refusal is a JSON object with `error`, the text of `Refused`."""
    call = Call(scope, receive)
    try:
        answer = await call.answer()
    except RoomClosed as error:
        # Marked apart from other conflicts: what arrived stays on disk until the room is opened again.
        answer = Answer(error.status, {"error": error.message}, (("Exhibit-Closed", "true"),))
    except Refused as error:
        challenge = (("WWW-Authenticate", "Bearer"),) if error.status == 401 else ()
        answer = Answer(error.status, {"error": error.message}, challenge)
    except Gone:
        return  # the sender has gone, nobody waits for an answer
    except (*AWAY, StoreError) as error:
        log.warning("uploads.away", error=str(error))
        words = (
            "The server cannot store files just now. What arrived is kept where the upload can be resumed; try again."
        )
        answer = Answer(503, {"error": words}, (("Retry-After", "5"),))
    await call.send(send, answer)


class Call:
    """One request, with what was read of it so far."""

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self.scope = scope
        self.receive = receive
        self.method: str = scope["method"]
        self.headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        # /api/rooms/<slug>/uploads/<tail>; raw_path, so that an encoded slash in a name stays inside the name
        path = scope.get("raw_path") or scope["path"].encode()
        pieces = path.split(b"?")[0].decode("latin-1").split("/")
        self.slug = unquote(pieces[3])
        self.tail = unquote("/".join(pieces[5:]))
        self.more = True  # whether more of the body is to come
        override = self.headers.get("x-http-method-override", "").upper()
        if self.method == "POST" and override in ("HEAD", "PATCH", "DELETE"):
            self.method = override

    async def answer(self) -> Answer:
        if self.method == "OPTIONS":
            extensions = (("Tus-Version", "1.0.0"), ("Tus-Extension", "creation,termination"))
            return Answer(204, None, (*extensions, ("Tus-Max-Size", str(settings.EXHIBIT_MAX_UPLOAD_BYTES))))
        room = await asked(self._room)
        if self.method == "PUT" and self.tail:
            room.require_more_evidence()
            return await self._put(room)
        if self.headers.get("tus-resumable") != "1.0.0":
            raise Refused("This address takes tus 1.0 uploads: send Tus-Resumable: 1.0.0.", 412)
        if self.method == "POST" and not self.tail:
            return await asked(partial(self._create, room))
        upload = await asked(partial(self._upload, room))
        match self.method:
            case "HEAD":
                return await self._head(room, upload)
            case "PATCH":
                return await self._patch(room, upload)
            case "DELETE":
                await asked(partial(_give_up, upload))
                return Answer(204)
        raise Refused("This address does not accept that method.", 405)

    # --- sender and origin ------------------------------------------------------------------------------------

    def _room(self) -> Room:
        """Check the sender by the headers alone. A stranger gets the same answer for every room and for nonsense."""
        kind, _, secret = self.headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer":
            count_try("token", (self.scope.get("client") or ("",))[0], most=600)
            room = access.enter_with_token(self.slug, secret.strip())
            room.require(Right.UPLOAD)
            return room
        if self.method == "PUT":
            raise Refused("Send the room's upload token: curl -H 'Authorization: Bearer TOKEN' -T FILE ...", 401)
        request = ASGIRequest(self.scope, io.BytesIO())
        user = user_of(request)
        room = access.enter(user, self.slug)
        self._same_origin(request)
        room.require(Right.UPLOAD)
        return room

    def _same_origin(self, request: ASGIRequest) -> None:
        """Refuse requests that another site made a browser send: Django's CSRF check, and a check of the origin."""
        host = self.headers.get("host", "")
        if not validate_host(split_domain_port(host)[0], settings.ALLOWED_HOSTS):
            raise Refused("This is not an address of this server.", 400)
        origin = self.headers.get("origin")
        if origin is not None and origin not in (f"{request.scheme}://{host}", *settings.CSRF_TRUSTED_ORIGINS):
            raise Refused("Uploads are taken from this server's own pages only.", 403)
        check = CsrfViewMiddleware(_unused)
        check.process_request(request)
        # Checked as a POST without a body: HEAD would skip the check, and the token can only come in the header.
        request.method = "POST"
        if check.process_view(request, _unused, (), {}) is not None:
            raise Refused("The page is out of date: load it again, then send the file again.", 403)

    # --- PUT --------------------------------------------------------------------------------------------------

    async def _put(self, room: Room) -> Answer:
        announced = self._announced("content-length")
        if announced is not None:
            store.require_size(announced)
        await asked(partial(_require_quota, room, announced or 0))
        incoming = await asyncio.to_thread(store.Incoming)
        try:
            await self._take(incoming, announced)
            hints = {
                field: self.headers[f"x-exhibit-{field}"]
                for field in CorrectedField.values
                if f"x-exhibit-{field}" in self.headers
            }
            try:
                artifact = await _received(room, incoming, self.tail, Way.PUT, hints)
            except AlreadyHere as error:
                return Answer(409, {"error": error.message, "artifact": error.number})
            except RoomClosed as error:
                raise RoomClosed(f"{error.message} The file arrived meanwhile and was not stored.") from None
        finally:
            await asyncio.to_thread(incoming.discard)
        return Answer(201, _of(artifact))

    # --- tus --------------------------------------------------------------------------------------------------

    def _create(self, room: Room) -> Answer:
        room.require_more_evidence()
        size = self._announced("upload-length")
        if size is None:
            raise Refused("Upload-Length is missing.")
        store.require_size(size)
        _require_quota(room, size)
        about = _metadata(self.headers.get("upload-metadata", ""))
        name = about.pop("filename", None) or about.pop("name", None) or "unnamed"
        said = artifacts.checked({field: about[field] for field in CorrectedField.values if about.get(field)})
        if size == 0:
            raise Refused("The file is empty. Nothing was stored.")
        upload = Upload.objects.create(
            incident=room.incident,
            uploader=room.user,
            token=room.token,
            name=visible_name(name),
            size=size,
            said=said,
        )
        return Answer(201, None, (("Location", f"/api/rooms/{self.slug}/uploads/{upload.pk}"), ("Upload-Offset", "0")))

    def _upload(self, room: Room) -> Upload:
        try:
            id = uuid.UUID(self.tail)
        except ValueError:
            raise NotAMember from None
        mine = Upload.objects.filter(pk=id, incident=room.incident, uploader=room.user, token=room.token)
        upload = mine.select_related("artifact").first()
        if upload is None:
            raise NotAMember
        return upload

    async def _head(self, room: Room, upload: Upload) -> Answer:
        """Return how far the upload is. An upload with all its bytes that is not yet an artifact becomes one now."""
        length = ("Upload-Length", str(upload.size))
        if upload.artifact is not None:
            number = ("Exhibit-Artifact", str(upload.artifact.number))
            return Answer(200, None, (("Upload-Offset", str(upload.size)), length, number))
        there = await asyncio.to_thread(store.incoming_size, upload.pk)
        if there < upload.size or upload.pk in _UNDER_WAY:
            return Answer(200, None, (("Upload-Offset", str(there)), length))
        incoming = await asyncio.to_thread(_go_on, upload)
        try:
            done = await self._finish(room, upload, incoming)
        finally:
            await asyncio.to_thread(incoming.close)
        return Answer(200, None, (*done.headers, length))

    async def _patch(self, room: Room, upload: Upload) -> Answer:
        if self.headers.get("content-type") != "application/offset+octet-stream":
            raise Refused("Send application/offset+octet-stream.", 415)
        offset = self._announced("upload-offset")
        if upload.artifact_id:
            raise Refused("This upload is complete.", 409)
        if upload.pk in _UNDER_WAY:
            raise Refused("Another request is sending this upload just now.", 423)
        _UNDER_WAY.add(upload.pk)
        try:
            incoming = await asyncio.to_thread(_go_on, upload)
            try:
                if offset != incoming.size:
                    raise Refused(f"The upload stands at {incoming.size}, not at {offset}.", 409)
                length = self._announced("content-length")
                if incoming.size + (length or 0) > upload.size:
                    raise Refused("More bytes arrived than the upload announced.", 413)
                store.require_space(upload.size - incoming.size)
                try:
                    await self._take(incoming, length, upload.size)
                finally:
                    await asyncio.to_thread(incoming.flush)
                    _remember(upload.pk, incoming)
                if incoming.size == upload.size:
                    return await self._finish(room, upload, incoming)
                return Answer(204, None, (("Upload-Offset", str(incoming.size)),))
            finally:
                await asyncio.to_thread(incoming.close)
        finally:
            _UNDER_WAY.discard(upload.pk)

    async def _finish(self, room: Room, upload: Upload, incoming: store.Incoming) -> Answer:
        """Store a complete upload as an artifact. Its bytes are removed only after the commit, or when it is refused.

        Content that the room already holds is not an error for a tus client: the upload is complete,
        `Exhibit-Already-Here` says that nothing was added, and `Exhibit-Artifact` names the artifact.
        """
        about = [("Upload-Offset", str(upload.size))]
        try:
            number = (await _received(room, incoming, upload.name, Way.TUS, upload.said)).number
        except AlreadyHere as error:
            number = error.number
            about.append(("Exhibit-Already-Here", "true"))
        except RoomClosed as error:
            raise RoomClosed(
                f"{error.message} What arrived is kept for a day, so that the upload can continue from there."
            ) from None
        except Refused:
            await asked(partial(_give_up, upload))
            raise
        await asked(partial(patiently, partial(_entered, upload, number)))
        await asyncio.to_thread(incoming.discard)
        _HASHES.pop(upload.pk, None)
        return Answer(204, None, (*about, ("Exhibit-Artifact", str(number))))

    # --- bytes ------------------------------------------------------------------------------------------------

    async def _take(self, incoming: store.Incoming, announced: int | None, whole: int | None = None) -> None:
        """Write the body as it arrives, a mebibyte at a time in a thread, so that pages are answered meanwhile."""
        gathered = bytearray()
        taken = 0
        while self.more:
            try:
                async with asyncio.timeout(SILENT_S):
                    message = await self.receive()
            except TimeoutError:
                message = {"type": "http.disconnect"}
            if message["type"] == "http.disconnect":
                await asyncio.to_thread(incoming.write, bytes(gathered))
                raise Gone
            gathered += message.get("body", b"")
            taken += len(message.get("body", b""))
            if whole is not None and incoming.size + len(gathered) > whole:
                raise Refused("More bytes arrived than the upload announced.", 413)
            self.more = message.get("more_body", False)
            if len(gathered) >= GATHER or not self.more:
                await asyncio.to_thread(incoming.write, bytes(gathered))
                gathered.clear()
        if announced is not None and taken != announced:
            raise Gone

    def _announced(self, header: str) -> int | None:
        text = self.headers.get(header)
        if text is None:
            return None
        if not (text.isascii() and text.isdigit()) or len(text) > 15:
            raise Refused(f"{header} must be a number of bytes.")
        return int(text)

    async def send(self, send: Send, answer: Answer) -> None:
        body = b"" if answer.body is None else json.dumps(answer.body).encode() + b"\n"
        headers: Headers = [TUS, (b"x-content-type-options", b"nosniff"), (b"cache-control", b"no-store")]
        if answer.status != 204:
            headers += [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        headers += [(name.lower().encode(), value.encode()) for name, value in answer.headers]
        if self.more:
            # The rest of a refused body is not read, so the connection is closed with the answer.
            headers.append((b"connection", b"close"))
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if self.method == "HEAD" else body})


# --- memory of one process: it only saves work; disk and database hold the truth -----------------------------------

_UNDER_WAY: set[uuid.UUID] = set()
_HASHES: OrderedDict[uuid.UUID, tuple[Any, int]] = OrderedDict()


def _go_on(upload: Upload) -> store.Incoming:
    """Open an upload at its end. Its running hash is remembered, or computed again from the bytes on disk."""
    digest, size = _HASHES.pop(upload.pk, (None, 0))
    return store.Incoming(upload.pk, digest, size)


def _remember(id: uuid.UUID, incoming: store.Incoming) -> None:
    _HASHES[id] = (incoming.digest, incoming.size)
    while len(_HASHES) > _HASHES_KEPT:
        _HASHES.popitem(last=False)


async def _received(
    room: Room, incoming: store.Incoming, name: str, way: str, said: Mapping[str, str | None]
) -> Artifact:
    """Store what was received; if the database is away for a moment, wait for it, with the bytes safe on disk."""
    return await asked(partial(patiently, partial(artifacts.receive, room, incoming, name, way, said)))


async def asked(question: Callable[[], T]) -> T:
    """Run a database question in a thread, and release its connection afterwards."""

    def and_let_go() -> T:
        try:
            return question()
        finally:
            let_go()

    return await sync_to_async(and_let_go, thread_sensitive=False)()


def _require_quota(room: Room, size: int) -> None:
    quotas.require_upload(room.incident.pk, room.user.pk, room.token.pk if room.token else None, size)


def _entered(upload: Upload, number: int) -> None:
    upload.artifact = Artifact.objects.get(incident_id=upload.incident_id, number=number)
    upload.save(update_fields=("artifact",))


def _give_up(upload: Upload) -> None:
    store.discard_incoming(upload.pk)
    _HASHES.pop(upload.pk, None)
    if upload.artifact_id is None:
        upload.delete()


def _metadata(text: str) -> dict[str, str]:
    """Read `Upload-Metadata`: pairs of a name and base64, separated by commas.

    >>> _metadata("filename dHJ1c3MudHh0,host ZGIx")
    {'filename': 'truss.txt', 'host': 'db1'}
    """
    pairs = {}
    for pair in filter(None, (piece.strip() for piece in text.split(","))):
        name, _, value = pair.partition(" ")
        try:
            pairs[name] = base64.b64decode(value, validate=True).decode()
        except (binascii.Error, UnicodeDecodeError):
            raise Refused(f"Upload-Metadata: {name[:40]!r} is not base64 of UTF-8.") from None
    return pairs


def _of(artifact: Artifact) -> dict[str, Any]:
    return {"artifact": artifact.number, "name": artifact.name, "size": artifact.size, "sha256": artifact.sha256}


def _unused(*_: Any) -> Any:
    raise AssertionError("the check of a token calls no view")
