"""Tests of NUMA listings beyond the corpus."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from parsers.text.source import Hints
from tests.draw import examples
from tests.parsers.formats.evidence import read_bytes

FEW = settings(max_examples=examples(30), deadline=None, database=None)
NODE = st.tuples(st.lists(st.integers(0, 999), max_size=8), st.integers(0, 10**7), st.integers(0, 10**7))
LINUX = Hints(kind="numa", variant="linux")


@FEW
@given(nodes=st.lists(NODE, min_size=1, max_size=5))
def test_tokens_of_numactl_come_out_of_the_columns(nodes):
    text = f"available: {len(nodes)} nodes (0-{len(nodes) - 1})\n"
    expected = []
    for number, (cpus, size, free) in enumerate(nodes):
        text += f"node {number} cpus: {' '.join(map(str, cpus))}\nnode {number} size: {size} MB\nnode {number} free: {free} MB\n"
        expected += [(number, "cpus", len(cpus)), (number, "mem_kb", size * 1024), (number, "free_kb", free * 1024)]
    text += "node distances:\nnode  " + " ".join(f"{n:3}" for n in range(len(nodes))) + "\n"
    for number in range(len(nodes)):
        text += f"{number:3}: " + " ".join(f"{10 + abs(number - n):3}" for n in range(len(nodes))) + "\n"
    rows = read_bytes(text.encode(), LINUX).table("numa")
    told = rows.filter(rows["metric"] != "distance").select("node", "metric", "value")
    assert told.rows() == expected
    distances = rows.filter(rows["metric"] == "distance").select("node", "node2", "value")
    assert distances.rows() == [(a, b, 10 + abs(a - b)) for a in range(len(nodes)) for b in range(len(nodes))]


@FEW
@given(values=st.lists(st.lists(st.integers(0, 10**15), min_size=2, max_size=2), min_size=1, max_size=6))
def test_counters_of_numastat_keep_their_digits(values):
    names = ["numa_hit", "numa_miss", "numa_foreign", "interleave_hit", "local_node", "other_node"]
    text = "                           node0           node1\n"
    text += "".join(f"{name:14} {a:15} {b:15}\n" for name, (a, b) in zip(names, values, strict=False))
    rows = read_bytes(text.encode(), LINUX).table("numa").select("node", "metric", "value")
    assert rows.rows() == [(n, name, v[n]) for name, v in zip(names, values, strict=False) for n in (0, 1)]


def test_a_matrix_without_colons_and_blanks():
    text = b"node distances:\nnode 0 1\n0 10 20\n1: 20 10\n"
    assert read_bytes(text, LINUX).table("numa")["value"].to_list() == [10, 20, 20, 10]


def test_a_row_of_distances_that_was_cut_stays_unknown():
    reading = read_bytes(b"available: 2 nodes (0-1)\nnode distances:\nnode   0   1\n  0:  10  20\n  1:  20\n", LINUX)
    assert len(reading.table("numa")) == 2
    assert [(n.line_from, n.kind) for n in reading.account.notes] == [(5, "unknown")]


def test_latencies_of_lgroups_are_distances():
    text = b"lgroup 0 (root):\nChildren: 1 2\nLgroup latencies:\n\n--------------\n  |  0   1   2\n--------------\n1 | 49  29  49\n"
    rows = read_bytes(text, Hints(kind="numa", variant="solaris")).table("numa")
    assert rows.select("node", "node2", "value").rows() == [(1, 0, 49), (1, 1, 29), (1, 2, 49)]


def test_a_node_stands_in_the_path_of_its_file():
    text = (
        b"node0/numastat:numa_hit 12\nnode0/numastat:numa_miss 1\n/sys/devices/system/node/node3/numastat:numa_hit 7\n"
    )
    rows = read_bytes(text, LINUX).table("numa").select("sample", "node", "metric", "value").rows()
    assert rows == [(1, 0, "numa_hit", 12), (1, 0, "numa_miss", 1), (1, 3, "numa_hit", 7)]


def test_a_version_and_a_node_that_nothing_names():
    reading = read_bytes(b"numastat version: 20130723: Jan 30 2024\nnuma_hit 12\nother_node 3\n", LINUX)
    assert reading.table("numa").select("node", "value").rows() == [(None, 12), (None, 3)]
    assert reading.account.account.unknown == 0


def test_lines_below_a_table_are_none_of_its_rows():
    table = b"            node0\nnuma_hit       12\nother_node      0\n$ lscpu | grep -i core\nThread(s) per core:   2\nCore count            4\n"
    assert read_bytes(table, LINUX).table("numa")["metric"].to_list() == ["numa_hit", "other_node"]


def test_a_paste_may_have_a_blank_before_each_line_but_the_first():
    text = b"available: 2 nodes (0-1)\n node 0 size: 64388 MB\n node 1 size: 64509 MB\n node distances:\n node   0   1\n 0:  10  21\n1:  21  10\n"
    rows = read_bytes(text).table("numa").select("metric", "node", "node2", "value").rows()
    assert rows == [
        ("mem_kb", 0, None, 64388 * 1024),
        ("mem_kb", 1, None, 64509 * 1024),
        ("distance", 0, 0, 10),
        ("distance", 0, 1, 21),
        ("distance", 1, 0, 21),
        ("distance", 1, 1, 10),
    ]


def test_pages_below_the_megabytes_of_another_listing():
    text = (
        "Per-node system memory usage (in MBs):\n                          Node 0           Total\n"
        "MemTotal                 100.00          100.00\n\n                           node0           node1\n"
        "numa_hit                    4000             900\n"
    )
    rows = read_bytes(text.encode(), LINUX).table("numa").select("metric", "value").rows()
    assert rows == [("mem_kb", 102_400.0), ("numa_hit", 4000.0), ("numa_hit", 900.0)]
