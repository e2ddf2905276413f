"""Tests of reading artifacts into tables: once, resumable, with progress, and with a plain cause if it fails."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path

import polars as pl
import pytest
from django.conf import settings
from django.db import OperationalError
from django.utils import timezone

from incidents import tasks
from incidents.actions import artifacts, case, purge
from incidents.models.evidence.artifact import Artifact
from incidents.models.evidence.reading import Reading
from incidents.models.room.event import Event
from incidents.models.room.job import LEASE, Job
from incidents.storage import live, store
from incidents.work import ingest
from parsers.errors import LimitExceeded
from parsers.reader import Bounds, DiskFull, Outcome
from parsers.tables import parquet
from tests.incidents.conftest import CONNECT_TIMES, make_artifact, make_room, run_jobs

TRUSS = b'22626/1:\t 8.6926\tfork1() = 3728\n3731/1:\t 12.0249\twrite(17, " N T P", 10) = 10\n'


def rows_of(artifact: Artifact) -> dict[str, pl.DataFrame]:
    assert artifact.reading is not None
    folder = store.reading_dir(artifact.reading)
    return {table: parquet.scan(folder, table).collect() for table in parquet.tables(folder)}


@pytest.mark.django_db
class TestIngest:
    def test_it_reads_and_has_the_room_judged(self):
        room = make_room()
        artifact = make_artifact(room, name="after-1.txt")
        run_jobs("small")
        artifact.refresh_from_db()
        assert (artifact.state, artifact.cause, artifact.lines_read) == ("read", None, 20)
        assert artifact.reading is not None
        assert (artifact.reading.kind, artifact.reading.lines) == ("conntime", 20)
        assert sum(artifact.reading.account.values()) == 20
        assert artifact.reading.tables == {"conn_times": 20}
        part = artifact.reading.parts.get()
        assert (part.line_from, part.line_to, part.kind, part.phase) == (1, 20, "conntime", "after-1")
        assert rows_of(artifact)["conn_times"].height == 20
        assert list(Job.objects.values_list("kind", "state").order_by("pk")) == [
            ("ingest", "done"),
            ("judge", "queued"),
        ]
        assert Event.objects.filter(kind="artifact", object="1").count() == 3  # queued, reading, read

    @pytest.mark.parametrize(
        ("end", "cut_off"),
        [
            ("3731/1: 11.8 mprotect(0x380000000, 8192, PROT_REA", True),
            ("3731/1: 11.8 mprotect(0x380000000, 8192, PROT_READ) = 0", False),
            ("3731/1: 11.8 mprotect(0x380000000, 8192, (sleeping...)\n", False),
            ("3731/1: 11.8 mprotect(0x380000000, 8192, (sleeping...)\r", False),
        ],
    )
    @pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
    def test_a_file_cut_in_the_middle_of_a_line_says_so(self, end, cut_off, encoding):
        text = "3731/1: 8.7229 fork1() = 3728\n3731/1: 9.3187 shmat(16777280, 0x380000000, IPC_ALLOC) = 0x380000000\n"
        artifact = make_artifact(make_room(), (text + end).encode(encoding))
        run_jobs("small")
        artifact.refresh_from_db()
        assert (artifact.state, artifact.lines_read) == ("read", 3)
        assert artifact.cause == (ingest.CUT_OFF if cut_off else None)

    @pytest.mark.parametrize(
        ("content", "words"),
        [
            (bytes(range(256)) * 20, ""),
            (b"\x1f\x8b\x08" + b"\0" * 100, "damaged"),
        ],
    )
    def test_what_cannot_be_read_says_why_and_is_kept(self, content, words):
        room = make_room()
        artifact, sound = make_artifact(room, content), make_artifact(room)
        run_jobs("small")
        artifact.refresh_from_db()
        sound.refresh_from_db()
        assert (artifact.state, sound.state) == ("failed", "read")
        assert artifact.cause is not None
        assert words in artifact.cause.casefold()
        assert "The file is kept as it is." in artifact.cause
        with store.open_original(artifact) as file:
            assert file.read() == content
        assert Job.objects.get(artifact=artifact).state == "failed"

    @pytest.mark.parametrize(
        ("content", "words", "tables"),
        [
            (b"nothing that anybody knows\nsecond line\n", "read as plain text. Say its kind", {}),
            ("ｔ".encode("utf-16") * 50, "read as plain text. Say its kind", {}),
            (b"NAME   CPU\na      1\nb      2\n", "read as plain text. Say its kind", {"rows": 2}),
        ],
    )
    def test_text_that_nobody_knows_is_read_as_text_and_says_so(self, content, words, tables):
        artifact = make_artifact(make_room(), content)
        run_jobs("small")
        artifact.refresh_from_db()
        assert (artifact.state, artifact.reading.kind, artifact.reading.tables) == ("read", "text", tables)
        assert artifact.cause.startswith("Kind unknown")
        assert words in artifact.cause
        assert artifact.reading.error == "UnknownFormat"
        with store.open_original(artifact) as file:
            assert file.read() == content

    def test_a_kind_that_does_not_fit_is_an_opinion(self):
        room = make_room()
        artifact = make_artifact(room, kind="truss")
        run_jobs("small")
        artifact.refresh_from_db()
        assert (artifact.state, artifact.reading.kind, artifact.reading.error) == ("read", "conntime", "WrongFormat")
        assert artifact.cause is not None
        assert "truss" in artifact.cause
        assert "read as what it is" in artifact.cause
        artifacts.correct(room, 1, {"kind": ""})
        run_jobs("small")
        artifact.refresh_from_db()
        assert (artifact.state, artifact.reading and artifact.reading.number) == ("read", 2)

    def test_a_failed_re_reading_takes_nothing_away(self, monkeypatch):
        room = make_room()
        artifact = make_artifact(room)
        run_jobs("small")

        def away(*_args, **_named):
            return Outcome(None, LimitExceeded("file_bytes=1", "line 1"))

        monkeypatch.setattr(ingest._READER, "read", away)
        artifacts.correct(room, 1, {"kind": "truss"})
        run_jobs("small")
        artifact.refresh_from_db()
        assert artifact.state == "failed"
        assert artifact.reading is not None
        assert (artifact.reading.number, rows_of(artifact)["conn_times"].height) == (1, 20)

    def test_a_re_reading_never_mixes_with_the_old_one(self):
        room = make_room()
        artifact = make_artifact(room)
        run_jobs("small")
        artifact.refresh_from_db()
        first = rows_of(artifact)
        artifacts.reread(room, 1)
        run_jobs("small")
        artifact.refresh_from_db()
        assert [r.state for r in artifact.readings.all()] == ["replaced", "complete"]
        assert rows_of(artifact)["conn_times"].equals(first["conn_times"])

    def test_a_correction_during_the_reading_is_not_lost(self, monkeypatch):
        room = make_room()
        make_artifact(room)
        complete = ingest._complete

        def corrected_just_before(*args):
            monkeypatch.setattr(ingest, "_complete", complete)
            artifacts.correct(room, 1, {"year": "2016"})
            complete(*args)

        monkeypatch.setattr(ingest, "_complete", corrected_just_before)
        run_jobs("small")
        assert [(r.state, r.hints["file"]) for r in Reading.objects.order_by("number")] == [
            ("replaced", {}),
            ("complete", {"year": "2016"}),
        ]

    def test_the_same_job_twice_gives_the_same(self):
        room = make_room()
        artifact = make_artifact(room)
        job = Job.objects.claim("small", "first")
        assert job is not None
        reading = ingest._begin(job, Artifact.objects.get(pk=artifact.pk))
        Job.objects.update(lease_until=timezone.now() - timedelta(seconds=1))  # and it was never heard of again
        Job.objects.give_up_expired()
        run_jobs("small")
        artifact.refresh_from_db()
        assert artifact.reading == reading
        assert Reading.objects.count() == 1

    def test_a_purge_during_the_reading_wins(self, monkeypatch, django_capture_on_commit_callbacks):
        room = make_room()
        artifact = make_artifact(room)

        def purged_meanwhile(job, artifact, reading):
            def report(progress):
                with django_capture_on_commit_callbacks(execute=True):
                    purge.purge(room, 1, "wrong file")
                job.renew()

            return report

        monkeypatch.setattr(ingest, "_reporter", purged_meanwhile)
        run_jobs("small")
        artifact.refresh_from_db()
        assert artifact.state == "purged"
        assert not store.reading_dir(Reading(artifact=artifact, number=1)).exists()
        assert not Reading.objects.exists()

    def test_a_folder_that_another_process_still_writes_is_left_alone(self):
        room = make_room()
        artifact = make_artifact(room)
        with store.lock_reading(Reading(artifact=artifact, number=1)):
            tasks.work("small")
        job = Job.objects.get(kind="ingest")
        assert job.state == "queued"
        assert job.not_before is not None
        assert job.not_before > timezone.now()

    def test_a_fault_of_ours_is_shown_and_can_be_tried_again(self, monkeypatch):
        room = make_room()
        artifact = make_artifact(room)
        monkeypatch.setattr(ingest, "hint_fields", lambda said: 1 / 0)
        run_jobs("small")
        artifact.refresh_from_db()
        assert artifact.state == "failed"
        assert artifact.cause is not None
        assert "on our side (ZeroDivisionError)" in artifact.cause
        monkeypatch.undo()
        artifacts.retry(room, 1)
        run_jobs("small")
        artifact.refresh_from_db()
        assert artifact.state == "read"

    def test_while_the_disk_is_full_a_file_waits_and_then_goes_on_by_itself(self, monkeypatch):
        artifact = make_artifact(make_room())
        read = ingest._READER.read
        full = 4  # more often than a job is tried

        def reads(*args, **more):
            nonlocal full
            if full:
                full -= 1
                raise DiskFull
            return read(*args, **more)

        monkeypatch.setattr(ingest._READER, "read", reads)
        for _ in range(4):
            tasks.work("small")
            artifact.refresh_from_db()
            job = Job.objects.get()
            assert (artifact.state, job.state) == ("queued", "queued")
            assert artifact.cause == ingest.NO_SPACE
            assert run_jobs("small") == 0, "it is not tried without a pause"
            Job.objects.update(not_before=timezone.now())
        run_jobs("small")
        artifact.refresh_from_db()
        assert (artifact.state, artifact.cause) == ("read", None)
        assert artifact.readings.count() == 1, "the reading that was begun goes on"

    def test_a_worker_that_dies_again_and_again_is_given_up(self):
        room = make_room()
        artifact = make_artifact(room)
        for _ in range(3):
            assert Job.objects.claim("small", "w") is not None
            Job.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
            tasks.sweep()
        artifact.refresh_from_db()
        assert artifact.state == "failed"
        assert artifact.cause is not None
        assert "stopped 3 times" in artifact.cause

    def test_progress_renews_the_lease_at_most_once_a_second(self, published):
        room = make_room()
        make_artifact(room)
        job = Job.objects.claim("small", "w")
        assert job is not None
        Job.objects.update(lease_until=timezone.now())
        report = ingest._reporter(job, Artifact.objects.get(), Reading())
        for n in range(1, 50):
            report(ingest_progress(n))
        assert [said["data"] for said in published if said.get("kind") == "progress"] == [
            {"artifact": 1, "lines": 1, "bytes": 10, "bytes_total": 1000}
        ]
        job.refresh_from_db()
        assert job.lease_until is not None
        assert job.lease_until > timezone.now() + LEASE / 2
        assert Artifact.objects.get().lines_read == 1

    def test_the_first_rows_are_told_at_once(self, published):
        make_artifact(make_room())
        job = Job.objects.claim("small", "w")
        assert job is not None
        report = ingest._reporter(job, Artifact.objects.get(), Reading())
        for n in (0, 0, 7, 8):
            report(ingest_progress(n))
        told = [said["data"]["lines"] for said in published if said.get("kind") == "progress"]
        assert told == [0, 7]

    def test_stop_ends_the_process_that_reads(self, monkeypatch):
        room = make_room()
        artifact = make_artifact(room, big_truss(100_000))
        monkeypatch.setattr(ingest, "PROGRESS_S", 0.0)
        pids: list[int] = []

        def stopped(*_told):
            if not pids:
                assert ingest._READER._process is not None
                pids.append(ingest._READER._process.pid)
                artifacts.stop(room, artifact.number)

        monkeypatch.setattr(live, "progress", stopped)
        run_jobs("small")
        artifact.refresh_from_db()
        assert artifact.state == "stopped"
        with pytest.raises(ProcessLookupError):
            os.kill(pids[0], 0)
        monkeypatch.undo()
        artifacts.reread(room, 1)
        run_jobs("small")
        artifact.refresh_from_db()
        assert (artifact.state, artifact.lines_read) == ("read", 100_000)

    def test_a_small_file_that_takes_long_goes_on_with_the_large_ones(self, monkeypatch):
        room = make_room()
        artifact = make_artifact(room, big_truss(100_000))
        monkeypatch.setattr(ingest, "PROGRESS_S", 0.0)
        monkeypatch.setattr(ingest, "TURN_S", 0.0)
        tasks.work("small")
        job = Job.objects.get(kind="ingest")
        assert (job.queue, job.state, job.attempt, job.tries) == ("large", "queued", 1, 0)
        assert Artifact.objects.get().state == "reading"
        run_jobs("large")
        artifact.refresh_from_db()
        assert (artifact.state, artifact.lines_read) == ("read", 100_000)
        assert Reading.objects.count() == 1

    @pytest.mark.parametrize("other", [False, True])
    def test_a_large_file_gives_way_where_another_room_waits(self, monkeypatch, settings, other):
        settings.EXHIBIT_LARGE_BYTES = 100
        room = make_room()
        artifact = make_artifact(room, big_truss(1_500_000))
        if other:
            make_artifact(make_room(), CONNECT_TIMES)
        else:
            make_artifact(room, CONNECT_TIMES)
        monkeypatch.setattr(ingest, "PROGRESS_S", 0.0)
        monkeypatch.setattr(ingest, "LARGE_TURN_S", 0.0)
        tasks.work("large")
        artifact.refresh_from_db()
        assert artifact.state == ("reading" if other else "read")
        tasks.work("large")  # the other one's turn
        assert sorted(Artifact.objects.values_list("state", flat=True)) == (
            ["read", "reading"] if other else ["read"] * 2
        )
        run_jobs("large")
        artifact.refresh_from_db()
        assert (artifact.state, artifact.lines_read) == ("read", 1_500_000)

    def test_a_file_that_takes_too_long_says_so_and_is_kept(self, monkeypatch):
        room = make_room()
        artifact = make_artifact(room, big_truss(1_500_000))
        monkeypatch.setattr(ingest._READER, "bounds", Bounds(base_s=0, mb_s=0))
        run_jobs("large")
        artifact.refresh_from_db()
        assert artifact.state == "failed"
        assert artifact.cause is not None
        assert artifact.cause.startswith("Reading took longer than the 0 s that a file of")
        assert artifact.cause.endswith("The file is kept as it is. Send the part of it that matters.")
        monkeypatch.undo()
        artifacts.retry(room, 1)
        run_jobs("large")
        artifact.refresh_from_db()
        assert artifact.state == "read"

    def test_a_database_that_is_away_does_not_stop_a_reading(self, monkeypatch):
        room = make_room()
        make_artifact(room)
        job = Job.objects.claim("small", "w")
        assert job is not None
        monkeypatch.setattr(Job, "renew", lambda self: (_ for _ in ()).throw(OperationalError("gone")))
        monkeypatch.setattr("incidents.work.ingest.connection.close", lambda: None)
        ingest._reporter(job, Artifact.objects.get(), Reading())(ingest_progress(1))


def ingest_progress(n: int):
    from parsers.progress import Progress

    return Progress(n, 10 * n, 1000)


@pytest.mark.django_db
class TestGuesses:
    def hosts(self, room):
        case.put_host(room, "db1", {"os": "solaris", "role": "db"})
        case.put_host(room, "gw1", {"os": "windows", "role": "client"})
        return list(room.incident.hosts.all())

    @pytest.mark.parametrize(
        ("found", "name", "guess"),
        [
            ({"variant": "client"}, "x", ("gw1", None, "client", None)),
            ({"variant": "listener"}, "x", ("db1", None, "listener", None)),
            ({"system": "solaris"}, "x", ("db1", "solaris", None, None)),
            ({"system": "linux"}, "x", (None, "linux", None, None)),
            ({"facts": {"host": "other"}}, "x", ("other", None, None, None)),
            ({}, "times before.txt", (None, None, None, "before")),
            ({}, "after_2.txt", (None, None, None, "after-2")),
            ({}, "aftermath.txt", (None, None, None, None)),
        ],
    )
    def test_a_guess_needs_something_that_speaks_for_it(self, found, name, guess):
        made = ingest.guess_part(found, name, self.hosts(make_room()), set())
        assert (made.host, made.os, made.role, made.phase) == guess

    def test_two_hosts_that_fit_give_no_guess(self):
        room = make_room()
        case.put_host(room, "db2", {"os": "solaris", "role": "db"})
        assert ingest.guess_part({"system": "solaris"}, "x", self.hosts(room), set()).host is None

    def test_a_guess_never_overwrites_a_word(self):
        room = make_room()
        case.put_host(room, "db1", {"role": "client"})
        make_artifact(room, name="before.txt")
        artifacts.correct(room, 1, {"phase": "after-1", "host": None})
        run_jobs("small")
        artifacts.reread(room, 1)
        run_jobs("small")
        from incidents.work import analysis

        [values] = analysis.values_of(Artifact.objects.get())
        assert (values["phase"], values.values["phase"].guess) == ("after-1", "before")
        assert (values["host"], values.values["host"].corrected) == (None, True)


@pytest.mark.django_db
def test_only_a_kind_gives_borders():
    room = make_room()
    artifact = make_artifact(room, TRUSS + CONNECT_TIMES)
    artifacts.correct(room, 1, {"tz": "Europe/Warsaw"}, lines=(1, 2))
    assert ingest._said(artifact) == {"file": {"tz": "Europe/Warsaw"}, "parts": []}
    artifacts.correct(room, 1, {"kind": "truss"}, lines=(1, 2))
    artifacts.correct(room, 1, {"kind": "conntime"}, lines=(3, 22))
    assert ingest._said(artifact) == {
        "file": {},
        "parts": [
            {"line_from": 1, "line_to": 2, "hints": {"tz": "Europe/Warsaw", "kind": "truss"}},
            {"line_from": 3, "line_to": 22, "hints": {"kind": "conntime"}},
        ],
    }


def big_truss(lines: int) -> bytes:
    """Return many lines of one trace: enough for several batches."""
    return b"".join(
        b"%d/1:\t%10.4f read(4, 0x0804A000, 4096)\t\t\t= 4096\n" % (4000 + n % 7, n / 1000) for n in range(lines)
    )


WORKER = """
import os, sys
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
import django
django.setup()
from django.conf import settings
settings.EXHIBIT_MIN_FREE_BYTES = 0
from django.db import connections
connections["default"].settings_dict["NAME"] = sys.argv[1]
from config.celery import app
app.worker_main(["worker", "--pool=prefork", "--concurrency=1", "--queues=large", "--loglevel=WARNING", "--without-mingle", "--without-gossip"])
"""


@pytest.mark.services
@pytest.mark.django_db(transaction=True)
def test_a_worker_killed_in_the_middle_leaves_equal_tables(broker, evidence: Path, settings, tmp_path: Path):
    """Kill a real worker and its child in the middle of a file: after a second worker the tables are equal."""
    from django.db import connection

    settings.EXHIBIT_LARGE_BYTES = 1000
    room, control = make_room(), make_room()
    content = big_truss(2_000_000)
    artifact = make_artifact(room, content, "big.truss")
    name = connection.settings_dict["NAME"]
    assert isinstance(name, str)

    def worker() -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-c", WORKER, name],
            env=os.environ | {"DJANGO_SETTINGS_MODULE": "tests.settings", "EXHIBIT_EVIDENCE_ROOT": str(evidence)},
            cwd=settings.BASE_DIR,
            start_new_session=True,
        )

    first = worker()
    folder = store.reading_dir(Reading(artifact=artifact, number=1))
    try:
        wait(lambda: batches(folder) >= 1, 60)
        assert batches(folder) < 4, "the file is too small to be caught in the middle"
    finally:
        os.killpg(first.pid, signal.SIGKILL)  # parent and child at once: nobody tidies up
        first.wait()
    artifact.refresh_from_db()
    assert artifact.state == "reading"
    Job.objects.filter(state="running").update(lease_until=timezone.now())  # two minutes later
    tasks.sweep()
    second = worker()
    try:
        wait(lambda: Artifact.objects.get(pk=artifact.pk).state != "reading", 90)
    finally:
        second.terminate()
        second.wait(30)
    artifact.refresh_from_db()
    assert (artifact.state, artifact.cause) == ("read", None)
    assert Job.objects.get(kind="ingest").attempt == 2
    again = make_artifact(control, content, "big.truss")
    Job.objects.exclude(artifact=again).delete()
    run_jobs("large")
    again.refresh_from_db()
    resumed, whole = rows_of(artifact), rows_of(again)
    assert resumed.keys() == whole.keys()
    for table in whole:
        assert resumed[table].equals(whole[table]), table
    assert artifact.reading is not None
    assert again.reading is not None
    assert artifact.reading.account == again.reading.account


def batches(folder: Path) -> int:
    manifest = parquet.load_manifest(folder) if folder.exists() else None
    return len(manifest["batches"]) if manifest else 0


def wait(condition, seconds: float) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)


def test_the_workers_parent_loads_no_polars():
    """Check the parent's modules: only children may load Polars and DuckDB, whose threads do not survive a fork."""
    code = (
        "import os, sys; os.environ['DJANGO_SETTINGS_MODULE'] = 'tests.settings'\n"
        "import django; django.setup()\n"
        "from config.celery import app; app.loader.import_default_modules()\n"
        "assert 'incidents.tasks' in sys.modules\n"
        "print([name for name in ('polars', 'duckdb', 'pyarrow', 'numpy') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=settings.BASE_DIR, check=True
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.django_db
def test_an_answer_to_a_question_has_the_file_read_again():
    """Answer a question that follows from a part's facts: the answer is stored like any correction."""
    room = make_room()
    table = b"when;what;took\n07/04/2008 10:15:00;x;310\n08/04/2008 10:15:00;y;3940\n09/04/2008 10:15:00;y;290\n"
    artifact = make_artifact(room, table, name="probe.csv")
    run_jobs("small")
    artifact.refresh_from_db()
    asked = artifact.reading.parts.get().facts["questions"]
    assert [q["ask"] for q in asked] == ["columns", "date_order", "tz"]
    artifacts.correct(
        room, 1, {"columns": "time=when elapsed=took:ms label=what", "date_order": "dmy", "tz": "Europe/Zagreb"}
    )
    run_jobs("small")
    artifact.refresh_from_db()
    assert "questions" not in artifact.reading.parts.get().facts
    rows = rows_of(artifact)["conn_times"]
    assert rows["elapsed_s"].to_list() == [0.31, 3.94, 0.29]
    assert rows["t_local"][1] - rows["t_local"][0] == 86400
