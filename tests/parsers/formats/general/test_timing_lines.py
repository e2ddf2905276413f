"""Test that times of systemd units and load tests, counters of /proc and call trees give rows of the general reader."""

from __future__ import annotations

from typing import Any

import pytest

from parsers.formats.general.text.proc_lines import counted
from parsers.formats.general.text.timing_lines import timed, unit_of
from tests.parsers.formats.evidence import read_bytes


def rows_of(text: str, table: str) -> list[dict[str, Any]]:
    found = read_bytes(text.encode()).tables.get(table)
    return found.to_dicts() if found is not None else []


@pytest.mark.parametrize(
    ("line", "unit", "op", "seconds"),
    [
        ("1min 1.609s NetworkManager.service", None, "the start of NetworkManager.service", 61.609),
        ("      993ms upower.service", None, "the start of upower.service", 0.993),
        ("2h 3min 4s dev-sda1.device", None, "the start of dev-sda1.device", 7384.0),
        ("1y 2month 3w 4d 5h 6min 7.500s a.mount", None, "the start of a.mount", 38995567.5),
        ("Startup finished in 1.500s (kernel) + 8s (userspace) = 9.500s", None, "the system's start", 9.5),
        ("  └─docker.service @1min 10.570s +1.281s", None, "the start of docker.service", 1.281),
        ("graphical.target @1min 11.852s", None, "the way to graphical.target", 71.852),
        ("  50%  12012", "ms", "a request of the load test", 12.012),
        (" 100%  12024 (longest request)", "ms", "a request of the load test", 12.024),
        ("     99%  635.91us", None, "a request of the load test", 0.000636),
        ("  90% in 0.0123 secs", None, "a request of the load test", 0.0123),
        ("99.90% <= 3 milliseconds", None, "a request of the load test", 0.003),
        ("Processing:  8017 11013 1728.4  12008   12023", "ms", "Processing of a request", 12.008),
    ],
)
def test_a_time_is_taken(line: str, unit: str | None, op: str, seconds: float) -> None:
    made = timed(line, unit)
    assert made is not None
    assert (made[0], made[2], made[3]) == (op, None, line.strip())
    assert made[1] == pytest.approx(seconds, rel=0.001)


@pytest.mark.parametrize(
    "line",
    [
        "  50%  12012",
        "Processing: 1 2 3 4 5",
        "docker.service loaded active",
        "5s ago",
        "90% full",
        "a.service b.service",
        "99% 1 %",
    ],
)
def test_other_lines_tell_no_time(line: str) -> None:
    assert timed(line, None) is None


def test_the_unit_comes_from_the_title() -> None:
    assert [unit_of(t) for t in ("Connection Times (ms)", "latency percentiles (usec):", "Copyright (c)", "Uptime (s")] == [
        "ms", "usec", None, None,
    ]  # fmt: skip


def test_a_load_test_is_read_with_its_titles() -> None:
    text = """Connection Times (ms)
              min  mean[+/-sd] median   max
Connect:        1    4   1.8      4       8
Total:       8018 11017 1729.2  12012   12024

Percentage of the requests served within a certain time (ms)
  50%  12012
 100%  12024 (longest request)

  50%  12012
"""
    found = [(r["line_no"], r["op"], round(r["elapsed_s"], 6)) for r in rows_of(text, "logs")]
    assert found == [
        (3, "Connect of a request", 0.004),
        (4, "Total of a request", 12.012),
        (7, "a request of the load test", 12.012),
        (8, "a request of the load test", 12.024),
    ], "a paragraph without a title has no unit"


@pytest.mark.parametrize(
    "line", ["12: 30 left", "PID: 4711   TASK: ff11  CPU: 2", "cpu MHz : 2400", "cpu0 1 2", "3:  1  2", " " * 30]
)
def test_other_lines_count_nothing(line: str) -> None:
    assert counted(line) == []


def test_counters_of_proc_are_numbered_by_their_sample() -> None:
    text = """ 87:    1282535          0  armada_370_xp_irq  59  mwlwifi
LOC:          1          2   Local timer interrupts
 87:    1284531          0  armada_370_xp_irq  59  mwlwifi
cpu  1 2 3 4 5 6 7 0 0 0
cpu1 400 121 0 0 0 254 0 0 0 0
"""
    found = rows_of(text, "counters")
    radio = [(r["line_no"], r["sample"], r["value"]) for r in found if (r["item"], r["name"]) == ("CPU0", "87 mwlwifi")]
    assert radio == [(1, 1, 1282535.0), (3, 2, 1284531.0)]
    ticks: dict[tuple[Any, Any], float] = {(r["item"], r["name"]): r["value"] for r in found if r["grp"] == "proc stat"}
    assert (ticks[None, "irq"], ticks["CPU1", "irq"], ticks["CPU1", "user"]) == (6.0, 254.0, 400.0)
    assert {r["mode"] for r in found} == {"total"}


TREE = """Call graph:
    2543 Thread_3263608   DispatchQueue_1: com.apple.main-thread  (serial)
    + 2543 start  (in libdyld.dylib) + 1  [0x7fff7f339145]
    +   2543 main  (in htop) + 660  [0x10dfab454]  htop.c:231
    +     2500 scan  (in htop) + 172  [0x10dfb581c]  ScreenManager.c:184
    +     ! 2500 task_for_pid  (in libsystem_kernel.dylib) + 10  [0x7fff7f47ff12]
    +     40 draw  (in htop) + 3  [0x10dfb5f6b]
    2543 Thread_1f2a
      2543 start_wqthread  (in libsystem_pthread.dylib) + 13  [0x7fff]
        2543 ???  (in <unknown binary>)  [0x2]

Total number in stack (recursive counted multiple, when >=5):
"""


def test_a_call_tree_is_stacks_with_weights() -> None:
    found = [
        (r["comm"], r["weight"], r["frames"], r["line_no"], r["frame_lines"][0])
        for r in rows_of(TREE, "profile_stacks")
    ]
    assert found == [
        ("com.apple.main-thread", 2500.0, ["task_for_pid", "scan", "main", "start"], 6, 6),
        ("com.apple.main-thread", 40.0, ["draw", "main", "start"], 7, 7),
        ("com.apple.main-thread", 3.0, ["main", "start"], 4, 4),
        (None, 2543.0, ["???", "start_wqthread"], 10, 10),
    ]
    assert {(r["event"], r["unit"]) for r in rows_of(TREE, "profile_stacks")} == {("sample", "samples")}


def test_a_quoted_piece_of_a_call_tree_needs_no_heading() -> None:
    piece = "".join(line + "\n" for line in TREE.splitlines()[3:6])
    found = [(r["weight"], r["frames"], r["event"]) for r in rows_of(piece, "profile_stacks")]
    assert found == [(2500.0, ["task_for_pid", "scan", "main"], "sample")]
    assert rows_of("    2500 apples  (in a box) + 3\n    2 pears\n", "profile_stacks") == []


def test_a_number_alone_below_a_command_has_its_name() -> None:
    text = """# date && lsof -p 26768 |wc -l
Thu Aug 25 08:53:01 EDT 2016
9107
# date && lsof -p 26768 |wc -l
Thu Aug 25 10:00:30 EDT 2016
13142
$ uptime
42 things
"""
    found = [(r["line_no"], r["grp"], r["name"], r["sample"], r["value"]) for r in rows_of(text, "counters")]
    assert found == [
        (3, "command", "date && lsof -p 26768 |wc -l", 1, 9107.0),
        (6, "command", "date && lsof -p 26768 |wc -l", 2, 13142.0),
    ]
    assert rows_of("\n9107\n\n13142\n", "counters") == [], "nobody says what was asked"


def test_calls_of_fs_usage_have_their_seconds() -> None:
    text = (
        "09:00:01.110221  getattrlist      /Volumes/bread/a                 0.512345 W Oven.1201\n"
        "09:00:01.640011  open   F=12  (R_____________)  /Users/kim/flour   0.000022   Oven.1201\n"
        "09:00:01.650011  the oven was opened by hand at 0.512345 W\n"
    )
    found = read_bytes(text.encode()).table("logs").select("op", "elapsed_s").rows()
    assert found == [("getattrlist", 0.512345), ("open", 0.000022), (None, None)]
