"""Tests of SQL traces beyond the corpus."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parsers.text.source import Hints, Limits
from tests.draw import examples
from tests.parsers.formats.evidence import read_bytes

HINTS = Hints(kind="oracle_trace")
SAMPLE = Path(__file__).parents[3] / "corpus" / "oracle_trace" / "event10079-10046-11g-sqldev.txt"
WAIT = st.tuples(
    st.integers(1, 10**15), st.from_regex(r"[a-z]{2,9}( [a-z]{2,9}){0,3}", fullmatch=True), st.integers(0, 10**9)
)
CALL = st.tuples(
    st.sampled_from(["PARSE", "EXEC", "FETCH"]), st.integers(0, 10**8), st.integers(0, 10**8), st.integers(0, 10**4)
)


@settings(max_examples=examples(40), deadline=None)
@given(st.lists(WAIT, min_size=1, max_size=8), st.lists(CALL, max_size=8))
def test_waits_and_calls_come_back_from_the_columns(waits, calls):
    lines = [
        f"WAIT #{c}: nam='{event}' ela= {ela} p1=1 p2=2 p3=3 obj#=-1 tim=123456789{i:03d}"
        for i, (c, event, ela) in enumerate(waits)
    ]
    lines += [
        f"{call} #7:c={c},e={e},p=0,cr=0,cu=0,mis=0,r={r},dep=0,og=1,plh=0,tim=123456789999" for call, c, e, r in calls
    ]
    reading = read_bytes("\n".join(lines).encode(), HINTS)
    rows = reading.table("db_waits")
    assert rows["event"].to_list() == [event for _, event, _ in waits]
    assert [round(s * 1e6) for s in rows["total_s"]] == [ela for _, _, ela in waits]
    if calls:
        told = reading.table("db_calls").select("call", "cpu_s", "elapsed_s", "rows").rows()
        assert [(n, round(c * 1e6), round(e * 1e6), r) for n, c, e, r in told] == [
            (n.lower(), c, e, r) for n, c, e, r in calls
        ]


STEP = st.tuples(
    st.integers(1, 10**15),
    st.integers(0, 10**9),
    st.sampled_from(
        ["HASH JOIN", "INDEX RANGE SCAN I_X$Y (object)", "FIXED TABLE FULL X$K (ind:2)", "TABLE ACCESS FULL T"]
    ),
    st.one_of(st.none(), st.tuples(*[st.integers(0, 10**10)] * 4)),
)


@settings(max_examples=examples(40), deadline=None)
@given(st.lists(STEP, min_size=1, max_size=6))
def test_steps_of_a_plan_come_back_from_the_counters(steps):
    lines, expected = ["WAIT #1: nam='a' ela= 5 obj#=1 tim=141451802019"], []
    for number, (cursor, rows, op, figures) in enumerate(steps, start=1):
        said = "" if figures is None else "(cr={} pr={} pw={} time={} us)".format(*figures)
        lines.append(f"STAT #{cursor} id={number} cnt={rows} pid=0 pos=1 obj=-1 op='{op} {said}'")
        names = ("rows", "consistent_reads", "physical_reads", "physical_writes", "time")
        values = (rows, *(figures or ()))
        expected += [(number + 1, f"#{cursor}/{number} {op}", n, v) for n, v in zip(names, values, strict=False)]
    reading = read_bytes("\n".join(lines).encode(), HINTS)
    assert reading.table("counters").select("line_no", "item", "name", "value").rows() == expected


def test_a_tim_that_no_clock_line_confirms_counts_from_boot():
    head = "Trace file /u01/a.trc\nOracle Database 11g Enterprise Edition Release 11.2.0.4.0 - 64bit Production\n*** 2014-10-28 13:40:20.194\n"
    wait = "WAIT #1: nam='x y' ela= 5 obj#=1 tim={}\n"
    for tim, kind in ((987654321012, "boot-relative"), (1414518020194457, "wall-utc")):
        domain = read_bytes((head + wait.format(tim)).encode()).account.parts[0].domains[0]
        assert domain.kind == kind


def test_payload_of_the_wire_is_masked_in_quotes_and_no_table_has_it():
    reading = read_bytes(SAMPLE.read_bytes())
    every = str([t.to_dicts() for t in reading.tables.values()])
    assert "select child_num" not in every
    assert "9sqbz0ztpx9dk" not in every


def test_a_message_keeps_its_dump_over_blocks_and_runs():
    content = SAMPLE.read_bytes()
    whole = read_bytes(content).table("sqlnet")
    assert whole.select("bytes", "direction").rows() == [(48, "out"), (172, "in"), (179, "out"), (157, "in")]
    for limits in (Limits(block_bytes=500), Limits(block_bytes=500, run_bytes=1500)):
        assert read_bytes(content, Hints(), limits).table("sqlnet").equals(whole)


def test_a_tim_that_was_cut_is_no_time():
    text = b"WAIT #1: nam='a' ela= 5 tim=141451802019\nWAIT #1: nam='a' ela= 6 tim=1414518"
    reading = read_bytes(text, HINTS)
    assert reading.table("db_waits")["t_local"].is_null().to_list() == [False, True]
    assert [n.kind for n in reading.account.notes] == ["damaged"]


@pytest.mark.parametrize(
    "line",
    ["alter user x identified by geheim", 'alter user x identified by "geheim"', "select 1 from t where a = 'geheim'"],
)
def test_literals_of_statements_are_marked(line, tmp_path):
    from parsers.lines import LineReader
    from parsers.reading import read

    path = tmp_path / "a.trc"
    path.write_text(f"PARSING IN CURSOR #1 len=5 dep=0\n{line}\nEND OF STMT\nEXEC #1:c=0,e=1,p=0,r=0,dep=0,tim=1\n")
    read(path, HINTS, tmp_path / "out")
    shown = [x.text for x in LineReader(path, tmp_path / "out").lines(1, 4)]
    assert "geheim" not in "".join(shown)
    assert "******" in shown[1]
