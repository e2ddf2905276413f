"""The object store's client against a real server, with faults on the way."""

from __future__ import annotations

import hashlib
import io
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from incidents.errors import StoreAway, StoreError
from incidents.storage import objects
from tests.object_store import BUCKET, KEY_ID, SECRET, Proxy, Server

ROOT = Path(__file__).resolve().parents[3]
TEXT = b"read(5, 0x0, 16) = 16\n" * 1000
SHA = hashlib.sha256(TEXT).hexdigest()


def fetched(key: str, sha256: str | None) -> bytes:
    file = io.BytesIO()
    objects.fetch(key, file, sha256)
    return file.getvalue()


def first(count: int, harm: str, method: str) -> Callable[[str, str], str | None]:
    """Return a harm to the first requests with a method."""
    left = [count]

    def do(asked: str, _path: str) -> str | None:
        if asked != method or left[0] == 0:
            return None
        left[0] -= 1
        return harm

    return do


def always(harm: str, method: str) -> Callable[[str, str], str | None]:
    return lambda asked, _path: harm if asked == method else None


def test_it_stores_lists_and_removes_below_its_prefix(stored: Proxy, server: Server):
    objects.put("7/a", TEXT)
    objects.put("7/b/c", b"")
    objects.put("71/a", b"x")
    assert server.held() == {"some/where/7/a", "some/where/7/b/c", "some/where/71/a"}
    assert sorted((row.key, row.size) for row in objects.listed("7")) == [("7/a", len(TEXT)), ("7/b/c", 0)]
    assert objects.get("7/a", SHA) == TEXT
    assert fetched("7/b/c", None) == b""
    assert (objects.holds("7/a", len(TEXT)), objects.holds("7/a", 1), objects.holds("7/z", 1)) == (True, False, False)
    objects.drop_folder("7")
    objects.drop(["7/a"])  # once more
    assert server.held() == {"some/where/71/a"}


def test_a_large_file_goes_and_comes_in_pieces(stored: Proxy, server: Server, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(objects, "PIECE", 5 * 2**20)
    content = os.urandom(12 * 2**20 + 7)
    objects.put_file("big", io.BytesIO(content))
    assert len([path for method, path in stored.seen if method == "PUT"]) == 3
    assert server.file("some/where/big").read_bytes() == content
    assert fetched("big", hashlib.sha256(content).hexdigest()) == content


@pytest.mark.parametrize("harm", ["503", "reset", "cut"])
def test_a_fault_that_passes_is_not_noticed(stored: Proxy, harm: str):
    objects.put("a", TEXT)
    stored.harm = first(1, harm, "GET")
    assert fetched("a", SHA) == TEXT
    stored.harm = first(1, "503", "PUT")
    objects.put("b", TEXT)
    stored.harm = lambda method, path: None
    assert fetched("b", SHA) == TEXT


def test_a_lie_that_passes_is_not_noticed_and_one_that_stays_is_an_error(stored: Proxy):
    objects.put("a", TEXT)
    stored.harm = first(1, "lie", "GET")
    assert fetched("a", SHA) == TEXT
    stored.harm = first(1, "lie", "GET")
    assert objects.get("a", SHA) == TEXT
    stored.harm = always("lie", "GET")
    with pytest.raises(StoreError, match="other bytes for a") as caught:
        fetched("a", SHA)
    assert not isinstance(caught.value, StoreAway)  # waiting would not help
    with pytest.raises(StoreError, match="other bytes"):
        objects.get("a", SHA)


@pytest.mark.parametrize("harm", ["503", "slow", "reset"])
def test_a_fault_that_stays_ends_in_bounded_time(stored: Proxy, harm: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(objects, "RETRIES", 1)
    monkeypatch.setattr(objects, "SILENT_S", 1)
    objects._client.cache_clear()
    stored.harm = always(harm, "PUT")
    begun = time.monotonic()
    with pytest.raises(StoreAway, match="did not answer"):
        objects.put("a", TEXT)
    assert time.monotonic() - begun < 8
    stored.harm = lambda method, path: None
    assert not objects.holds("a", len(TEXT)) or harm == "slow"


def test_a_server_that_is_killed_is_away_and_serves_again_when_it_is_back(stored: Proxy, server: Server):
    objects.put("a", TEXT)
    server.kill()
    with pytest.raises(StoreAway, match="did not answer"):
        fetched("a", SHA)
    server.start()
    assert fetched("a", SHA) == TEXT


def test_what_an_operator_may_have_set_wrongly_is_said_in_words(settings, stored: Proxy):
    settings.AWS_SECRET_ACCESS_KEY = "another"
    with pytest.raises(StoreAway, match="refuses the keys of this server"):
        objects.put("a", TEXT)
    settings.AWS_SECRET_ACCESS_KEY = SECRET
    settings.EXHIBIT_STORE = "s3://nowhere"
    with pytest.raises(StoreAway, match="has no bucket nowhere"):
        objects.put("a", TEXT)
    with pytest.raises(StoreAway, match="has no bucket nowhere"):
        fetched("a", SHA)


def test_a_missing_object_is_no_reason_to_wait(stored: Proxy):
    with pytest.raises(StoreError, match="does not hold 7/x") as caught:
        fetched("7/x", None)
    assert not isinstance(caught.value, StoreAway)


SENDER = """
import io, os, sys
from django.conf import settings
settings.configure(EXHIBIT_STORE=sys.argv[1], AWS_ENDPOINT_URL=sys.argv[2], AWS_REGION="",
                   AWS_ACCESS_KEY_ID=sys.argv[3], AWS_SECRET_ACCESS_KEY=sys.argv[4])
from incidents.storage import objects
objects.PIECE = 5 * 2**20
objects.put_file("big", io.BytesIO(bytes(21 * 2**20)))
"""


def test_a_sender_that_is_killed_in_the_middle_leaves_nothing_to_be_seen(settings, stored: Proxy, server: Server):
    """The parts wait in the server for an end that does not come; no key shows them."""
    sender: list[subprocess.Popen[bytes]] = []
    puts = [0]

    def kill(method: str, _path: str) -> str | None:
        puts[0] += method == "PUT"
        if puts[0] == 2:
            sender[0].kill()
            sender[0].wait()
            return "reset"
        return None

    stored.harm = kill
    arguments = [f"s3://{BUCKET}/some/where", stored.address, KEY_ID, SECRET]
    sender.append(subprocess.Popen([sys.executable, "-c", SENDER, *arguments], cwd=ROOT))
    sender[0].wait(30)
    assert puts[0] >= 2
    stored.harm = lambda method, path: None
    assert not objects.holds("big", 21 * 2**20)
    assert [row.key for row in objects.listed()] == []
