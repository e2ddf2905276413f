"""Tests of process listings: rows rebuilt from the columns, and the effect of damage."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parsers.formats.processes.shared.process_columns import columns, place
from tests.draw import examples
from tests.parsers.formats.evidence import parse_bytes, read_bytes

START = st.sampled_from(["Oct25", "07:22:43", "Jan_21", "-", "Mar 09", "Nov 28", "2019"])
TTY = st.sampled_from(["?", "pts/1", "console", "-"])
ARGS = st.sampled_from(["[kworker/0:0]", "/usr/sbin/sshd -D", "ora_pmon_Q", "oracleQ (LOCAL=NO)", "[java] <defunct>"])
ROW = st.tuples(
    st.sampled_from(["root", "oracle", "1001"]),
    st.integers(1, 4_000_000),
    st.integers(0, 4_000_000),
    st.integers(0, 99),
    START,
    TTY,
    st.integers(0, 400_000),
    ARGS,
)


@settings(max_examples=examples(60), deadline=None, database=None)
@given(rows=st.lists(ROW, min_size=1, max_size=8))
def test_the_tokens_come_out_of_the_columns_again(rows):
    text = "     UID   PID  PPID   C    STIME TTY         TIME CMD\n"
    for login, pid, ppid, c, start, tty, time, args in rows:
        text += f"{login:>8} {pid:5d} {ppid:5d} {c:3d} {start:>8} {tty:8} {time // 60:4d}:{time % 60:02d} {args}\n"
    run = parse_bytes(text.encode(), "ps", "solaris")
    found = run.tables["ps"]
    got = found.select("login", "uid", "pid", "ppid", "start_text", "cpu_time_s", "args").rows()
    want = [
        (u if u != "1001" else None, 1001 if u == "1001" else None, p, pp, None if s == "-" else s, float(t), a)
        for u, p, pp, _, s, _, t, a in rows
    ]
    assert got == want
    assert found["ending"].to_list() == ["defunct" if "defunct" in r[-1] else None for r in rows]


@pytest.mark.parametrize(
    ("head", "row", "expected"),
    [
        ("PID VSZ RSS %CPU ELAPSED COMMAND", "7 1024 512 1,5 1-02:03:04 x y", (7, 1024.0, 512.0, 1.5, 93784.0, "x y")),
        ("RSS PID COMMAND VSZ", "512 7 java 1024", (7, 1024.0, 512.0, None, None, "java")),
        ("PID ELAPSED COMMAND", "7 02:03 a", (7, None, None, None, 123.0, "a")),
    ],
)
def test_a_header_names_its_columns_in_any_order(head, row, expected):
    rows = read_bytes(f"{head}\n{row}\n{row}\n".encode()).table("ps")
    assert rows.select("pid", "vsz_kb", "rss_kb", "cpu_pct", "etime_s", "args").row(0) == expected


def test_collapsed_blanks_change_nothing():
    text = (
        "USER       PID %CPU %MEM    VSZ   RSS TTY      STAT START   TIME COMMAND\n"
        "root         1  0.0  0.1 128068  6676 ?        Ss   Oct25   0:03 /sbin/init x\n"
    )
    one, other = (read_bytes(t.encode()).table("ps") for t in (text, " ".join(filter(None, text.split(" ")))))
    assert one.equals(other)


def test_blank_cells_go_by_the_header_and_are_noted_or_stay_unknown():
    head = "  UID      PID     PPID   C    STIME    TTY  TIME CMD\n"
    gone = " root   295074   270496   0                   0:00 <defunct>\n"
    live = " root   295075        1   0 13:07:27      -  0:00 /usr/sbin/smbd\n"
    reading = read_bytes((head + live + gone).encode())
    assert reading.table("ps").select("pid", "start_text", "ending").rows() == [
        (295075, "13:07:27", None),
        (295074, None, "defunct"),
    ]
    assert [(n.line_from, n.kind) for n in reading.account.notes] == [(3, "repaired")]


def test_words_that_fit_in_two_ways_are_not_placed():
    named = columns("PID RSS VSZ COMMAND")
    assert place("7 100 <defunct>", named, None) is None
    assert place("    7 100     <defunct>", named, [(2, 5), (6, 9), (10, 13), (14, 21)])["rss_kb"] == "100"


def test_a_repeated_header_is_a_new_sample_only_where_processes_start_over():
    head = "  PID  PPID     TIME CMD\n"
    one, two, three = "    1     0 00:00:01 init\n", "   50     1 00:00:01 a\n", "   60     1 00:00:01 b\n"
    assert read_bytes((head + one + two + head + three).encode()).table("ps")["sample"].to_list() == [1, 1, 1]
    assert read_bytes((head + one + two + head + one).encode()).table("ps")["sample"].to_list() == [1, 1, 2]


@pytest.mark.parametrize(
    ("args", "secret"),
    [
        ("sqlplus -s scott/tiger9@db", "tiger9"),
        ("java -Dpassword=hunter22 x", "hunter22"),
        ("mysql -u root -phunter22 db", "hunter22"),
        ("expdp system/manager7 full=y", "manager7"),
    ],
)
def test_passwords_of_command_lines_are_masked(args, secret):
    reading = read_bytes(f"  PID     TIME CMD\n    1 00:00:01 {args}\n".encode())
    assert secret not in str(reading.tables)
    assert reading.table("ps")["pid"].to_list() == [1]


def test_a_cut_row_is_unknown_and_no_row():
    reading = read_bytes(b"  PID  PPID     TIME CMD\n    1     0 00:00:01 init\n   50 ")
    assert len(reading.table("ps")) == 1
    assert reading.account.account.unknown == 1


def test_forests_lose_their_branches():
    text = "  PID  PPID     TIME CMD\n    1     0 00:00:01 init\n   50     1 00:00:01  \\_ sshd: a\n   51    50 00:00:01  |   \\_ -bash\n"
    assert read_bytes(text.encode()).table("ps")["args"].to_list() == ["init", "sshd: a", "-bash"]


def test_a_list_of_numbers_is_no_tree():
    assert read_bytes(b"1 first\n  2 second\n  3 third\n").account.kind != "ps"


@pytest.mark.parametrize(
    ("printed", "kept"),
    [("jbd2_log_wait_commit", "jbd2_log_wait_commit"), ("pipe_w", "pipe_w"), ("select", "select"), ("-", None), ("?", None),
     ("0", None), ("f1000f0a1004bdc0", None), ("60013c1e0d2", None)],
)  # fmt: skip
def test_a_wait_channel_is_a_name(printed, kept):
    text = f"  PID STAT WCHAN                COMMAND\n  411 D    {printed:<20} cp\n"
    assert read_bytes(text.encode()).table("ps")["wchan"].to_list() == [kept]


def test_freebsd_calls_it_mwchan():
    text = "  PID STAT MWCHAN COMMAND\n  411 D    biord  cp\n"
    assert read_bytes(text.encode()).table("ps")["wchan"].to_list() == ["biord"]


@pytest.mark.parametrize(
    ("command", "name"),
    [("GC Thread#3", "GC Thread#3"), ("C2 CompilerThre", "C2 CompilerThre"), ("VM Thread", "VM Thread"), ("VM", "VM"),
     ("sleep 600", "sleep"), ("/usr/bin/GC Thread", "GC")],
)  # fmt: skip
def test_threads_of_a_java_machine_have_names_with_blanks(command, name):
    text = f"  PID STAT COMMAND\n  411 R    {command}\n"
    assert read_bytes(text.encode()).table("ps")["comm"].to_list() == [name]


def test_rows_without_a_header_have_the_columns_of_the_command() -> None:
    text = (
        "# ps axo stat,pid,user,wchan:20,comm | grep ^D\n"
        "D     4711 root     rpc_wait_bit_killable ls\nDs    4712 anna     jbd2_log_wait_commit bash\n"
    )
    reading = read_bytes(text.encode())
    rows = reading.table("ps")
    assert rows.select("pid", "state", "login", "wchan", "comm").rows() == [
        (4711, "D", "root", "rpc_wait_bit_killable", "ls"),
        (4712, "Ds", "anna", "jbd2_log_wait_commit", "bash"),
    ]
    assert reading.account.account.unknown == 0


def test_lines_that_do_not_fit_the_columns_of_the_command_are_none() -> None:
    text = "# ps -eo pid,stat,cmd | sort\nthe list is long today\nand nobody reads it\n"
    assert "ps" not in read_bytes(text.encode()).tables
