"""Tests of unpacking an archive into artifacts, once, with a list of the files left out and why."""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
from datetime import timedelta

import pytest
import yaml
from django.urls import reverse
from django.utils import timezone

from incidents.access import Right
from incidents.actions import artifacts, purge
from incidents.errors import Refused, StoreError
from incidents.models.evidence.artifact import Artifact
from incidents.models.room.job import Job
from incidents.storage import store
from incidents.work import analysis, unpacking
from parsers.containers.archives import Caps, open_members
from tests.incidents.conftest import CONNECT_TIMES, make_artifact, make_member, make_room, run_jobs

OTHER = b"".join(b"time elapsed : 0,%02d\n" % (10 + n % 5) for n in range(30))
PROSE = b"Dear colleagues,\nthis is only a letter.\n"


def zip_of(files):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()


def tar_of(files, links=()):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
        for name, target in links:
            info = tarfile.TarInfo(name)
            info.type, info.linkname = tarfile.SYMTYPE, target
            archive.addfile(info)
    return out.getvalue()


def inside(archive):
    return [(m.path, m.became.number if m.became else None, m.why) for m in archive.members.select_related("became")]


@pytest.mark.django_db
class TestUnpacking:
    def test_every_file_becomes_an_artifact_and_is_read(self):
        room = make_room()
        archive = make_artifact(
            room, zip_of({"db1/before.txt": CONNECT_TIMES, "db1/after.txt": OTHER, "db1/x": b""}), "a.zip"
        )
        run_jobs("small")
        archive.refresh_from_db()
        assert archive.state == "unpacked"
        assert archive.cause == "1 of 3 files were not taken in."
        assert inside(archive) == [("db1/before.txt", 2, None), ("db1/after.txt", 3, None), ("db1/x", None, "empty")]
        taken = Artifact.objects.get(number=3)
        assert (taken.name, taken.state, taken.way) == ("after.txt", "read", "archive")
        assert taken.uploader == archive.uploader
        assert store.original(taken).read_bytes() == OTHER
        assert taken.reading.parts.get().phase == "after"
        assert room.incident.activity.filter(verb="unpacked").get().detail == {"files": 2}

    def test_a_repeated_job_takes_nothing_twice_and_goes_on_where_it_was_cut(self, monkeypatch):
        room = make_room()
        archive = make_artifact(room, zip_of({"a.txt": CONNECT_TIMES, "b.txt": OTHER}), "a.zip")
        taken = unpacking._Walk.take
        calls = []

        def dies(self, path, incoming, odd):
            calls.append(path)
            if path == "b.txt" and calls.count("b.txt") == 1:
                raise StoreError("gone for a moment")
            return taken(self, path, incoming, odd)

        monkeypatch.setattr(unpacking._Walk, "take", dies)
        run_jobs("small")
        assert Artifact.objects.count() == 2
        Job.objects.filter(state="queued").update(not_before=None)
        run_jobs("small")
        archive.refresh_from_db()
        assert archive.state == "unpacked"
        assert calls == ["a.txt", "b.txt", "b.txt"]
        assert [number for _, number, _ in inside(archive)] == [2, 3]
        artifacts.reread(room, 1)
        run_jobs("small")
        assert Artifact.objects.count() == 3

    def test_what_the_room_has_is_named_and_not_taken_again(self):
        room = make_room()
        make_artifact(room, CONNECT_TIMES)
        archive = make_artifact(room, zip_of({"a.txt": CONNECT_TIMES}), "a.zip")
        run_jobs("small")
        assert inside(archive) == [("a.txt", 1, "the same content as artifact 1")]

    def test_a_zone_that_is_found_behind_a_log_is_told_to_it(self):
        room = make_room()
        base = "sosreport-db1-2021-11-20-abcdefg/"
        log = b"".join(
            b"Nov 20 10:0%d:01 db1 kernel: task %d blocked for more than 120 seconds\n" % (n, n) for n in range(9)
        )
        content = tar_of(
            {base + "var/log/messages": log}, [(base + "etc/localtime", "../usr/share/zoneinfo/Asia/Tokyo")]
        )
        archive = make_artifact(room, content, "sosreport-db1.tar.gz")
        run_jobs("small")
        member = archive.members.get(position=1)
        assert member.told["tz"] == "Asia/Tokyo"
        assert member.told["command"] == "cat /var/log/messages"
        taken = Artifact.objects.get(number=2)
        assert (taken.state, taken.reading.hints["file"]["tz"]) == ("read", "Asia/Tokyo")
        # The zone arrives while the file is already being read, as with two workers: it is read again.
        member.told = {"collector": "sosreport", "host": "db1"}
        member.save()
        job = Job.objects.filter(artifact=archive).get()
        job.state = "running"
        job.lease_until = timezone.now() + timedelta(minutes=1)
        job.save()
        walk = unpacking._Walk(job, archive)
        walk.tree.zones[""] = "Europe/Warsaw"
        walk.tell_zones()
        assert Artifact.objects.get(number=2).state == "queued"
        run_jobs("small")
        assert Artifact.objects.get(number=2).reading.hints["file"]["tz"] == "Europe/Warsaw"

    def test_an_exported_room_keeps_what_its_archives_said(self):
        room = make_room()
        path = "sosreport-db1-2021-11-20-abcdefg/sos_commands/memory/free_-m"
        free = b"              total        used        free\nMem:           7821        1410        4123\nSwap:          2047           0        2047\n"
        make_artifact(room, tar_of({path: free}), "sosreport-db1.tar.gz")
        run_jobs("small")
        (entry,) = yaml.safe_load(analysis.case_yaml(room.incident))["artifacts"]
        assert (entry["host"], entry["command"], entry["date"]) == ("db1", "free -m", "2021-11-20")

    def test_of_a_large_tree_only_what_is_known_is_taken_and_the_rest_on_request(self, monkeypatch):
        monkeypatch.setattr(unpacking, "TAKEN_WHOLE", 2)
        room = make_room()
        base = "sosreport-db1-2021-11-20-abcdefg/"
        content = tar_of(
            {base + "times.txt": CONNECT_TIMES, base + "letter.txt": PROSE, base + "core": b"\x7fELF\0\0\0\1" * 99},
            [(base + "etc/localtime", "../usr/share/zoneinfo/Europe/Warsaw")],
        )
        archive = make_artifact(room, content, "sosreport-db1.tar.gz")
        run_jobs("small")
        archive.refresh_from_db()
        assert archive.cause == "A tree made by sosreport. 3 of 4 files were not taken in."
        member = archive.members.get(position=2)
        assert (member.became, member.why, member.offered) == (None, "no format recognises it", True)
        assert member.told == {"collector": "sosreport", "host": "db1", "os": "linux", "date": "2021-11-20"}
        taken = Artifact.objects.get(number=2)
        assert taken.reading.parts.get().host == "db1"
        assert taken.reading.hints["file"] == {"os": "linux", "date": "2021-11-20", "tz": "Europe/Warsaw"}
        artifacts.take_in(room, 1, 2)
        run_jobs("small")
        assert archive.members.get(position=2).became.name == "letter.txt"
        with pytest.raises(Refused, match="cannot be taken in: a link"):
            artifacts.take_in(room, 1, 4)
        with pytest.raises(Refused, match="taken in already"):
            artifacts.take_in(room, 1, 1)

    def test_a_cap_ends_it_with_words_and_keeps_what_came_before(self, monkeypatch):
        monkeypatch.setattr(unpacking, "open_members", lambda path, name: open_members(path, name, Caps(members=1)))
        room = make_room()
        archive = make_artifact(room, zip_of({"a.txt": CONNECT_TIMES, "b.txt": OTHER}), "a.zip")
        run_jobs("small")
        archive.refresh_from_db()
        assert archive.state == "unpacked"
        assert "1 files inside" in archive.cause
        assert Artifact.objects.count() == 2

    def test_a_compressed_file_is_unpacked_too(self):
        archive = make_artifact(make_room(), gzip.compress(CONNECT_TIMES), "times.txt.gz")
        run_jobs("small")
        assert inside(archive) == [("times.txt", 2, None)]

    def test_an_archive_takes_its_files_with_it_when_it_is_purged(self):
        room = make_room()
        make_artifact(room, OTHER)
        archive = make_artifact(room, zip_of({"a.txt": CONNECT_TIMES, "b.txt": OTHER}), "a.zip")
        run_jobs("small")
        purge.purge(room, archive.number, "a customer's file")
        assert dict(Artifact.objects.values_list("number", "state")) == {1: "read", 2: "purged", 3: "purged"}

    def test_it_is_no_part_of_the_case(self):
        from incidents.work import analysis

        room = make_room()
        make_artifact(room, zip_of({"a.txt": CONNECT_TIMES}), "a.zip")
        run_jobs("small")
        assert [a.id for a in analysis.case_of(room.incident).artifacts] == [2]

    def test_the_page_lists_what_is_inside(self, client, django_assert_max_num_queries):
        room = make_room()
        files = {f"f{n}.txt": OTHER + b"%d\n" % n for n in range(30)}
        make_artifact(room, zip_of(files | {"\u202eevil.txt": b""}), "a.zip")
        run_jobs("small")
        client.force_login(room.user)
        with django_assert_max_num_queries(25):
            page = client.get(reverse("lines", args=[room.incident.slug, 1])).content.decode()
        assert "artifact 31" in page
        assert "⟨U+202E⟩evil.txt" in page
        assert "left out: empty" in page
        with django_assert_max_num_queries(30):
            listed = client.get(reverse("evidence", args=[room.incident.slug])).content.decode()
        assert listed.count("from archive 1") == 30
        viewer = make_member(room.incident, "viewer")
        assert not viewer.may(Right.UPLOAD)
