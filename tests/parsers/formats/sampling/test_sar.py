"""Tests of sar, sadf and pidstat beyond the corpus."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parsers.text.source import Hints, Limits
from parsers.text.times import wall_text
from tests.draw import examples
from tests.parsers.formats.evidence import read_bytes

LINUX = "Linux 5.4.0 (db1) \t{date} \t_x86_64_\t(4 CPU)\n\n"
CPU = "        CPU     %user     %nice   %system   %iowait    %steal     %idle\n"
FEW = settings(max_examples=examples(25), deadline=None, database=None)


@FEW
@given(
    rows=st.lists(st.lists(st.integers(0, 10000), min_size=6, max_size=6), min_size=1, max_size=6), comma=st.booleans()
)
def test_the_numbers_of_a_section_come_out_again(rows, comma):
    text = LINUX.format(date="2020-02-28") + "10:00:00" + CPU
    for i, row in enumerate(rows, start=1):
        cells = " ".join(f"{n / 100:.2f}" for n in row)
        text += f"10:00:{i:02}        all      {cells.replace('.', ',') if comma else cells}\n"
    table = read_bytes(text.encode()).table("vmstat")
    assert table.select("usr", "nice", "sys", "wa", "st", "idle").rows() == [tuple(n / 100 for n in r) for r in rows]
    assert table["interval_s"].to_list() == [1.0] * len(rows)
    assert table["sample"].to_list() == list(range(1, len(rows) + 1))


def test_sections_of_a_moment_share_their_sample():
    text = (
        LINUX.format(date="2020-02-28") + "10:00:00" + CPU + "10:10:00 all 1 0 1 0 0 98\n10:20:00 all 2 0 1 0 0 97\n\n"
    )
    text += "10:00:00      runq-sz  plist-sz   ldavg-1\n10:10:00            3       400      1.00\n10:20:00            9       400      4.00\n"
    rows = read_bytes(text.encode()).table("vmstat")
    assert rows.select("sample", "usr", "r").rows() == [(1, 1.0, None), (2, 2.0, None), (1, None, 3.0), (2, None, 9.0)]


def test_a_new_banner_begins_a_new_day_and_samples_go_on():
    day = "23:50:00" + CPU + "23:59:59 all 1 0 1 0 0 98\n00:10:00 all 1 0 1 0 0 98\n\n"
    text = LINUX.format(date="2020-02-28") + day + LINUX.format(date="2020-03-05") + day
    rows = read_bytes(text.encode()).table("vmstat")
    assert rows["sample"].to_list() == [1, 2, 3, 4]
    assert [wall_text(t)[:16] for t in rows["t_local"]] == [
        "2020-02-28T23:59",
        "2020-02-29T00:10",
        "2020-03-05T23:59",
        "2020-03-06T00:10",
    ]


def test_a_clock_that_goes_back_is_said_and_not_repaired():
    text = LINUX.format(date="2020-10-25") + "02:40:00" + CPU + "02:50:00 all 1 0 1 0 0 98\n02:00:00 all 1 0 1 0 0 98\n"
    reading = read_bytes(text.encode())
    rows = reading.table("vmstat")
    assert rows["t_local"][1] - rows["t_local"][0] == -3000.0
    assert rows["interval_s"].to_list() == [600.0, None]
    assert [n.line_from for n in reading.account.notes if "goes back by 3000 s" in n.text] == [5]


@pytest.mark.parametrize(
    ("date", "day", "doubt"), [("03/04/20", "2020-03-04", True), ("18.02.2020", "2020-02-18", False)]
)
def test_day_and_month_that_may_be_swapped_are_asked(date, day, doubt):
    text = LINUX.format(date=date) + "10:00:00" + CPU + "10:10:00 all 1 0 1 0 0 98\n"
    reading = read_bytes(text.encode())
    assert wall_text(reading.table("vmstat")["t_local"][0])[:10] == day
    assert any("day/month/year would be" in n.text for n in reading.account.notes) is doubt


def test_solaris_pages_and_blocks_are_kilobytes():
    text = "SunOS h 5.11 11.3 sun4v    05/26/2017\n\n08:00:00 freemem freeswap\n08:20:00  371880 14103564\n"
    assert read_bytes(text.encode()).table("vmstat").select("free_kb", "swap_free_kb").rows() == [
        (2975040.0, 7051782.0)
    ]


def test_equal_times_of_header_and_row_are_since_boot():
    text = (
        LINUX.format(date="2020-02-28") + "10:00:00      UID       PID    %usr %system  %guest    %CPU   CPU  Command\n"
    )
    text += "10:00:00        0         1    0.01    0.02    0.00    0.03     1  systemd\n"
    rows = read_bytes(text.encode()).table("ps")
    assert rows.select("first", "pid", "uid", "cpu_no", "comm").rows() == [(True, 1, 0, 1, "systemd")]


def test_pidstat_h_prints_the_time_in_each_row():
    text = (
        LINUX.format(date="2020-02-28") + "# Time        UID       PID    %usr %system  %guest    %CPU   CPU  Command\n"
    )
    text += "1582884000        0        12    1.00    2.00    0.00    3.00     1  ora_pmon_QDB\n"
    reading = read_bytes(text.encode())
    assert reading.table("ps").select("t_local", "cpu_pct").rows() == [(1582884000.0, 3.0)]
    assert reading.account.parts[0].domains[0].kind == "wall-utc"


def test_averages_in_another_language_are_no_samples():
    text = (
        LINUX.format(date="2020-02-28") + "10:00:00" + CPU + "10:10:00 all 1 0 1 0 0 98\nMoyenne :   all 1 0 1 0 0 98\n"
    )
    reading = read_bytes(text.encode())
    assert len(reading.table("vmstat")) == 1
    assert reading.account.account.unknown == 0


def test_rows_without_a_header_stay_unknown():
    text = LINUX.format(date="2020-02-28") + "10:10:00 LINUX RESTART\n\n10:20:00 all 1.00 2.00\n"
    reading = read_bytes(text.encode())
    assert reading.account.account.unknown == 1
    assert list(reading.tables) == ["hosts", "logs", "notes"] or "vmstat" not in reading.tables


def test_sizes_for_people_are_turned_into_kilobytes():
    text = (
        LINUX.format(date="2020-02-28")
        + "10:00:00    kbmemfree kbmemused  %memused\n10:10:00         1.5G    800.0M     34.1%\n"
    )
    reading = read_bytes(text.encode())
    assert reading.table("vmstat")["free_kb"].to_list() == [1572864.0]
    assert reading.table("counters").select("name", "value").rows() == [("kbmemused", 819200.0), ("%memused", 34.1)]


DATA = st.lists(
    st.tuples(st.integers(0, 10000), st.integers(0, 10000), st.integers(0, 10**6), st.integers(0, 10**8), st.integers(0, 10000)),
    min_size=1,
    max_size=4,
)  # fmt: skip


@settings(max_examples=examples(30), deadline=None)
@given(DATA, st.sampled_from(["p", "x"]), st.sampled_from([150, 1_000_000]))
def test_figures_of_sadf_come_out_again_wherever_the_text_is_cut(samples, form, block_bytes):
    text = ""
    for n, (usr, idle, cs, free, busy) in enumerate(samples):
        second = f"{n + 1:02d}"
        if form == "p":
            front = f"h\t60\t2026-01-02 03:04:{second} UTC\t"
            pairs = [
                ("all", "%user", usr / 100),
                ("all", "%idle", idle / 100),
                ("cpu1", "%user", 1),
                ("cpu1", "%idle", 2),
                ("-", "proc/s", 1),
            ]
            pairs += [
                ("-", "cswch/s", cs),
                ("-", "kbmemfree", free),
                ("-", "kbmemused", 5),
                ("sda", "tps", 4),
                ("sda", "%util", busy / 100),
            ]
            text += "".join(f"{front}{item}\t{name}\t{value}\n" for item, name, value in pairs)
        else:
            text += f'<timestamp date="2026-01-02" time="03:04:{second}" utc="1" interval="60">\n<cpu-load>\n'
            text += f'<cpu number="all" user="{usr / 100}" idle="{idle / 100}"/>\n<cpu number="1" user="1" idle="2"/>\n</cpu-load>\n'
            text += f'<process-and-context-switch per="second" proc="1" cswch="{cs}"/>\n<memory unit="kB">\n<memfree>{free}</memfree>\n'
            text += f'<memused>5</memused>\n</memory>\n<disk per="second">\n<disk-device dev="sda" tps="4" util-percent="{busy / 100}"/>\n'
            text += "</disk>\n</timestamp>\n"
    hints, limits = Hints(kind="sar", variant="sadf"), Limits(block_bytes=block_bytes)
    reading = read_bytes(text.encode(), hints, limits)
    assert reading.account.account.unknown == 0
    host = reading.table("vmstat")
    numbers = range(1, len(samples) + 1)
    start = datetime(2026, 1, 2, 3, 4, tzinfo=UTC).timestamp()
    shares = host.drop_nulls("usr").select("sample", "t_local", "interval_s", "usr", "idle").rows()
    assert shares == [(n, start + n, 60.0, u / 100, i / 100) for n, (u, i, *_) in zip(numbers, samples, strict=True)]
    assert host["cs"].drop_nulls().to_list() == [cs for _, _, cs, _, _ in samples]
    assert host["free_kb"].drop_nulls().to_list() == [free for *_, free, _ in samples]
    assert reading.table("mpstat").select("cpu", "usr", "idle").unique().rows() == [(1, 1.0, 2.0)]
    disks = reading.table("iostat").select("device", "io_ps", "busy_pct").rows()
    assert disks == [("sda", 4.0, busy / 100) for *_, busy in samples]
