"""Rooms whose hosts share the database and the object store, and no folder."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from django.test import Client
from django.urls import reverse

from config import backup
from incidents import tasks
from incidents.actions import exports, purge
from incidents.content import site
from incidents.errors import OverQuota, StoreAway
from incidents.models.evidence.artifact import Artifact
from incidents.models.evidence.reading import Reading
from incidents.models.people.membership import Role
from incidents.models.room.bundle import Holds
from incidents.models.room.incident import RoomCounter
from incidents.models.room.job import Job
from incidents.storage import copies, keeper, store
from incidents.work import ingest
from parsers.tables import parquet
from tests.incidents.conftest import CONNECT_TIMES, make_artifact, make_member, make_room, make_user, run_jobs
from tests.incidents.work.test_ingest import big_truss
from tests.object_store import Proxy, Server

pytestmark = pytest.mark.django_db
Host = Callable[[str], Path]


def tables(folder: Path) -> dict[str, pl.DataFrame]:
    return {name: parquet.scan(folder, name).collect() for name in sorted(parquet.tables(folder))}


def reading() -> Reading:
    return Reading.objects.select_related("artifact").get()


def read_on_hosts(host: Host):
    """Receive a file on one host, read it on a second and judge it on a third."""
    host("web")
    room = make_room()
    make_artifact(room)
    host("worker")
    assert run_jobs("small") == 1
    host("judge")
    assert run_jobs("judge") == 1
    return room


def test_an_upload_gets_its_verdict_on_hosts_that_share_no_folder(host: Host, settings, server: Server):
    room = read_on_hosts(host)
    artifact = Artifact.objects.get()
    assert artifact.state == "read"
    apart = room.incident.evaluations.get().report
    host("another web")
    lines = store.lines_of(artifact)
    assert lines is not None
    assert [text for _, text in lines.texts(1, 2)] == CONNECT_TIMES.decode().splitlines()[:2]
    found = tables(store.bring_reading(reading()))
    assert list((store.cache_dir(room.incident.pk) / "derived").iterdir())
    sent = server.held()

    settings.EXHIBIT_STORE = ""
    host("alone")
    alone = make_room()
    make_artifact(alone)
    run_jobs()
    (of_alone,) = alone.incident.artifacts.get().readings.all()
    assert of_alone.stored == ""
    expected = tables(store.reading_dir(of_alone))
    assert list(found) == list(expected)
    assert all(found[name].equals(expected[name]) for name in expected)
    together = alone.incident.evaluations.get().report
    lasting = [{key: value for key, value in report.items() if key != "seconds"} for report in (apart, together)]
    assert json.dumps(lasting[0], sort_keys=True) == json.dumps(lasting[1], sort_keys=True)
    assert server.held() == sent  # without the setting nobody asks the store


def test_a_store_that_is_away_delays_and_loses_nothing(host: Host, server: Server):
    host("web")
    room = make_room()
    make_artifact(room)
    server.kill()
    with pytest.raises(StoreAway):
        make_artifact(room, b"another", "b.txt")
    assert room.incident.artifacts.count() == 1
    host("worker")
    tasks.work("small")
    artifact, job = Artifact.objects.get(), Job.objects.get()
    assert (artifact.state, job.state, job.tries) == ("queued", "queued", 0)
    assert "object store did not answer" in artifact.cause
    assert "goes on by itself" in artifact.cause
    server.start()
    Job.objects.update(not_before=None)
    assert run_jobs("small") == 1
    server.kill()
    host("judge")
    tasks.work("judge")
    assert not room.incident.evaluations.exists()
    server.start()
    Job.objects.update(not_before=None)
    assert run_jobs() == 1
    assert room.incident.evaluations.count() == 1


def test_other_hosts_see_what_is_read_so_far_and_never_a_half_of_it(
    host: Host, settings, monkeypatch: pytest.MonkeyPatch
):
    host("worker")
    make_artifact(make_room(), big_truss(800_000), "big.truss")
    monkeypatch.setattr(ingest, "SEND_S", 0.0)
    monkeypatch.setattr(ingest, "PROGRESS_S", 0.0)
    send, seen = ingest._send, []

    def and_look(job: Job, read: Reading) -> None:
        send(job, read)
        here, settings.EVIDENCE_ROOT = settings.EVIDENCE_ROOT, settings.EVIDENCE_ROOT.with_name("web")
        now = reading()
        folder = store.bring_reading(now)
        if now.stored:
            seen.append((now.stored, sum(frame.height for frame in tables(folder).values())))
            assert store.lines_of(now.artifact) is not None
        settings.EVIDENCE_ROOT = here

    monkeypatch.setattr(ingest, "_send", and_look)
    run_jobs("small", "large")
    assert Artifact.objects.get().state == "read"
    assert seen, "the file is too small to be seen under way"
    assert seen[0][0] != reading().stored
    assert [rows for _, rows in seen] == sorted(rows for _, rows in seen)
    host("web")
    last = tables(store.bring_reading(reading()))
    assert sum(frame.height for frame in last.values()) > seen[0][1] > 0


def test_another_worker_goes_on_after_the_last_batch_that_was_sent(host: Host, monkeypatch: pytest.MonkeyPatch):
    host("worker")
    room = make_room()
    make_artifact(room)
    run_jobs("small")
    before = reading()
    assert before.stored
    Reading.objects.update(state="running")
    host("another")
    with store.lock_reading(reading()):
        assert (parquet.load_manifest(store.reading_dir(before)) or {})["complete"]


def test_a_purge_and_a_deletion_reach_the_store_and_every_host(
    host: Host, server: Server, django_capture_on_commit_callbacks, monkeypatch: pytest.MonkeyPatch
):
    room = read_on_hosts(host)
    pk = room.incident.pk
    original = f"some/where/{pk}/{Artifact.objects.get().sha256}"
    held = server.held()
    assert original in held
    host("web")
    with django_capture_on_commit_callbacks(execute=True):
        purge.purge(room, 1, "wrong file")
        second = make_member(room.incident, Role.LEAD)
        if Artifact.objects.get().state != "purged":
            purge.purge(second, 1, "wrong file")
    assert server.held() == set()
    assert RoomCounter.objects.get(incident=pk).cache_stored == ""
    for name in ("worker", "judge"):
        root = host(name)
        keeper.look()
        assert not [file for file in (root / str(pk)).rglob("*") if file.is_file() and "cache" not in file.parts]
    host("judge")
    make_artifact(room, b"something else", "c.txt")
    store.drop_room(pk)
    assert server.held() == set()


def test_a_room_that_is_gone_leaves_every_host(host: Host, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(keeper, "YOUNG_S", 0.0)
    root = host("worker")
    (root / "999" / "1" / "1").mkdir(parents=True)
    (root / "999" / "1" / "1" / "manifest.json").write_text("{}")
    (root / "999" / ("0" * 64)).write_text("original")
    copies.hold(root / "999" / ("0" * 64))
    keeper.look()
    assert (root / "999" / ("0" * 64)).exists()  # in use
    copies.let_go()
    keeper.look()
    assert not (root / "999").exists()


def test_the_bound_holds_on_each_host_and_what_went_comes_again(host: Host, settings):
    settings.EXHIBIT_COPIES_BYTES = 0
    room = read_on_hosts(host)
    for name in ("web", "worker", "judge"):
        host(name)
        keeper.look()
        assert copies.usage() == (0, 0)
    host("worker")
    assert store.lines_of(Artifact.objects.get()) is not None
    keeper.look()
    assert copies.usage()[0] == 2  # in use
    assert room.incident.evaluations.count() == 1


def test_a_refused_file_leaves_nothing_in_the_store(host: Host, settings, server: Server):
    host("web")
    settings.EXHIBIT_ROOM_FILES = 0
    with pytest.raises(OverQuota):
        make_artifact(make_room())
    assert server.held() == set()


def test_a_bundle_is_made_on_one_host_and_handed_out_on_another(host: Host, settings):
    room = read_on_hosts(host)
    host("web")
    export = exports.ask(room, Holds.ORIGINALS)
    host("worker")
    run_jobs("large")
    export.refresh_from_db()
    assert export.state == "ready", export.cause
    host("another web")
    path = store.bring_bundle(room.incident.pk, export.pk, export.sha256)
    assert path.stat().st_size == export.total_bytes


def test_a_backup_holds_what_the_store_holds_and_the_folder_can_be_sent_again(
    host: Host, server: Server, tmp_path: Path, settings
):
    read_on_hosts(host)
    web = host("web")
    shutil.rmtree(web)
    web.mkdir()
    held = {name: source.read_bytes() for source, name in backup._held()}
    artifact = Artifact.objects.get()
    pk = artifact.incident_id
    assert not list(web.rglob("incoming/*"))
    assert held[f"evidence/{pk}/{artifact.sha256}"] == CONNECT_TIMES
    assert f"evidence/{pk}/1/1/manifest.json" in held

    new = host("restored")
    for name, content in held.items():
        (new / Path(name).relative_to("evidence")).parent.mkdir(parents=True, exist_ok=True)
        (new / Path(name).relative_to("evidence")).write_bytes(content)
    store.begin_anew()
    assert server.held() == set()
    assert store.send_everything() == 2
    host("web of the restored place")
    assert store.lines_of(Artifact.objects.get()) is not None
    assert tables(store.bring_reading(reading()))


def test_a_page_whose_evidence_is_not_here_says_so_while_the_store_is_away(host: Host, server: Server):
    room = read_on_hosts(host)
    member = Client()
    member.force_login(room.user)
    address = reverse("lines", args=(room.incident.slug, 1))
    server.kill()
    host("another web")
    answer = member.get(address)
    assert answer.status_code == 503
    assert "try again in a moment" in answer.content.decode()
    host("worker")
    assert member.get(address).status_code == 200  # what this host has copies of


def test_the_page_of_the_site_says_whether_the_store_serves(host: Host, server: Server, stored: Proxy):
    host("web")
    administrator = Client()
    administrator.force_login(make_user(is_superuser=True, is_staff=True))
    page = administrator.get("/site/").content.decode()
    assert "The object store <code>s3://evidence/some/where</code>" in page
    assert "serves." in page
    server.kill()
    assert "does not serve:" in administrator.get("/site/").content.decode()
    faults = site.look().faults
    assert any("the object store did not answer" in fault for fault in faults)
