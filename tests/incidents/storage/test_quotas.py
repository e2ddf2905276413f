"""Tests of quotas: of rooms, senders, uploads under way and archives."""

from __future__ import annotations

import shutil
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from incidents.access import Right
from incidents.actions import artifacts, rooms, tokens
from incidents.errors import NoSpace, OverQuota
from incidents.models.evidence.artifact import Artifact
from incidents.models.evidence.upload import Upload
from incidents.storage import quotas
from incidents.work import unpacking
from tests.incidents.conftest import CONNECT_TIMES, make_artifact, make_member, make_room, make_user, run_jobs
from tests.incidents.doors.test_uploads import address, ask, create, patch, signed_in
from tests.incidents.work.test_unpacking import inside, zip_of

pytestmark = pytest.mark.django_db(transaction=True)
MIB = 2**20


def under_way(room: Any, size: int, **fields: Any) -> Upload:
    return Upload.objects.create(incident=room.incident, uploader=room.user, name="a.log", size=size, **fields)


def refused(room: Any, size: int) -> tuple[int, str]:
    """Announce an upload that must be refused; return status and message."""
    answer = ask("POST", address(room), signed_in(room.user) | {"upload-length": str(size)})
    assert Upload.objects.filter(size=size).count() == 0
    return answer.status, answer.json["error"]


class TestARoom:
    def test_it_holds_so_many_bytes(self, settings: Any) -> None:
        settings.EXHIBIT_ROOM_BYTES = 1000
        room = make_room()
        make_artifact(room, b"x" * 600)
        with pytest.raises(OverQuota, match=r"EXHIBIT_ROOM_BYTES.*Nothing that is here was touched") as error:
            make_artifact(room, b"y" * 401, "b.txt")
        assert error.value.status == 507
        make_artifact(room, b"y" * 400, "b.txt")
        make_artifact(make_room(), b"z" * 1000, "c.txt")

    def test_what_is_purged_makes_room(self, settings: Any) -> None:
        settings.EXHIBIT_ROOM_BYTES = settings.EXHIBIT_DAY_BYTES = 1000
        room = make_room()
        artifact = make_artifact(room, b"x" * 600)
        Artifact.objects.filter(pk=artifact.pk).update(
            state="purged", purged_at=timezone.now(), purged_by=room.user, purge_reason="by mistake"
        )
        left = quotas.left(room.incident.pk, room.user.pk, None)
        assert (left.room, left.day) == (1000, 400), "it was brought all the same"

    def test_it_holds_so_many_files(self, settings: Any) -> None:
        settings.EXHIBIT_ROOM_FILES = 2
        room = make_room()
        make_artifact(room, b"1")
        make_artifact(room, b"2", "b.txt")
        with pytest.raises(OverQuota, match=r"at most 2 files"):
            make_artifact(room, b"3", "c.txt")
        assert refused(room, 3)[0] == 507

    def test_uploads_under_way_count(self, settings: Any) -> None:
        settings.EXHIBIT_ROOM_BYTES = 1000
        room = make_room()
        under_way(room, 900)
        status, words = refused(room, 101)
        assert (status, "EXHIBIT_ROOM_BYTES" in words) == (507, True)
        Upload.objects.update(created_at=timezone.now() - quotas.DAY)
        create(room, 101, signed_in(room.user))

    def test_an_upload_that_was_begun_is_taken_in_whatever_came_meanwhile(self, settings: Any) -> None:
        room = make_room()
        headers = signed_in(room.user)
        where = create(room, len(CONNECT_TIMES), headers, filename="times.txt")
        settings.EXHIBIT_ROOM_BYTES = len(CONNECT_TIMES)
        assert patch(where, 0, headers, CONNECT_TIMES).status == 204
        assert Artifact.objects.get().size == len(CONNECT_TIMES)


class TestASender:
    def test_one_person_brings_so_much_within_a_day_over_all_rooms(self, settings: Any) -> None:
        settings.EXHIBIT_DAY_BYTES = 1000
        room = make_room()
        other = make_member(make_room().incident, "investigator", user=room.user)
        make_artifact(room, b"x" * 900)
        with pytest.raises(OverQuota, match=r"EXHIBIT_DAY_BYTES") as error:
            make_artifact(other, b"y" * 101, "b.txt")
        assert error.value.status == 429
        make_artifact(make_member(room.incident, "investigator"), b"y" * 101, "b.txt")
        Artifact.objects.update(received_at=timezone.now() - timedelta(hours=25))
        make_artifact(other, b"z" * 1000, "c.txt")

    def test_a_token_is_a_sender_of_its_own(self, settings: Any) -> None:
        settings.EXHIBIT_DAY_BYTES = 1000
        room = make_room()
        make_artifact(room, b"x" * 900)
        secrets = [tokens.create(room, label) for label in ("db1", "db2")]
        bearers = [{"authorization": f"Bearer {one if isinstance(one, str) else one[1]}"} for one in secrets]
        assert ask("PUT", address(room, "a.txt"), bearers[0], [b"y" * 900]).status == 201
        answer = ask("PUT", address(room, "b.txt"), bearers[0] | {"content-length": "101"}, [b"z" * 101])
        assert (answer.status, answer.read) == (429, 0), "before its first byte"
        assert ask("PUT", address(room, "b.txt"), bearers[0], [b"z" * 101]).status == 429, "its length was not told"
        assert ask("PUT", address(room, "b.txt"), bearers[1], [b"z" * 101]).status == 201

    def test_so_many_uploads_are_under_way_at_once(self, settings: Any) -> None:
        settings.EXHIBIT_OPEN_UPLOADS = 2
        room = make_room()
        under_way(room, 1)
        kept = under_way(room, 2)
        status, words = refused(room, 3)
        assert (status, words.startswith("2 uploads of yours are under way")) == (429, True)
        kept.delete()
        create(room, 3, signed_in(room.user))

    def test_one_person_opens_so_many_rooms_within_a_day(self, settings: Any) -> None:
        settings.EXHIBIT_DAY_ROOMS = 1
        user = make_user()
        room = rooms.create(user, rooms.Answers("Slow"))
        with pytest.raises(OverQuota, match="One person opens at most 1 rooms within 24 hours"):
            rooms.create(user, rooms.Answers("Slow"))
        type(room).objects.update(created_at=timezone.now() - timedelta(hours=25))
        rooms.create(user, rooms.Answers("Slow"))


def test_space_that_was_announced_is_kept_free(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that forty announced uploads of 1 GB reserve their space, so that real uploads never find the disk full."""
    free = 100 * MIB
    usage = shutil.disk_usage("/")
    settings.EXHIBIT_MIN_FREE_BYTES = 10 * MIB
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=free))
    room = make_room()
    headers = signed_in(room.user)
    where = create(room, 60 * MIB, headers)
    with pytest.raises(NoSpace):
        quotas.require_upload(room.incident.pk, room.user.pk, None, 31 * MIB)
    create(room, 29 * MIB, headers)
    patch(where, 0, headers, b"x" * (20 * MIB), cut=True)
    assert quotas._still_to_come() == 69 * MIB, "what arrived is on the disk already"


class TestAnArchive:
    def test_it_is_judged_by_what_comes_out_of_it(self, settings: Any) -> None:
        room = make_room()
        big = b"time elapsed : 0,10\n" * 5000
        packed = zip_of({"a.txt": CONNECT_TIMES, "b.txt": big, "c.txt": CONNECT_TIMES + b"time elapsed : 0,99\n"})
        settings.EXHIBIT_ROOM_BYTES = len(packed) + len(CONNECT_TIMES) + 50_000
        archive = make_artifact(room, packed, "a.zip")
        run_jobs("small")
        archive.refresh_from_db()
        assert archive.state == "unpacked"
        assert archive.cause.startswith("Not everything was unpacked: This room takes at most")
        assert ".. " not in archive.cause
        assert inside(archive) == [("a.txt", 2, None)]

    def test_what_no_format_recognises_stays_packed_beyond_a_bound(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(unpacking, "UNKNOWN_BYTES", 1500)
        room = make_room()
        words = [f"Dear colleague {n},\n".encode() * 50 for n in range(3)]
        archive = make_artifact(
            room, zip_of({"times.txt": CONNECT_TIMES, **{f"{n}.txt": text for n, text in enumerate(words)}}), "a.zip"
        )
        run_jobs("small")
        assert [became for _, became, _ in inside(archive)] == [2, 3, None, None]
        asked = archive.members.get(path="1.txt")
        assert asked.offered
        artifacts.take_in(room, archive.number, asked.position)
        run_jobs("small")
        asked.refresh_from_db()
        assert asked.became is not None
        assert Right.UPLOAD in room.rights
