"""Test reading in a child process: the account is the same, and a reading that exceeds its limits is stopped."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import polars as pl
import pytest

import parsers.reading
from parsers.errors import NotText, TookTooLong, TookTooMuch
from parsers.progress import Progress
from parsers.reader import Bounds, DiskFull, Outcome, Reader, ReaderFault
from parsers.reader_child import read_one
from parsers.tables import parquet
from parsers.text.source import Hints

CORPUS = Path(__file__).parents[1] / "corpus"
TRUSS = b"".join(
    b'%d/1:\t %d.%04d\twrite(%d, " N T P", 10) = 10\n' % (3700 + n % 9, n // 50, n % 50 * 199, n % 30)
    for n in range(400_000)
)


def nobody(progress: Progress) -> None:
    """Ignore the progress."""


@pytest.fixture
def reader():
    made = Reader()
    yield made
    made.close()


@pytest.fixture
def truss(tmp_path: Path) -> Path:
    file = tmp_path / "truss.txt"
    file.write_bytes(TRUSS)
    return file


def pid_of(reader: Reader) -> int:
    assert reader._process is not None
    return reader._process.pid


def ended(pid: int) -> bool:
    end = time.monotonic() + 10
    while time.monotonic() < end:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


def test_it_reads_as_the_library_does(reader: Reader, tmp_path: Path):
    file = tmp_path / "a.txt"
    file.write_bytes(TRUSS[:100_000])
    seen: list[Progress] = []
    made = reader.read(file, {"os": "solaris"}, tmp_path / "child", progress=seen.append, name="a.txt")
    here = parsers.reading.read(file, Hints(os="solaris"), tmp_path / "here", name="a.txt").as_json()
    assert made.report is not None
    assert made.report | {"seconds": 0} == here | {"seconds": 0}
    assert (made.error, made.misfits) == (None, ())
    assert seen[-1].bytes == here["bytes"]
    for table in parquet.tables(tmp_path / "here"):
        one, two = (parquet.scan(tmp_path / folder, table).collect() for folder in ("here", "child"))
        assert one.equals(two)


def test_one_child_reads_many_files(reader: Reader, tmp_path: Path):
    pids = set()
    for number in range(3):
        file = tmp_path / f"{number}.txt"
        file.write_bytes(TRUSS[:3000])
        assert reader.read(file, {}, tmp_path / f"out{number}", progress=nobody).error is None
        pids.add(pid_of(reader))
    assert len(pids) == 1


def test_what_is_wrong_with_a_file_is_the_outcomes_error(reader: Reader, tmp_path: Path):
    file = tmp_path / "a.bin"
    file.write_bytes(bytes(range(256)) * 20)
    made = reader.read(file, {}, tmp_path / "out", progress=nobody)
    assert isinstance(made.error, NotText)
    assert made.report is not None
    assert made.report["bytes"] == 5120


def test_a_kind_that_does_not_fit_is_said(reader: Reader, tmp_path: Path):
    file = tmp_path / "a.txt"
    file.write_bytes(TRUSS[:3000])
    made = reader.read(file, {"kind": "vmstat"}, tmp_path / "out", progress=nobody)
    assert "not of kind vmstat" in made.misfits[0]


def test_a_file_that_takes_too_long_is_stopped_and_the_next_one_is_read(truss: Path, tmp_path: Path):
    reader = Reader(Bounds(base_s=1, mb_s=0))
    try:
        small = tmp_path / "small.txt"
        small.write_bytes(TRUSS[:3000])
        assert reader.read(small, {}, tmp_path / "small", progress=nobody).error is None
        many = tmp_path / "many.txt"
        many.write_bytes(TRUSS * 8)
        made = reader.read(many, {}, tmp_path / "out", progress=nobody, processes=1)
        assert isinstance(made.error, TookTooLong)
        assert "longer than the 1 s that a file of" in str(made.error)
        assert reader.read(small, {}, tmp_path / "again", progress=nobody).error is None
    finally:
        reader.close()


def test_a_file_that_takes_too_much_memory_is_stopped(truss: Path, tmp_path: Path):
    reader = Reader(Bounds(memory_mb=300))
    try:
        truss.write_bytes(TRUSS * 4)
        made = reader.read(truss, {}, tmp_path / "out", progress=nobody, processes=1)
        assert isinstance(made.error, TookTooMuch)
        assert "more than the 300 MB" in str(made.error)
    finally:
        reader.close()


def test_a_child_that_cannot_start_is_no_fault_of_the_file(truss: Path, tmp_path: Path):
    reader = Reader(Bounds(memory_mb=40))
    try:
        with pytest.raises(ReaderFault, match="NotStarted"):
            reader.read(truss, {}, tmp_path / "out", progress=nobody)
    finally:
        reader.close()


def test_who_raises_in_between_ends_the_child_and_the_reading_goes_on_later(
    reader: Reader, truss: Path, tmp_path: Path
):
    pids = []

    def stop(progress: Progress) -> None:
        pids.append(pid_of(reader))
        if progress.lines:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        reader.read(truss, {}, tmp_path / "out", progress=stop)
    assert ended(pids[-1])
    made = reader.read(truss, {}, tmp_path / "out", progress=nobody)
    assert made.error is None
    assert made.report is not None
    assert made.report["tables"]["syscalls"] == 400_000
    rows = parquet.scan(tmp_path / "out", "syscalls").select(pl.len()).collect().item()
    assert rows == 400_000


def test_progress_is_told_also_while_nothing_comes(reader: Reader, truss: Path, tmp_path: Path):
    told: list[float] = []
    reader.read(truss, {}, tmp_path / "out", progress=lambda progress: told.append(time.monotonic()))
    assert told


def test_a_full_disk_is_neither_the_files_fault_nor_ours(
    reader: Reader, truss: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def full(*_: object, **more: object) -> None:
        with open("/dev/full", "wb", buffering=0) as file:
            file.write(b"x")

    request = {"path": str(truss), "out": str(tmp_path / "out"), "hints": {}, "processes": 1, "known": [], "name": None}
    monkeypatch.setattr(parsers.reading, "read", full)
    assert read_one(request | {"sha256": None}, nobody) == {"full": True}
    monkeypatch.setattr(reader, "_end", lambda *_: {"full": True})
    with pytest.raises(DiskFull):
        reader.read(truss, {}, tmp_path / "out", progress=nobody)
    monkeypatch.undo()
    reader.close()
    monkeypatch.setattr(tempfile, "mkdtemp", full)
    with pytest.raises(DiskFull):
        reader.read(truss, {}, tmp_path / "out", progress=nobody)
    monkeypatch.undo()
    assert reader.read(truss, {}, tmp_path / "out", progress=nobody).error is None


def test_a_fault_of_ours_is_raised(reader: Reader, tmp_path: Path):
    file = tmp_path / "a.txt"
    file.write_bytes(TRUSS[:3000])
    with pytest.raises(ReaderFault, match="TypeError") as fault:
        reader.read(file, {"nonsense": 1}, tmp_path / "out", progress=nobody)
    assert "nonsense" in fault.value.trace
    assert reader.read(file, {}, tmp_path / "out", progress=nobody).error is None


def test_a_child_that_died_while_idle_is_replaced(reader: Reader, tmp_path: Path):
    file = tmp_path / "a.txt"
    file.write_bytes(TRUSS[:3000])
    reader.warm()
    os.kill(pid_of(reader), 9)
    assert reader._process is not None
    reader._process.wait()
    assert reader.read(file, {}, tmp_path / "out", progress=nobody) != Outcome(None)


def test_the_child_knows_no_secret_of_ours(reader: Reader, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SECRET_KEY", "not for children")
    reader.warm()
    assert b"not for children" not in Path(f"/proc/{pid_of(reader)}/environ").read_bytes()


def test_a_hash_that_the_caller_knows_is_not_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    file = tmp_path / "a.txt"
    file.write_bytes(TRUSS[:3000])
    monkeypatch.setattr(parsers.reading, "_sha256", lambda path: pytest.fail("the file was hashed again"))
    request = {"path": str(file), "out": str(tmp_path / "out"), "hints": {}, "known": [], "name": "a", "processes": 1}
    assert read_one(request | {"sha256": "ab" * 32}, nobody)["report"]["sha256"] == "ab" * 32


# --- what the child may reach ---

TRIES = """
import json, os, socket, sys
from pathlib import Path
from parsers.fences import fence
inside, outside, beside = map(Path, sys.argv[1:4])
held = fence(data_mb=2048, writes=True, folders=[inside, inside / "a" / "nowhere", outside / "gone"], readable=[beside, *map(Path, sys.argv[4:])])
def may(deed):
    try:
        deed()
    except PermissionError:
        return False
    return True
print(json.dumps([held, {
    "read inside": may(lambda: (inside / "a").read_text()),
    "write inside": may(lambda: (inside / "b").write_text("x")),
    "move inside": may(lambda: (inside / "b").rename(inside / "further" / "b")),
    "make a folder inside": may(lambda: (inside / "new").mkdir()),
    "read beside": may(lambda: (beside / "a").read_text()),
    "write beside": may(lambda: (beside / "a").write_text("x")),
    "read outside": may(lambda: (outside / "a").read_text()),
    "write outside": may(lambda: (outside / "b").write_text("x")),
    "list outside": may(lambda: os.listdir(outside)),
    "delete outside": may(lambda: (outside / "a").unlink()),
    "read users": may(lambda: Path("/etc/passwd").read_text()),
    "read what a parent was told": may(lambda: Path(f"/proc/{os.getppid()}/environ").read_bytes()),
    "speak to a database": may(lambda: socket.socket(socket.AF_UNIX)),
    "speak to the world": may(lambda: socket.socket(socket.AF_INET)),
    "start a helper": may(lambda: __import__("subprocess").run([sys.executable, "-c", "import parsers.errors"], check=True)),
}]))
"""


@pytest.mark.parametrize("further", [[], ["/proc"]])
def test_the_child_reaches_nothing_but_its_folders(tmp_path: Path, further: list[str]):
    inside, outside, beside = tmp_path / "inside", tmp_path / "outside", tmp_path / "beside"
    (inside / "further").mkdir(parents=True)
    outside.mkdir()
    beside.mkdir()
    for folder in (inside, outside, beside):
        (folder / "a").write_text("x")
    root = Path(parsers.reading.__file__).parents[1]
    run = subprocess.run(
        [sys.executable, "-c", TRIES, str(inside), str(outside), str(beside), *further],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1"},
        cwd="/", capture_output=True, text=True, check=True,
    )  # fmt: skip
    held, may = json.loads(run.stdout)
    assert held.keys() >= {"own_files_only", "no_sockets"}
    open_without = {"own_files_only": {"read", "write", "list", "delete"}, "no_sockets": {"speak"}}
    for deed, allowed in may.items():
        fence_of_it = next((name for name, words in open_without.items() if deed.split()[0] in words), "")
        wanted = "inside" in deed or deed in ("read beside", "start a helper") or not held.get(fence_of_it, True)
        assert allowed is wanted, f"{deed}: {allowed}, fences {held}"


def test_it_says_which_fences_hold(tmp_path: Path):
    held = Reader(folders=[tmp_path]).fences()
    assert held["memory_limited"]
    assert {"no_network", "no_sockets", "own_files_only"} < set(held)
    assert "own_files_only" not in Reader().fences()


def test_it_reads_all_the_same_with_fences_around_it(truss: Path, tmp_path: Path):
    reader = Reader(folders=[tmp_path])
    try:
        truss.write_bytes(TRUSS * 4)
        made = reader.read(truss, {}, tmp_path / "out", progress=nobody, processes=2)
        assert made.report is not None
        assert made.report["tables"]["syscalls"] == 1_600_000
        for folder in sorted(CORPUS.iterdir()):  # formats load what they need: time zones, libraries, their own data
            sample = min(folder.glob("*.txt"))
            (tmp_path / sample.name).write_bytes(sample.read_bytes())
            out = tmp_path / f"read-{folder.name}"
            made = reader.read(tmp_path / sample.name, {"kind": folder.name}, out, progress=nobody)
            assert made.error is None, f"{sample}: {made.error}"
        scratch = Path(f"/proc/{pid_of(reader)}/environ").read_bytes().split(b"TMPDIR=")[1].split(b"\0")[0].decode()
        assert Path(scratch).is_dir()
    finally:
        reader.close()
    assert not Path(scratch).exists()
