"""Tests of tables that people made themselves: guesses, questions, and reading by the answer."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parsers.columns.column_roles import Columns, parse_columns
from parsers.text.source import Hints, Limits
from tests.draw import examples
from tests.parsers.formats.evidence import read_bytes

FEW = settings(max_examples=examples(30), deadline=None, database=None)


@FEW
@given(
    cells=st.lists(st.tuples(st.integers(-(10**6), 10**6), st.floats(0, 1e6)), min_size=3, max_size=20),
    separator=st.sampled_from([",", ";", "\t", "|"]),
)
def test_the_cells_come_out_again(cells, separator):
    lines = [separator.join(("ts", "count", "load"))]
    lines += [separator.join((str(1598877345 + n), str(a), f"{b:.3f}")) for n, (a, b) in enumerate(cells)]
    reading = read_bytes("\n".join(lines).encode())
    assert reading.account.kind == "csv"
    rows = reading.table("counters").sort("line_no", "name", maintain_order=True)
    assert rows["value"].to_list() == pytest.approx([x for a, b in cells for x in (a, round(b, 3))])
    assert rows["t_local"].to_list() == [1598877345.0 + n for n in range(len(cells)) for _ in range(2)]


TABLE = b"when,what,a,b\n10:15:00,x,1,2\n10:15:05,y,3,4\n10:15:10,x,5,6\n"


def test_the_answer_is_followed():
    told = Hints(columns="time=when elapsed=b:ms label=what", date="2021-11-20", tz="Asia/Tokyo")
    reading = read_bytes(TABLE, told)
    rows = reading.table("conn_times")
    assert rows["elapsed_s"].to_list() == [0.002, 0.004, 0.006]
    assert rows["series"].to_list() == ["x", "y", "x"]
    assert rows["t_local"][0] == 1637403300.0
    assert "columns" not in [q["ask"] for q in reading.account.parts[0].facts.get("questions", [])]


def test_an_answer_without_sense_is_said_and_the_guess_stays():
    reading = read_bytes(TABLE, Hints(columns="elapsed=nothing"))
    assert any("there is no column 'nothing'" in n.text for n in reading.account.notes)
    assert reading.account.tables == {"counters": 6}


def test_the_order_of_day_and_month_can_be_said():
    content = b"stamp;n\n07/04/2008 10:15;1\n08/04/2008 10:15;2\n09/04/2008 10:15;3\n"
    months = [
        (read_bytes(content, Hints(date_order=order)).table("counters")["t_local"][1] or 0)
        - (read_bytes(content, Hints(date_order=order)).table("counters")["t_local"][0] or 0)
        for order in ("dmy", "mdy")
    ]
    assert months == [86400.0, 31 * 86400.0]


def test_a_repeated_header_and_a_ragged_row():
    content = (
        b"t,v\n1598877345,1\nt,v\n1598877346,2\n1598877347\n1598877348,3\n1598877349,4\n1598877350,5\n1598877351,5\n"
    )
    reading = read_bytes(content)
    assert reading.table("counters")["value"].to_list() == [1, 2, 3, 4, 5, 5]
    assert (reading.account.account.read, reading.account.account.unknown) == (8, 1)


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("time=1 elapsed=3:ms label=2", Columns(time=0, elapsed=2, unit_s=1e-3, label=1)),
        ("time=ts values=cpu,3", Columns(time=0, values=(1, 2))),
        ("elapsed=cpu", Columns(elapsed=1)),
    ],
)
def test_words_and_columns(text, columns):
    names = ["ts", "cpu", "load 1"]
    assert parse_columns(text, names) == columns
    assert parse_columns(columns.words(names), names) == columns


@pytest.mark.parametrize("text", ["when=1", "time=9", "nonsense", ""])
def test_words_without_sense(text):
    with pytest.raises(ValueError, match=r"no `role=column`|no column"):
        parse_columns(text, ["a", "b"])


@pytest.mark.parametrize(
    "content",
    [
        b"Dear all, it is slow.\nRegards, Anna\nBy the way, thanks\n",
        b"root:x:0:0:root:/root:/bin/sh\n" * 5,
        b"a b c\n" * 5,
    ],
)
def test_what_is_no_table_is_not_claimed(content):
    assert read_bytes(content).account.kind == "text"


@pytest.mark.parametrize("cut", [250, 399, 400, 401, 731])
def test_a_cut_behind_the_head_changes_only_the_tail(cut):
    lines = ["ts;what;a;b", *(f"{1598877345 + n};x{n % 3};{n},5;{n * n}" for n in range(900))]
    whole = read_bytes("\n".join(lines).encode()).table("counters")
    part = read_bytes("\n".join(lines[:cut]).encode()).table("counters")
    assert part.sort("line_no", "name").equals(whole.filter(whole["line_no"] <= cut).sort("line_no", "name"))
    blocks = read_bytes("\n".join(lines).encode(), limits=Limits(block_bytes=700)).table("counters")
    assert blocks.sort("line_no", "name").equals(whole.sort("line_no", "name"))


@pytest.mark.parametrize(
    ("stamps", "seconds"),
    [
        (["11:59:58 PM", "12:00:01 AM", "12:30:00 PM"], [86398.0, 86401.0, 131400.0]),
        (["11:59:58 a.m.", "12:00:01 p.m."], [43198.0, 43201.0]),
    ],
)
def test_a_clock_of_twelve_hours_tells_the_time_of_day(stamps, seconds):
    rows = "".join(f"{stamp};{n},5\n" for n, stamp in enumerate(stamps, start=1))
    reading = read_bytes(f"zeit;last\n{rows}".encode(), Hints(kind="csv", columns="time=1 value=2"))
    assert reading.table("counters")["t_local"].to_list() == seconds


def test_an_hour_that_a_clock_of_twelve_has_not_gives_no_time():
    reading = read_bytes(b"zeit;last\n13:00:00 PM;1\n1:00:00 PM;2\n", Hints(kind="csv", columns="time=1 value=2"))
    assert reading.table("counters")["t_local"].to_list() == [46800.0]
    assert [note.line_from for note in reading.account.notes if note.kind == "unknown"] == [2]


@pytest.mark.parametrize(("message", "kind"), [("child 53 was killed with signal 9", "text"), ("5", "csv")])
def test_a_log_with_fields_between_bars_is_no_table(message, kind):
    lines = [f"2017-11-19 14:53:{n} | err | {message}" for n in range(10, 15)]
    assert read_bytes("\n".join(lines).encode()).account.kind == kind


def wide(columns: int) -> bytes:
    """Return a listing of three objects with `connect` among its counts, like a program's export of its metrics."""
    names = ["# group", "name", "connect", *(f"count{n}" for n in range(columns - 3))]
    rows = [["orders", name, "22", *("1" for _ in range(columns - 3))] for name in ("FRONTEND", "app1", "BACKEND")]
    return "\n".join(",".join(row) for row in (names, *rows)).encode()


@pytest.mark.parametrize(("columns", "timed"), [(12, True), (13, False)])
def test_a_wide_table_counts_connects(columns, timed):
    assert ("conn_times" in read_bytes(wide(columns)).account.tables) == timed


def test_the_rows_of_a_listing_are_named_by_the_words_that_differ():
    rows = read_bytes(wide(13)).table("counters")
    assert rows["item"].unique(maintain_order=True).to_list() == ["FRONTEND", "app1", "BACKEND"]


def test_a_unit_says_a_time_in_a_wide_table_as_well():
    named = wide(13).replace(b"connect", b"connect_ms", 1)
    assert read_bytes(named).table("conn_times")["elapsed_s"].to_list() == [0.022] * 3


@pytest.mark.parametrize(
    ("name", "seconds"),
    [
        ("durationMillis", 0.25),
        ("responseTimeMs", 0.25),
        ("elapsed (us)", 0.00025),
        ("latency.nanos", 2.5e-7),
        ("elapsedms", 0.25),
        ("responseSeconds", 250.0),
        ("elapsed", 250.0),
    ],
)
def test_a_unit_in_the_name_of_a_column_is_heeded(name, seconds):
    rows = "".join(f"2030-05-01T10:00:0{n}Z,{250 + n}\n" for n in range(4))
    times = read_bytes(f"ts,{name}\n{rows}".encode()).table("conn_times")["elapsed_s"]
    assert times[0] == pytest.approx(seconds)


@pytest.mark.parametrize(
    "content",
    [
        "  pid  | blocked_by |  dur\n-------+------------+----------\n 11201 | {}         | 00:02:29\n 11207 | {11201}    | 00:01:00\n",
        "".join(
            f"2031-02-01 10:00:0{n},123 [worker-{n}] DEBUG x.Pool - P1 - stats (total=9, active=9, idle=0, waiting={70 + n})\n"
            for n in range(4)
        ),
        "".join(f"2031-02-01 10:00:0{n} total=9, active={n}, idle=0\n" for n in range(4)),
    ],
)
def test_what_other_tools_print_with_separators_is_no_table(content):
    reading = read_bytes(content.encode())
    assert reading.account.kind == "text"
    assert [note.kind for note in reading.account.notes if note.kind in ("damaged", "unknown")] == []


def test_stamps_with_a_comma_between_semicolons_stay_a_table():
    content = "".join(f"2031-02-01 10:00:0{n},250;{n}\n" for n in range(5))
    assert read_bytes(f"when;value\n{content}".encode()).account.kind == "csv"


def test_a_column_of_names_says_what_the_only_value_is():
    content = (
        b"Timestamp,Provider,Counter Name,Counter Type,Mean/Increment\n"
        b"11/13/2031 04:26:33,System.Runtime,ThreadPool Queue Length,Metric,379\n"
        b"11/13/2031 04:26:33,System.Runtime,ThreadPool Thread Count,Metric,71\n"
    )
    rows = read_bytes(content).table("counters")
    assert rows["name"].to_list() == ["ThreadPool Queue Length", "ThreadPool Thread Count"]
    assert rows["value"].to_list() == [379.0, 71.0]
    two = read_bytes(b"time,metric,a,b\n2031-01-02 03:04:05,x,1,2\n2031-01-02 03:04:06,y,3,4\n").table("counters")
    assert set(two["name"]) == {"a", "b"}, "two columns of values have names of their own"


def test_a_listing_keeps_all_figures_beside_a_time_taken():
    text = b"name,queued,limit,latency_ms\nweb9,7,90,12\nweb8,9,90,14\n"
    counters = read_bytes(text).table("counters").sort("line_no", "name", maintain_order=True)
    assert counters.filter(name="queued")["value"].to_list() == [7.0, 9.0]
    assert set(counters["item"]) == {"web8", "web9"}
    assert read_bytes(text).table("conn_times")["elapsed_s"].to_list() == pytest.approx([0.012, 0.014])


def test_a_row_of_a_list_of_calls_is_named_by_its_call_and_target():
    text = (
        b'"Time of Day","PID","Operation","Path","Result","Duration"\n'
        b'"7:21:33.1000000 AM","71","ReadFile","\\\\files9\\tills\\a.ini","SUCCESS","2.1"\n'
        b'"7:21:35.2000000 AM","71","CloseFile","\\\\files9\\tills\\a.ini","SUCCESS","0.1"\n'
    )
    times = read_bytes(text).table("conn_times")
    assert times["series"].to_list() == ["ReadFile \\\\files9\\tills\\a.ini", "CloseFile \\\\files9\\tills\\a.ini"]


def test_the_number_of_a_connection_is_no_time_taken():
    reading = read_bytes(b"connect_id,waiting_seconds,lock\n9,70,a\n8,80,b\n")
    assert "conn_times" not in reading.tables
    assert reading.table("counters").filter(name="waiting_seconds")["value"].to_list() == [70.0, 80.0]


def test_an_aligned_table_in_quotes_is_none_of_cells():
    text = "> query   | calls\n> --------+-------\n> SELECT  |  9000\n> UPDATE  |    90\n> DELETE  |     9\n"
    assert read_bytes(text.encode()).account.kind != "csv"


def test_a_listing_with_a_column_of_states_is_rows_and_measures_no_time():
    made = read_bytes(b"task,state,duration_s\nmail,waiting,91\npdf,running,7\n")
    assert made.table("rows")["cells"].to_list() == [["mail", "waiting", "91"], ["pdf", "running", "7"]]
    assert "conn_times" not in made.tables
    timed = read_bytes(b"task,kind,duration_s\nmail,slow,91\npdf,quick,7\n")
    assert "conn_times" in timed.tables
    assert "rows" not in timed.tables


def test_a_table_below_its_command():
    table = "task,state,age\nmail,waiting,91\npdf,running,7\n"
    long = f"ann@db9:~$ cat tasks.csv\n{table}xml,done,8\ncsv,done,9\nann@db9:~$ \n"
    assert read_bytes(long.encode()).table("rows").height == 4
    for text in (f"ann@db9:~$ cat tasks.csv\n{table}ann@db9:~$ \n", f"The tasks at ten:\n\n{table}\nThat is all.\n"):
        made = read_bytes(text.encode()).table("rows")
        assert made["cells"].to_list() == [["mail", "waiting", "91"], ["pdf", "running", "7"]]
