"""Tests of iostat beyond the corpus."""

from __future__ import annotations

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from parsers.text.source import Hints
from tests.draw import examples
from tests.parsers.formats.evidence import read_bytes

HEADING = "Device            r/s     rkB/s     w/s     wkB/s r_await w_await  aqu-sz  %util"
COLUMNS = ("r_ps", "r_kbps", "w_ps", "w_kbps", "r_resp_ms", "w_resp_ms", "queue", "busy_pct")
NUMBERS = st.lists(st.integers(0, 10**7), min_size=8, max_size=8)
FEW = settings(max_examples=examples(25), deadline=None, database=None)


@FEW
@given(reports=st.lists(st.lists(NUMBERS, min_size=2, max_size=4), min_size=1, max_size=4), comma=st.booleans())
def test_the_numbers_of_a_report_come_out_again(reports, comma):
    lines = []
    for report in reports:
        lines += [
            HEADING,
            *(f"sd{'abcd'[i]} " + " ".join(f"{n / 100:.2f}" for n in row) for i, row in enumerate(report)),
            "",
        ]
    text = "\n".join(lines)
    rows = read_bytes((text.replace(".", ",") if comma else text).encode()).table("iostat")
    given_rows = [
        (s + 1, f"sd{'abcd'[i]}", *(n / 100 for n in row)) for s, r in enumerate(reports) for i, row in enumerate(r)
    ]
    assert rows.select("sample", "device", *COLUMNS).rows() == given_rows


def test_a_name_on_a_line_of_its_own_belongs_to_the_values_below():
    text = HEADING + "\nsda 1.00 2.00 3.00 4.00 5.00 6.00 7.00 8.00\nmapper/vg0-a_very_long_name\n" + " " * 18
    text += "1.00 2.00 3.00 4.00 5.00 6.00 7.00 9.00\n"
    rows = read_bytes(text.encode()).table("iostat")
    assert rows.select("line_no", "line_end", "device", "busy_pct", "part_of").rows() == [
        (2, 2, "sda", 8.0, False),
        (3, 4, "mapper/vg0-a_very_long_name", 9.0, True),
    ]


def test_blanks_in_front_and_between_do_not_matter():
    text = f"  {HEADING}\n\t sda   1,00\t2.00 3.00 4.00 5.00 6.00 7.00 8.00\n".replace("1,00", "1.00")
    assert read_bytes(text.encode()).table("iostat")["r_ps"].to_list() == [1.0]


def test_a_header_once_and_devices_again_are_new_samples():
    text = HEADING + "\n" + "sda 1 1 1 1 1 1 1 1\nsdb 1 1 1 1 1 1 1 1\n" * 3
    rows = read_bytes(text.encode()).table("iostat")
    assert rows["sample"].to_list() == [1, 1, 2, 2, 3, 3]


def test_the_prompt_gives_the_interval():
    text = HEADING + "\nsda 1 1 1 1 1 1 1 1\n\n" + HEADING + "\nsda 2 1 1 1 1 1 1 1\n"
    rows = read_bytes(text.encode(), Hints(interval_s=5)).table("iostat")
    assert rows.select("first", "t_local", "interval_s").rows() == [(True, 0.0, None), (False, 5.0, 5.0)]


def test_columns_in_another_order_are_the_same_columns():
    text = "Device %util r/s\nsda 8.00 1.00\n"
    rows = read_bytes(text.encode(), Hints(kind="iostat", variant="linux")).table("iostat")
    assert rows.select("busy_pct", "r_ps").rows() == [(8.0, 1.0)]


def test_a_value_that_is_a_dash_is_unknown():
    text = "Disks:        % tm_act     Kbps      tps    Kb_read   Kb_wrtn\nhdisk1           0.0       -         3.0          0         0\n"
    reading = read_bytes(text.encode())
    assert reading.table("iostat")["io_ps"].to_list() == [3.0]
    assert "Kbps" not in reading.table("counters")["name"].to_list()


def test_times_after_midnight_are_the_next_day():
    block = "avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n           1.00    0.00    1.00    0.00    0.00   98.00\n\n"
    text = "Linux 2.6.18 (h) \t02/28/12\n\nTime: 11:59:58 PM\n" + block + "Time: 12:00:03 AM\n" + block
    reading = read_bytes(text.encode())
    rows = reading.table("vmstat")
    assert rows["interval_s"].to_list() == [None, 5.0]
    assert rows["t_local"][1] % 86400 == 3.0


def test_a_cut_last_row_is_damaged():
    reading = read_bytes((HEADING + "\nsda 1 1 1 1 1 1 1 1\nsdb 1 1 1").encode())
    assert reading.account.account.damaged == 1
    assert len(reading.table("iostat")) == 1


def test_marks_of_a_collector_begin_anew():
    block = HEADING + "\nsda 1 1 1 1 1 1 1 1\n\n" + HEADING + "\nsda 2 1 1 1 1 1 1 1\n"
    text = f"zzz ***Wed Feb 29 11:00:00 EST 2012\n{block}zzz ***Wed Feb 29 12:00:00 EST 2012\n{block}"
    rows = read_bytes(text.encode()).table("iostat")
    assert rows["first"].to_list() == [True, False, True, False]
    assert rows["sample"].to_list() == [1, 2, 3, 4]


def test_json_on_one_line_says_the_same():
    text = (
        '{"sysstat": {"hosts": [{"nodename": "h", "sysname": "Linux", "release": "5", "machine": "x", "number-of-cpus": 2, '
        '"date": "2020-06-13", "statistics": [{"timestamp": "2020-06-13 10:00:00", "disk": [{"disk_device": "sda", "r/s": 1.5, '
        '"util": 9.00}]}, {"timestamp": "2020-06-13 10:00:05", "disk": [{"disk_device": "sda", "r/s": 2.5, "util": 8.00}]}]}]}}'
    )
    spread = text.replace("{", "{\n").replace("}", "\n}").replace(", ", ",\n")
    one, many = (read_bytes(t.encode()).table("iostat") for t in (text, spread))
    columns = ["sample", "device", "r_ps", "busy_pct", "interval_s", "t_local"]
    assert one.select(columns).equals(many.select(columns))
    assert one.select("r_ps", "busy_pct", "interval_s").rows() == [(1.5, 9.0, None), (2.5, 8.0, 5.0)]
    assert many.filter(pl.col("line_end") > pl.col("line_no")).height == 2
