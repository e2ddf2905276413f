"""Tests of exporting a room as a bundle and importing it: what is included, what is left out, what is refused."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as pq
import pytest
from django.contrib.auth.models import User
from django.db.models import F
from django.test import override_settings

from incidents import access, tasks
from incidents.access import Room
from incidents.actions import artifacts, case, exports, members, notes, purge, sample, tokens, webhooks
from incidents.content import judged_before
from incidents.content.milestones import header
from incidents.content.names import known_as
from incidents.errors import NotAllowed, Refused
from incidents.models.evidence.artifact import Artifact
from incidents.models.evidence.reading import Reading
from incidents.models.people.membership import Role
from incidents.models.room.bundle import BundleState, Origin
from incidents.models.room.incident import Incident
from incidents.models.room.job import Job, JobKind, Queue
from incidents.storage import bundles, live, store
from incidents.storage.bundles import BundleRefused
from incidents.work import bundling, unbundling
from tests.incidents.conftest import make_artifact, make_member, make_room, make_user, run_jobs, undone
from tests.incidents.full_room import fill

pytestmark = pytest.mark.django_db

VMSTAT = b"""procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----
 r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st
""" + b"".join(b"%2d  0      0 805324  12344 440000    0    0     1     2   90  110  3 1%d 8%d  0  0\n" % (n % 9, n % 7, n % 5) for n in range(40))  # fmt: skip


@dataclass(frozen=True)
class Whole:
    """A judged room with some of everything, of a published incident, its bundles and what must not be in them."""

    room: Room
    bundles: dict[str, Path]
    planted: tuple[str, ...]
    folder: Path


def make_whole(folder: Path) -> Whole:
    other = make_room(title="OTHERROOM")
    make_artifact(other, b"OTHERLINE of another room\n" * 20, "other.txt")
    lead = make_user("anna", first_name="Anna", last_name="Berg", email="anna@example.com")
    room = access.enter(lead, sample.open_sample(lead).slug)
    run_jobs()
    fill(room, range(1))
    case.add_phase(room, 1, 1, 2, "before")
    tokens.create(room, "db1")
    webhooks.add(room, "https://chat.example.com/hooks/H00KPATH", ["verdict"])
    invitation = members.invite(room, Role.VIEWER, email="guest@mail.example.com")
    secrets = (
        *room.incident.upload_tokens.values_list("token_hash", flat=True),
        *room.incident.invitations.values_list("token_hash", flat=True),
        *room.incident.webhooks.values_list("salt", flat=True),
    )
    words = ("H00KPATH", "guest@mail.example.com", "anna@example.com", "OTHERROOM", "OTHERLINE", "/hooks/x")
    run_jobs()
    made = {}
    for holds in ("originals", "tables"):
        made[holds] = folder / holds
        shutil.copy(bundle_of(room, holds), made[holds])
    return Whole(room, made, (*secrets, *words, invitation.strip("/").split("/")[-1]), folder)


@pytest.fixture(scope="module")
def made_once(
    django_db_setup: None, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Whole, Path]]:
    folder = tmp_path_factory.mktemp("whole")
    with (
        undone(django_db_blocker),
        override_settings(EVIDENCE_ROOT=folder / "evidence", EXHIBIT_MIN_FREE_BYTES=0),
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(tasks, "hint", lambda queue: None)
        patch.setattr(live, "_publish", lambda said: None)
        yield make_whole(folder), folder / "evidence"


@pytest.fixture
def whole(db: None, made_once: tuple[Whole, Path], evidence: Path) -> Whole:
    shutil.copytree(made_once[1], evidence, dirs_exist_ok=True)
    return made_once[0]


def bundle_of(room: Room, holds: str = "originals") -> Path:
    export = exports.ask(room, holds)
    run_jobs("large")
    export.refresh_from_db()
    assert (export.state, export.cause) == (BundleState.READY, "")
    return store.bundle_path(room.incident.pk, export.pk)


def brought(path: Path, *queues: str, user: User | None = None, key: str = "") -> Room:
    incoming = store.receive_all([path.read_bytes()])
    user = user or make_user()
    try:
        incident = exports.bring(user, incoming, key)
    finally:
        incoming.discard()
    run_jobs(*(queues or ("large",)))
    return access.enter(user, incident.slug)


def documents(path: Path) -> dict[str, Any]:
    with bundles.opened(path) as reader:
        return {m.name: json.loads(s.read()) for m, s in reader.members() if m.name.count("/") == 0}


def report(incident: Incident) -> dict[str, Any]:
    newest = incident.evaluations.order_by("-number").first()
    assert newest is not None
    told: dict[str, Any] = newest.report
    return told


@pytest.fixture
def room(db: None) -> Room:
    room = make_room(make_user("berta", first_name="Berta"), symptom_text="logins", symptom_unit="s")
    make_artifact(room)
    make_artifact(room, VMSTAT, "vmstat.out", host="db1")
    run_jobs("small")
    return room


def test_a_full_room_arrives_whole_and_is_judged_the_same(whole):
    there = whole.room
    here = brought(whole.bundles["originals"], *Queue.values)
    origin = here.incident.origin
    assert (origin.state, origin.cause) == (BundleState.READY, "")
    assert origin.chain["broken"] is None
    assert len(origin.activity) > 50
    difference = judged_before.difference(origin.judged, report(here.incident))
    assert difference.none
    assert difference.same == len(report(there.incident)["findings"]) > 3
    for name in ("hosts", "artifacts", "phases", "markers", "statements", "arguments", "free_causes", "milestones"):
        assert getattr(here.incident, name).count() == getattr(there.incident, name).count() > 0, name
    for name in ("decisions", "actions", "requests", "thresholds", "suppressions", "summary_texts"):
        assert getattr(here.incident, name).count() == getattr(there.incident, name).count() > 0, name
    disputes = there.incident.disputes.count()
    assert here.incident.notes.count() == there.incident.notes.count() + disputes
    texts = set(there.incident.notes.values_list("text", "created_at"))
    assert texts <= set(here.incident.notes.values_list("text", "created_at"))
    assert here.incident.t_zero == there.incident.t_zero
    columns = ("number", "sha256", "name", "size", "state", "reading__kind", "reading__lines", "reading__tables")
    assert list(here.incident.artifacts.values_list(*columns)) == list(there.incident.artifacts.values_list(*columns))
    later = make_artifact(here, b"one line more\n", "later.txt")
    assert later.number == there.incident.artifacts.count() + 1


def test_tables_alone_are_judged_the_same_without_a_line_of_the_originals(whole):
    here = brought(whole.bundles["tables"], *Queue.values)
    assert judged_before.difference(here.incident.origin.judged, report(here.incident)).none
    assert not Artifact.objects.filter(incident=here.incident, has_original=True).exists()
    assert [p for p in store._room(here.incident.pk).iterdir() if len(p.name) == 64] == []
    with bundles.opened(whole.bundles["tables"]) as reader:
        assert not [m for m in reader.manifest.members if m.name.startswith("originals/")]
    read = here.incident.artifacts.filter(state="read").first()
    assert read is not None
    assert store.lines_of(read) is None
    with pytest.raises(Refused, match="bundle of tables"):
        artifacts.reread(here, read.number)
    export = exports.ask(here, "originals")
    run_jobs("large")
    export.refresh_from_db()
    assert export.state == BundleState.FAILED
    assert "originals are not here" in export.cause


def test_tables_go_as_parquet_that_other_tools_read(whole):
    """Read the files with pyarrow, Polars and DuckDB: the rows equal the room's, and each column is described."""
    with tarfile.open(bundle_of(whole.room, "parquet")) as archive:
        archive.extractall(whole.folder, filter="data")
    told = json.loads((whole.folder / "schema.json").read_text())
    names = {table["name"] for table in told["tables"]}
    assert {file.stem for file in whole.folder.glob("*.parquet")} == names > {"syscalls", "conn_times"}
    rows: dict[str, int] = {}
    for reading in Reading.objects.filter(artifact__reading=F("pk"), artifact__incident=whole.room.incident):
        for name, n in reading.tables.items():
            rows[name] = rows.get(name, 0) + n
    assert set(rows) <= names
    for table in told["tables"]:
        file = whole.folder / table["file"]
        frame = pl.read_parquet(file)
        # Notes on lines are counted apart from the tables of a reading.
        assert frame.height == table["rows"] == rows.get(table["name"], table["rows"]), table["name"]
        assert frame.columns == [column["name"] for column in table["columns"]]
        assert [c["name"] for c in table["columns"] if not c.get("means")] == []
        assert hashlib.sha256(file.read_bytes()).hexdigest() == table["sha256"]
        assert str(pq.read_schema(file).field("artifact_id").type) == table["columns"][0]["type"]
    calls = pl.scan_parquet(whole.folder / "syscalls.parquet").filter(name="shmat")
    slowest = calls.select(pl.col("dur_hi_s").max()).collect().item()
    assert slowest == pytest.approx(2.4734, abs=1e-3)


def test_people_arrive_as_names_nobody_signs_in_with(room):
    member = make_member(
        room.incident, Role.INVESTIGATOR, make_user("nils", first_name="Nils", email="nils@example.com")
    )
    notes.add(member, "The disks are quiet.")
    here = brought(bundle_of(room))
    author = here.incident.notes.get().author
    assert known_as(author) == "Nils (elsewhere)"
    assert not author.is_active
    assert not author.has_usable_password()
    assert author.email == ""
    assert list(here.incident.memberships.values_list("user", flat=True)) == [here.user.pk]


@pytest.mark.parametrize("holds", ["originals", "tables"])
def test_no_secret_address_or_other_room_is_inside(whole, holds):
    with bundles.opened(whole.bundles[holds]) as reader:
        for member, stream in reader.members():
            content = b"".join(bundles.unpacked(member, stream)) if member.unpacked else stream.read()
            assert [word for word in whole.planted if word.encode() in content] == [], member.name


def test_secrets_of_the_evidence_are_masked_in_a_bundle_of_tables(db):
    room = make_room()
    login = b"Apr 14 05:58:12 db1 app[77]: connect user=scott password=T1GERPASS host=db1\n" * 30
    make_artifact(room, login, "messages")
    run_jobs("small")
    with bundles.opened(bundle_of(room, "tables")) as reader:
        for member, stream in reader.members():
            assert b"T1GERPASS" not in stream.read(), member.name


def test_the_activity_arrives_with_its_chain_and_without_addresses(room):
    members.invite(room, Role.VIEWER, email="guest@mail.example.com")
    told = documents(bundle_of(room))["activity.json"]
    invited = next(row for row in told["rows"] if row["verb"] == "invited")
    assert invited["without"] == ["email"]
    assert "email" not in invited["detail"]
    here = brought(store.bundle_path(room.incident.pk, room.incident.exports.get().pk))
    assert here.incident.origin.chain == {"rows": len(told["rows"]), "shortened": 1, "broken": None}
    # The room's own record starts anew and names the bundle.
    assert list(here.incident.activity.values_list("verb", flat=True))[:3] == ["opened", "brought", "filled"]


def resigned(path: Path, change: Any) -> Path:
    """Return the bundle with changed documents, signed again, as a hostile or faulty site could send it."""
    target = path.with_name("changed")
    with bundles.opened(path) as reader, target.open("wb") as whole:
        writer = bundles.Writer(io.BytesIO())
        for member, stream in reader.members():
            if member.unpacked is not None:
                writer.add_packed(member.name, io.BytesIO(b"".join(bundles.unpacked(member, stream))))
            elif member.name.endswith(".json") and "/" not in member.name:
                told = json.loads(stream.read())
                writer.add_bytes(member.name, json.dumps(change(member.name, told)).encode())
            else:
                writer.add(member.name, stream, member.size)
        writer.finish(whole, lambda members: replace(reader.manifest, members=members))
    return target


def set_in(name: str, *path: Any, value: Any) -> Any:
    def change(document: str, told: Any) -> Any:
        if document == name:
            place = told
            for key in path[:-1]:
                place = place[key]
            place[path[-1]] = value
        return told

    return change


def test_a_changed_row_of_the_record_is_found(room):
    path = bundle_of(room)
    here = brought(resigned(path, set_in("activity.json", "rows", 1, "actor", value="Somebody else")))
    assert here.incident.origin.chain["broken"] == 2


def test_a_record_cut_at_its_end_is_found(room):
    def cut(name: str, told: Any) -> Any:
        return told | {"rows": told["rows"][:-1]} if name == "activity.json" else told

    here = brought(resigned(bundle_of(room), cut))
    assert here.incident.origin.chain["broken"] == here.incident.origin.chain["rows"] + 1


@pytest.mark.parametrize(
    "change",
    [
        set_in("room.json", "rows", "host", value=[{"name": "db1"}, {"name": "db1"}]),
        set_in("room.json", "rows", "note", value=[{"text": "x", "author": 99, "version": 1}]),
        set_in("room.json", "rows", "note", value=[{"text": "a\0b", "author": 0, "version": 1}]),
        set_in("room.json", "rows", "note", value=7),
        set_in("room.json", "rows", "artifact", 0, "number", value=-4),
        set_in("room.json", "rows", "artifact", 0, "sha256", value="../../etc/passwd"),
        set_in("room.json", "rows", "artifact", 0, "state", value="unheard of"),
        set_in("room.json", "room", value=None),
        set_in("room.json", "room", "title", value=""),
        set_in("room.json", "room", "symptom_text", value="x" * 400),
        set_in("room.json", "disputes", value=[{"finding_key": "k"}]),
        set_in("activity.json", "rows", value=[{}]),
        set_in("activity.json", "rows", value=None),
    ],
)  # fmt: skip
def test_a_document_that_cannot_be_right_fills_nothing(room, change):
    here = brought(resigned(bundle_of(room), change))
    origin = here.incident.origin
    assert origin.state == BundleState.FAILED
    assert "bundle" in origin.cause
    assert "on our side" not in origin.cause, origin.cause
    assert (here.incident.artifacts.count(), here.incident.notes.count(), here.incident.hosts.count()) == (0, 0, 0)


def test_a_report_of_any_shape_does_no_harm(room):
    def strange(name: str, told: Any) -> Any:
        return [{"verdict": 7}] if name == "report.json" else told

    here = brought(resigned(bundle_of(room), strange))
    assert here.incident.origin.state == BundleState.READY
    assert here.incident.origin.judged == {}


def test_an_original_that_is_not_what_its_name_says_is_refused(room):
    path = bundle_of(room)

    target = path.with_name("swapped")
    with bundles.opened(path) as reader, target.open("wb") as whole:
        writer = bundles.Writer(io.BytesIO())
        for member, stream in reader.members():
            if member.unpacked is not None:
                writer.add_packed(member.name, io.BytesIO(b"another text\n"))
            else:
                writer.add(member.name, stream, member.size)
        writer.finish(whole, lambda members: replace(reader.manifest, members=members))
    here = brought(target)
    assert here.incident.origin.state == BundleState.FAILED
    assert "holds something else" in here.incident.origin.cause
    assert here.incident.artifacts.count() == 0


def test_a_changed_byte_opens_no_room(room):
    whole = bytearray(bundle_of(room).read_bytes())
    whole[len(whole) // 2] ^= 1
    before = Incident.objects.count()
    incoming = store.receive_all([bytes(whole)])
    with pytest.raises(BundleRefused, match="Nothing of it was taken in"):
        exports.bring(make_user(), incoming)
    incoming.discard()
    assert Incident.objects.count() == before


def test_a_key_that_was_named_must_be_the_signer_s(room):
    path = bundle_of(room)
    with bundles.opened(path) as reader:
        key = reader.manifest.key
    with pytest.raises(BundleRefused, match="not signed by the site that you named"):
        brought(path, key=key.replace("R", "S"))
    assert brought(path, key=f" {key} ").incident.origin.key == key


def test_a_bundle_larger_than_the_room_may_hold_opens_no_room(room, settings):
    path = bundle_of(room)
    settings.EXHIBIT_ROOM_BYTES = 100
    before = Incident.objects.count()
    with pytest.raises(Refused, match="EXHIBIT_ROOM_BYTES"):
        brought(path)
    assert Incident.objects.count() == before


def test_only_leads_have_bundles_made(room):
    for role in (Role.VIEWER, Role.INVESTIGATOR):
        with pytest.raises(NotAllowed):
            exports.ask(make_member(room.incident, role), "tables")


def test_one_bundle_at_a_time_and_a_week_for_each(room):
    exports.ask(room, "tables")
    with pytest.raises(Refused, match="being made"):
        exports.ask(room, "tables")
    run_jobs("large")
    export = room.incident.exports.get()
    path = store.bundle_path(room.incident.pk, export.pk)
    assert path.exists()
    room.incident.exports.update(expires_at=export.ready_at)
    bundling.forget_old()
    assert not path.exists()
    assert room.incident.exports.get().state == BundleState.GONE


def test_a_purge_takes_the_bundles_along(room, django_capture_on_commit_callbacks):
    path = bundle_of(room)
    with django_capture_on_commit_callbacks(execute=True):
        purge.purge(room, 1, "uploaded by mistake")
    assert not path.exists()
    assert room.incident.exports.get().cause == "Evidence in it was purged."
    with bundles.opened(bundle_of(room)) as reader:
        assert len([m for m in reader.manifest.members if m.name.startswith("originals/")]) == 1


def test_what_is_purged_while_a_bundle_is_made_is_not_in_it(room, monkeypatch):
    begin = bundling._begin
    purged: list[Any] = []

    def slow(job, export):
        found = begin(job, export)
        if not purged:
            purged.append(purge.purge(room, 1, "uploaded by mistake"))
            raise_missing = store.original(purged[0])
            raise_missing.write_bytes(b"")  # the worker had it open
        return found

    monkeypatch.setattr(bundling, "_begin", slow)
    path = bundle_of(room)
    with bundles.opened(path) as reader:
        assert f"originals/{purged[0].sha256}.zst" not in [m.name for m in reader.manifest.members]


def test_a_bundle_that_was_removed_is_no_more(room, django_capture_on_commit_callbacks):
    path = bundle_of(room)
    with django_capture_on_commit_callbacks(execute=True):
        exports.remove(room, room.incident.exports.get().pk)
    assert not path.exists()
    with pytest.raises(Refused) as refused:
        exports.note_download(room, room.incident.exports.get().pk)
    assert refused.value.status == 410


def test_a_bundle_being_made_does_not_count_as_work_on_the_evidence(room):
    Job.objects.all().delete()
    exports.ask(room, "tables")
    assert not header(room.incident)["reading_now"]


def test_a_worker_killed_while_it_fills_a_room_leaves_it_to_the_next(room, monkeypatch):
    path = bundle_of(room)
    fill_room = unbundling._fill

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    incoming = store.receive_all([path.read_bytes()])
    incident = exports.bring(make_user(), incoming)
    incoming.discard()
    monkeypatch.setattr(unbundling, "_fill", killed)
    job = Job.objects.get(kind=JobKind.IMPORT)
    with pytest.raises(KeyboardInterrupt):
        run_jobs("large")
    assert incident.artifacts.count() == 0
    Job.objects.filter(pk=job.pk).update(state="queued", lease_until=None)
    monkeypatch.setattr(unbundling, "_fill", fill_room)
    run_jobs("large")
    assert incident.artifacts.count() == 2
    assert Origin.objects.get(incident=incident).state == BundleState.READY


def test_a_bundle_of_version_1_opens(db):
    """Open `room_v1.exhibit.tar`, of the first version of the format; every later release must open it."""
    here = brought(Path(__file__).with_name("room_v1.exhibit.tar"), "large", "small")
    assert (here.incident.origin.state, here.incident.origin.cause) == (BundleState.READY, "")
    assert here.incident.origin.chain["broken"] is None
    assert list(here.incident.artifacts.values_list("number", "name", "reading__kind")) == [
        (1, "times.txt", "conntime"),
        (2, "vmstat.out", "vmstat"),
    ]
    note = here.incident.notes.get()
    assert (note.text, note.line_from, note.line_to) == ("The disks are quiet.", 2, 3)
