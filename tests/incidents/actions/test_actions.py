"""Tests of each action: it makes the change, records it, publishes it, and refuses whom and what it should."""

from __future__ import annotations

import errno
import hashlib
import os
from datetime import UTC, datetime, timedelta

import pytest
from django.core import mail
from django.db import OperationalError, transaction
from django.utils import timezone

from incidents import access
from incidents.access import Right
from incidents.actions import (
    accounts,
    artifacts,
    case,
    closing_accounts,
    findings,
    members,
    notes,
    purge,
    rooms,
    summary,
    tokens,
)
from incidents.errors import AlreadyHere, NoSpace, NotAllowed, NotAMember, Refused, RoomClosed, TooLarge, WrongSecret
from incidents.models.evidence.artifact import Artifact, Correction
from incidents.models.judging.finding import Evaluation, Finding, FindingVersion
from incidents.models.people.link import FirstAdminLink, Invitation, UploadToken
from incidents.models.room.activity import Activity
from incidents.models.room.event import Event
from incidents.models.room.incident import RoomCounter
from incidents.models.room.job import Job
from incidents.storage import store
from tests.incidents.conftest import (
    CONNECT_TIMES,
    folders,
    make_artifact,
    make_member,
    make_room,
    make_user,
    run_jobs,
)

pytestmark = pytest.mark.django_db


def heard(room, kind: str) -> list[str]:
    return list(Event.objects.filter(incident=room.incident, kind=kind).values_list("object", flat=True))


def last_deed(room) -> Activity:
    return Activity.objects.filter(incident=room.incident).latest("seq")


class TestAccess:
    def test_a_stranger_cannot_tell_a_room_from_nonsense(self):
        room, stranger = make_room(), make_user()
        answers = []
        for slug in (room.incident.slug, "nonsense"):
            with pytest.raises(NotAMember) as refusal:
                access.enter(stranger, slug)
            answers.append((refusal.value.status, refusal.value.message))
        assert answers[0] == answers[1]
        assert list(access.visible_to(stranger)) == []

    def test_slugs_of_one_title_differ_in_forty_bits(self):
        slugs = {rooms.new_slug("Logins take 3.9 s") for _ in range(200)}
        assert len(slugs) == 200
        assert all(slug.startswith("logins-take-39-s-") for slug in slugs)

    def test_a_viewer_may_only_look(self):
        room = make_member(make_room().incident, "viewer")
        artifact = make_artifact(make_member(room.incident, "investigator"))
        for deed in (
            lambda: make_artifact(room, b"x\n"),
            lambda: artifacts.correct(room, artifact.number, {"host": "db1"}),
            lambda: artifacts.retry(room, artifact.number),
            lambda: artifacts.reread(room, artifact.number),
            lambda: purge.purge(room, artifact.number, "why"),
            lambda: artifacts.note_download(room, artifact.number),
            lambda: notes.add(room, "a note"),
            lambda: findings.dispute(room, "0" * 16, "no"),
            lambda: rooms.edit(room, {"title": "x"}),
            lambda: rooms.set_status(room, "closed"),
            lambda: case.put_host(room, "db1", {}),
            lambda: members.invite(room, "viewer"),
            lambda: members.change(room, room.user.pk, "lead", "dba"),
            lambda: tokens.create(room, "x"),
        ):
            with pytest.raises(NotAllowed):
                deed()

    @pytest.mark.parametrize("right", [Right.PEOPLE, Right.ORIGINAL, Right.PURGE, Right.CLOSE])
    def test_an_investigator_is_no_lead(self, right):
        room = make_member(make_room().incident, "investigator")
        with pytest.raises(NotAllowed, match="a lead may"):
            access.enter(room.user, room.incident.slug, right)

    def test_a_site_administrator_may_do_all(self):
        room = make_room()
        admin = make_user(is_superuser=True)
        assert access.enter(admin, room.incident.slug).rights == frozenset(Right)
        assert room.incident in access.visible_to(admin)

    def test_rights_are_looked_up_again_when_the_deed_is_done(self):
        room = make_room()
        guest = make_member(room.incident)
        members.remove(room, guest.user.pk)
        with pytest.raises(NotAMember):
            make_artifact(guest)

    def test_an_account_that_was_switched_off_sees_nothing(self):
        room = make_room()
        room.user.is_active = False
        room.user.save()
        with pytest.raises(NotAMember):
            access.enter(room.user, room.incident.slug)

    def test_a_closed_room_takes_nothing_but_people_and_the_key(self):
        room = make_room()
        rooms.set_status(room, "closed")
        with pytest.raises(RoomClosed):
            make_artifact(room)
        with pytest.raises(RoomClosed):
            notes.add(room, "late")
        members.invite(room, "viewer")
        rooms.set_status(room, "open")
        make_artifact(room)

    def test_only_a_lead_opens_a_closed_room(self):
        room = make_room()
        guest = make_member(room.incident)
        rooms.set_status(room, "closed")
        with pytest.raises((NotAllowed, RoomClosed)):
            rooms.set_status(access.enter(guest.user, room.incident.slug), "open")


class TestRooms:
    def test_it_keeps_every_answer(self):
        user = make_user()
        since = datetime(2008, 11, 7, 10, 15, tzinfo=UTC)
        incident = rooms.create(
            user,
            rooms.Answers(
                title="  Logins   take 3.9 s ",
                symptom_text="connect time",
                symptom_unit="s",
                symptom_bad=3.9,
                symptom_normal=0.3,
                measured_how="a script",
                since=since,
                ongoing=True,
                affected="300 sessions",
                last_change="memory_target",
                team="dba",
                hosts=(rooms.HostAnswer("db1", os="solaris", ncpu=16, mem_gib=64.0, role="db"),),
            ),
        )
        incident.refresh_from_db()
        assert incident.title == "Logins take 3.9 s"
        assert (incident.symptom_bad, incident.affected, incident.t_zero) == (3.9, "300 sessions", since)
        assert incident.hosts.get().ncpu == 16
        assert incident.memberships.get().role == "lead"
        assert Activity.objects.first_broken(incident.pk) is None

    def test_an_edit_that_rules_see_has_the_room_judged_again_and_others_do_not(self):
        room = make_room()
        rooms.edit(room, {"affected": "everybody"})
        assert not Job.objects.filter(kind="judge").exists()
        rooms.edit(room, {"symptom_bad": 4.2, "symptom_unit": "s"})
        assert Job.objects.filter(kind="judge").count() == 1
        assert last_deed(room).detail == {"symptom_bad": 4.2, "symptom_unit": "s"}
        assert heard(room, "case") == ["", ""]

    def test_the_zero_of_time_is_set_once(self):
        room = make_room()
        first = datetime(2020, 1, 1, tzinfo=UTC)
        assert rooms.edit(room, {"since": first}).t_zero == first
        assert rooms.edit(room, {"since": first + timedelta(hours=1)}).t_zero == first

    def test_an_empty_title_and_an_unknown_field_are_refused(self):
        with pytest.raises(Refused):
            rooms.create(make_user(), rooms.Answers(title="  "))
        with pytest.raises(ValueError, match="no such answers"):
            rooms.edit(make_room(), {"slug": "mine"})


class TestReceive:
    def test_it_stores_bytes_and_row_and_queues_the_reading(self, hints, on_commit):
        room = make_room()
        artifact = make_artifact(room, CONNECT_TIMES, "C:\\temp\\times.txt", host="db1", phase="before")
        assert (artifact.number, artifact.name, artifact.state) == (1, "times.txt", "queued")
        with store.open_original(artifact) as file:
            assert file.read() == CONNECT_TIMES
        assert folders(room.incident.pk) == [hashlib.sha256(CONNECT_TIMES).hexdigest()]
        assert dict(artifact.corrections.values_list("field", "value")) == {"host": "db1", "phase": "before"}
        assert Job.objects.get().queue == "small"
        assert heard(room, "artifact") == ["1"]
        assert last_deed(room).detail["sha256"] == artifact.sha256
        assert not list((store._root() / "incoming").iterdir())

    def test_the_same_content_is_already_here_and_leaves_nothing_behind(self):
        room = make_room()
        make_artifact(room, name="first.txt")
        with pytest.raises(AlreadyHere, match=r"artifact 1 \(first\.txt\)") as refusal:
            make_artifact(room, name="second.txt")
        assert refusal.value.number == 1
        assert not list((store._root() / "incoming").iterdir())
        assert RoomCounter.objects.get(incident=room.incident).artifact_number == 1

    def test_another_room_may_have_the_same_content(self):
        first, second = make_room(), make_room()
        assert make_artifact(first).number == make_artifact(second).number == 1
        assert folders(first.incident.pk) == folders(second.incident.pk)

    def test_a_large_file_waits_in_its_own_queue(self, settings):
        settings.EXHIBIT_LARGE_BYTES = 100
        make_artifact(make_room(), b"x" * 100)
        assert Job.objects.get().queue == "large"

    def test_an_empty_file_is_refused(self):
        with pytest.raises(Refused, match="empty"):
            make_artifact(make_room(), b"")

    def test_too_much_is_refused_with_the_limit_named(self, settings):
        settings.EXHIBIT_MAX_UPLOAD_BYTES = 2**20
        with pytest.raises(TooLarge, match="1 MiB"):
            artifacts.receive_stream(make_room(), "big", iter([b"x" * 2**20, b"y"]))
        assert not list((store._root() / "incoming").iterdir())

    def test_below_the_floor_of_free_space_nothing_is_taken(self, settings):
        settings.EXHIBIT_MIN_FREE_BYTES = 2**60
        with pytest.raises(NoSpace, match="disk for evidence is full"):
            make_artifact(make_room())

    def test_a_disk_that_fills_up_while_writing_is_a_clear_refusal(self, monkeypatch):
        room = make_room()

        def full(*_):
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(NoSpace, match="was not stored"):
            make_artifact(room)
        monkeypatch.undo()
        assert not Artifact.objects.exists()
        assert not list((store._root() / "incoming").iterdir())
        make_artifact(room)  # and nothing else in the room suffers

    def test_bytes_are_on_disk_before_the_row_is_committed(self, monkeypatch):
        order: list[str] = []
        real = os.fsync

        def noted(what: str) -> str:
            order.append(what)
            return what

        monkeypatch.setattr(os, "fsync", lambda handle: (noted("fsync"), real(handle)))
        keep = store.Incoming.keep
        monkeypatch.setattr(store.Incoming, "keep", lambda *a: (keep(*a), noted("kept"))[0])
        create = Artifact.objects.create
        monkeypatch.setattr(Artifact.objects, "create", lambda **f: (noted("row"), create(**f))[1])
        make_artifact(make_room())
        assert order.index("fsync") < order.index("kept") < order.index("row")

    def test_a_transaction_that_fails_can_be_done_again_with_the_same_bytes(self, monkeypatch):
        room = make_room()
        incoming = store.receive_all([CONNECT_TIMES])
        create = Artifact.objects.create
        monkeypatch.setattr(Artifact.objects, "create", lambda **_: (_ for _ in ()).throw(OperationalError("gone")))
        with pytest.raises(OperationalError), transaction.atomic():
            artifacts.receive(room, incoming, "times.txt", "page")
        monkeypatch.setattr(Artifact.objects, "create", create)
        assert artifacts.receive(room, incoming, "times.txt", "page").number == 1
        incoming.discard()

    @pytest.mark.parametrize(
        ("said", "words"),
        [
            ({"year": "20x8"}, "year"),
            ({"tz": "Mars/Olympus"}, "time zone"),
            ({"kind": "../../truss"}, "kind"),
            ({"interval_s": "0"}, "seconds between"),
            ({"date": "31.12.2020"}, "day of the first"),
            ({"date_order": "ymd"}, "order of day"),
            ({"columns": "time=1\x1b"}, "which column"),
            ({"host": "db\x1b[1m"}, "host"),
            ({"colour": "red"}, "colour"),
        ],
    )
    def test_words_that_make_no_sense_are_refused(self, said, words):
        with pytest.raises(Refused, match=words):
            make_artifact(make_room(), **said)

    @pytest.mark.parametrize(
        ("name", "shown"),
        [
            ("../../../etc/passwd", "passwd"),
            ("a\u202etxt.exe", "a⟨U+202E⟩txt.exe"),
            ("x\x1b]0;title\x07.txt", "x␛]0;title␇.txt"),
            ("<img src=x>", "<img src=x>"),
            ("", "unnamed"),
            ("ä" * 400, "ä" * 255),
        ],
    )
    def test_a_name_is_only_ever_shown(self, name, shown):
        artifact = make_artifact(make_room(), name=name)
        assert artifact.name == shown
        assert store.original(artifact).name == artifact.sha256

    def test_export_names_are_safe_and_alone(self):
        room = make_room()
        rows = [make_artifact(room, b"%d\n" % n, name) for n, name in enumerate(("a b.txt", "A b.txt", "c.txt", ".."))]
        assert store.export_names(rows) == {1: "1-a_b.txt", 2: "2-A_b.txt", 3: "c.txt", 4: "unnamed"}


class TestCorrect:
    def test_a_host_rewrites_no_file_and_a_kind_does(self):
        room = make_room()
        number = make_artifact(room).number
        run_jobs("small")
        Job.objects.all().delete()
        artifacts.correct(room, number, {"host": "db1", "phase": "before"})
        assert list(Job.objects.values_list("kind", flat=True)) == ["judge"]
        assert artifacts.correct(room, number, {"kind": "conntime/list"}).state == "queued"
        assert set(Job.objects.values_list("kind", flat=True)) == {"judge", "ingest"}

    def test_a_hosts_system_and_zone_reach_into_the_readings_of_what_was_said_to_be_its(self):
        room = make_room()
        make_artifact(room, host="db1")
        make_artifact(room, b"time elapsed : 0,31\n" * 5)
        run_jobs("small")
        case.put_host(room, "db1", {"ncpu": 16})
        assert not Job.objects.filter(kind="ingest", state="queued").exists()
        case.put_host(room, "db1", {"tz": "Europe/Warsaw"})
        assert [job.artifact.number for job in Job.objects.filter(kind="ingest", state="queued")] == [1]
        run_jobs("small")
        assert room.incident.artifacts.get(number=1).reading.hints["file"] == {"tz": "Europe/Warsaw"}
        case.remove_host(room, "db1")
        assert Job.objects.filter(kind="ingest", state="queued").count() == 1

    def test_a_word_can_be_changed_said_unknown_and_taken_back(self):
        room = make_room()
        number = make_artifact(room).number
        for value, kept in (("db1", ["db1"]), ("db2", ["db2"]), (None, [None]), ("", [])):
            artifacts.correct(room, number, {"host": value}, lines=(1, 5))
            assert list(Correction.objects.values_list("value", flat=True)) == kept

    def test_retry_is_for_what_failed(self):
        room = make_room()
        number = make_artifact(room).number
        with pytest.raises(Refused, match="did not fail"):
            artifacts.retry(room, number)
        Job.objects.all().delete()
        Artifact.objects.update(state="failed", cause="no such kind")
        assert artifacts.retry(room, number).state == "queued"
        assert Job.objects.get().kind == "ingest"


class TestPurge:
    def finding(self, room, number, key="a" * 16):
        content = {
            "key": key,
            "rule": "SHM-001",
            "kind": "finding",
            "group": "cause",
            "headline": "secret 2.47 s",
            "expert": "secret",
            "manager": "secret",
            "facts": {"stall_s": 2.47},
            "against": ["secret"],
            "clears": [],
            "citations": [
                {"artifact": number, "file": "a", "line_from": 1, "line_to": 2, "role": "x", "text": "secret"}
            ],
        }
        report = {
            "findings": [content],
            "artifacts": [{"id": number}],
            "cleared": [{"citations": content["citations"], "bound": "secret"}],
            "verdict": {"state": "cause", "sentence": "secret", "rules": ["SHM-001"]},
            "whose_seconds": {"pieces": [{"label": "secret", "citations": content["citations"]}]},
            "compared": [{"text": "secret"}],
        }
        n = Evaluation.objects.count() + 1
        evaluation = Evaluation.objects.create(
            incident=room.incident, number=n, inputs_hash="x", version="1", report=report
        )
        finding = Finding.objects.create(incident=room.incident, key=key, rule="SHM-001", kind="finding", group="cause")
        finding.current = FindingVersion.objects.create(
            finding=finding, number=1, evaluation=evaluation, content=content, content_hash="x"
        )
        finding.save()
        return finding

    def test_it_leaves_a_tombstone_and_no_word(self, on_commit):
        room = make_room()
        artifact = make_artifact(room, b"secret\n", "payroll.txt")
        other = make_artifact(room, b"other\n")
        finding = self.finding(room, artifact.number)
        with pytest.raises(Refused, match="why"):
            purge.purge(room, artifact.number, " ")
        purge.purge(room, artifact.number, "private data")
        artifact.refresh_from_db()
        assert (artifact.state, artifact.purged_by, artifact.purge_reason) == ("purged", room.user, "private data")
        assert heard(room, "finding") == [finding.key]
        finding.refresh_from_db()
        assert finding.withdrawn
        assert finding.current.content["citations"][0]["line_to"] == 2
        kept = [str(row) for row in FindingVersion.objects.values_list("content", flat=True)]
        kept += [str(row) for row in Evaluation.objects.values_list("report", flat=True)]
        assert not [text for text in kept if "secret" in text]
        assert last_deed(room).detail["sha256"] == artifact.sha256
        assert not Job.objects.filter(artifact=artifact, state="queued").exists()
        assert Job.objects.filter(artifact=other, state="queued").exists()
        for deed in (artifacts.reread, artifacts.note_download):
            with pytest.raises(Refused, match="purged"):
                deed(room, artifact.number)
        with pytest.raises(Refused, match="already"):
            purge.purge(room, artifact.number, "again")

    def test_the_bytes_are_gone_and_the_number_stays_taken(self, django_capture_on_commit_callbacks):
        room = make_room()
        artifact = make_artifact(room)
        with django_capture_on_commit_callbacks(execute=True):
            purge.purge(room, artifact.number, "wrong file")
        assert folders(room.incident.pk) == []
        assert make_artifact(room).number == 2

    def test_the_same_content_uploaded_again_is_not_taken_with_it(self, django_capture_on_commit_callbacks):
        room = make_room()
        first = make_artifact(room)
        purge.purge(room, first.number, "wrong room")
        again = make_artifact(room)
        store.purge(first)  # late, as after a crash
        with store.open_original(again) as file:
            assert file.read() == CONNECT_TIMES

    def test_a_finding_on_other_evidence_keeps_its_words(self):
        room = make_room()
        artifact, other = make_artifact(room, b"1\n"), make_artifact(room, b"2\n")
        finding = self.finding(room, other.number)
        purge.purge(room, artifact.number, "x")
        finding.refresh_from_db()
        assert not finding.withdrawn
        assert finding.current.content["headline"] == "secret 2.47 s"


class TestCase:
    def test_each_edit_is_recorded_told_and_judged(self):
        room = make_room()
        artifact = make_artifact(room)
        Job.objects.all().delete()
        case.put_host(room, "db1", {"os": "solaris", "ncpu": 16})
        case.put_host(room, "db1", {"mem_gib": 64.0})
        host = room.incident.hosts.get()
        assert (host.os, host.ncpu, host.mem_gib) == ("solaris", 16, 64.0)
        phase = case.add_phase(room, artifact.number, 1, 10, "before")
        marker = case.put_marker(
            room, {"label": "ISM", "from_phase": "before", "to_phase": "after-1", "changed": ["memory_target off"]}
        )
        case.put_marker(room, {"hypothesis": "H-OS-SHM"}, id=marker.pk)
        statement = case.put_statement(room, {"name": "sessions", "num": 300.0, "text": "about 300"})
        offset = case.put_offset(room, "1.1:1", "2.1:1", 0.1, 0.3, "the same request")
        assert statement.author_label == room.user.username
        assert Job.objects.filter(kind="judge").count() == 1
        assert len(heard(room, "case")) == 7
        case.remove_offset(room, offset.pk)
        case.remove_statement(room, statement.pk)
        case.remove_marker(room, marker.pk)
        case.remove_phase(room, phase.pk)
        case.remove_host(room, "db1")
        assert not room.incident.hosts.exists()
        with pytest.raises(Refused, match="already"):
            case.remove_host(room, "db1")

    @pytest.mark.parametrize(
        "deed",
        [
            lambda room: case.put_host(room, " ", {}),
            lambda room: case.put_host(room, "db1", {"ncpu": 0}),
            lambda room: case.put_host(room, "db1", {"mem_gib": 0}),
            lambda room: case.add_phase(room, 1, 5, 4, "before"),
            lambda room: case.add_phase(room, 9, 1, 4, "before"),
            lambda room: case.add_phase(room, 1, 1, 4, " "),
            lambda room: case.put_marker(room, {"label": "nowhere"}),
            lambda room: case.put_marker(room, {"label": "x", "kind": "party", "at": timezone.now()}),
            lambda room: case.put_statement(room, {"name": "x", "text": ""}),
            lambda room: case.put_statement(room, {"name": "x", "text": "y", "num": float("nan")}),
            lambda room: case.put_offset(room, "a", "a", 0, 1),
            lambda room: case.put_offset(room, "a", "b", 2, 1),
        ],
    )
    def test_nonsense_is_refused(self, deed):
        room = make_room()
        make_artifact(room)
        with pytest.raises(Refused):
            deed(room)

    def test_two_phases_may_not_share_lines(self):
        room = make_room()
        make_artifact(room)
        case.add_phase(room, 1, 1, 10, "before")
        with pytest.raises(Refused, match="already"):
            case.add_phase(room, 1, 10, 12, "after-1")

    def test_another_rooms_rows_cannot_be_reached(self):
        room, other = make_room(), make_room()
        statement = case.put_statement(other, {"name": "x", "text": "y"})
        with pytest.raises(Refused):
            case.remove_statement(room, statement.pk)
        with pytest.raises(Refused):
            case.put_statement(room, {"text": "z"}, id=statement.pk)


class TestMembers:
    def test_an_invitation_works_once(self):
        room = make_room()
        secret = members.invite(room, "investigator", "network", email="net@example.com")
        assert secret not in str(Invitation.objects.values())
        guest = make_user()
        assert members.join(guest, secret) == room.incident
        member = room.incident.memberships.get(user=guest)
        assert (member.role, member.team) == ("investigator", "network")
        for person in (guest, make_user()):
            with pytest.raises(NotAMember):
                members.join(person, secret)

    def test_an_expired_a_revoked_and_an_invented_one_look_alike(self):
        room = make_room()
        expired, revoked = members.invite(room, "viewer"), members.invite(room, "viewer")
        first, second = Invitation.objects.order_by("pk")
        Invitation.objects.filter(pk=first.pk).update(expires_at=timezone.now())
        members.revoke(room, second.pk)
        for secret in (expired, revoked, "invented"):
            with pytest.raises(NotAMember):
                members.look_at(secret)

    def test_guessing_is_slowed_down(self):
        for _ in range(20):
            with pytest.raises(NotAMember):
                members.look_at("guess", caller="192.0.2.7")
        with pytest.raises(Refused, match="Too many") as refusal:
            members.look_at("guess", caller="192.0.2.7")
        assert refusal.value.status == 429

    def test_joining_again_only_raises_a_role(self):
        room = make_room()
        guest = make_member(room.incident, "investigator")
        members.join(guest.user, members.invite(room, "viewer"))
        assert room.incident.memberships.get(user=guest.user).role == "investigator"
        members.join(guest.user, members.invite(room, "lead"))
        assert room.incident.memberships.get(user=guest.user).role == "lead"

    def test_the_mail_says_nothing_of_the_room(self):
        room = make_room(title="Secret merger is slow")
        members.send_invitation(room, "net@example.com", "https://x/join/abc/")
        assert "https://x/join/abc/" in mail.outbox[0].body
        assert "merger" not in mail.outbox[0].body + mail.outbox[0].subject

    def test_a_room_keeps_a_lead(self):
        room = make_room()
        with pytest.raises(Refused, match="needs a lead"):
            members.remove(room, room.user.pk)
        with pytest.raises(Refused, match="needs a lead"):
            members.change(room, room.user.pk, "viewer", "dba")
        second = make_member(room.incident, "lead")
        members.remove(room, room.user.pk)
        assert [m.user for m in second.incident.memberships.all()] == [second.user]

    def test_removal_and_a_new_role_end_the_streams(self, published, django_capture_on_commit_callbacks):
        room = make_room()
        guest, other = make_member(room.incident), make_member(room.incident)
        with django_capture_on_commit_callbacks(execute=True):
            members.remove(room, guest.user.pk)
            members.change(room, other.user.pk, "viewer", "system")
        ends = [said["end"] for said in published if "end" in said]
        assert ends == [guest.user.pk, other.user.pk]

    @pytest.mark.parametrize("how", ["removed", "demoted", "closed"])
    def test_links_end_with_the_rights_of_their_maker(self, how):
        room = make_room()
        second = make_member(room.incident, "lead")
        invitations = {of.user.pk: members.invite(of, "lead") for of in (room, second)}
        version = summary.freeze(room, "for the board")
        links = {of.user.pk: summary.share(of, version.number, "the board", 7) for of in (room, second)}
        match how:
            case "removed":
                members.remove(room, second.user.pk)
            case "demoted":
                members.change(room, second.user.pk, "investigator", "dba")
            case "closed":
                closing_accounts.close_account(second.user)
        detail = last_deed(room).detail
        assert (detail["links_ended"], detail["invitations_ended"]) == (1, 1)
        with pytest.raises(WrongSecret):
            members.look_at(invitations[second.user.pk])
        with pytest.raises(Refused) as gone:
            summary.open_link(links[second.user.pk], "192.0.2.1")
        assert gone.value.status == 410
        assert members.look_at(invitations[room.user.pk])
        assert summary.open_link(links[room.user.pk], "192.0.2.1")

    def test_everybody_may_leave(self):
        guest = make_member(make_room().incident, "viewer")
        members.remove(guest, guest.user.pk)
        assert last_deed(guest).verb == "left"


class TestAccounts:
    def test_the_first_link_makes_one_administrator(self):
        path = accounts.first_admin_link()
        assert path is not None
        secret = path.split("/")[2]
        assert secret not in str(FirstAdminLink.objects.values())
        accounts.look_at_first(secret)
        with pytest.raises(Refused, match="too short"):
            accounts.first_admin(secret, "root", "short")
        user = accounts.first_admin(secret, "root", "correct horse battery")
        assert user.is_superuser
        assert user.check_password("correct horse battery")
        for deed in (lambda: accounts.look_at_first(secret), lambda: accounts.first_admin(secret, "b", "x" * 20)):
            with pytest.raises(NotAMember):
                deed()
        assert accounts.first_admin_link() is None

    def test_a_new_link_replaces_the_one_before(self):
        first, second = accounts.first_admin_link(), accounts.first_admin_link()
        assert first is not None
        assert second is not None
        with pytest.raises(NotAMember):
            accounts.look_at_first(first.split("/")[2])
        accounts.look_at_first(second.split("/")[2])

    def test_it_expires(self):
        path = accounts.first_admin_link()
        assert path is not None
        FirstAdminLink.objects.update(expires_at=timezone.now())
        with pytest.raises(NotAMember):
            accounts.first_admin(path.split("/")[2], "root", "correct horse battery")


class TestNotes:
    def test_a_note_hangs_on_lines_by_their_hash(self):
        room = make_room()
        artifact = make_artifact(room)
        note = notes.add(room, " look here \r\n", artifact=1, lines=(3, 5))
        assert (note.text, note.sha256, note.line_from, note.line_to) == ("look here", artifact.sha256, 3, 5)
        assert heard(room, "note") == [str(note.pk)]

    def test_edit_delete_and_undo_keep_who_and_when(self):
        room = make_room()
        guest = make_member(room.incident)
        note = notes.add(guest, "first", clock="1.1:1", times=(1.0, 2.5))
        edited = notes.edit(room, note.pk, "second")  # a lead may
        assert (edited.text, edited.author, edited.edited_by) == ("second", guest.user, room.user)
        assert notes.delete(guest, note.pk).deleted_by == guest.user
        with pytest.raises(Refused, match="deleted"):
            notes.edit(guest, note.pk, "third")
        assert notes.restore(guest, note.pk).deleted_at is None
        verbs = Activity.objects.filter(object=f"note {note.pk}").values_list("verb", flat=True)
        assert list(verbs) == ["wrote", "edited", "deleted", "restored"]
        assert Event.objects.filter(kind="note").latest("seq").version == 4

    def test_anothers_note_is_not_ones_own(self):
        room = make_room()
        note = notes.add(room, "mine")
        with pytest.raises(NotAllowed):
            notes.edit(make_member(room.incident), note.pk, "yours")

    @pytest.mark.parametrize(
        "fields",
        [
            {"text": "  "},
            {"text": "x" * 20_001},
            {"finding_key": "f" * 16},
            {"artifact": 7, "lines": (1, 2)},
            {"lines": (1, 2)},
            {"lane": "a(b)"},
            {"artifact": 1, "lines": (2, 1)},
            {"clock": "1.1:1", "times": (float("nan"), 2)},
        ],
    )
    def test_nonsense_is_refused(self, fields):
        room = make_room()
        make_artifact(room)
        with pytest.raises(Refused):
            notes.add(room, **{"text": "x", **fields})


class TestDisputes:
    def test_one_open_objection_with_a_reason(self):
        room = make_room()
        artifact = make_artifact(room)
        finding = TestPurge().finding(room, artifact.number)
        with pytest.raises(Refused, match="why"):
            findings.dispute(room, finding.key, " ")
        findings.dispute(room, finding.key, "that was another login")
        with pytest.raises(Refused, match="already"):
            findings.dispute(room, finding.key, "again")
        findings.dispute(make_member(room.incident), finding.key, "me too")
        findings.withdraw(room, finding.key)
        findings.dispute(room, finding.key, "now for real")
        assert heard(room, "dispute") == [finding.key] * 4
        with pytest.raises(Refused, match="no such finding"):
            findings.dispute(room, "0" * 16, "x")


class TestTokens:
    def test_it_opens_its_room_for_uploads_only(self):
        room = make_room()
        secret = tokens.create(room, "db1")
        assert secret not in str(UploadToken.objects.values())
        seen = access.enter_with_token(room.incident.slug, secret)
        assert seen.rights == frozenset({Right.UPLOAD})
        assert make_artifact(seen).token == UploadToken.objects.get()
        with pytest.raises(NotAllowed):
            notes.add(seen, "x")
        with pytest.raises(NotAMember):
            access.enter_with_token(make_room().incident.slug, secret)

    @pytest.mark.parametrize("end", ["revoked", "expired", "its maker left", "invented"])
    def test_it_ends(self, end):
        room = make_room()
        secret = tokens.create(room, "db1")
        if end == "revoked":
            tokens.revoke(room, UploadToken.objects.get().pk)
        elif end == "expired":
            UploadToken.objects.update(expires_at=timezone.now())
        elif end == "its maker left":
            make_member(room.incident, "lead")
            members.remove(room, room.user.pk)
        else:
            secret = "invented"
        with pytest.raises(NotAMember):
            access.enter_with_token(room.incident.slug, secret)
