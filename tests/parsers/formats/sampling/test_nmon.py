"""Tests of nmon beyond the corpus."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from parsers.text.source import Limits
from tests.draw import examples
from tests.parsers.formats.evidence import read_bytes

HEAD = "AAA,progname,nmon\nAAA,host,h\nAAA,time,10:00.00\nAAA,date,05-FEB-2020\nAAA,interval,10\n"
TITLES = "CPU_ALL,CPU Total h,User%,Sys%,Wait%,Idle%,Busy,CPUs\nDISKBUSY,Disk %Busy h,sda,sdb\nDISKREAD,Disk Read KB/s h,sda,sdb\n"
FEW = settings(max_examples=examples(25), deadline=None, database=None)


def _snapshot(number: int, values: list[float]) -> str:
    usr, sys, one, two, three, four = values
    return (
        f"ZZZZ,T{number:04},10:{number:02}:00,05-FEB-2020\nCPU_ALL,T{number:04},{usr},{sys},0.0,1.0,,2\n"
        f"DISKBUSY,T{number:04},{one},{two}\nDISKREAD,T{number:04},{three},{four}\n"
    )


VALUES = st.lists(st.lists(st.integers(0, 999).map(lambda n: n / 10), min_size=6, max_size=6), min_size=1, max_size=6)


@FEW
@given(values=VALUES)
def test_the_values_of_snapshots_come_out_again(values):
    text = HEAD + TITLES + "".join(_snapshot(i, v) for i, v in enumerate(values, start=1))
    reading = read_bytes(text.encode())
    assert reading.table("vmstat").select("sample", "usr", "sys").rows() == [
        (i, v[0], v[1]) for i, v in enumerate(values, 1)
    ]
    disks = reading.table("iostat").select("sample", "device", "busy_pct", "r_kbps").rows()
    assert disks == [r for i, v in enumerate(values, 1) for r in ((i, "sda", v[2], v[4]), (i, "sdb", v[3], v[5]))]


def test_a_file_put_in_order_says_the_same():
    text = HEAD + TITLES + "".join(_snapshot(i, [1.0 * i] * 6) for i in range(1, 5))
    plain, ordered = (read_bytes(t.encode()) for t in (text, "\n".join(sorted(text.splitlines())) + "\n"))
    for table in ("vmstat", "iostat"):
        columns = [c for c in plain.table(table).columns if c not in ("line_no", "line_end")]
        by = ["sample", "device"] if table == "iostat" else ["sample"]
        assert plain.table(table).select(columns).sort(by).equals(ordered.table(table).select(columns).sort(by))


def test_a_snapshot_across_runs_is_one_row():
    text = HEAD + TITLES + "".join(_snapshot(i, [1.0 * i] * 6) for i in range(1, 9))
    one, many = read_bytes(text.encode()), read_bytes(text.encode(), limits=Limits(run_bytes=150))
    assert one.table("iostat").equals(many.table("iostat"))
    assert one.table("vmstat").equals(many.table("vmstat"))


def test_more_than_four_digits_behind_the_t():
    text = HEAD + TITLES + _snapshot(1, [1.0] * 6).replace("T0001", "T10000")
    assert read_bytes(text.encode()).table("vmstat")["usr"].to_list() == [1.0]


def test_stamps_without_a_date_have_that_of_the_head_and_pass_midnight():
    text = HEAD.replace("10:00.00", "23:59.50") + TITLES + _snapshot(1, [1.0] * 6) + _snapshot(2, [1.0] * 6)
    text = text.replace("10:01:00,05-FEB-2020", "23:59:55").replace("10:02:00,05-FEB-2020", "00:00:05")
    rows = read_bytes(text.encode()).table("vmstat")
    assert rows["interval_s"].to_list() == [10.0, 10.0]
    assert rows["t_local"][1] % 86400 == 5.0


def test_a_cut_last_value_is_left_out():
    text = HEAD + TITLES + _snapshot(1, [1.0] * 6) + "ZZZZ,T0002,10:02:00,05-FEB-2020\nCPU_ALL,T0002,12.5,1"
    reading = read_bytes(text.encode())
    assert reading.table("vmstat").select("usr", "sys").rows()[-1] == (12.5, None)
    assert any(n.kind == "damaged" for n in reading.account.notes)


def test_a_clock_that_goes_back_is_said():
    text = HEAD + TITLES + _snapshot(59, [1.0] * 6) + _snapshot(2, [1.0] * 6)
    reading = read_bytes(text.encode())
    assert any("the clock goes back by 3420 s" in n.text for n in reading.account.notes)


def test_shares_that_do_not_add_up_prove_nothing():
    reading = read_bytes((HEAD + _snapshot(1, [70.0] * 6)).encode())
    assert "vmstat" not in reading.tables
    assert any(n.text == "no title line, and no sum of 100" for n in reading.account.notes)
