"""Workload reports and listings of dynamic views beyond the corpus."""

from __future__ import annotations

from pathlib import Path

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from parsers.source import Hints, Limits
from tests.parsers.evidence import read_bytes

CORPUS = Path(__file__).parent.parent / "corpus" / "awr"
REPORT, LISTING = Hints(kind="awr", variant="report"), Hints(kind="awr", variant="listing")
EVENT = st.tuples(
    st.from_regex(r"[a-z]{3,8}( [a-z]{3,8}){0,2}", fullmatch=True),
    st.integers(1, 10**8),
    st.integers(0, 10**6),
    st.integers(0, 999),
)
RESOURCE = st.tuples(
    st.from_regex(r"[a-z]{3,9}_[a-z]{3,9}", fullmatch=True),
    st.integers(0, 10**6),
    st.integers(0, 10**6),
    st.one_of(st.none(), st.integers(0, 10**6)),
)


@settings(max_examples=40, deadline=None)
@given(st.lists(EVENT, min_size=1, max_size=9))
def test_events_come_back_from_the_columns(events):
    head = "Event                                 Waits     Time(s)   (ms)   time Wait Class\n"
    head += "------------------------------ ------------ ----------- ------ ------ ----------\n"
    rows = [f"{name:<30} {n:>12,} {s:>11,} {ms:>6} {'1.5':>6} User I/O" for name, n, s, ms in events]
    table = read_bytes((head + "\n".join(rows)).encode(), REPORT).table("db_waits")
    assert table.select("event", "n", "total_s").rows() == [(name, n, float(s)) for name, n, s, _ in events]
    assert table["avg_ms"].to_list() == [float(ms) if ms or not s else round(s / n * 1000, 6) for _, n, s, ms in events]


@settings(max_examples=40, deadline=None)
@given(st.lists(RESOURCE, min_size=1, max_size=9), st.booleans())
def test_resources_come_back_with_blanks_kept_or_collapsed(resources, collapsed):
    head = "RESOURCE_NAME                  CURRENT_UTILIZATION MAX_UTILIZATION LIMIT_VALUE\n"
    head += "------------------------------ ------------------- --------------- -----------\n"
    line = "{} {} {} {}" if collapsed else "{:<30} {:>19} {:>15} {:>11}"
    rows = [line.format(n, a, b, "UNLIMITED" if c is None else c) for n, a, b, c in resources]
    table = read_bytes((head + "\n".join(rows)).encode(), LISTING).table("resource_use")
    assert table.select("name", "used", "peak", "limit_num").rows() == [tuple(r) for r in resources]


def test_runs_and_blocks_cut_nothing_of_a_report():
    content = (CORPUS / "awr-text-11g-io-bound.txt").read_bytes()
    whole = read_bytes(content, REPORT)
    cut = read_bytes(content, REPORT, Limits(block_bytes=300, run_bytes=700))
    for table in ("db_waits", "counters", "hosts"):
        assert whole.table(table).equals(cut.table(table))


def test_hundredths_and_microseconds_of_system_event():
    text = (
        b"EVENT                 TOTAL_WAITS TIME_WAITED TIME_WAITED_MICRO\n--------------------- ----------- ----------- -----------------\n"
        b"latch free                     10         250           2500123\n"
    )
    assert read_bytes(text).table("db_waits").select("n", "total_s", "avg_ms").rows() == [(10, 2.500123, 250.0123)]
    without = (
        text.replace(b" TIME_WAITED_MICRO", b"").replace(b" -----------------", b"").replace(b"           2500123", b"")
    )
    assert read_bytes(without).table("db_waits")["total_s"].to_list() == [2.5]


def test_event_histogram_has_open_and_closed_edges():
    text = (
        b"EVENT                 WAIT_TIME_MILLI WAIT_COUNT\n--------------------- --------------- ----------\n"
        b"log file sync                       1         10\nlog file sync                       4          2\n"
    )
    assert read_bytes(text).table("hist").select("lo", "hi", "n").rows() == [(0.0, 1.0, 10.0), (2.0, 4.0, 2.0)]


def test_histogram_of_a_report_counts_waits():
    text = (
        b"Wait Event Histogram  DB/Inst: A/a  Snaps: 1-2\n"
        b"                                        % of Waits\n"
        b"                           Total\nEvent                      Waits  <1ms  <2ms   >1s\n"
        b"-------------------------- ----- ----- ----- -----\nlatch free                   200  75.0  20.0   5.0\n"
    )
    rows = read_bytes(text).table("hist").select("lo", "hi", "n").rows()
    assert rows == [(0.0, 1.0, 150.0), (1.0, 2.0, 40.0), (1000.0, None, 10.0)]


def test_a_row_that_fits_no_columns_is_unknown_not_guessed():
    text = b"EVENT                 TOTAL_WAITS\n--------------------- -----------\nlatch free some words of a person 12 more\n"
    reading = read_bytes(text + b"latch free                     10\n")
    assert reading.table("db_waits")["n"].to_list() == [10]
    assert reading.account.account.unknown == 1


def test_a_decimal_comma_is_read_where_it_is_one():
    text = "Load Profile              Per Second    Per Transaction\n~~~~~~~~~~~~         ---------------    ---------------\n"
    text += "          Logons:                0,31                0,01\n"
    rows = read_bytes(text.encode(), REPORT).table("counters")
    assert rows.filter(pl.col("item") == "per second")["value"].to_list() == [0.31]
