"""Tests of a collector against a server: it fetches the wanted steps, runs them, and uploads all output."""

from __future__ import annotations

import asyncio
import re
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from config import asgi, http
from incidents.actions import requests, tokens
from incidents.models.evidence.artifact import Artifact
from incidents.storage import store
from parsers.reading import read
from parsers.text.source import Hints
from rules.collecting.collector import collector
from tests.incidents.conftest import make_room
from tests.rules.collecting.test_collector import PATH, only, quick

pytestmark = pytest.mark.django_db(transaction=True)


@dataclass
class Door:
    """A server with the application behind it. `cut_after`: bytes of each upload's body after which it hangs up."""

    port: int = 0
    cut_after: int | None = None
    cuts: int = 0
    asked: list[str] = field(default_factory=list)
    bearers: list[str] = field(default_factory=list)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        headers = dict(scope["headers"])
        self.asked.append(
            f"{headers.get(b'x-http-method-override', scope['method'].encode()).decode()} {scope['path']}"
        )
        self.bearers.append(headers.get(b"authorization", b"").decode())
        assert b"token" not in scope["query_string"]
        left = self.cut_after if headers.get(b"x-http-method-override") == b"PATCH" else None

        async def cutting() -> Any:
            nonlocal left
            message = await receive()
            if left is not None and (body := message.get("body", b"")):
                if len(body) >= left:
                    self.cuts += 1
                    left = 0
                    return {"type": "http.disconnect"}
                left -= len(body)
            return message

        await asgi.application(scope, cutting, send)


@pytest.fixture
def door() -> Iterator[Door]:
    made = Door()
    held = socket.create_server(("127.0.0.1", 0))
    made.port = held.getsockname()[1]
    config = uvicorn.Config(made, interface="asgi3", http=http.Protocol, lifespan="off", log_level="error")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[held])))
    thread.start()
    try:
        yield made
    finally:
        server.should_exit = True
        thread.join(10)
        held.close()


def collect(door: Door, room: Any, folder: Path, text: str, *arguments: str, token: str, without: str = "") -> Any:
    """Run the Linux collector for a room; `without`: a tool that the host seems to lack."""
    script = folder / "exhibit-linux.sh"
    script.write_text(text)
    path = PATH
    if without:
        bin = folder / "bin"
        bin.mkdir()
        for place in PATH.split(":"):
            for tool in Path(place).glob("*") if Path(place).is_dir() else ():
                if tool.name != without and not (bin / tool.name).exists():
                    (bin / tool.name).symlink_to(tool)
        path = str(bin)
    env = {"PATH": path, "TMPDIR": str(folder), "EXHIBIT_TOKEN": token, "EXHIBIT_TRIES": "2", "EXHIBIT_PAUSE_S": "0"}
    done = subprocess.run(
        ["dash", str(script), "-y", *arguments], capture_output=True, text=True, check=False, env=env, timeout=120,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert token not in done.stdout + done.stderr
    return done


def script_of(door: Door, room: Any, *commands: str) -> str:
    address = f"http://127.0.0.1:{door.port}/api/rooms/{room.incident.slug}"
    return only(quick(collector("linux", address)), *commands)


@pytest.mark.parametrize("without", ["", "curl"])
def test_it_sends_what_the_room_wants_with_the_clock_of_the_server(door: Door, tmp_path: Path, without: str) -> None:
    if shutil.which("wget", path=PATH) is None and without:
        pytest.skip("wget is not installed")
    room = make_room()
    for command, host in (("cat /proc/meminfo", ""), ("ipcs -s; ipcs -sl", "db9"), ("listener.log of the hour", "")):
        requests.put(room, {"what": "memory", "command": command, "host": host, "os": "linux"})
    token = tokens.create(room, "db1")
    done = collect(door, room, tmp_path, script_of(door, room, "uname -a"), token=token, without=without)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert "Sent: it is artifact 1 of the room." in done.stdout
    assert "The room asks for 1 more that a person must collect" in done.stdout
    artifact = Artifact.objects.get()
    assert re.fullmatch(r"exhibit-[\w.-]+-\d{8}T\d{6}Z\.txt", artifact.name)
    account = read(store.original(artifact), Hints(), None)
    assert {part.facts["command"] for part in account.parts} == {"uname -a", "cat /proc/meminfo"}
    text = store.original(artifact).read_text()
    clocks = re.findall(r"^#-- exhibit clock (\S+Z) (\S+Z) server=(\S+)Z by=127\.0\.0\.1:\d+$", text, re.MULTILINE)
    assert len(clocks) == 2
    for before, after, theirs in clocks:
        assert before[:-1] <= theirs
        assert theirs[:19] <= after[:-1]
    for part in account.parts:
        server, least, most = part.facts["server_clock"].split(" ")
        assert server == f"127.0.0.1:{door.port}"
        assert -2 <= float(least) <= 0 <= float(most) <= 2
    assert set(door.bearers) == {f"Bearer {token}"}
    assert list(tmp_path.glob("exhibit-*-*")) == []


@pytest.mark.parametrize("without", ["", "curl"])
def test_an_upload_that_is_cut_goes_on_where_it_was(door: Door, tmp_path: Path, without: str) -> None:
    if shutil.which("wget", path=PATH) is None and without:
        pytest.skip("wget is not installed")
    room = make_room()
    text = script_of(door, room, "uname -a")
    text = re.sub(r"\|uname -a$", "|yes 0123456789 | dd bs=1000 count=9321", text, flags=re.MULTILINE)
    door.cut_after = 3_000_000
    done = collect(door, room, tmp_path, text, token=tokens.create(room, "db1"), without=without)
    assert door.cuts == 2
    assert done.returncode == 1
    assert "Not sent yet" in done.stdout
    folder = re.search(r"Or go on later with: \S+ -r (\S+)", done.stdout)
    assert folder
    (file,) = Path(folder[1]).glob("exhibit-*.txt")
    whole = file.read_bytes()
    assert len(whole) > 9_000_000
    door.cut_after = None
    shutil.rmtree(tmp_path / "bin", ignore_errors=True)
    done = collect(door, room, tmp_path, text, "-r", folder[1], token=tokens.create(room, "db1"), without=without)
    assert "Sent: it is artifact 1 of the room." in done.stdout
    assert store.original(Artifact.objects.get()).read_bytes() == whole
    assert sum(asked.startswith("HEAD") for asked in door.asked) == 2


def test_a_token_that_opens_nothing_leaves_a_file_to_carry(door: Door, tmp_path: Path) -> None:
    room = make_room()
    done = collect(door, room, tmp_path, script_of(door, room, "uname -a"), token="x" * 32)
    assert done.returncode == 0
    assert "The room does not answer (401)" in done.stdout
    assert "Carry this file to the room: " in done.stdout
    assert not Artifact.objects.exists()
    done = collect(door, room, tmp_path, script_of(door, room, "uname -a"), token='x"\nurl = "file:///etc/passwd')
    assert done.returncode == 1
    assert "This is no token" in done.stderr
