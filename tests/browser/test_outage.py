"""PostgreSQL or the broker lost for ten seconds in the middle of an upload: the page says so, goes on, loses no byte.

They are lost in two ways. *Still*: their processes are stopped, so connections stand and nobody answers. *Gone*: every
connection is cut and no new one is let in, as when the server is restarted.
"""

from __future__ import annotations

import hashlib
import os
import random
import re
import signal
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from config.embedded import run_dir
from tests.browser.conftest import shot
from tests.browser.test_story import new_room
from tests.prepared import fill
from tests.served import Served, served

OUTAGE_S = 10.0
SIZE = 64 * 2**20
# So fast the browser may send: the outage must begin while it does.
BYTES_A_SECOND = 16 * 2**20
WAITS = re.compile("goes on by itself")
SEEN = "not read: Not text but binary"
HALF_A_MINUTE = 30_000
CONNECT_TIME = "time elapsed : 0,{:02d}\n"


@pytest.fixture(scope="module")
def exhibit() -> Iterator[Served]:
    """Start an Exhibit of these tests' own: what they do to its servers reaches no other test."""
    with served(fill=fill) as running:
        yield running


def processes(var: Path, program: str) -> list[int]:
    """List the processes of one of the servers that belong to this Exhibit: they work in its data folder."""
    folder = (var / {"postgres": "pg", "valkey-server": "broker"}[program]).resolve()
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            here = entry.joinpath("cwd").readlink() == folder
            runs = program in entry.joinpath("cmdline").read_text() or program in entry.joinpath("comm").read_text()
        except OSError:
            continue  # gone meanwhile, or another user's
        if here and runs:
            found.append(int(entry.name))
    assert found, f"no {program} works in {folder}"
    return found


@contextmanager
def still(var: Path, program: str) -> Iterator[None]:
    stopped = processes(var, program)
    try:
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        yield
    finally:
        for pid in stopped:
            os.kill(pid, signal.SIGCONT)


@contextmanager
def nobody_comes_in(door: Path) -> Iterator[Path]:
    """Take the socket's name away; yields the name under which it can still be reached."""
    aside = door.with_name(f"{door.name}.aside")
    door.rename(aside)
    try:
        yield aside
    finally:
        aside.rename(door)


@contextmanager
def postgresql_gone(var: Path) -> Iterator[None]:
    """Kill a process of it hard: PostgreSQL then ends all its connections and recovers, as after a crash."""
    with nobody_comes_in(run_dir(var) / ".s.PGSQL.5432"):
        postmaster = int((var / "pg" / "postmaster.pid").read_text().split("\n", 1)[0])
        clients = [
            pid
            for pid in processes(var, "postgres")
            if pid != postmaster and "[local]" in Path(f"/proc/{pid}/cmdline").read_text()
        ]
        os.kill(clients[0], signal.SIGKILL)
        yield


@contextmanager
def broker_gone(var: Path) -> Iterator[None]:
    with nobody_comes_in(run_dir(var) / "broker.sock") as aside:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.connect(str(aside))
            connection.sendall(b"CLIENT KILL TYPE pubsub\r\nCLIENT KILL TYPE normal SKIPME yes\r\n")
            assert connection.recv(64).startswith(b":")
        yield


def a_file(folder: Path, seed: int) -> tuple[Path, str]:
    """Make a file of bytes that are no text; return it with its SHA-256.

    The workers see at once what it is, so no test waits behind what another one sent.
    """
    content = random.Random(seed).randbytes(SIZE // 64) * 64
    path = folder / f"large-{seed}.bin"
    path.write_bytes(content)
    return path, hashlib.sha256(content).hexdigest()


def slow_down(page: Page) -> None:
    network = page.context.new_cdp_session(page)
    network.send("Network.enable")
    network.send(
        "Network.emulateNetworkConditions",
        {"offline": False, "latency": 0, "downloadThroughput": -1, "uploadThroughput": BYTES_A_SECOND},
    )


def begin(page: Page, room: str, path: Path) -> None:
    """Choose the file, and return when some of it, not all, has left the browser."""
    page.goto(f"{room}evidence/add/")
    expect(page.locator("#live")).to_have_attribute("data-state", "on")
    slow_down(page)
    page.locator("input[type=file][data-send]").set_input_files(str(path))
    page.wait_for_function("() => document.querySelector('#sending progress')?.value > 20 * 1024 * 1024")


def sent(page: Page) -> float:
    return float(page.locator("#sending progress").evaluate("bar => bar.value / bar.max"))


def assert_kept(page: Page, room: str, var: Path, sha256: str) -> None:
    """The page names the file by its hash, and what lies in the store has that hash, read anew from the disk."""
    page.goto(f"{room}evidence/")
    expect(page.locator(f'.sha[title="SHA-256 {sha256}"]')).to_be_visible()
    (original,) = (var / "evidence").glob(f"*/{sha256}")
    assert hashlib.sha256(original.read_bytes()).hexdigest() == sha256


def write_note(page: Page, text: str) -> None:
    page.get_by_text("Write a note", exact=True).first.click()
    page.locator("#note-new textarea").fill(text)
    page.get_by_role("button", name="Save note").click()


def post_note(page: Page, room: str, text: str) -> None:
    page.goto(room)
    write_note(page, text)
    expect(page.locator("#notes")).to_contain_text(text)


def test_postgresql_stands_still(ada: Page, exhibit: Served, tmp_path: Path) -> None:
    room = new_room(ada, exhibit.url, "PostgreSQL stands still")
    post_note(ada, room, "Written before the outage.")
    path, sha256 = a_file(tmp_path, 1)
    colleague, reader = ada.context.new_page(), ada.context.new_page()
    colleague.goto(room)
    reader.goto(room)
    begin(ada, room, path)
    with still(exhibit.var, "postgres"):
        assert sent(ada) < 1
        ended = time.monotonic() + OUTAGE_S
        # A page that hangs in a query is answered all the same; once that is known, whoever writes keeps the text.
        reader.evaluate("() => void setTimeout(() => location.reload())")
        expect(reader.locator("body")).to_contain_text("The database does not answer just now.", timeout=8_000)
        with pytest.raises(urllib.error.HTTPError, match="503"):
            urllib.request.urlopen(f"{exhibit.url}/healthz", timeout=8)
        write_note(colleague, "Written while nobody answered.")
        expect(colleague.locator("#refused")).to_contain_text("The database does not answer just now.", timeout=8_000)
        expect(colleague.locator("#note-new textarea")).to_have_value("Written while nobody answered.")
        expect(ada.locator("#sending [data-words]")).to_contain_text(WAITS, timeout=8_000)
        expect(ada.locator("#sending [data-words]")).to_contain_text("safe")
        shot(ada, "outage-still")
        time.sleep(max(ended - time.monotonic(), 0))
    expect(ada.locator("#sending [data-words]")).to_contain_text(
        re.compile(f"waiting to be read|being read|{SEEN}"), timeout=HALF_A_MINUTE
    )
    reader.locator("#verdict").wait_for(timeout=HALF_A_MINUTE)
    colleague.get_by_role("button", name="Save note").click()
    expect(colleague.locator("#notes")).to_contain_text("Written while nobody answered.")
    assert_kept(ada, room, exhibit.var, sha256)
    ada.goto(room)
    expect(ada.locator("#notes")).to_contain_text("Written before the outage.")
    expect(ada.locator("#notes")).to_contain_text("Written while nobody answered.")


def test_the_broker_stands_still(ada: Page, exhibit: Served, tmp_path: Path) -> None:
    room = new_room(ada, exhibit.url, "The broker stands still")
    path, sha256 = a_file(tmp_path, 2)
    begin(ada, room, path)
    with still(exhibit.var, "valkey-server"):
        assert sent(ada) < 1
        ended = time.monotonic() + OUTAGE_S
        # The bytes need no broker: they go on. What the page cannot have is news, and it says so.
        expect(ada.locator("#live")).to_have_attribute("data-state", "off", timeout=9_000)
        expect(ada.locator("#lost")).to_be_visible()
        shot(ada, "outage-broker")
        time.sleep(max(ended - time.monotonic(), 0))
    expect(ada.locator("#live")).to_have_attribute("data-state", "on", timeout=HALF_A_MINUTE)
    expect(ada.locator("#lost")).to_be_hidden()
    # A word to the workers that was lost on the way is said again by the sweep.
    expect(ada.locator("#sending [data-words]")).to_contain_text(SEEN, timeout=2 * HALF_A_MINUTE)
    assert_kept(ada, room, exhibit.var, sha256)


def test_both_are_gone(ada: Page, exhibit: Served, tmp_path: Path) -> None:
    room = new_room(ada, exhibit.url, "PostgreSQL and the broker are gone")
    post_note(ada, room, "Written before the outage.")
    path, sha256 = a_file(tmp_path, 3)
    colleague, reader = ada.context.new_page(), ada.context.new_page()
    colleague.goto(room)
    reader.goto(room)
    begin(ada, room, path)
    with ExitStack() as outage:
        outage.enter_context(broker_gone(exhibit.var))
        outage.enter_context(postgresql_gone(exhibit.var))
        assert sent(ada) < 1
        ended = time.monotonic() + OUTAGE_S
        write_note(colleague, "Written while it was gone.")
        reader.evaluate("() => void setTimeout(() => location.reload())")
        expect(ada.locator("#sending [data-words]")).to_contain_text(WAITS, timeout=8_000)
        shot(ada, "outage-gone")
        # Who opens a page is told so; who writes keeps the text.
        expect(reader.locator("body")).to_contain_text("The database does not answer just now.", timeout=8_000)
        shot(reader, "outage-page")
        expect(colleague.locator("#refused")).to_contain_text("The database does not answer just now.", timeout=8_000)
        expect(colleague.locator("#note-new textarea")).to_have_value("Written while it was gone.")
        time.sleep(max(ended - time.monotonic(), 0))
    expect(ada.locator("#sending [data-words]")).to_contain_text(
        re.compile(f"waiting to be read|being read|{SEEN}"), timeout=HALF_A_MINUTE
    )
    expect(ada.locator("#live")).to_have_attribute("data-state", "on", timeout=HALF_A_MINUTE)
    assert_kept(ada, room, exhibit.var, sha256)
    # All that was ended by the cut works again: the page that was opened meanwhile, notes, news, workers.
    reader.locator("#verdict").wait_for(timeout=HALF_A_MINUTE)
    colleague.get_by_role("button", name="Save note").click()
    expect(colleague.locator("#notes")).to_contain_text("Written while it was gone.")
    ada.goto(room)
    expect(ada.locator("#notes")).to_contain_text("Written before the outage.")
    ada.goto(f"{room}evidence/add/")
    ada.locator("input[type=file][data-send]").set_input_files(
        {
            "name": "times.txt",
            "mimeType": "text/plain",
            "buffer": "".join(map(CONNECT_TIME.format, range(10, 40))).encode(),
        }
    )
    expect(ada.locator("#sending [data-words]")).to_contain_text("recognised as", timeout=40_000)
