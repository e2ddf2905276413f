"""Tests of the upload application: it checks the sender before the first byte, and loses nothing that it accepted."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.db import OperationalError, connection
from django.middleware import csrf
from django.test import Client

from incidents.actions import artifacts, members, rooms, tokens
from incidents.doors import uploads
from incidents.models.evidence.artifact import Artifact
from incidents.models.evidence.upload import Upload
from incidents.models.room.job import Job
from incidents.storage import store
from tests.incidents.conftest import CONNECT_TIMES, make_member, make_room, make_user

pytestmark = pytest.mark.django_db(transaction=True)


@dataclass
class Answer:
    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    read: int = 0  # messages of the body that the application took

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def ask(
    method: str, path: str, headers: dict[str, str] | None = None, body: Iterable[bytes] = (), cut: bool = False
) -> Answer:
    """Send one request; `cut` breaks the connection where the body ends."""
    answer = Answer()
    pieces = iter(body)
    sent = {"host": "127.0.0.1:8000", **(headers or {})}

    async def receive() -> dict[str, Any]:
        answer.read += 1
        piece = next(pieces, None)
        if piece is None:
            return {"type": "http.disconnect"} if cut else {"type": "http.request", "body": b"", "more_body": False}
        return {"type": "http.request", "body": piece, "more_body": True}

    async def send(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            answer.status = message["status"]
            answer.headers = {k.decode(): v.decode() for k, v in message["headers"]}
        else:
            answer.body += message["body"]

    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "scheme": "http",
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 8000),
        "headers": [(k.encode(), v.encode()) for k, v in sent.items()],
    }
    asyncio.run(uploads.application(scope, receive, send))
    return answer


def signed_in(user: Any, **more: str) -> dict[str, str]:
    """Return the headers that our own pages send: session, CSRF cookie and header, origin."""
    client = Client()
    client.force_login(user)
    secret = csrf._get_new_csrf_string()
    return {
        "cookie": f"sessionid={client.cookies['sessionid'].value}; csrftoken={secret}",
        "x-csrftoken": csrf._mask_cipher_secret(secret),  # type: ignore[attr-defined]  # the stubs leave it out
        "origin": "http://127.0.0.1:8000",
        "tus-resumable": "1.0.0",
        **more,
    }


def address(room: Any, tail: str = "") -> str:
    return f"/api/rooms/{room.incident.slug}/uploads/{tail}"


def create(room: Any, size: int, headers: dict[str, str], **about: str) -> str:
    pairs = ",".join(f"{name} {base64.b64encode(value.encode()).decode()}" for name, value in about.items())
    answer = ask("POST", address(room), headers | {"upload-length": str(size), "upload-metadata": pairs})
    assert answer.status == 201, answer.body
    return answer.headers["location"]


def patch(where: str, offset: int, headers: dict[str, str], *pieces: bytes, cut: bool = False) -> Answer:
    more = {"upload-offset": str(offset), "content-type": "application/offset+octet-stream"}
    return ask("PATCH", where, headers | more, pieces, cut)


class TestPut:
    def token(self, room: Any) -> dict[str, str]:
        return {"authorization": f"Bearer {tokens.create(room, 'db1')}"}

    def test_curl_puts_a_file(self) -> None:
        room = make_room()
        headers = self.token(room) | {"x-exhibit-host": "db1", "content-length": str(len(CONNECT_TIMES))}
        answer = ask("PUT", address(room, "times%20before.txt"), headers, [CONNECT_TIMES[:50], CONNECT_TIMES[50:]])
        assert answer.status == 201
        artifact = Artifact.objects.get()
        assert answer.json == {
            "artifact": 1,
            "name": "times before.txt",
            "size": len(CONNECT_TIMES),
            "sha256": artifact.sha256,
        }
        assert (artifact.way, artifact.corrections.get().value) == ("put", "db1")
        with store.open_original(artifact) as file:
            assert file.read() == CONNECT_TIMES
        again = ask("PUT", address(room, "again.txt"), headers, [CONNECT_TIMES])
        assert (again.status, again.json["artifact"]) == (409, 1)
        assert "Already here" in again.json["error"]
        assert not list((store._root() / "incoming").iterdir())

    def test_a_path_in_the_name_stays_a_name(self) -> None:
        room = make_room()
        assert ask("PUT", address(room, "..%2f..%2fetc%2fpasswd"), self.token(room), [CONNECT_TIMES]).status == 201
        assert Artifact.objects.get().name == "passwd"

    @pytest.mark.parametrize(
        ("headers", "status"),
        [
            ({}, 401),
            ({"authorization": "Bearer invented"}, 401),
            ({"authorization": "Basic cm9vdDpyb290"}, 401),
        ],
    )
    def test_without_a_token_not_a_byte_is_read(self, headers: dict[str, str], status: int) -> None:
        for slug in (make_room().incident.slug, "nonsense"):
            answer = ask("PUT", f"/api/rooms/{slug}/uploads/a.txt", headers, [b"x"] * 100)
            assert (answer.status, answer.read) == (status, 0)
            assert answer.headers["connection"] == "close"
            assert answer.headers["www-authenticate"] == "Bearer"
            assert "token" in answer.json["error"]
        assert not Artifact.objects.exists()

    def test_a_session_is_no_token(self) -> None:
        room = make_room()
        assert ask("PUT", address(room, "a.txt"), signed_in(room.user), [b"x"]).status == 401

    def test_a_size_above_the_limit_is_refused_by_its_head(self, settings: Any) -> None:
        settings.EXHIBIT_MAX_UPLOAD_BYTES = 2**20
        room = make_room()
        answer = ask("PUT", address(room, "a"), self.token(room) | {"content-length": str(2**21)}, [b"x"])
        assert (answer.status, answer.read) == (413, 0)
        assert "1 MiB" in answer.json["error"]

    def test_one_that_hides_its_size_is_stopped_at_the_limit(self, settings: Any) -> None:
        settings.EXHIBIT_MAX_UPLOAD_BYTES = 2**20
        room = make_room()
        answer = ask("PUT", address(room, "a"), self.token(room), (b"x" * 2**16 for _ in range(10_000)))
        assert answer.status == 413
        assert answer.read < 40
        assert not list((store._root() / "incoming").iterdir())

    def test_a_full_disk_is_refused_by_its_head(self, settings: Any) -> None:
        settings.EXHIBIT_MIN_FREE_BYTES = 2**60
        room = make_room()
        answer = ask("PUT", address(room, "a"), self.token(room), [b"x"])
        assert (answer.status, answer.read) == (507, 0)
        assert "full" in answer.json["error"]

    def test_one_that_breaks_off_leaves_nothing(self) -> None:
        room = make_room()
        for cut in (True, False):
            headers = self.token(room) | {"content-length": "1000"}
            assert ask("PUT", address(room, "a"), headers, [b"half"], cut=cut).status == 0
        assert not Artifact.objects.exists()
        assert not list((store._root() / "incoming").iterdir())

    def test_a_removed_lead_leaves_no_door_open(self) -> None:
        room = make_room()
        headers = self.token(room)
        make_member(room.incident, "lead")
        members.remove(room, room.user.pk)
        assert ask("PUT", address(room, "a"), headers, [b"x"]).status == 401

    def test_a_closed_room_takes_nothing(self) -> None:
        room = make_room()
        headers = self.token(room)
        rooms.set_status(room, "closed")
        answer = ask("PUT", address(room, "a"), headers, [b"x"])
        assert (answer.status, answer.read) == (409, 0)


class TestClosing:
    """Tests of a room that is closed during an upload: a clear message, and nothing is lost."""

    def test_an_upload_under_way_is_kept_and_goes_on_when_the_room_is_open_again(self) -> None:
        room = make_room()
        headers = signed_in(room.user)
        where = create(room, len(CONNECT_TIMES), headers)
        patch(where, 0, headers, CONNECT_TIMES[:100])
        rooms.close(room)
        answer = patch(where, 100, headers, CONNECT_TIMES[100:])
        assert (answer.status, answer.headers["exhibit-closed"]) == (409, "true")
        assert b"closed" in answer.body
        rooms.reopen(room)
        assert ask("HEAD", where, headers).headers["upload-offset"] == "100"
        assert patch(where, 100, headers, CONNECT_TIMES[100:]).headers["exhibit-artifact"] == "1"

    def test_closed_at_the_very_end_it_can_be_entered_later(self, monkeypatch: pytest.MonkeyPatch) -> None:
        room = make_room()
        headers = signed_in(room.user)
        where = create(room, len(CONNECT_TIMES), headers)
        receive = artifacts.receive

        def closed_meanwhile(*args: Any, **kwargs: Any) -> Artifact:
            rooms.close(room)
            return receive(*args, **kwargs)

        monkeypatch.setattr(artifacts, "receive", closed_meanwhile)
        answer = patch(where, 0, headers, CONNECT_TIMES)
        assert (answer.status, answer.headers["exhibit-closed"]) == (409, "true")
        assert b"kept" in answer.body
        monkeypatch.undo()
        rooms.reopen(room)
        assert ask("HEAD", where, headers).headers["exhibit-artifact"] == "1"

    def test_while_it_closes_those_under_way_are_finished_and_new_ones_not_begun(self) -> None:
        room = make_room()
        headers = signed_in(room.user)
        where = create(room, len(CONNECT_TIMES), headers)
        patch(where, 0, headers, CONNECT_TIMES[:100])
        rooms.close(room, wait=True)
        new = ask("POST", address(room), {**headers, "upload-length": "5"})
        assert (new.status, new.headers["exhibit-closed"]) == (409, "true")
        assert patch(where, 100, headers, CONNECT_TIMES[100:]).headers["exhibit-artifact"] == "1"
        room.incident.refresh_from_db()
        assert not room.incident.closed


class TestTus:
    def test_post_can_stand_for_other_methods(self) -> None:
        room = make_room()
        headers = {"authorization": f"Bearer {tokens.create(room, 'db1')}", "tus-resumable": "1.0.0"}
        where = create(room, len(CONNECT_TIMES), headers, filename="times.txt")
        more = headers | {"upload-offset": "0", "content-type": "application/offset+octet-stream"}
        assert ask("POST", where, more | {"x-http-method-override": "PATCH"}, [CONNECT_TIMES[:50]]).status == 204
        head = ask("POST", where, headers | {"x-http-method-override": "head"})
        assert (head.status, head.headers["upload-offset"], head.body) == (200, "50", b"")
        assert ask("POST", where, headers | {"x-http-method-override": "DELETE"}).status == 204
        assert not Upload.objects.exists()
        # This is no way to avoid the token that PUT needs.
        assert ask("POST", address(room, "a.txt"), {"x-http-method-override": "PUT"}, [b"x"]).status == 404

    def test_a_whole_upload(self) -> None:
        room = make_room()
        headers = signed_in(room.user)
        where = create(room, len(CONNECT_TIMES), headers, filename="times.txt", host="db1")
        answer = patch(where, 0, headers, CONNECT_TIMES)
        assert (answer.status, answer.headers["upload-offset"]) == (204, str(len(CONNECT_TIMES)))
        assert answer.headers["exhibit-artifact"] == "1"
        artifact = Artifact.objects.get()
        assert (artifact.name, artifact.way, artifact.uploader) == ("times.txt", "tus", room.user)
        assert artifact.corrections.get().value == "db1"
        assert Job.objects.get().kind == "ingest"
        head = ask("HEAD", where, headers)
        assert (head.status, head.headers["exhibit-artifact"]) == (200, "1")
        assert patch(where, len(CONNECT_TIMES), headers).status == 409

    @pytest.mark.parametrize("restarted", [False, True])
    def test_it_goes_on_after_a_cut(self, restarted: bool) -> None:
        room = make_room()
        headers = signed_in(room.user)
        where = create(room, len(CONNECT_TIMES), headers)
        patch(where, 0, headers, CONNECT_TIMES[:100], cut=True)
        if restarted:
            uploads._HASHES.clear()
        offset = int(ask("HEAD", where, headers).headers["upload-offset"])
        assert offset == 100
        assert patch(where, 99, headers, CONNECT_TIMES[99:]).status == 409
        assert patch(where, offset, headers, CONNECT_TIMES[offset:]).status == 204
        with store.open_original(Artifact.objects.get()) as file:
            assert file.read() == CONNECT_TIMES

    def test_content_that_is_here_already_ends_well(self) -> None:
        room = make_room()
        headers = signed_in(room.user)
        artifacts.receive_stream(room, "first.txt", [CONNECT_TIMES])
        where = create(room, len(CONNECT_TIMES), headers)
        answer = patch(where, 0, headers, CONNECT_TIMES)
        assert (answer.status, answer.headers["exhibit-already-here"]) == (204, "true")
        assert answer.headers["exhibit-artifact"] == "1"
        assert Artifact.objects.count() == 1
        assert not list((store._root() / "incoming").iterdir())

    def test_a_database_that_comes_back_loses_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Let the database be away at the last byte: the upload waits a moment; after a long time HEAD finishes it."""
        room = make_room()
        headers = signed_in(room.user)
        away = failing(3, artifacts.receive)
        monkeypatch.setattr(artifacts, "receive", away)
        where = create(room, len(CONNECT_TIMES), headers)
        assert patch(where, 0, headers, CONNECT_TIMES).status == 204
        assert away.left == 0

        second = b"other " + CONNECT_TIMES
        monkeypatch.setattr(artifacts, "receive", failing(10**6, away.real))
        monkeypatch.setattr("incidents.storage.database.time.monotonic", iter(range(0, 10**6, 20)).__next__)
        where = create(room, len(second), headers)
        answer = patch(where, 0, headers, second)
        assert (answer.status, answer.headers["retry-after"]) == (503, "5")
        monkeypatch.undo()
        store_root = store.incoming_path(Upload.objects.latest("created_at").pk)
        if not store_root.exists():  # `undo` also gave the settings back
            pytest.fail("the accepted bytes are gone")

    def test_an_upload_that_was_complete_but_not_entered_is_entered_by_the_next_question(self) -> None:
        room = make_room()
        headers = signed_in(room.user)
        where = create(room, len(CONNECT_TIMES), headers, filename="t.txt")
        incoming = store.Incoming(Upload.objects.get().pk)
        incoming.write(CONNECT_TIMES)
        incoming.close()
        head = ask("HEAD", where, headers)
        assert (head.status, head.headers["exhibit-artifact"]) == (200, "1")
        assert Artifact.objects.get().name == "t.txt"

    def test_more_bytes_than_announced_are_refused(self) -> None:
        room = make_room()
        headers = signed_in(room.user)
        where = create(room, 10, headers)
        assert patch(where, 0, headers, b"x" * 11).status == 413
        assert patch(where, 0, headers | {"content-length": "11"}, b"x" * 11).read == 0

    def test_an_upload_can_be_given_up(self) -> None:
        room = make_room()
        headers = signed_in(room.user)
        where = create(room, 10, headers)
        patch(where, 0, headers, b"x", cut=True)
        assert ask("DELETE", where, headers).status == 204
        assert ask("HEAD", where, headers).status == 404
        assert not list((store._root() / "incoming").iterdir())

    def test_anothers_upload_is_none(self) -> None:
        room = make_room()
        where = create(room, 10, signed_in(room.user))
        other = signed_in(make_member(room.incident).user)
        for method in ("HEAD", "DELETE", "PATCH"):
            assert ask(method, where, other).status == 404
        assert ask("HEAD", address(room, "not-an-id"), other).status == 404

    @pytest.mark.parametrize(
        ("headers", "status"),
        [
            ({"upload-length": "x"}, 400),
            ({"upload-length": "-1"}, 400),
            ({"upload-length": "0"}, 400),
            ({}, 400),
            ({"upload-length": "10", "upload-metadata": "filename %%%"}, 400),
            ({"upload-length": "10", "upload-metadata": "year MjB4OA=="}, 400),
            ({"upload-length": str(2**60)}, 400),
            ({"upload-length": "10", "tus-resumable": "0.2.2"}, 412),
        ],
    )
    def test_nonsense_is_refused(self, headers: dict[str, str], status: int) -> None:
        room = make_room()
        answer = ask("POST", address(room), signed_in(room.user) | headers)
        assert answer.status == status
        assert answer.json["error"]

    def test_it_says_what_it_can(self) -> None:
        answer = ask("OPTIONS", "/api/rooms/x/uploads/")
        assert (answer.status, answer.headers["tus-version"]) == (204, "1.0.0")


class TestWhoAndFromWhere:
    def strangers(self, room: Any) -> dict[str, dict[str, str]]:
        good = signed_in(room.user)
        return {
            "nobody": {"tus-resumable": "1.0.0"},
            "a stranger": signed_in(make_user()),
            "an invented session": good | {"cookie": "sessionid=invented"},
        }

    def test_strangers_get_the_404_of_nonsense(self) -> None:
        room = make_room()
        for who, headers in self.strangers(room).items():
            for slug in (room.incident.slug, "nonsense"):
                answer = ask("POST", f"/api/rooms/{slug}/uploads/", headers | {"upload-length": "10"}, [b"x"])
                assert (answer.status, answer.json, answer.read) == (404, {"error": "Not found."}, 0), who

    def test_a_viewer_may_not(self) -> None:
        viewer = make_member(make_room().incident, "viewer")
        assert ask("POST", address(viewer), signed_in(viewer.user) | {"upload-length": "10"}).status == 403

    def test_another_site_cannot_send_for_a_person(self) -> None:
        room = make_room()
        good = signed_in(room.user) | {"upload-length": "10"}
        where = create(room, 10, good)
        for wrong in (
            {"x-csrftoken": ""},
            {"x-csrftoken": "x" * 64},
            {"origin": "https://evil.example"},
            {"origin": "null"},
            {"host": "evil.example"},
        ):
            for method in ("POST", "HEAD", "DELETE", "PATCH"):
                answer = ask(method, address(room) if method == "POST" else where, good | wrong, [b"x"])
                assert answer.status in (400, 403), (method, wrong)
                assert answer.read == 0
        assert Upload.objects.get().size == 10

    def test_a_member_removed_meanwhile_is_refused_at_the_end(self, monkeypatch: pytest.MonkeyPatch) -> None:
        room = make_room()
        guest = make_member(room.incident)
        headers = signed_in(guest.user)
        where = create(room, len(CONNECT_TIMES), headers)
        finish = uploads.Call._finish

        def remove() -> None:
            members.remove(room, guest.user.pk)
            connection.close()  # that of the thread, which nobody else closes

        async def removed_first(call: Any, *rest: Any) -> Any:
            await asyncio.to_thread(remove)
            return await finish(call, *rest)

        monkeypatch.setattr(uploads.Call, "_finish", removed_first)
        assert patch(where, 0, headers, CONNECT_TIMES).status == 404
        assert not Artifact.objects.exists()


class failing:
    """Fails a number of times as if the database were away, then calls the real function."""

    def __init__(self, times: int, real: Callable[..., Any]) -> None:
        self.left, self.real = times, real

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.left:
            self.left -= 1
            raise OperationalError("the connection is closed")
        return self.real(*args, **kwargs)


def peak_kb() -> int:
    """Return the peak of resident memory in kB since the last reset."""
    found = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())
    assert found
    return int(found[1])


def test_a_large_file_adds_little_memory() -> None:
    """Check that the process grows by less than 32 MB when 256 MB come by PUT in pieces of 64 KiB."""
    room = make_room()
    headers = {"authorization": f"Bearer {tokens.create(room, 'db1')}"}
    ask("PUT", address(room, "warm"), headers, [b"warm up"])
    Path("/proc/self/clear_refs").write_text("5")  # the peak so far belongs to other tests: begin again from here
    before = peak_kb()
    piece = os.urandom(2**16)
    answer = ask("PUT", address(room, "big"), headers, (piece for _ in range(4096)))
    assert answer.status == 201
    assert answer.json["size"] == 2**28
    assert peak_kb() - before < 32 * 1024
    assert django_settings.EXHIBIT_LARGE_BYTES < 2**28
    assert Job.objects.get(artifact__number=2).queue == "large"
