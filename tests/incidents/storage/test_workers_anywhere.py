"""Web, worker and judge in processes with folders of their own: they share the database, the broker and the object store."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as configured
from django.db import connection

from incidents import tasks
from incidents.access import Room
from incidents.models.evidence.artifact import Artifact
from incidents.models.room.job import Job
from incidents.storage import copies, store
from tests.incidents.conftest import CONNECT_TIMES, make_artifact, make_room, run_jobs
from tests.incidents.storage.test_hosts import tables
from tests.object_store import BUCKET, KEY_ID, SECRET, Server

KILLS = int(os.environ.get("EXHIBIT_KILLS", "15"))
"""How often the night's test kills something; a release deserves 200."""
SAID_S = 120.0

HOST = """
import sys, time
from pathlib import Path
import django
django.setup()
from django.conf import settings
settings.EXHIBIT_MIN_FREE_BYTES = 0
from django.db import connections
connections["default"].settings_dict["NAME"] = sys.argv[1]
if sys.argv[2] != "web":
    from config.celery import app
    app.worker_main(["worker", "--pool=prefork", "--concurrency=1", f"--queues={sys.argv[2]}", "--loglevel=WARNING",
                     "--without-mingle", "--without-gossip"])
from django.contrib.auth.models import User
from incidents import access
from incidents.actions import artifacts
from incidents.errors import AlreadyHere, StoreError
room = access.enter(User.objects.get(username=sys.argv[3]), sys.argv[4])
for file in sorted(Path(sys.argv[5]).iterdir()):
    while True:
        try:
            artifacts.receive_stream(room, file.name, [file.read_bytes()])
        except AlreadyHere:
            break
        except StoreError:
            time.sleep(0.2)
        else:
            break
"""


class Hosts:
    """Hosts by name, each a process with an evidence folder, a folder for everything else and one for temporary files."""

    def __init__(self, folder: Path, broker: str, server: Server) -> None:
        self.folder, self.broker, self.server = folder, broker, server
        self.running: dict[str, tuple[subprocess.Popen[bytes], list[str]]] = {}

    def start(self, name: str, *words: str) -> subprocess.Popen[bytes]:
        own = self.folder / name
        (own / "tmp").mkdir(parents=True, exist_ok=True)
        environment = os.environ | {
            "DJANGO_SETTINGS_MODULE": "tests.settings",
            "REDIS_URL": self.broker,
            "EXHIBIT_VAR": str(own / "var"),
            "EXHIBIT_EVIDENCE_ROOT": str(own / "evidence"),
            "TMPDIR": str(own / "tmp"),
            "EXHIBIT_STORE": f"s3://{BUCKET}/anywhere",
            "AWS_ENDPOINT_URL": self.server.address,
            "AWS_ACCESS_KEY_ID": KEY_ID,
            "AWS_SECRET_ACCESS_KEY": SECRET,
        }
        command = [sys.executable, "-c", HOST, str(connection.settings_dict["NAME"]), *words]
        process = subprocess.Popen(command, env=environment, cwd=configured.BASE_DIR, start_new_session=True)
        self.running[name] = process, list(words)
        return process

    def kill(self, name: str) -> list[str]:
        """Kill a host's processes at once, so that nobody tidies up; return the words that start it again."""
        process, words = self.running.pop(name)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return words


@pytest.fixture
def hosts(broker: str, settings, tmp_path: Path, server: Server) -> Iterator[Hosts]:
    settings.EVIDENCE_ROOT = tmp_path / "hosts" / "tests" / "evidence"
    made = Hosts(tmp_path / "hosts", broker, server)
    yield made
    for name in list(made.running):
        made.kill(name)
    copies.let_go()


def at_store(settings, server: Server) -> None:
    settings.EXHIBIT_STORE = f"s3://{BUCKET}/anywhere"
    settings.AWS_ENDPOINT_URL = server.address
    settings.AWS_ACCESS_KEY_ID, settings.AWS_SECRET_ACCESS_KEY = KEY_ID, SECRET


def files(folder: Path, count: int) -> Path:
    """Write files to upload, no two alike."""
    folder.mkdir()
    for number in range(count):
        (folder / f"times-{number:02}.txt").write_bytes(CONNECT_TIMES + f"time elapsed : 0,{number + 10}\n".encode())
    return folder


def settled(room: Room, count: int) -> bool:
    done = not Job.objects.filter(state__in=("queued", "running")).exists()
    return done and room.incident.artifacts.filter(state="read").count() == count and room.incident.evaluations.exists()


def until(condition: Callable[[], bool], each: Callable[[], Any] = lambda: None) -> None:
    end = time.monotonic() + SAID_S
    while not condition():
        assert time.monotonic() < end, list(Job.objects.values("kind", "state", "attempt", "cause"))
        each()
        time.sleep(0.3)


def require_equal(room: Room, alone: Room) -> None:
    """Compare rows and verdict of a room read on several hosts with those of a room read in one folder."""
    pairs = list(zip(*(r.incident.artifacts.order_by("number") for r in (room, alone)), strict=True))
    for there, here in pairs:
        assert (there.number, there.name, there.sha256) == (here.number, here.name, here.sha256)
        of_there, of_here = store.shown_reading(there), store.shown_reading(here)
        assert of_there is not None
        assert of_here is not None
        found, expected = tables(store.bring_reading(of_there)), tables(store.reading_dir(of_here))
        assert list(found) == list(expected)
        assert all(found[name].equals(expected[name]) for name in expected)
    reports = [r.incident.evaluations.order_by("-number")[0].report for r in (room, alone)]
    lasting = [json.dumps({k: v for k, v in r.items() if k != "seconds"}, sort_keys=True) for r in reports]
    assert lasting[0] == lasting[1]


def read_alone(source: Path) -> Room:
    """Read and judge the same files in this process and one folder."""
    alone = make_room()
    for file in sorted(source.iterdir()):
        make_artifact(alone, file.read_bytes(), file.name)
    run_jobs()
    return alone


@pytest.mark.services
@pytest.mark.django_db(transaction=True)
def test_an_upload_gets_its_verdict_from_processes_without_a_common_folder(
    hosts: Hosts, settings, server: Server, tmp_path: Path
):
    source = files(tmp_path / "files", 2)
    room = make_room()
    receiver = hosts.start("web", "web", room.user.username, room.incident.slug, str(source))
    assert receiver.wait(60) == 0
    hosts.start("worker", "small,large")
    hosts.start("judge", "judge")
    until(lambda: settled(room, 2))
    for name in ("web", "worker", "judge"):
        hosts.kill(name)
    worker, judge = (tmp_path / "hosts" / name / "evidence" / str(room.incident.pk) for name in ("worker", "judge"))
    assert not (worker / "cache").exists()
    assert (judge / "cache" / "derived").is_dir()
    at_store(settings, server)
    assert store.lines_of(room.incident.artifacts.get(number=1)) is not None
    alone = in_one_folder(settings, source)
    require_equal(room, alone)


def in_one_folder(settings, source: Path) -> Room:
    """Return what `read_alone` does, with the object store off meanwhile."""
    address, settings.EXHIBIT_STORE = settings.EXHIBIT_STORE, ""
    alone = read_alone(source)
    settings.EXHIBIT_STORE = address
    return alone


@pytest.mark.night
@pytest.mark.services
@pytest.mark.django_db(transaction=True)
def test_kills_at_random_lose_and_double_nothing(hosts: Hosts, settings, server: Server, tmp_path: Path):
    count = max(4, KILLS // 2)
    source = files(tmp_path / "files", count)
    room = make_room()
    chance = random.Random(KILLS)
    hosts.start("web", "web", room.user.username, room.incident.slug, str(source))
    for name, queues in (("worker", "small,large"), ("worker-2", "small,large"), ("judge", "judge")):
        hosts.start(name, queues)
    for _ in range(KILLS):
        time.sleep(chance.uniform(0.5, 3.0))
        victim = chance.choice([*hosts.running, "object store"])
        if victim == "object store":
            server.kill()
            time.sleep(chance.uniform(0.0, 1.0))
            server.start()
        else:
            hosts.start(victim, *hosts.kill(victim))
        tasks.sweep()
    hosts.running["web"][0].wait(SAID_S)
    until(lambda: settled(room, count), tasks.sweep)
    assert Artifact.objects.filter(incident=room.incident).count() == count
    for name in list(hosts.running):
        hosts.kill(name)
    at_store(settings, server)
    require_equal(room, in_one_folder(settings, source))
