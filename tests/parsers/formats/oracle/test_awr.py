"""Tests of workload reports and listings of dynamic views beyond the corpus."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parsers.lines import LineReader
from parsers.reading import read
from parsers.text.source import Hints, Limits
from tests.draw import examples
from tests.parsers.formats.evidence import read_bytes

CORPUS = Path(__file__).parents[3] / "corpus" / "awr"
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


@settings(max_examples=examples(40), deadline=None)
@given(st.lists(EVENT, min_size=1, max_size=9))
def test_events_come_back_from_the_columns(events):
    head = "Event                                 Waits     Time(s)   (ms)   time Wait Class\n"
    head += "------------------------------ ------------ ----------- ------ ------ ----------\n"
    rows = [f"{name:<30} {n:>12,} {s:>11,} {ms:>6} {'1.5':>6} User I/O" for name, n, s, ms in events]
    table = read_bytes((head + "\n".join(rows)).encode(), REPORT).table("db_waits")
    assert table.select("event", "n", "total_s").rows() == [(name, n, float(s)) for name, n, s, _ in events]
    assert table["avg_ms"].to_list() == [float(ms) if ms or not s else round(s / n * 1000, 6) for _, n, s, ms in events]


@settings(max_examples=examples(40), deadline=None)
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


@pytest.mark.parametrize("name", ["derived-ash-10g", "derived-awr-sql-segments"])
@pytest.mark.parametrize("run_bytes", [400, 900])
def test_rows_of_statements_and_sessions_do_not_depend_on_where_a_file_is_cut(name, run_bytes):
    content = (CORPUS / f"{name}.txt").read_bytes()
    whole = read_bytes(content, REPORT)
    cut = read_bytes(content, REPORT, Limits(block_bytes=200, run_bytes=run_bytes))
    for table in whole.tables.keys() - {"notes", "artifacts"}:
        assert whole.table(table).equals(cut.table(table)), table


def test_literals_of_a_statement_are_masked_on_all_its_lines(tmp_path):
    path = CORPUS / "derived-awr-sql-segments.txt"
    read(path, REPORT, tmp_path)
    shown = LineReader(path, tmp_path).lines(26, 36)
    text = "\n".join(line.text for line in shown)
    assert "Smith" not in text
    assert "ext-line" not in text
    assert "SELECT something something FROM someTable1 WHERE name = '" in text
    assert " AND id = :1" in text


def test_an_empty_last_cell_is_no_word_of_the_name():
    reading = read_bytes((CORPUS / "awr-text-11g-io-bound.txt").read_bytes(), REPORT)
    rows = reading.table("counters").filter(pl.col("name") == "DB time").select("grp", "value", "unit").rows()
    assert rows == [("time_model", 8484.3, "s")]


SEGMENT = st.tuples(
    st.from_regex(r"[A-Z]{2,9}", fullmatch=True), st.from_regex(r"[A-Z][A-Z0-9_$]{1,18}", fullmatch=True),
    st.sampled_from(["", "P2016Q1"]), st.sampled_from(["TABLE", "INDEX"]), st.integers(0, 10**8), st.integers(0, 9999),
)  # fmt: skip


@settings(max_examples=examples(40), deadline=None)
@given(st.lists(SEGMENT, min_size=1, max_size=8))
def test_segments_come_back_from_the_counters(segments):
    head = "Segments by Physical Reads         DB/Inst: A/a  Snaps: 1-2\n\n"
    head += "           Tablespace                      Subobject  Obj.      Physical\n"
    head += "Owner         Name    Object Name            Name     Type         Reads  %Total\n"
    head += "---------- ---------- -------------------- ---------- ----- ------------ -------\n"
    rows = [f"{o:<10} {'USERS':<10} {n:<20} {s:<10} {t:<5} {v:>12,} {p / 100:>7.2f}" for o, n, s, t, v, p in segments]
    table = read_bytes((head + "\n".join(rows)).encode(), REPORT).table("counters")
    expected = []
    for owner, name, sub, kind, value, share in segments:
        item = ".".join(x for x in (owner, name, sub) if x) + f" ({kind})"
        expected += [(item, "physical reads", float(value)), (item, "%total", share / 100)]
    assert table.select("item", "name", "value").rows() == expected


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


HEADED = """Wait Classes by Total Wait Time
~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
                                        Total Wait       Wait   % DB
Wait Class                  Waits       Time (sec)       Time   time
---------------- ---------------- ---------------- ---------- ------
Application                    15               53  3524.27ms   98.9
"""


@pytest.mark.parametrize("heading", ["\n\nOUTPUT\n", "\nOUTPUT\n", "\n\nOUTPUT\n" + "-" * 80 + "\n"])
def test_a_page_of_sqlplus_may_begin_anywhere_in_a_table(heading):
    whole = (
        read_bytes(HEADED.encode(), Hints(kind="awr", variant="report")).table("counters").drop("line_no", "line_end")
    )
    assert whole.select("item", "name", "value").rows()[0] == ("Application", "waits", 15.0)
    lines = HEADED.splitlines()
    for at in range(1, len(lines)):
        text = "\n".join(lines[:at]) + heading + "\n".join(lines[at:]) + "\n"
        reading = read_bytes(text.encode(), Hints(kind="awr", variant="report"))
        assert reading.table("counters").drop("line_no", "line_end").equals(whole), at
        assert reading.account.account.unknown == 0


def test_names_on_a_line_of_their_own_belong_to_the_figures_below():
    text = b"Tablespace IO Stats                DB/Inst: A/a  Snaps: 1-2\n\nTablespace\n------------------------------\n          Av       Av\n"
    text += b" Reads  Reads/s  Rd(ms)\n------ -------- -------\nUSERS\n   120      2.0     5.5\n"
    text += b"SYSTEM\n    60      1.0     4.5\n          --------------------\n"
    reading = read_bytes(text)
    found = reading.table("counters").select("grp", "item", "value").rows()
    assert found[:2] == [("tablespace io stats", "USERS", 120.0), ("tablespace io stats", "USERS", 2.0)]
    assert [item for _, item, _ in found] == ["USERS"] * 3 + ["SYSTEM"] * 3
    assert reading.account.account.unknown == 0


def test_the_text_of_a_statement_is_no_row_of_a_table():
    text = b"SQL ordered by Gets      DB/Inst: A/a  Snaps: 1-2\n\n Buffer Gets    Executions    SQL Id\n------------ ------------- -------------\n"
    text += b"       1,204             2 5vx5qmyh3hj7v\nselect a from b where c =\n2 AND ROWNUM < 5\n"
    reading = read_bytes(text)
    assert set(reading.table("counters")["item"]) == {"5vx5qmyh3hj7v"}
    assert reading.account.account.unknown == 0


def test_figures_at_the_beginning_and_at_the_end_keep_their_names():
    text = (
        "Instance Efficiency Percentages (Target 100%)\n~~~~~~~~~~~~~~~~~~~~~\n    Buffer Nowait %:  99.90   Redo NoWait %: 100.00\n\n"
        "Shared Pool Statistics        Begin    End\n                              ------  ------\n"
        "             Memory Usage %:   40.10   51.25\n    % SQL with executions>1:   70.00   71.50\n"
    )
    table = read_bytes(text.encode(), REPORT).table("counters").filter(pl.col("grp") == "shared pool statistics")
    assert table.select("name", "item", "value").rows() == [
        ("Memory Usage %", "begin", 40.1),
        ("Memory Usage %", "end", 51.25),
        ("% SQL with executions>1", "begin", 70.0),
        ("% SQL with executions>1", "end", 71.5),
    ]


def test_blockers_of_sessions_and_since_when_they_wait():
    text = (
        b"BLOCKING_SESSION        SID    SERIAL# WAIT_CLASS   SECONDS_IN_WAIT STATUS\n"
        b"---------------- ---------- ---------- ------------ --------------- --------\n"
        b"             311        402         17 Application             1210 ACTIVE\n"
        b"                        311          9 Idle                       4 INACTIVE\n"
    )
    columns = ("sid", "blocked_by", "wait_class", "wait_s", "state")
    assert read_bytes(text).table("sessions").select(columns).rows() == [
        (402, 311, "Application", 1210.0, "ACTIVE"),
        (311, None, "Idle", 4.0, "INACTIVE"),
    ]


@pytest.mark.parametrize("between", ["\t", "   "])
def test_a_table_of_events_copied_from_the_page_of_a_report(between):
    heads = ("Event", "Waits", "Total Wait Time (sec)", "Wait Avg(ms)", "% DB time", "Wait Class")
    rows = (("log file sync", "6,290", "12.5K", "396", "62.5", "Commit"), ("enq: TX - index contention", "37", "31", "851", ".2", "Concurrency"),
            ("DB CPU", "", "593.6", "", "4.4", ""))  # fmt: skip
    text = "\n".join(
        ["Top 10 Foreground Events by Total Wait Time", "", *(between.join(row) for row in (heads, *rows))]
    )
    text += f"\n\nAvg global cache current block flush time (ms):{between}98.1\n"
    reading = read_bytes(text.encode(), REPORT)
    assert reading.table("db_waits").select("event", "n", "total_s", "avg_ms", "pct", "wait_class").rows() == [
        ("log file sync", 6290, 12500.0, 396.0, 62.5, "Commit"),
        ("enq: TX - index contention", 37, 31.0, 851.0, 0.2, "Concurrency"),
        ("DB CPU", None, 593.6, None, 4.4, None),
    ]
    assert [note.kind for note in reading.account.notes if note.kind == "unknown"] == []
    assert reading.table("counters")["value"].to_list() == [98.1]
