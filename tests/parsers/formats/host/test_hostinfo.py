"""Tests of descriptions of machines beyond the corpus."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from parsers.text.source import Hints
from tests.draw import examples
from tests.parsers.formats.evidence import read_bytes


@settings(max_examples=examples(30), deadline=None, database=None)
@given(cpus=st.integers(1, 4096), cores=st.integers(1, 128), sockets=st.integers(1, 16))
def test_tokens_of_lscpu_come_out_of_the_columns(cpus, cores, sockets):
    text = f"Architecture:        x86_64\nCPU(s):              {cpus}\nCore(s) per socket:  {cores}\nSocket(s):           {sockets}\n"
    assert read_bytes(text.encode()).table("hosts").select("ncpu", "cores").rows() == [(cpus, cores * sockets)]


@settings(max_examples=examples(30), deadline=None, database=None)
@given(loads=st.lists(st.integers(0, 99999), min_size=1, max_size=5), comma=st.booleans())
def test_loads_of_uptime(loads, comma):
    text = ""
    for load in loads:
        shown = f"{load / 100:.2f}".replace(".", "," if comma else ".")
        text += f" 05:58:39 up 12 days,  3:04,  5 users,  load average: {shown}, 0.98, 0.77\n"
    table = read_bytes(text.encode()).table("vmstat")
    assert table.select("sample", "load1").rows() == [(n, load / 100) for n, load in enumerate(loads, start=1)]


def test_a_day_above_gives_uptime_its_time():
    text = b" 12:01am  up 12 days,  3:04,  5 users,  load average: 1.23, 0.98, 0.77\n"
    table = read_bytes(text, Hints(kind="hostinfo", date="1970-01-02")).table("vmstat")
    assert table["t_local"].to_list() == [86460.0]
    undated = read_bytes(text)
    assert undated.table("vmstat")["t_local"].to_list() == [60.0]
    assert [d.base for d in undated.account.parts[0].domains] == [None]


def test_processors_off_line_do_not_count():
    text = "".join(f"{n}\t{'off-line' if n == 3 else 'on-line'}   since 04/12/2016 10:01:02\n" for n in range(8))
    assert read_bytes(text.encode()).table("hosts")["ncpu"].to_list() == [7]


def test_two_machines_are_two_rows():
    text = b"SunOS db1 5.10 Generic sun4v sparc SUNW,T5240\nSunOS db2 5.11 11.2 sun4v sparc sun4v\n"
    assert read_bytes(text).table("hosts")["os_release"].to_list() == ["5.10", "5.11"]
