"""Tests of ipcs listings beyond the corpus."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parsers.text.source import Hints
from tests.draw import examples
from tests.parsers.formats.evidence import read_bytes

NAME = st.from_regex(r"[a-z][a-z0-9]{0,9}", fullmatch=True)
ID = st.integers(0, 2**31 - 1)
SEGMENT = st.tuples(ID, st.integers(1, 2**32 - 1), NAME, st.integers(0, 2**44), st.integers(0, 9999), ID, ID)
HEAD_T = (
    "T         ID      KEY        MODE        OWNER    GROUP  CREATOR   CGROUP "
    "NATTCH      SEGSZ   CPID  LPID   ATIME    DTIME    CTIME\nShared Memory:\n"
)
CLOCK = st.tuples(st.integers(0, 23), st.integers(0, 59), st.integers(0, 59)).map(lambda t: "{}:{:02}:{:02}".format(*t))
FEW = settings(max_examples=examples(40), deadline=None, database=None)


@FEW
@given(rows=st.lists(st.tuples(SEGMENT, CLOCK), min_size=1, max_size=6))
def test_tokens_of_a_solaris_row_come_out_of_the_columns(rows):
    text = HEAD_T
    for (shmid, key, owner, size, nattch, cpid, lpid), clock in rows:
        text += f"m {shmid:10}   {key:#010x} --rw-r----- {owner:>8} dba {owner:>8} dba "
        text += f"{nattch:6} {size:10} {cpid:5} {lpid:5} no-entry no-entry {clock:>8}\n"
    reading = read_bytes(text.encode(), Hints(kind="ipcs", variant="solaris"))
    columns = ("shmid", "key", "perms", "owner", "creator", "bytes", "nattch", "cpid", "lpid", "ctime_text")
    assert reading.table("ipcs_shm").select(columns).rows() == [
        (shmid, f"{key:#010x}", "--rw-r-----", owner, owner, size, nattch, cpid, lpid, clock)
        for (shmid, key, owner, size, nattch, cpid, lpid), clock in rows
    ]


@FEW
@given(
    rows=st.lists(st.tuples(SEGMENT, st.sampled_from(["", "dest", "locked"])), min_size=1, max_size=6),
    order=st.permutations(["owner", "perms", "bytes", "nattch"]).map(lambda x: ["shmid", *x]),
)
def test_the_order_of_columns_does_not_matter(rows, order):
    text = f"------ Shared Memory Segments --------\nkey {' '.join(order)} status\n"
    for (shmid, key, owner, size, nattch, *_), status in rows:
        cells = {"shmid": shmid, "owner": owner, "perms": 640, "bytes": size, "nattch": nattch}
        text += f"{key:#010x} {' '.join(str(cells[c]) for c in order)} {status}\n"
    reading = read_bytes(text.encode(), Hints(kind="ipcs", variant="linux"))
    assert reading.table("ipcs_shm").select("key", "shmid", "owner", "perms", "bytes", "nattch", "status").rows() == [
        (f"{key:#010x}", shmid, owner, "640", size, nattch, status or None)
        for (shmid, key, owner, size, nattch, *_), status in rows
    ]


def test_a_set_and_a_segment_with_the_same_id_are_two():
    text = (
        b"------ Shared Memory Segments --------\nkey        shmid      owner      perms      bytes      nattch     status\n"
        b"0x00000000 0          oracle     640        4096       0          dest\n\n"
        b"------ Semaphore Arrays --------\nkey        semid      owner      perms      nsems\n"
        b"0x00000001 0          oracle     640        152\n\n"
        b"------ Message Queues --------\nkey        msqid      owner      perms      used-bytes   messages\n"
        b"0x00000002 0          root       600        12           3\n"
    )
    reading = read_bytes(text)
    assert reading.table("ipcs_shm").select("shmid", "bytes", "status").rows() == [(0, 4096, "dest")]
    assert reading.table("ipcs_sem").select("semid", "nsems").rows() == [(0, 152)]
    assert reading.table("ipcs_msg").select("msqid", "bytes", "messages").rows() == [(0, 12, 3)]
    assert reading.account.account.unknown == 0


def test_translated_titles_do_not_matter():
    text = "------ Gemeinsamer Speicher: Segmente --------\nkey shmid owner perms bytes nattch status\n0x0052e2c1 7 postgres 600 37879808 26\n"
    reading = read_bytes(text.encode())
    assert reading.table("ipcs_shm")["shmid"].to_list() == [7]
    assert reading.account.account.unknown == 0


def test_dashes_of_blogs_and_a_repeated_header():
    head = "key shmid owner perms bytes nattch status\n"
    text = (
        f"—— Shared Memory Segments ——–\n{head}0x0052e2c1 7 postgres 600 100 2\n{head}0x0052e2c2 8 postgres 600 100 2\n"
    )
    reading = read_bytes(text.encode())
    assert reading.table("ipcs_shm")["shmid"].to_list() == [7, 8]
    assert reading.account.account.read == 5


def test_times_of_linux_hold_blanks():
    text = (
        b"------ Shared Memory Attach/Detach/Change Times --------\n"
        b"shmid      owner      attached             detached             changed\n"
        b"32768      oracle     Jul 24 16:19:40      Not set              Jul 24 01:54:43\n"
    )
    assert read_bytes(text).table("ipcs_shm").select("shmid", "owner", "ctime_text").rows() == [
        (32768, "oracle", "Jul 24 01:54:43")
    ]


def test_the_banner_of_noon_and_midnight():
    for clock, seconds in (("12:00:01 AM", 1.0), ("12:00:01 PM", 43201.0)):
        text = f"IPC status from <running system> as of Thursday, January  1, 1970 {clock} GMT\n"
        text += "T ID KEY MODE OWNER GROUP\nShared Memory:\nm 1 0x1 --rw-r----- a b\n"
        reading = read_bytes(text.encode())
        assert reading.table("ipcs_shm")["t_local"].to_list() == [seconds]


def test_details_of_a_segment_are_one_row():
    text = (
        b"Shared memory Segment shmid=32769\nuid=500\tgid=501\tcuid=499\tcgid=501\nmode=0600\taccess_perms=0600\n"
        b"bytes=393216\tlpid=8762\tcpid=2265\tnattch=2\natt_time=Mon Jun 17 22:32:47 2013\ndet_time=Not set\nchange_time=Mon Jun 17 22:32:47 2013\n"
    )
    reading = read_bytes(text)
    assert reading.table("ipcs_shm").select(
        "shmid", "owner", "creator", "perms", "bytes", "lpid", "cpid", "nattch"
    ).rows() == [(32769, "500", "499", "0600", 393216, 8762, 2265, 2)]
    assert reading.account.account.unknown == 0


def test_pids_of_many_segments_are_known_by_their_title_and_header():
    text = "\n------ Shared Memory Creator/Last-op PIDs --------\nshmid      owner      cpid       lpid      \n"
    rows = [(1000 + n, "oracle", 2000 + n, 3000 + n) for n in range(40)]
    text += "".join(f"{shmid}    {owner}   {cpid}       {lpid}      \n" for shmid, owner, cpid, lpid in rows)
    reading = read_bytes(text.encode(), Hints())
    assert reading.table("ipcs_shm").select("shmid", "owner", "cpid", "lpid").rows() == rows


@pytest.mark.parametrize(
    ("heading", "state", "said"),
    [
        ("Schlüssel  shmid      Besitzer   Rechte     Bytes      nattch     Status", "zerstört", "dest"),
        ("clef       shmid      propriétaire perms      octets     nattch     états", "dest", "dest"),
        ("klíč       shmid      vlastník   práva      bajty      nattch     stav", "cíl", "dest"),
        ("ключ       shmid      владелец   права      байты      nattch     состояние", "назначение", "dest"),
        ("キー     shmid      所有者  権限     バイト  nattch     状態", "ロック", "locked"),
        ("sleutel    shm-ID     eigenaar   rechten    bytes      gehecht    status", "doel", "dest"),
    ],
)
def test_headings_in_other_languages(heading, state, said):
    text = f"------ x --------\n{heading}\n0x0000a1b2 7 oracle 640 8192 3 {state}\n0x00000000 9 root 600 4096 0\n"
    rows = read_bytes(text.encode()).table("ipcs_shm")
    assert rows.select("shmid", "owner", "perms", "bytes", "nattch", "status").rows() == [
        (7, "oracle", "640", 8192, 3, said),
        (9, "root", "600", 4096, 0, None),
    ]
