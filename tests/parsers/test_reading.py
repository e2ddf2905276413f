"""Test reading: runs, batches, the manifest, parts, refusals."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest

from parsers import reading
from parsers.errors import OtherReading, ParserError, UnknownFormat, WrongFormat
from parsers.formats.network.conntime import format as conntime
from parsers.layout import parts
from parsers.layout.parts import PartHint, plan
from parsers.progress import Progress
from parsers.reading import account_of, read
from parsers.tables import parquet
from parsers.text.source import Hints, Limits
from tests.parsers.formats.evidence import all_tables, read_bytes, same_tables

TIMES = "".join(f"connect: 0,{n % 90 + 10}\n" + ("......\n" if n % 7 == 0 else "") for n in range(1, 3000))
SMALL_RUNS = Limits(run_bytes=4000, block_bytes=1000)


@pytest.fixture
def original(tmp_path: Path) -> Path:
    path = tmp_path / "times.txt"
    path.write_text(TIMES, encoding="utf-8")
    return path


def test_runs_and_blocks_change_nothing(original, tmp_path):
    read(original, Hints(), tmp_path / "one")
    account = read(original, Hints(), tmp_path / "many", limits=SMALL_RUNS)
    manifest = parquet.load_manifest(tmp_path / "many")
    assert manifest is not None
    assert len(manifest["batches"]) > 5
    assert account.tables == {"conn_times": 2999}
    assert same_tables(all_tables(tmp_path / "one"), all_tables(tmp_path / "many"))


def test_the_manifest_says_what_counts(original, tmp_path):
    account = read(original, Hints(host="db1"), tmp_path / "r", limits=SMALL_RUNS, name="times.txt")
    manifest = parquet.load_manifest(tmp_path / "r")
    assert manifest is not None
    assert manifest["complete"]
    assert manifest["version"] == f"conntime/list {conntime.FORMATS[0].version}"
    assert manifest["hints"]["host"] == "db1"
    last = manifest["batches"][-1]
    assert last["line_next"] == account.lines + 1
    assert last["offset_next"] == account.bytes
    assert sum(b["tables"]["conn_times"] for b in manifest["batches"]) == 2999
    assert account_of(manifest, "times.txt") == account
    assert manifest["parts"][0]["domains"] == [
        asdict(account.parts[0].domains[0]) | {"lines": [[1, account.lines]]},
    ]


def test_progress_ends_at_the_end(original):
    seen: list[Progress] = []
    account = read(original, Hints(), progress=seen.append, limits=SMALL_RUNS)
    assert seen == sorted(seen, key=lambda p: p.bytes)
    assert seen[-1] == Progress(account.lines, account.bytes, account.bytes)


def test_a_reading_in_memory_gives_the_same_account(original, tmp_path):
    one = read(original, Hints(), tmp_path / "r").as_json()
    other = read(original, Hints()).as_json()
    assert one | {"seconds": 0} == other | {"seconds": 0}


class Killed(Exception):
    pass


def test_it_goes_on_behind_the_last_batch(original, tmp_path):
    def stop(progress: Progress) -> None:
        if progress.lines > 1000:
            raise Killed

    with pytest.raises(Killed):
        read(original, Hints(), tmp_path / "r", progress=stop, limits=SMALL_RUNS)
    begun = parquet.load_manifest(tmp_path / "r")
    assert begun is not None
    assert not begun["complete"]
    seen: list[Progress] = []
    account = read(original, Hints(), tmp_path / "r", progress=seen.append, limits=SMALL_RUNS)
    assert seen[0].lines > begun["lines"]
    read(original, Hints(), tmp_path / "whole")
    assert same_tables(all_tables(tmp_path / "r"), all_tables(tmp_path / "whole"))
    assert account.account.lines == account.lines


CHILD = """
import sys, time
from pathlib import Path
from parsers.reading import read
from parsers.text.source import Hints, Limits
read(Path(sys.argv[1]), Hints(), Path(sys.argv[2]), limits=Limits(run_bytes=4000, block_bytes=1000),
     progress=lambda p: time.sleep(0.05))
"""


def test_a_killed_process_costs_no_row_and_doubles_none(original, tmp_path):
    out = tmp_path / "r"
    child = subprocess.Popen([sys.executable, "-c", CHILD, str(original), str(out)])
    deadline = time.monotonic() + 30
    while len((parquet.load_manifest(out) or {"batches": []})["batches"]) < 3:
        assert time.monotonic() < deadline
        assert child.poll() is None
        time.sleep(0.01)
    child.send_signal(signal.SIGKILL)
    assert child.wait() == -signal.SIGKILL
    begun = parquet.load_manifest(out)
    assert begun is not None
    assert not begun["complete"]
    # A kill between the files and the manifest leaves a file that the manifest does not count.
    left = parquet.batch_file(out, "conn_times", len(begun["batches"]) + 1)
    left.write_bytes(b"half a file")
    uncounted = parquet.batch_file(out, "notes", 999999)
    uncounted.parent.mkdir(exist_ok=True)
    uncounted.write_bytes(b"")
    read(original, Hints(), out, limits=SMALL_RUNS)
    read(original, Hints(), tmp_path / "whole")
    assert same_tables(all_tables(out), all_tables(tmp_path / "whole"))
    assert not uncounted.exists()


def test_rows_are_visible_while_it_reads(original, tmp_path):
    seen: list[int] = []

    def look(progress: Progress) -> None:
        seen.append(len(parquet.scan(tmp_path / "r", "conn_times").collect()))

    read(original, Hints(), tmp_path / "r", progress=look, limits=SMALL_RUNS)
    counted = [rows for rows in seen if rows]  # before the first batch it only shows that the reading goes on
    assert counted == sorted(set(counted))
    assert len(counted) > 5
    assert counted[-1] == 2999


def test_a_hash_that_is_known_is_not_computed_again(original, tmp_path, monkeypatch):
    sha256 = read(original, Hints()).sha256
    monkeypatch.setattr(reading, "_sha256", lambda path: pytest.fail("the file was hashed"))
    assert read(original, Hints(), tmp_path / "r", sha256=sha256).sha256 == sha256


def test_a_panic_of_polars_is_an_error_like_others(original, tmp_path, monkeypatch):
    def panic(*_):
        raise pl.exceptions.PanicException("planted")

    monkeypatch.setattr(reading._Reading, "_read_all", panic)
    with pytest.raises(RuntimeError, match="Polars gave up: planted"):
        read(original, Hints(), tmp_path / "r")


def test_the_first_rows_of_a_large_file_come_in_a_small_batch(original, tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "FIRST_BYTES", 1000)
    read(original, Hints(), tmp_path / "r", limits=SMALL_RUNS)
    manifest = parquet.load_manifest(tmp_path / "r")
    assert manifest is not None
    first, second = (b["offset_next"] for b in manifest["batches"][:2])
    assert 1000 <= first < 1100
    assert second - first >= 4000
    read(original, Hints(), tmp_path / "whole")
    assert same_tables(all_tables(tmp_path / "r"), all_tables(tmp_path / "whole"))


MAIL = "We looked at the hosts again this morning, and nothing of it was new to any of us.\n\n# vmstat 5\n"
COUNTERS = """ kthr      memory            page            disk          faults      cpu
 r b w   swap  free  re  mf pi po fr de sr s0 s1 s2 s3   in   sy   cs us sy id
 0 0 0 9876543 1234567 10 20 0 0 0 0 0 1 0 0 0 400 500 300 5 2 93
 1 0 0 9876540 1234560 11 21 0 0 0 0 0 1 0 0 0 401 501 301 6 3 91

"""


def test_small_parts_share_a_batch_and_a_killed_reading_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "SHARED_RUNS", 20)
    original = tmp_path / "mail.txt"
    original.write_text((MAIL + COUNTERS) * 60, encoding="utf-8")
    whole = read(original, Hints(), tmp_path / "whole")
    manifest = parquet.load_manifest(tmp_path / "whole")
    assert manifest is not None
    assert len(whole.parts) == 60
    assert 3 <= len(manifest["batches"]) <= 8
    assert sum(b["tables"]["vmstat"] for b in manifest["batches"]) == 120

    def stop(progress: Progress) -> None:
        if progress.lines > 200:
            raise Killed

    with pytest.raises(Killed):
        read(original, Hints(), tmp_path / "r", progress=stop)
    begun = parquet.load_manifest(tmp_path / "r")
    assert begun is not None
    assert 200 < begun["lines"] < whole.lines
    account = read(original, Hints(), tmp_path / "r")
    assert account.as_json() | {"seconds": 0} == whole.as_json() | {"seconds": 0}
    assert same_tables(all_tables(tmp_path / "r"), all_tables(tmp_path / "whole"))


def test_a_rereading_goes_elsewhere(original, tmp_path):
    read(original, Hints(), tmp_path / "r")
    with pytest.raises(OtherReading):
        read(original, Hints(host="db2"), tmp_path / "r")
    original.write_text("connect: 1\n" * 5, encoding="utf-8")
    with pytest.raises(OtherReading):
        read(original, Hints(), tmp_path / "r")


def test_a_complete_reading_is_not_read_again(original, tmp_path):
    first = read(original, Hints(), tmp_path / "r")
    seen: list[Progress] = []
    assert read(original, Hints(), tmp_path / "r", progress=seen.append) == first
    assert seen == []


def test_the_error_of_a_complete_reading_is_raised_again(tmp_path):
    path = tmp_path / "a"
    path.write_text("Dear all\n", encoding="utf-8")
    for _ in range(2):
        with pytest.raises(UnknownFormat, match="kind unknown") as caught:
            read(path, Hints(), tmp_path / "r")
        assert caught.value.account is not None
        assert caught.value.account.account.unknown == 1


def test_a_named_kind_that_does_not_fit_shows_its_first_line():
    reading = read_bytes(b"\nDear all,\nthe login is slow\n", Hints(kind="pmap", variant="solaris"))
    assert isinstance(reading.error, WrongFormat)
    assert "line 2" in str(reading.error)
    assert "Dear all," in str(reading.error)
    assert reading.error.exit_status == 4


def test_a_person_outranks_the_claims():
    reading = read_bytes(b"connect: 0.5\n", Hints(kind="conntime"))
    assert reading.error is None
    assert reading.account.kind == "conntime"


def test_known_parts_are_read_each_by_its_kind(tmp_path):
    mail = "Dear all,\n\nconnect: 0,5\nconnect: 0,6\nand the map:\n2767: ora_smon\n" + (
        "Address Kbytes RSS Anon Locked Pgsz Mode Mapped File\n"
        "0000000380000000 45056 45056 - - 8K rwxs- [ dism shmid=0x100001e ]\nBye\n"
    )
    path = tmp_path / "mail.txt"
    path.write_text(mail, encoding="utf-8")
    known = [PartHint(3, 4, Hints(kind="conntime")), PartHint(6, 8, Hints(host="db1"))]
    account = read(path, Hints(), tmp_path / "r", known=known)
    assert account.kind == "mixed"
    assert account.as_json()["clock"] is None
    assert [(p.part, p.line_from, p.line_to, p.kind) for p in account.parts] == [
        (1, 3, 4, "conntime"),
        (2, 6, 8, "pmap"),
    ]
    assert asdict(account.account) == {"read": 5, "unknown": 0, "elided": 0, "damaged": 0, "blank": 1, "prose": 3}
    tables = all_tables(tmp_path / "r")
    assert tables["conn_times"].select("part", "line_no").rows() == [(1, 3), (1, 4)]
    assert tables["pmap"].select("part", "line_no").rows() == [(2, 8)]
    assert [p.clock["kind"] if p.clock else None for p in account.parts] == ["none", "none"]


def test_a_part_behind_the_end_is_refused(original, tmp_path):
    with pytest.raises(ParserError, match="behind the end"):
        read(original, Hints(), tmp_path / "r", known=[PartHint(1_000_000, None)])


@pytest.mark.parametrize(
    "known", [[PartHint(1, 5), PartHint(5, 9)], [PartHint(4, 3)], [PartHint(1, None), PartHint(9, 9)]]
)
def test_parts_that_overlap_are_refused(known):
    with pytest.raises(ValueError, match="overlap"):
        plan(known, Hints())


def test_rows_stand_in_row_groups_of_file_order(tmp_path):
    path = tmp_path / "long.txt"
    path.write_text("connect: 0.5\n" * 200_000, encoding="utf-8")
    read(path, Hints(), tmp_path / "r")
    file = pq.ParquetFile(parquet.files(tmp_path / "r", "conn_times")[0])
    sizes = [file.metadata.row_group(i).num_rows for i in range(file.metadata.num_row_groups)]
    assert sum(sizes) == 200_000
    assert all(40_000 <= size <= 120_000 for size in sizes[:-1])
    assert sizes[-1] <= 120_000
    numbers = parquet.scan(tmp_path / "r", "conn_times").select("line_no").collect()["line_no"]
    assert numbers.is_sorted()


def test_the_account_is_json(original, tmp_path):
    account = read(original, Hints(tz="Europe/Warsaw"), tmp_path / "r").as_json()
    assert json.loads(json.dumps(account, allow_nan=False)) == account
    assert sum(account["account"].values()) == account["lines"]


def test_an_empty_table_can_be_scanned(original, tmp_path):
    read(original, Hints(), tmp_path / "r")
    rows = parquet.scan(tmp_path / "r", "syscalls").collect()
    assert rows.is_empty()
    assert rows.schema["arg_addr"] == pl.UInt64


UNKNOWN = "".join(f"{n * 2654435761 % 2**60:x}\n" for n in range(1, 20_000))


def test_a_file_of_no_known_kind_is_unknown_however_large_it_is(tmp_path, monkeypatch):
    """An output longer than a window was once treated as prose, without a note that it was not read."""
    monkeypatch.setattr(parts, "WINDOW_BYTES", 64 * 1024)
    original = tmp_path / "hex.txt"
    original.write_text(UNKNOWN, encoding="utf-8")
    with pytest.raises(UnknownFormat) as caught:
        read(original, Hints(), tmp_path / "r", limits=Limits(run_bytes=100_000, block_bytes=50_000))
    account = caught.value.account
    assert account is not None
    assert [(p.part, p.line_from, p.line_to, p.kind) for p in account.parts] == [(1, 1, 19_999, "text")]
    assert (account.account.unknown, account.account.prose) == (19_999, 0)


def test_an_output_far_down_in_unknown_text_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr(parts, "WINDOW_BYTES", 64 * 1024)
    original = tmp_path / "hex.txt"
    original.write_text(f"{UNKNOWN}\n# vmstat 5\n{COUNTERS}", encoding="utf-8")
    with pytest.raises(UnknownFormat) as caught:
        read(original, Hints(), tmp_path / "r", limits=Limits(run_bytes=100_000, block_bytes=50_000))
    account = caught.value.account
    assert account is not None
    assert [(p.line_from, p.kind) for p in account.parts] == [(1, "text"), (20_001, "vmstat")]
    assert account.tables["vmstat"] == 2
