"""Tests of shared memory segments grouped by instance, and of the steps of their addresses."""

from __future__ import annotations

from rules.case.case import Case
from tests.rules.traces import seed

GIB = 1024**3


def groups(**tables):
    return Case.of_tables(tables).derived("seg_groups").to_dicts()


def detaches(addresses, name="shmdt", **more):
    return [{"line_no": i + 1, "seq": i + 1, "name": name, "arg_addr": a, **more} for i, a in enumerate(addresses)]


def test_ten_detaches_of_one_exit():
    # 14  17       25       33  ...                81 GiB
    # |-3-|---8----|---8----|-- ... eight of 8 ----|
    addresses = [14 * GIB, *(17 * GIB + i * 8 * GIB for i in range(9))]
    rows = groups(syscalls=detaches(addresses))
    assert [r["stride_kb"] for r in rows] == [None, 3 * 1024**2, *[8 * 1024**2] * 8]
    assert {(r["source"], r["subject"], r["n_seg"], r["n_equal_strides"], r["n_packed"]) for r in rows} == {
        ("syscalls", "one process", 10, 8, None)
    }
    assert [r["seg_no"] for r in rows] == list(range(1, 11))
    assert rows[0]["size_kb"] is None


def test_seg_groups_seed002():
    text = seed("002")[20]
    addresses = [int(w[6:-1], 16) for w in text.split() if w.startswith("shmdt(")]
    rows = groups(syscalls=detaches(addresses))
    assert (len(rows), rows[0]["n_equal_strides"], rows[1]["stride_kb"]) == (10, 8, 3 * 1024**2)


def map_row(line_no, addr, kbytes, shmid, rss_kb=None, **more):
    return {
        "line_no": line_no,
        "addr": addr,
        "kbytes": kbytes,
        "shmid": shmid,
        "rss_kb": rss_kb,
        "shm_kind": "dism",
        **more,
    }


def test_a_segment_in_several_rows_is_one():
    # 0x380000000 ###   #   (three rows)    0x3C0000000 ........####  (two rows, the first without a page)
    rows = groups(
        pmap=[
            map_row(1, 0x380000000, 45056, 30, 45056, pid=2767),
            map_row(2, 0x382C00000, 32768, 30, pid=2767),
            map_row(3, 0x384C00000, 53248, 30, 53248, pid=2767),
            map_row(4, 0x3C0000000, 9699328, 31, pid=2767),
            map_row(5, 0x610000000, 9043968, 31, 9043968, pid=2767),
        ]
    )
    assert [(r["shmid"], r["size_kb"], r["rss_kb"], r["line_no"], r["line_end"]) for r in rows] == [
        (30, 131072, 98304, 1, 3),
        (31, 18743296, 9043968, 4, 5),
    ]
    assert {(r["subject"], r["n_seg"], r["locked_kb"]) for r in rows} == {("pid 2767", 2, None)}
    assert rows[1]["stride_kb"] == 1024**2


def test_segments_that_lie_one_behind_the_other_are_packed():
    # |--1 GiB--|--1 GiB--|--1 GiB--|--1 GiB--|  equal steps, but only because the allocator packs them
    rows = groups(pmap=[map_row(i + 1, 0x700000000 + i * GIB, 1024**2 - 8, i + 1, pid=9) for i in range(4)])
    assert {(r["n_equal_strides"], r["n_packed"]) for r in rows} == {(3, 3)}
    apart = groups(pmap=[map_row(i + 1, 0x700000000 + i * 8 * GIB, 1024**2, i + 1, pid=9) for i in range(4)])
    assert {(r["n_equal_strides"], r["n_packed"]) for r in apart} == {(3, 0)}


def test_a_listing_has_no_addresses_and_goes_by_who_made_it():
    rows = groups(
        ipcs_shm=[
            {"line_no": 1, "shmid": 1, "bytes": 4096, "owner": "oracle", "cpid": 50},
            {"line_no": 2, "shmid": 2, "bytes": 8192, "owner": "oracle", "cpid": 50},
            {"line_no": 3, "shmid": 3, "bytes": 4096, "owner": "oracle", "cpid": 90},
            {"line_no": 4, "shmid": 4, "bytes": 4096, "owner": "postgres"},
        ]
    )
    assert [(r["subject"], r["n_seg"], r["size_kb"], r["n_equal_strides"]) for r in rows] == [
        ("owner postgres", 1, 4, 0),
        ("pid 50", 2, 4, 0),
        ("pid 50", 2, 8, 0),
        ("pid 90", 1, 4, 0),
    ]


def test_attaches_count_and_their_own_detaches_do_not():
    calls = detaches([GIB, 2 * GIB], "shmat", arg_id=7) + detaches([2 * GIB, 2 * GIB])
    assert [(r["base_addr"], r["shmid"]) for r in groups(syscalls=calls)] == [(GIB, 7), (2 * GIB, 7)]


def test_an_address_left_to_the_kernel_is_in_the_answer():
    rows = groups(syscalls=[{"line_no": 1, "name": "shmat", "arg_id": 19, "arg_addr": None, "ret": 0x7F5A1DCDF000}])
    assert [(r["base_addr"], r["shmid"]) for r in rows] == [(0x7F5A1DCDF000, 19)]


def test_a_failed_attach_is_no_segment():
    assert groups(syscalls=detaches([GIB], "shmat", err="EINVAL")) == []


def test_processes_and_artifacts_never_mix():
    calls = detaches([GIB], pid=1) + detaches([2 * GIB], pid=2) + detaches([3 * GIB], pid=1, artifact_id=2)
    assert {r["n_seg"] for r in groups(syscalls=calls)} == {1}


def test_a_signed_address_above_two_to_63_is_kept():
    rows = groups(syscalls=detaches([0xFFFFFD7FFDA00000, 0xFFFFFD7FFDA00000 + GIB]))
    assert rows[1]["stride_kb"] == 1024**2
