"""Rooms are deleted for good, in one lawful way, however often a worker dies on the way."""

from __future__ import annotations

import json
import shutil
import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.db import ProgrammingError, connection, transaction
from django.utils import timezone

from incidents import access, tasks
from incidents.access import Right, Room
from incidents.actions import (
    access_tokens,
    board,
    exports,
    keeping,
    notes,
    plan,
    purge,
    quarantine,
    requests,
    rooms,
    tokens,
    webhooks,
)
from incidents.actions import summary as summaries
from incidents.errors import NotAMember, Refused, RoomClosed, StoreError
from incidents.models.evidence.upload import Upload
from incidents.models.people.access_token import Scope
from incidents.models.people.membership import Membership, Role
from incidents.models.room.activity import Activity
from incidents.models.room.incident import Incident, RoomCounter
from incidents.models.room.job import Job
from incidents.models.site.deletion import DeletionState, RoomDeletion, hash_of
from incidents.models.site.site_record import SiteRecord
from incidents.storage import live, store, tombstones
from incidents.work import deleting
from tests.incidents.conftest import CONNECT_TIMES, folders, make_artifact, make_member, make_room, make_user, run_jobs

pytestmark = pytest.mark.django_db


def lived_in(title: str = "Logins take 3.9 s", judged: bool = False) -> Room:
    """A room in which something of many kinds was done, and which was judged if that is asked for."""
    room = make_room(title=title)
    make_member(room.incident, Role.INVESTIGATOR)
    make_artifact(room)
    if judged:
        run_jobs()
    note = notes.add(room, "A remark.")
    notes.edit(room, note.pk, "Another remark.", note.version)
    plan.put_decision(room, {"question": "Restart?"})
    plan.put_action(room, {"text": "Restart it"})
    board.argue(room, board.Said("pings were slow", {"H-NET": "for"}))
    tokens.create(room, "db1")
    webhooks.add(room, "https://chat.example.com/hooks/x", ["verdict"])
    summaries.share(room, summaries.freeze(room, "").number, "the board")
    wanted = requests.put(room, {"what": "A trace", "command": "vmstat 5"})
    link = quarantine.look_at(quarantine.make_link(room, wanted.pk))
    incoming = store.receive_all([b"from a stranger\n"])
    quarantine.enter(link, incoming, "sent.txt")
    incoming.discard()
    under_way = store.Incoming()
    under_way.write(b"half")
    under_way.close()
    Upload.objects.create(pk=under_way.id, incident=room.incident, uploader=room.user, name="half.txt", size=100)
    return access.enter(room.user, room.incident.slug)


def let_time_pass(incident_id: int) -> None:
    """Have the announced deletion of a room be announced a month earlier."""
    row = RoomDeletion.objects.get(room_id=incident_id, state=DeletionState.ANNOUNCED)
    row.announced_at -= timedelta(days=30)
    row.due_at -= timedelta(days=30)
    row.save()


def announced(room: Room) -> RoomDeletion:
    deletion = keeping.announce(room, "by contract")
    let_time_pass(room.incident.pk)
    deletion.refresh_from_db()
    return deletion


def rows_of(incident_id: int) -> dict[str, int]:
    """Count what any table holds of a room, by the database's own references."""
    found = {}
    for model, path in deleting.of_rooms():
        if n := model._base_manager.filter(**{path: incident_id}).count():
            found[model.__name__] = n
    return found


def all_files(evidence: Path) -> list[str]:
    return sorted(str(path.relative_to(evidence)) for path in evidence.rglob("*") if path.is_file())


class TestNothingStays:
    def test_files_and_rows_go_and_one_line_stays(self, evidence):
        room = lived_in(judged=True)
        before = rows_of(room.incident.pk)
        # If the factory above makes less than these, the test says nothing.
        assert {"Activity", "Artifact", "Reading", "Part", "Evaluation", "Note", "NoteVersion", "Webhook"} <= set(
            before
        )
        assert {"ShareLink", "SummaryVersion", "QuarantinedFile", "Upload", "UploadToken", "Membership"} <= set(before)
        assert len(all_files(evidence)) > 5
        deletion = announced(room)
        counter = RoomCounter.objects.get(incident=room.incident)
        assert deleting.delete_due() == 1
        assert rows_of(room.incident.pk) == {}
        assert not Incident.objects.filter(pk=room.incident.pk).exists()
        assert all_files(evidence) == []
        connection.check_constraints()
        line = SiteRecord.objects.get()
        assert (line.actor_id, line.verb, line.object) == (room.user.pk, "deleted", f"room {room.incident.pk}")
        assert line.detail["last_hash"] == counter.activity_head
        assert (line.detail["artifacts"], line.detail["bytes"], line.detail["notes"]) == (1, len(CONNECT_TIMES), 1)
        assert SiteRecord.objects.first_broken() is None
        deletion.refresh_from_db()
        assert deletion.state == DeletionState.DONE
        for row in (line, deletion):
            said = json.dumps({k: str(v) for k, v in vars(row).items()})
            assert "Logins" not in said
            assert room.incident.slug not in said
            assert "contract" not in said

    def test_every_table_with_a_way_to_a_room_is_on_the_list(self):
        """By the catalogue of the database, not by what the code knows of its models."""
        with connection.cursor() as cursor:
            cursor.execute(
                "WITH RECURSIVE below(oid) AS (SELECT 'incidents_incident'::regclass::oid UNION"
                " SELECT c.conrelid FROM pg_constraint c JOIN below ON c.confrelid = below.oid WHERE c.contype = 'f')"
                " SELECT oid::regclass::text FROM below"
            )
            there = {row[0] for row in cursor.fetchall()}
        listed = {model._meta.db_table for model, _ in deleting.of_rooms()} | {"incidents_incident"}
        assert there == listed
        assert {model._meta.db_table for model in apps.get_models()} >= listed

    def test_other_rooms_keep_theirs_also_of_the_same_content(self, evidence):
        room, other = lived_in(), lived_in("Another one")
        before = rows_of(other.incident.pk), folders(other.incident.pk)
        announced(room)
        deleting.delete_due()
        assert (rows_of(other.incident.pk), folders(other.incident.pk)) == before
        artifact = other.incident.artifacts.get()
        with store.open_original(artifact) as original:
            assert original.read() == CONNECT_TIMES
        assert Activity.objects.first_broken(other.incident.pk) is None

    def test_a_token_of_this_room_alone_opens_nothing_any_more(self):
        room = lived_in()
        secret = access_tokens.create(room.user, "board", [Scope.READ], 3, room.incident.slug)
        announced(room)
        deleting.delete_due()
        with pytest.raises(Refused):
            access.caller_with(secret)


class TestTheWayThere:
    def test_it_is_closed_to_writing_at_once_and_shown(self):
        room = lived_in()
        keeping.announce(room, "by contract")
        now = access.enter(room.user, room.incident.slug)
        assert now.incident.closed
        assert now.incident.delete_at is not None
        for right in (Right.UPLOAD, Right.NOTE, Right.PURGE, Right.CLOSE, Right.REVIEW, Right.PEOPLE):
            with pytest.raises(RoomClosed, match="to be deleted"):
                now.require(right)
        assert now.may(Right.READ)
        assert now.may(Right.EXPORT)
        assert now.may(Right.DELETE)
        assert now.incident.delete_at - timezone.now() > timedelta(days=6)

    def test_before_its_time_nothing_goes(self, evidence):
        room = lived_in()
        before = all_files(evidence)
        keeping.announce(room, "by contract")
        assert deleting.delete_due() == 0
        assert all_files(evidence) == before
        assert access.enter(room.user, room.incident.slug)

    def test_undone_it_stays_and_may_be_opened_again(self):
        room = lived_in()
        announced(room)
        keeping.undo(room)
        assert deleting.delete_due() == 0
        rooms.reopen(room)
        assert access.enter(room.user, room.incident.slug).may(Right.NOTE)
        verbs = list(room.incident.activity.order_by("seq").values_list("verb", flat=True))
        assert verbs.index("announced") < verbs.index("undid")

    def test_a_room_that_is_to_be_deleted_is_not_opened_by_the_way(self):
        room = lived_in()
        keeping.announce(room, "by contract")
        with pytest.raises(RoomClosed):
            rooms.reopen(room)

    @pytest.mark.parametrize("role", [Role.VIEWER, Role.INVESTIGATOR])
    def test_others_than_leads_delete_nothing(self, role):
        member = make_member(make_room().incident, role)
        for deed in (keeping.announce, keeping.hold, keeping.lift):
            with pytest.raises(Refused) as refused:
                deed(member, "because")
            assert refused.value.status == 403

    def test_the_database_refuses_a_deletion_without_a_wait(self):
        room = make_room()
        from django.db import IntegrityError

        with pytest.raises(IntegrityError, match="deletion_waits"), transaction.atomic():
            RoomDeletion.objects.create(
                room_id=room.incident.pk,
                slug_hash=hash_of(room.incident.slug),
                announced_at=timezone.now(),
                due_at=timezone.now(),
            )


class TestTheRecord:
    """The rows of a room's record go in one way only."""

    def lawful(self, room: Room) -> RoomDeletion:
        deletion = announced(room)
        assert deleting.begin(deletion.pk)
        return deletion

    def line(self, room: Room, deletion: RoomDeletion, **detail: Any) -> None:
        head = RoomCounter.objects.get(incident=room.incident).activity_head
        SiteRecord.objects.append(None, "x", "deleted", "room", deletion, **{"last_hash": head, **detail})

    def test_with_all_of_it_they_go(self):
        room = make_room()
        self.line(room, self.lawful(room))
        assert Activity.objects.filter(incident=room.incident)._raw_delete("default")

    @pytest.mark.parametrize("lack", ["line", "hash", "time", "begun", "slug", "once"])
    def test_each_condition_counts(self, lack):
        room = make_room()
        deletion = self.lawful(room)
        if lack != "line":
            self.line(room, deletion, **({"last_hash": "0" * 64} if lack == "hash" else {}))
        rows = RoomDeletion.objects.filter(pk=deletion.pk)
        later = timezone.now() + timedelta(days=1)
        changed: dict[str, dict[str, Any]] = {
            "time": {"due_at": later},
            "begun": {"state": "announced"},
            "slug": {"slug_hash": "0" * 64},
            "once": {"again": True},  # came back, although it never went
        }
        if lack in changed:
            rows.update(**changed[lack])
        with pytest.raises(ProgrammingError, match="append-only"), transaction.atomic():
            Activity.objects.filter(incident=room.incident)._raw_delete("default")

    def test_a_hold_keeps_them(self):
        room = make_room()
        deletion = self.lawful(room)
        self.line(room, deletion)
        Incident.objects.filter(pk=room.incident.pk).update(
            held_at=timezone.now(), held_by=room.user, held_why="court", delete_at=None
        )
        with pytest.raises(ProgrammingError, match="append-only"), transaction.atomic():
            Activity.objects.filter(incident=room.incident)._raw_delete("default")

    def test_those_of_another_room_stay(self):
        room, other = make_room(), make_room()
        self.line(room, self.lawful(room))
        with pytest.raises(ProgrammingError, match="append-only"), transaction.atomic():
            Activity.objects.filter(incident=other.incident)._raw_delete("default")

    @pytest.mark.parametrize("deed", [lambda rows: rows.update(verb="x"), lambda rows: rows._raw_delete("default")])
    def test_the_record_of_the_site_never_changes(self, deed):
        SiteRecord.objects.append(None, "Exhibit", "deleted", "room 1")
        with pytest.raises(ProgrammingError, match="append-only"), transaction.atomic():
            deed(SiteRecord.objects.all())

    def test_a_line_of_it_that_was_touched_is_named(self):
        for n in range(3):
            SiteRecord.objects.append(None, "Exhibit", "deleted", f"room {n}")
        with connection.cursor() as cursor:
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
            cursor.execute("ALTER TABLE incidents_siterecord DISABLE TRIGGER site_record_is_append_only")
            cursor.execute("UPDATE incidents_siterecord SET actor_name = 'somebody else' WHERE seq = 2")
            cursor.execute("ALTER TABLE incidents_siterecord ENABLE TRIGGER site_record_is_append_only")
        assert SiteRecord.objects.first_broken() == 2


class Killed(BaseException):
    """What a SIGKILL is for the code: no handler of errors runs."""


class TestKilled:
    @pytest.mark.parametrize(
        "step",
        [
            "RoomDeletion.save",
            "live.end_streams",
            "store.drop_room",
            "shutil.rmtree",
            "SiteRecord.append",
            "of_rooms",
            "after begin",
            "after remove_files",
            "after remove_rows",
        ],
    )
    @pytest.mark.drawn(3)
    def test_a_worker_that_dies_at_any_step_is_gone_on_for(self, step, monkeypatch, evidence):
        room = lived_in()
        deletion = announced(room)
        dying = True

        def die(*args: Any, **kwargs: Any) -> Any:
            raise Killed

        def half(path: Path, *args: Any, **kwargs: Any) -> None:
            next(file for file in Path(path).rglob("*") if file.is_file()).unlink()
            raise Killed

        with monkeypatch.context() as patched:
            if step.startswith("after "):
                name = step.removeprefix("after ")
                done = getattr(deleting, name)

                def then_die(id: int) -> bool:
                    done(id)
                    raise Killed

                patched.setattr(deleting, name, then_die)
            else:
                target = {
                    "RoomDeletion.save": (RoomDeletion, "save", die),
                    "live.end_streams": (live, "end_streams", die),
                    "store.drop_room": (store, "drop_room", die),
                    "shutil.rmtree": (shutil, "rmtree", half),
                    "SiteRecord.append": (type(SiteRecord.objects), "append", die),
                    "of_rooms": (deleting, "of_rooms", die),
                }[step]
                patched.setattr(*target)
            with pytest.raises(Killed), transaction.atomic():  # what a dead connection does with its transaction
                deleting.delete_due()
            assert dying
        deleting.delete_due()
        deleting.delete_due()
        deletion.refresh_from_db()
        assert deletion.state == DeletionState.DONE
        assert rows_of(room.incident.pk) == {}
        assert all_files(evidence) == []
        assert SiteRecord.objects.count() == 1

    def test_a_disk_that_fails_leaves_the_room_shut_and_the_next_call_goes_on(self, monkeypatch, evidence):
        room = lived_in()
        deletion = announced(room)
        with monkeypatch.context() as patched:
            patched.setattr(shutil, "rmtree", lambda *_: (_ for _ in ()).throw(OSError(5, "Input/output error")))
            assert deleting.delete_due() == 0
        deletion.refresh_from_db()
        assert deletion.state == DeletionState.BEGUN
        with pytest.raises(NotAMember):
            access.enter(room.user, room.incident.slug)
        with pytest.raises(NotAMember):
            access.enter(make_user(is_superuser=True), room.incident.slug)
        assert not access.visible_to(make_user(is_superuser=True)).filter(pk=room.incident.pk).exists()
        with pytest.raises(Refused):
            keeping.undo(Room(room.incident, room.user, "lead", frozenset(Right)))
        assert deleting.delete_due() == 1
        assert all_files(evidence) == []

    def test_what_a_worker_writes_late_goes_too(self, evidence):
        room = lived_in()
        announced(room)
        deleting.delete_due()
        late = evidence / str(room.incident.pk) / "1" / "1" / "late.parquet"
        late.parent.mkdir(parents=True)
        late.write_bytes(b"late")
        deleting.delete_due()
        assert all_files(evidence) == []

    def test_jobs_end_when_it_begins(self):
        room = make_room()
        make_artifact(room)
        job = Job.objects.claim("small", "w")
        assert job is not None
        assert deleting.begin(announced(room).pk)
        job.refresh_from_db()
        assert (job.state, job.cause) == ("failed", deleting.CAUSE)


@pytest.mark.django_db(transaction=True)
def test_two_workers_at_once_delete_once(evidence):
    room = lived_in()
    deletion = announced(room)
    start, faults = threading.Barrier(2), []

    def work() -> None:
        try:
            start.wait()
            deleting.delete_due()
        except Exception as error:  # told by the assertion below
            faults.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    deletion.refresh_from_db()
    assert deletion.state == DeletionState.DONE
    assert SiteRecord.objects.count() == 1
    assert rows_of(room.incident.pk) == {}


class TestLegalHold:
    def test_nothing_of_a_held_room_goes_by_anybody(self, evidence):
        room = lived_in()
        admin = access.enter(make_user(is_superuser=True), room.incident.slug)
        keeping.hold(room, "letter of the court")
        for somebody in (room, admin):
            with pytest.raises(Refused, match="legal hold"):
                keeping.announce(somebody, "by contract")
            with pytest.raises(Refused, match="legal hold"):
                purge.purge(somebody, 1, "by mistake")
            request = somebody.incident.requests.get()
            file = somebody.incident.quarantined.get()
            with pytest.raises(Refused, match="legal hold"):
                quarantine.refuse(somebody, request.pk, file.pk, "not wanted")

    @pytest.mark.parametrize("table", ["incident", "artifact", "note"])
    def test_the_database_itself_refuses(self, table):
        room = lived_in()
        keeping.hold(room, "letter of the court")
        column = "id" if table == "incident" else "incident_id"
        with pytest.raises(ProgrammingError, match="legal hold"), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"DELETE FROM incidents_{table} WHERE {column} = %s", [room.incident.pk])
        with pytest.raises(ProgrammingError, match="legal hold"), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("UPDATE incidents_artifact SET purged_at = now() WHERE incident_id = %s", [room.incident.pk])

    def test_it_undoes_an_announced_deletion(self):
        room = lived_in()
        announced(room)
        keeping.hold(room, "letter of the court")
        assert deleting.delete_due() == 0
        assert RoomDeletion.objects.get().state == DeletionState.UNDONE
        assert not access.enter(room.user, room.incident.slug).incident.to_be_deleted

    def test_lifted_it_may_be_deleted_and_both_are_in_the_record(self):
        room = lived_in()
        keeping.hold(room, "letter of the court")
        keeping.lift(room, "settled")
        keeping.announce(room, "by contract")
        said = {row.verb: row.detail for row in room.incident.activity.filter(object="legal hold")}
        assert said["put"]["why"] == "letter of the court"
        assert said["lifted"]["why"] == "settled"

    def test_a_lead_does_not_lift_what_an_administrator_put(self):
        room = lived_in()
        admin = access.enter(make_user(is_superuser=True), room.incident.slug)
        keeping.hold(admin, "letter of the court")
        with pytest.raises(Refused) as refused:
            keeping.lift(room, "settled")
        assert refused.value.status == 403
        keeping.lift(admin, "settled")
        assert not Incident.objects.get(pk=room.incident.pk).held

    @pytest.mark.parametrize("why", ["", "   "])
    def test_it_says_why(self, why):
        with pytest.raises(Refused, match="Say why"):
            keeping.hold(make_room(), why)


class TestRetention:
    def closed(self, days_ago: float, **fields: Any) -> Incident:
        room = make_room()
        rooms.close(room)
        Incident.objects.filter(pk=room.incident.pk).update(
            closed_at=timezone.now() - timedelta(days=days_ago), **fields
        )
        return Incident.objects.get(pk=room.incident.pk)

    @pytest.mark.parametrize(
        ("site", "days_ago", "keep_days", "announced"),
        [
            (0, 5000, None, False),  # for ever is the default
            (30, 31, None, True),
            (30, 29, None, False),
            (30, 31, 0, False),  # the room: for ever
            (30, 31, 60, False),
            (30, 11, 10, True),
            (0, 11, 10, True),
        ],
    )
    def test_closed_rooms_are_announced_after_their_days(self, settings, site, days_ago, keep_days, announced):
        settings.EXHIBIT_KEEP_DAYS = site
        incident = self.closed(days_ago, keep_days=keep_days)
        assert deleting.announce_what_is_past() == int(announced)
        incident.refresh_from_db()
        assert incident.to_be_deleted is announced
        assert deleting.announce_what_is_past() == 0

    def test_open_and_held_rooms_stay(self, settings):
        settings.EXHIBIT_KEEP_DAYS = 30
        still_open = make_room()
        Incident.objects.filter(pk=still_open.incident.pk).update(created_at=timezone.now() - timedelta(days=99))
        person = make_user()
        self.closed(31, held_at=timezone.now(), held_by=person, held_why="court")
        assert deleting.announce_what_is_past() == 0

    def test_undone_it_is_kept_for_its_days_once_more(self, settings):
        settings.EXHIBIT_KEEP_DAYS = 30
        incident = self.closed(31)
        deleting.announce_what_is_past()
        keeping.undo(access.enter(incident.created_by, incident.slug))
        assert deleting.announce_what_is_past() == 0
        Incident.objects.filter(pk=incident.pk).update(kept_since=timezone.now() - timedelta(days=31))
        assert deleting.announce_what_is_past() == 1

    def test_longer_than_the_site_says_only_an_administrator_sets(self, settings):
        settings.EXHIBIT_KEEP_DAYS = 30
        room = make_room()
        for days in (31, 0):
            with pytest.raises(Refused) as refused:
                keeping.set_days(room, days)
            assert refused.value.status == 403
        keeping.set_days(room, 30)
        admin = access.enter(make_user(is_superuser=True), room.incident.slug)
        assert keeping.set_days(admin, 0).keep_days == 0

    def test_the_chore_does_all_of_it(self, settings):
        settings.EXHIBIT_KEEP_DAYS = 30
        incident = self.closed(31)
        tasks.delete_rooms()
        let_time_pass(incident.pk)
        tasks.delete_rooms()
        assert not Incident.objects.filter(pk=incident.pk).exists()
        line = SiteRecord.objects.get()
        assert (line.actor_name, line.actor_id) == ("Exhibit", None)


class TestWhatComesBack:
    """A backup that still holds a deleted room."""

    def test_it_is_deleted_again_at_once(self, evidence):
        room = lived_in()
        RoomDeletion.objects.create(
            room_id=4711,  # numbers do not tell rooms apart
            slug_hash=hash_of(room.incident.slug),
            announced_at=timezone.now() - timedelta(days=9),
            due_at=timezone.now() - timedelta(days=2),
            ended_at=timezone.now(),
            state=DeletionState.DONE,
        )
        tasks.delete_rooms()
        assert rows_of(room.incident.pk) == {}
        assert all_files(evidence) == []
        tasks.delete_rooms()
        assert SiteRecord.objects.count() == 1

    def test_a_room_with_the_number_of_a_deleted_one_is_another_room(self, evidence):
        room = lived_in()
        RoomDeletion.objects.create(
            room_id=room.incident.pk,
            slug_hash=hash_of("another-slug"),
            announced_at=timezone.now() - timedelta(days=9),
            due_at=timezone.now() - timedelta(days=2),
            ended_at=timezone.now(),
            state=DeletionState.DONE,
        )
        before = all_files(evidence)
        tasks.delete_rooms()
        assert Incident.objects.filter(pk=room.incident.pk).exists()
        assert all_files(evidence) == before

    def test_under_a_hold_it_stays_until_that_is_lifted(self):
        room = lived_in()
        keeping.hold(room, "letter of the court")
        tombstones.put_back(
            [{"slug_hash": hash_of(room.incident.slug), "room": 1, "deleted": timezone.now().isoformat()}]
        )
        tasks.delete_rooms()
        assert Incident.objects.filter(pk=room.incident.pk).exists()
        keeping.lift(access.enter(room.user, room.incident.slug), "settled")
        tasks.delete_rooms()
        assert not Incident.objects.filter(pk=room.incident.pk).exists()

    def test_tombstones_are_kept_beside_the_backups(self, settings, tmp_path):
        settings.EXHIBIT_BACKUP_ROOT = tmp_path / "backups"
        room = make_room()
        announced(room)
        tasks.delete_rooms()  # the disk of the backups is not mounted
        settings.EXHIBIT_BACKUP_ROOT.mkdir()
        tasks.delete_rooms()
        rows = tombstones.beside(settings.EXHIBIT_BACKUP_ROOT / "2026-11-30T000000Z")
        assert [row["slug_hash"] for row in rows] == [hash_of(room.incident.slug)]
        assert room.incident.slug not in (settings.EXHIBIT_BACKUP_ROOT / tombstones.NAME).read_text()
        assert tombstones.put_back(rows) == 0  # known here
        RoomDeletion.objects.filter(state=DeletionState.DONE).update(slug_hash="0" * 64)
        assert tombstones.put_back(rows) == 1
        tasks.delete_rooms()
        assert len(tombstones.here()) == 2


def test_a_bundle_of_the_room_goes_with_it(evidence):
    room = lived_in()
    export = exports.ask(room, "tables")
    run_jobs()
    assert store.bundle_path(room.incident.pk, export.pk).exists()
    announced(room)
    deleting.delete_due()
    assert all_files(evidence) == []


def test_the_error_of_a_disk_may_be_tried_again(monkeypatch):
    monkeypatch.setattr(shutil, "rmtree", lambda *_: (_ for _ in ()).throw(OSError(5, "Input/output error")))
    store._room(1).mkdir(parents=True)
    with pytest.raises(StoreError):
        store.drop_room(1)


def test_members_are_let_go_when_it_begins():
    room = lived_in()
    deleting.begin(announced(room).pk)
    assert not Membership.objects.filter(incident=room.incident).exists()
