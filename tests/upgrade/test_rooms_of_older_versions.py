"""Rooms that an older version made open with this one, show what they showed, and are judged the same.

Each `*.tar.xz` in this folder is a backup (README.md says how it was made). It is restored by `manage.py restore`, as after
an upgrade, into a database and a folder of its own; then a member visits every room (visit.py).
"""

from __future__ import annotations

import html
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
from psycopg import sql

ROOT = Path(__file__).resolve().parents[2]
ARCHIVES = sorted(Path(__file__).parent.glob("*.tar.xz"))

Json = dict[str, Any]


def run(env: dict[str, str], *arguments: str) -> str:
    done = subprocess.run([sys.executable, *arguments], cwd=ROOT, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-4000:] or done.stdout[-4000:]
    return done.stdout


@pytest.fixture(scope="module", params=ARCHIVES, ids=lambda archive: archive.name.removesuffix(".tar.xz"))
def rooms(request: pytest.FixtureRequest) -> Iterator[list[Json]]:
    """Restore an archive and return what a member finds in its rooms."""
    server, name = os.environ["DATABASE_URL"], f"upgrade_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        try:
            with tempfile.TemporaryDirectory(prefix="exhibit-u-", dir="/tmp") as folder:
                with tarfile.open(request.param) as archive:
                    archive.extractall(folder, filter="data")
                env = os.environ | {
                    "DATABASE_URL": urlsplit(server)._replace(path=f"/{name}").geturl(),
                    "EXHIBIT_VAR": f"{folder}/var",
                    "DJANGO_SETTINGS_MODULE": "tests.settings",
                }
                run(env, "manage.py", "restore", f"{folder}/rooms")
                printed = run(env, "-m", "tests.upgrade.visit").splitlines()[-1]
                yield json.loads(printed.removeprefix("RESULT"))
        finally:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


def judged(rooms: list[Json]) -> list[Json]:
    """Return the rooms with a verdict."""
    found = [room for room in rooms if room["stored"]]
    assert found
    return found


def text(page: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", page)).split())


def test_there_is_an_archive():
    assert ARCHIVES


def test_every_page_of_every_room_opens(rooms):
    assert len(rooms) >= 4
    assert {room["title"]: page for room in rooms for page in room["pages"].items() if page[1] != 200} == {}


def test_a_room_shows_its_verdict_and_its_findings(rooms):
    for room in judged(rooms):
        shown = text(room["room"]).replace(" ", "")
        assert room["stored"]["verdict"]["sentence"].replace(" ", "").casefold()[20:] in shown.casefold()
        assert room["findings"]
        for headline in room["findings"].values():
            assert headline.replace(" ", "").casefold() in shown.casefold()


def test_originals_are_what_was_uploaded_and_their_lines_are_shown(rooms):
    artifacts = [(room, name) for room in rooms for name in room["lines"]]
    assert len(artifacts) >= 12
    for room, name in artifacts:
        hash_then, hash_now = room["originals"][name]
        assert hash_now == hash_then, name
        if not name.endswith((".zip", ".bin")):
            assert room["lines"][name], name
    (full,) = [room for room in rooms if "vmstat-0.out" in room["lines"]]
    assert (
        full["lines"]["vmstat-0.out"][0]
        == "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----"
    )


def test_what_people_wrote_is_there(rooms):
    (full,) = [room for room in rooms if "vmstat-0.out" in room["lines"]]
    assert "as well, number 0." in text(full["notes"])
    assert "Not on my host, says" in text(full["room"]) or "Not on my host, says" in text(full["notes"])
    assert "Restart 0?" in text(full["plan"])
    assert "Trace login 0" in text(full["plan"])
    assert "It waits for memory, 0." in text(full["summary"])


def test_a_room_judged_again_has_the_same_verdict_and_the_same_findings(rooms):
    again = [room for room in rooms if room["again"]]
    assert again
    for room in again:
        then, now = room["stored"], room["again"]
        # The words, and what is asked for, may become better; what is said of the incident stays.
        said = ("state", "rules", "layer", "hypothesis", "support", "margin", "share")
        assert {key: now["verdict"][key] for key in said} == {key: then["verdict"][key] for key in said}
        assert [one["key"] for one in now["findings"]] == [one["key"] for one in then["findings"]]
        assert now["failed"] == []
