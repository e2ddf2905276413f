"""Copies on hosts that share nothing but the object store."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from incidents.errors import StoreAway, StoreError
from incidents.storage import copies, objects
from tests.object_store import BUCKET, KEY_ID, SECRET, Proxy, Server

ROOT = Path(__file__).resolve().parents[3]
Host = Callable[[str], Path]
TABLES = {
    "manifest.json": b'{"batches": [{"batch": 1}]}',
    "syscalls/000001.parquet": b"calls" * 1000,
    "line_index/000001.parquet": b"index" * 10,
    "notes/000001.parquet": b"",
}


def write(folder: Path, files: dict[str, bytes]) -> None:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


def contents(folder: Path) -> dict[str, bytes]:
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def age(root: Path, unit: str, seconds: float) -> None:
    """Pretend that a unit was used some time ago."""
    at = time.time() - seconds
    os.utime(root / "copies" / f"{unit.replace('/', '+')}.lock", (at, at))


def test_another_host_gets_what_was_sent(host: Host, server: Server):
    a = host("a") / "3/1/1"
    write(a, TABLES)
    index = copies.send_folder(a, TABLES)
    b = host("b") / "3/1/1"
    copies.bring_folder(b, index, last="manifest.json")
    assert contents(b) == TABLES
    hashes = {hashlib.sha256(content).hexdigest() for content in TABLES.values()}
    assert {key.removeprefix("some/where/3/1/1/") for key in server.held()} == {index, *hashes}


def test_what_is_here_already_is_asked_of_nobody(host: Host, stored: Proxy):
    a = host("a") / "3/1/1"
    write(a, TABLES)
    index = copies.send_folder(a, TABLES)
    host("b")
    b = copies.root() / "3/1/1"
    copies.bring_folder(b, index)
    stored.seen.clear()
    copies.bring_folder(b, index)
    host("a")
    copies.bring_folder(a, index)
    assert copies.send_folder(a, TABLES) == index
    assert stored.seen == []


def test_only_what_is_new_goes_and_comes(host: Host, stored: Proxy):
    a = host("a") / "3/1/1"
    write(a, TABLES)
    first = copies.send_folder(a, TABLES)
    b = host("b") / "3/1/1"
    copies.bring_folder(b, first, last="manifest.json")
    host("a")
    more = TABLES | {"manifest.json": b'{"batches": [{"batch": 1}, {"batch": 2}]}', "syscalls/000002.parquet": b"more"}
    write(a, {name: more[name] for name in ("manifest.json", "syscalls/000002.parquet")})
    stored.seen.clear()
    second = copies.send_folder(a, more)
    assert sum(method == "PUT" for method, _ in stored.seen) == 3  # two files and the index
    host("b")
    stored.seen.clear()
    copies.bring_folder(b, second, last="manifest.json")
    assert len(stored.seen) == 3, stored.seen
    assert contents(b) == more
    assert stored.seen[-1][1].endswith(hashlib.sha256(more["manifest.json"]).hexdigest())  # it makes the others seen


def test_what_a_writer_left_here_unsent_gives_way_to_what_the_row_names(host: Host):
    """Its worker was killed; another host went on from the same batch and wrote other bytes under the same name."""
    a = host("a") / "3/1/1"
    write(a, TABLES)
    copies.send_folder(a, TABLES)
    write(a, {"syscalls/000002.parquet": b"of the one that was killed"})
    b = host("b") / "3/1/1"
    more = TABLES | {"syscalls/000002.parquet": b"of the other"}
    write(b, more)
    index = copies.send_folder(b, more)
    host("a")
    copies.bring_folder(a, index)
    assert contents(a) == more


def test_what_a_writer_replaces_meanwhile_is_stored_as_it_was_taken(host: Host):
    a = host("a") / "3/1/1"
    write(a, TABLES)
    rest = [name for name in TABLES if name != "manifest.json"]
    index = copies.send_folder(a, rest, {"manifest.json": b"the one before"})
    b = host("b") / "3/1/1"
    copies.bring_folder(b, index, last="manifest.json")
    assert contents(b) == TABLES | {"manifest.json": b"the one before"}
    host("a")
    assert copies.send_folder(a, TABLES) != index


def test_two_that_want_the_same_file_fetch_it_once(host: Host, stored: Proxy, tmp_path: Path):
    source = tmp_path / "original"
    source.write_bytes(b"x" * 1000)
    digest = hashlib.sha256(source.read_bytes()).hexdigest()
    copies.send_file(host("a") / "3" / digest, source, named_by_content=True)
    target = host("b") / "3" / digest
    stored.seen.clear()
    stored.harm = lambda method, path: "slow" if method == "GET" else None
    both = [threading.Thread(target=copies.bring_file, args=(target, digest)) for _ in range(2)]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join()
    assert target.read_bytes() == source.read_bytes()
    assert [method for method, _ in stored.seen].count("GET") == 1


def test_an_original_that_the_store_holds_is_not_sent_again(host: Host, stored: Proxy, tmp_path: Path):
    source = tmp_path / "original"
    source.write_bytes(b"x" * 1000)
    for name in ("a", "b"):
        copies.send_file(host(name) / "3" / "0f", source, named_by_content=True)
    assert [method for method, _ in stored.seen] == ["HEAD", "PUT", "HEAD"]


def to_files(index: str, harm: str) -> Callable[[str, str], str | None]:
    """Return a harm to all that is fetched but an index."""
    return lambda method, path: harm if method == "GET" and not path.endswith(index) else None


def test_a_wrong_copy_never_gets_its_name(host: Host, stored: Proxy):
    a = host("a") / "3/1/1"
    write(a, TABLES)
    index = copies.send_folder(a, TABLES)
    b = host("b") / "3/1/1"
    for harm, error in (("lie", StoreError), ("503", StoreAway)):
        stored.harm = to_files(index, harm)
        with pytest.raises(error):
            copies.bring_folder(b, index, last="manifest.json")
        assert set(contents(b)) <= {"notes/000001.parquet"}  # a lie about nothing is none
        stored.harm = lambda method, path: None
    copies.bring_folder(b, index, last="manifest.json")
    assert contents(b) == TABLES


class TestRemoval:
    def fill(self, root: Path, count: int) -> list[Path]:
        """Store originals of 1000 bytes; the first was used longest ago."""
        made = []
        for number in range(count):
            path = root / "3" / f"{number:064x}"
            write(root, {f"3/{path.name}": b"x" * 1000})
            copies.send_file(path, path)
            made.append(path)
        copies.let_go()
        for number, path in enumerate(made):
            age(root, f"3/{path.name}", 1000 - number)
        return made

    def test_those_unused_for_longest_go_until_the_rest_fits(self, host: Host):
        files = self.fill(host("a"), 5)
        copies.bring_file(files[0], None)  # used just now
        copies.let_go()
        assert copies.trim(2500) == 3
        assert [file.exists() for file in files] == [True, False, False, False, True]
        assert copies.usage() == (2, 2000)
        assert copies.trim(2500) == 0

    def test_what_is_in_use_stays(self, host: Host):
        root = host("a")
        files = self.fill(root, 2)
        copies.hold(files[0])
        assert copies.trim(0) == 1
        assert [file.exists() for file in files] == [True, False]
        copies.let_go(older_than_s=60)
        assert copies.trim(0) == 0
        copies.let_go()
        assert copies.trim(0) == 1

    def test_another_process_that_uses_it_is_asked_too(self, host: Host):
        root = host("a")
        (file,) = self.fill(root, 1)
        lock = root / "copies" / f"3+{file.name}.lock"
        code = f"import fcntl, sys; f = open({str(lock)!r}); fcntl.flock(f, fcntl.LOCK_SH); print(flush=True)"
        code += "; sys.stdin.read()"
        with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as user:
            assert user.stdout is not None
            assert user.stdout.readline()
            assert copies.trim(0) == 0
            user.kill()
        assert copies.trim(0) == 1

    def test_what_the_store_lacks_stays(self, host: Host, server: Server):
        root = host("a")
        write(root, {"3/unsent": b"x", "3/1/1/manifest.json": b"{}"})
        assert copies.trim(0) == 0
        assert contents(root) == {"3/unsent": b"x", "3/1/1/manifest.json": b"{}"}

    def test_a_full_disk_makes_room_too(self, host: Host, monkeypatch: pytest.MonkeyPatch):
        files = self.fill(host("a"), 2)
        free = iter([0, 10**9])
        monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": next(free)}))
        assert copies.trim(10**9, free_bytes=1000) == 1
        assert [file.exists() for file in files] == [False, True]

    def test_what_was_removed_comes_again(self, host: Host):
        a = host("a") / "3/1/1"
        write(a, TABLES)
        index = copies.send_folder(a, TABLES)
        copies.let_go()
        assert copies.trim(0) == 1
        assert not a.exists()
        copies.bring_folder(a, index)
        assert contents(a) == TABLES


CLIENT = """
import sys
from pathlib import Path
from django.conf import settings
settings.configure(EXHIBIT_STORE=sys.argv[1], AWS_ENDPOINT_URL=sys.argv[2], AWS_REGION="",
                   AWS_ACCESS_KEY_ID=sys.argv[3], AWS_SECRET_ACCESS_KEY=sys.argv[4], EVIDENCE_ROOT=sys.argv[5])
from incidents.storage import copies
copies.AT_ONCE = 1
folder = Path(sys.argv[5], "3/1/1")
if sys.argv[6] == "send":
    print(copies.send_folder(folder, sys.argv[7:]))
else:
    copies.bring_folder(folder, sys.argv[7], last="manifest.json")
"""


@pytest.mark.parametrize("step", range(1, 6))
@pytest.mark.parametrize("deed", ["send", "bring"])
def test_a_client_that_is_killed_between_two_requests_can_be_repeated(host: Host, stored: Proxy, deed: str, step: int):
    """After each request in turn: nobody sees half, and the next one does the rest."""
    a, b = host("a") / "3/1/1", host("b") / "3/1/1"
    write(a, TABLES)
    index = ""
    if deed == "bring":
        host("a")
        index = copies.send_folder(a, TABLES)
    root = host("a" if deed == "send" else "b")
    stored.seen.clear()
    client: list[subprocess.Popen[bytes]] = []

    def kill(method: str, path: str) -> str | None:
        if len(stored.seen) == step:
            client[0].kill()
            client[0].wait()
        return None

    stored.harm = kill
    words = [
        f"s3://{BUCKET}/some/where",
        stored.address,
        KEY_ID,
        SECRET,
        str(root),
        deed,
        *([index] if index else TABLES),
    ]
    client.append(subprocess.Popen([sys.executable, "-c", CLIENT, *words], cwd=ROOT))
    client[0].wait(60)
    stored.harm = lambda method, path: None
    if deed == "send":
        host("a")
        index = copies.send_folder(a, TABLES)
        host("b")
    elif step <= len(TABLES):  # the last answer may have been whole
        assert not (b / "manifest.json").exists()
    copies.bring_folder(b, index, last="manifest.json")
    assert contents(b) == TABLES


@pytest.mark.parametrize("step", range(1, 6))
def test_a_server_that_is_killed_between_two_requests_can_be_gone_back_to(
    host: Host, stored: Proxy, server: Server, step: int
):
    a, b = host("a") / "3/1/1", host("b") / "3/1/1"
    write(a, TABLES)
    done = [0]

    def kill(method: str, path: str) -> str | None:
        done[0] += 1
        if done[0] == step:
            server.kill()
        return None

    host("a")
    stored.harm = kill
    with pytest.raises(StoreAway):
        copies.send_folder(a, TABLES)
    server.start()
    index = copies.send_folder(a, TABLES)
    host("b")
    done[0] = 0
    with pytest.raises(StoreAway):
        copies.bring_folder(b, index, last="manifest.json")
    assert not (b / "manifest.json").exists()
    server.start()
    copies.bring_folder(b, index, last="manifest.json")
    assert contents(b) == TABLES


def test_the_store_is_asked_whether_it_serves(stored: Proxy, server: Server):
    objects.require()
    assert server.held() == set()
    server.kill()
    with pytest.raises(StoreAway, match="did not answer"):
        objects.require()
