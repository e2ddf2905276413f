"""Tests of what the database itself guarantees by constraints and triggers."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.apps import apps
from django.core.management import call_command
from django.db import IntegrityError, ProgrammingError, connection, transaction
from django.utils import timezone

from incidents.models.evidence.artifact import Artifact
from incidents.models.evidence.reading import Reading
from incidents.models.judging.case import ClockOffset, Host, Marker, Phase
from incidents.models.people.membership import Membership
from incidents.models.room.activity import Activity
from incidents.models.room.event import Event
from incidents.models.room.incident import Incident, RoomCounter
from incidents.models.room.job import ATTEMPTS, Job, JobKind, JobState, LeaseLost, Queue
from incidents.models.words.note import Note
from tests.incidents.conftest import make_artifact, make_room, make_user

pytestmark = pytest.mark.django_db


def refused(deed):
    with pytest.raises(IntegrityError), transaction.atomic():
        deed()


def past_the_trigger(sql: str) -> None:
    """Change rows as the database's superuser could, past the trigger: the hash chain must show it."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute(sql)
        cursor.execute("SET LOCAL session_replication_role = origin")


def test_the_migrations_are_those_of_the_models():
    call_command("makemigrations", "incidents", check=True, dry_run=True, verbosity=0)


def test_it_refuses_what_makes_no_sense():
    room = make_room()
    incident, user = room.incident, room.user
    artifact = make_artifact(room)
    refused(lambda: Membership.objects.create(incident=incident, user=make_user(), role="owner"))
    refused(lambda: Membership.objects.create(incident=incident, user=user, role="viewer"))
    refused(lambda: Incident.objects.filter(pk=incident.pk).update(status="closed", closed_at=None))
    refused(lambda: Artifact.objects.filter(pk=artifact.pk).update(number=0))
    refused(lambda: Artifact.objects.filter(pk=artifact.pk).update(sha256="../../etc/passwd"))
    refused(lambda: Artifact.objects.filter(pk=artifact.pk).update(state="purged"))
    refused(lambda: Artifact.objects.filter(pk=artifact.pk).update(state="failed", cause=None))
    refused(lambda: Host.objects.create(incident=incident, name="db1", ncpu=0))
    refused(lambda: Phase.objects.create(incident=incident, artifact=artifact, line_from=5, line_to=4, phase="x"))
    refused(lambda: Marker.objects.create(incident=incident, author=user, label="neither time nor phases"))
    refused(lambda: ClockOffset.objects.create(incident=incident, author=user, clock="1.1:1", ref="2.1:1", lo=2, hi=1))
    refused(lambda: Note.objects.create(incident=incident, author=user, text="x", line_from=1, line_to=2))
    refused(lambda: Note.objects.create(incident=incident, author=user, text=""))
    refused(lambda: Job.objects.create(incident=incident, kind="ingest", queue="small"))
    refused(lambda: Job.objects.create(incident=incident, kind="judge", queue="judge", state="running"))


def test_one_reading_runs_per_artifact_and_numbers_are_not_repeated():
    artifact = make_artifact(make_room())
    Reading.objects.create(artifact=artifact, number=1)
    refused(lambda: Reading.objects.create(artifact=artifact, number=2))
    Reading.objects.update(state="complete")
    refused(lambda: Reading.objects.create(artifact=artifact, number=1))
    Reading.objects.create(artifact=artifact, number=2)


class TestActivity:
    def test_the_chain_holds_and_names_the_first_row_that_was_touched(self):
        room = make_room()
        for n in range(4):
            Activity.objects.append(room.incident.pk, room.user.pk, "x", "did", f"thing {n}", n=n, text="ä")
        assert Activity.objects.first_broken(room.incident.pk) is None
        past_the_trigger("UPDATE incidents_activity SET verb = 'did not' WHERE seq = 3")
        assert Activity.objects.first_broken(room.incident.pk) == 3

    def test_a_cut_tail_is_found(self):
        room = make_room()
        Activity.objects.append(room.incident.pk, room.user.pk, "x", "did", "the last thing")
        past_the_trigger("DELETE FROM incidents_activity WHERE seq = 2")
        assert Activity.objects.first_broken(room.incident.pk) == 2

    @pytest.mark.parametrize("deed", [lambda rows: rows.update(verb="x"), lambda rows: rows.delete()])
    def test_the_database_refuses_to_change_or_delete(self, deed):
        make_room()
        with pytest.raises(ProgrammingError, match="append-only"), transaction.atomic():
            deed(Activity.objects.all())


@pytest.mark.django_db
def test_the_database_refuses_to_empty_the_record():
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("ALTER TABLE incidents_activity ENABLE TRIGGER activity_is_never_emptied")
        with pytest.raises(ProgrammingError, match="append-only"), transaction.atomic():
            cursor.execute("TRUNCATE incidents_activity CASCADE")
        transaction.set_rollback(True)


def test_saving_an_old_copy_of_a_room_moves_no_counter_back():
    room = make_room()
    old = Incident.objects.get(pk=room.incident.pk)
    make_artifact(room)
    old.title = "another"
    old.save()
    assert RoomCounter.objects.get(incident=old).artifact_number == 1
    assert Event.objects.filter(incident=old).count() == RoomCounter.objects.get(incident=old).event_seq == 1


class TestJobs:
    def test_a_claimed_job_is_nobody_elses(self):
        make_artifact(make_room())
        job = Job.objects.claim(Queue.SMALL, "a")
        assert job is not None
        assert (job.state, job.attempt, job.worker) == ("running", 1, "a")
        assert Job.objects.claim(Queue.SMALL, "b") is None

    def test_rooms_take_turns(self):
        first, second = make_room(), make_room()
        for n in range(3):
            make_artifact(first, b"first %d\n" % n)
        make_artifact(second, b"second\n")
        rooms = [claimed.incident_id for _ in range(4) if (claimed := Job.objects.claim(Queue.SMALL, "w"))]
        assert rooms == [first.incident.pk, second.incident.pk, first.incident.pk, first.incident.pk]

    def test_a_room_served_long_ago_goes_first_when_nothing_runs(self):
        first, second = make_room(), make_room()
        make_artifact(first, b"1\n")
        make_artifact(first, b"2\n")
        make_artifact(second, b"3\n")
        order = []
        for _ in range(3):
            job = Job.objects.claim(Queue.SMALL, "w")
            assert job is not None
            order.append(job.incident_id)
            job.finish()
        assert order == [first.incident.pk, second.incident.pk, first.incident.pk]

    def test_what_arrives_during_a_judgement_is_folded_into_one_more(self):
        incident = make_room().incident
        Job.objects.ask_judge(incident.pk)
        running = Job.objects.claim(Queue.JUDGE, "w")
        assert running is not None
        for _ in range(5):
            Job.objects.ask_judge(incident.pk)
        assert Job.objects.claim(Queue.JUDGE, "w") is None  # one at a time
        running.finish()
        assert Job.objects.claim(Queue.JUDGE, "w") is not None
        assert Job.objects.count() == 2

    def test_an_expired_lease_is_queued_again_and_its_old_holder_writes_nothing(self):
        make_artifact(make_room())
        dead = Job.objects.claim(Queue.SMALL, "dead")
        assert dead is not None
        assert Job.objects.give_up_expired() == []
        Job.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
        assert Job.objects.give_up_expired() == []
        again = Job.objects.claim(Queue.SMALL, "alive")
        assert again is not None
        assert again.attempt == 2
        for deed in (dead.renew, dead.finish, dead.queue_again):
            with pytest.raises(LeaseLost):
                deed()
        with pytest.raises(LeaseLost), transaction.atomic():
            dead.hold()
        again.renew()

    def test_after_three_attempts_it_is_given_up(self):
        make_artifact(make_room())
        for _ in range(ATTEMPTS):
            assert Job.objects.claim(Queue.SMALL, "w") is not None
            Job.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
            given_up = Job.objects.give_up_expired()
        assert [job.attempt for job in given_up] == [ATTEMPTS]

    def test_a_judgement_is_not_put_back_behind_a_newer_one(self):
        incident = make_room().incident
        Job.objects.ask_judge(incident.pk)
        job = Job.objects.claim(Queue.JUDGE, "w")
        assert job is not None
        Job.objects.ask_judge(incident.pk)
        job.queue_again()
        assert sorted(Job.objects.filter(kind=JobKind.JUDGE).values_list("state", flat=True)) == [
            JobState.FAILED,
            JobState.QUEUED,
        ]

    def test_a_job_waits_for_its_time(self):
        make_artifact(make_room())
        job = Job.objects.claim(Queue.SMALL, "w")
        assert job is not None
        job.queue_again(timedelta(seconds=60))
        assert Job.objects.claim(Queue.SMALL, "w") is None
        Job.objects.update(not_before=timezone.now())
        assert Job.objects.claim(Queue.SMALL, "w") is not None


def test_names_of_many_rows_are_english():
    """Check names such as that of "activity", whose plural Django itself makes "activitys"."""
    plurals = [str(model._meta.verbose_name_plural) for model in apps.get_app_config("incidents").get_models()]
    assert "activity" in plurals
    assert [name for name in plurals if re.search(r"[^aeiou]ys$|(?:s|x|ch|sh)s$", name)] == []
