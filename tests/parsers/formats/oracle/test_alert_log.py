"""Tests of alert logs beyond the corpus."""

from __future__ import annotations

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from parsers.text.source import Hints, Limits
from tests.draw import examples
from tests.parsers.formats.evidence import read_bytes

ABORT = "opiodr aborting process unknown ospid ({}) as a result of ORA-{}"
EVENT = st.tuples(st.integers(1, 28), st.integers(0, 23), st.integers(1, 10**7), st.sampled_from([609, 603, 28]))


@settings(max_examples=examples(40), deadline=None)
@given(st.lists(EVENT, min_size=1, max_size=10))
def test_messages_come_back_from_the_columns(events):
    text = "\n".join(f"2023-05-{d:02d}T{h:02d}:00:00.250000+02:00\n{ABORT.format(p, c)}" for d, h, p, c in events)
    rows = read_bytes(text.encode()).table("logs")
    assert rows["pid"].to_list() == [e[2] for e in events]
    assert rows["code"].to_list() == [f"ORA-{e[3]}" for e in events]
    assert [t % 86400 for t in rows["t_local"]] == [(h - 2) * 3600 % 86400 + 0.25 for _, h, _, _ in events]


def test_a_stamp_holds_over_blocks_and_runs():
    text = ("Mon Oct 12 10:03:39 2009\n" + (ABORT.format(77, 609) + "\n") * 30).encode()
    whole = read_bytes(text).table("logs")
    cut = read_bytes(text, Hints(), Limits(block_bytes=100, run_bytes=400)).table("logs")
    assert whole.equals(cut)
    assert whole["t_local"].n_unique() == 1


def test_a_start_up_list_cut_by_a_run_stays_a_list():
    listed = "".join(f"  parameter_{chr(97 + i)} = {i}G\n" for i in range(20))
    text = f"Mon Oct 12 10:03:39 2009\nStarting ORACLE instance (normal)\nSystem parameters with non-default values:\n{listed}".encode()
    for limits in (Limits(), Limits(block_bytes=64, run_bytes=200)):
        params = read_bytes(text + b"PMON started with pid=2, OS id=3892\n", Hints(), limits).table("params")
        assert params["num"].to_list() == [i * 1024.0**3 for i in range(20)]


def test_a_stack_belongs_to_its_message_and_codes_lose_their_zeros():
    text = (
        b"Mon Oct 12 10:03:39 2009\nErrors in file /u01/trace/x_ora_5887.trc:\nORA-00609: could not attach\nORA-12537: TNS:connection closed\n"
        b"ORA-609 : opiodr aborting process unknown ospid (5887_1)\n"
    )
    rows = read_bytes(text).table("logs")
    assert rows.select("code", "pid", "line_no", "line_end").rows() == [
        ("ORA-609", 5887, 2, 4),
        ("ORA-609", 5887, 5, 5),
    ]
    assert rows["secondary"].to_list() == [["ORA-12537"], None]


def test_a_password_in_a_list_is_masked():
    text = b"Mon Oct 12 10:03:39 2009\nSystem parameters with non-default values:\n  wallet_password = abc123\n  db_name = x\n"
    params = read_bytes(text).table("params")
    assert params["value"].to_list() == ["******", "x"]


def test_old_clusterware_lines_have_their_stamp_above():
    text = (
        b"2014-01-01 12:00:00.123:\n[ohasd(1234)]CRS-2112:The OLR service started on node db1.\n"
        b"2014-01-01 12:00:02.500:\n[ctssd(77)]CRS-2403:The Cluster Time Synchronization Service on host db1 is in observer mode.\n"
    )
    rows = read_bytes(text).table("logs")
    assert rows.select("program", "pid", "code").rows() == [("ohasd", 1234, "CRS-2112"), ("ctssd", 77, "CRS-2403")]
    assert round(rows["t_local"].diff()[1], 3) == 2.377


def test_lines_before_the_first_stamp_have_no_time():
    text = b"ORA-00603: x\nErrors in file /a/b_ora_1.trc:\nMon Oct 12 10:03:39 2009\nInstance terminated by PMON, pid = 9\n"
    rows = read_bytes(text).table("logs")
    assert rows["t_local"].is_null().to_list() == [True, True, False]
    assert rows.filter(pl.col("op") == "terminated").height == 1
