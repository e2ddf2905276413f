"""Tests of mpstat beyond the corpus: generated rows read back, dialects without a sample, damage."""

from __future__ import annotations

import json

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parsers.text.source import Hints, Limits
from tests.draw import examples
from tests.parsers.formats.evidence import read_bytes

HEAD = "CPU minf mjf xcal  intr ithr  csw icsw migr smtx  srw syscl  usr sys  wt idl"
ROWS = (
    "  0 1058  21    0   309  224 1029   65    0    5    0  2825   16  35   0  49",
    "  1   10   0    0   343  244  209    1    0    1    0    64    0   2   0  98",
)
NAMES = "minf mjf xcal intr ithr csw icsw migr smtx srw scall usr sys wa idle".split()
BANNER = "Linux 4.15.0 (db1) \t{} \t_x86_64_\t(2 CPU)"
LINUX = "{}  CPU    %usr   %nice    %sys %iowait    %irq   %soft  %steal  %guest  %gnice   %idle"
LINUX_ROW = "{}  {}    2.71    0.03    2.16    0.00    0.32    0.64    0.00    0.00    0.00   94.14"


def read(*lines, hints=None, limits=None):
    return read_bytes("\n".join([*lines, ""]).encode(), hints or Hints(kind="mpstat"), limits)


def notes(reading):
    return [(n.line_from, n.kind) for n in reading.account.notes]


COUNT = st.integers(0, 10**7)
SHARES = st.integers(0, 100).flatmap(lambda u: st.integers(0, 100 - u).map(lambda s: (u, s, 0, 100 - u - s)))


@given(data=st.data(), cpus=st.lists(st.integers(0, 4095), min_size=1, max_size=5, unique=True))
@settings(max_examples=examples(40), deadline=None, database=None)
def test_tokens_of_solaris_come_back(data, cpus):
    rows = [
        [cpu, *data.draw(st.lists(COUNT, min_size=11, max_size=11)), *data.draw(SHARES)] for cpu in [*sorted(cpus)] * 2
    ]
    texts = [" ".join(map(str, row)) for row in rows]
    table = read(HEAD, *texts[: len(cpus)], HEAD, *texts[len(cpus) :]).table("mpstat")
    assert [list(r) for r in table.select("cpu", *NAMES).rows()] == rows
    assert table["sample"].to_list() == [1] * len(cpus) + [2] * len(cpus)
    assert table["first"].to_list() == [True] * len(cpus) + [False] * len(cpus)


def test_sets_of_processors():
    reading = read(HEAD.replace("CPU", "SET") + " sze", *(f"{row} 4" for row in ROWS))
    assert reading.table("mpstat").select("set_id", "cpu", "sys").rows() == [(0, None, 35), (1, None, 2)]
    assert reading.table("counters").select("item", "name", "value").rows() == [("0", "sze", 4), ("1", "sze", 4)]


def test_p_says_to_which_set_a_cpu_belongs():
    table = read(HEAD + " set", *(f"{row} {i}" for i, row in enumerate(ROWS))).table("mpstat")
    assert table.select("cpu", "set_id", "idle").rows() == [(0, 0, 49), (1, 1, 98)]


@pytest.mark.parametrize(
    ("stamps", "kind", "t"),
    [
        (("1418763773", "1418763774"), "wall-utc", 1418763773),
        (("Mon Dec  2 11:00:00 EST 2013", "Mon Dec  2 11:00:01 EST 2013"), "wall-local", 1385982000),
        (("Mon 02 Dec 2013 11:00:00 AM EST", "Mon 02 Dec 2013 11:00:01 AM EST"), "wall-local", 1385982000),
    ],
)
def test_stamps_of_T_belong_to_the_sample_below(stamps, kind, t):
    reading = read(stamps[0], " " + HEAD, *ROWS, stamps[1], " " + HEAD, *ROWS)
    assert reading.table("mpstat")["t_local"].to_list() == [t, t, t + 1, t + 1]
    assert reading.table("mpstat")["interval_s"].to_list() == [None, None, 1, 1]
    assert [d.kind for d in reading.account.parts[0].domains] == [kind]


def test_one_cpu_prints_its_header_once():
    reading = read(HEAD, *[ROWS[0]] * 4, hints=Hints(kind="mpstat", interval_s=5))
    assert reading.table("mpstat").select("sample", "t_local").rows() == [(1, 0), (2, 5), (3, 10), (4, 15)]


@pytest.mark.parametrize(
    ("times", "seconds"),
    [
        (("23:59:50", "23:59:55", "00:00:00"), (86390, 86395, 86400)),
        (("11:59:50 PM", "11:59:55 PM", "12:00:00 AM"), (86390, 86395, 86400)),
        (("11:59:50 AM", "11:59:55 AM", "12:00:00 PM"), (43190, 43195, 43200)),
        (("23时59分50秒", "23时59分55秒", "00时00分00秒"), (86390, 86395, 86400)),
    ],
)
def test_clocks_of_sysstat(times, seconds):
    a, b, c = times
    reading = read(
        BANNER.format("2019-03-30"), "", LINUX.format(a), *(LINUX_ROW.format(b, x) for x in ("all", "0")),
        "", LINUX.format(b), *(LINUX_ROW.format(c, x) for x in ("all", "0")),
    )  # fmt: skip
    midnight = 1553904000
    table = reading.table("mpstat")
    assert table["t_local"].to_list() == [midnight + s for s in seconds[1:]]
    assert table.select("first", "interval_s").rows() == [(False, 5), (False, 5)]
    assert reading.table("vmstat").select("sample", "usr", "gnice", "idle").rows() == [
        (1, 2.71, 0, 94.14),
        (2, 2.71, 0, 94.14),
    ]
    assert reading.account.account.unknown == 0


def test_a_report_since_boot_has_the_time_of_its_header():
    reading = read(BANNER.format("2019-03-30"), "", LINUX.format("10:00:00"), LINUX_ROW.format("10:00:00", "all"))
    assert reading.table("vmstat").select("first", "interval_s").rows() == [(True, None)]


@pytest.mark.parametrize(
    "word", ["Average:", "Durchschn.:", "Moyenne :", "Média:", "Среднее:", "平均値:", "平均時間："]
)
def test_averages_in_any_language_are_no_samples(word):
    reading = read(
        BANNER.format("2019-03-30"), "", LINUX.format("10:00:00"), LINUX_ROW.format("10:00:05", "all"),
        "", LINUX.format(word), LINUX_ROW.format(word, "all"),
    )  # fmt: skip
    assert len(reading.table("vmstat")) == 1
    assert (7, "remark") in notes(reading)
    assert reading.account.account.unknown == 0


@pytest.mark.parametrize(
    ("date", "day", "asked"),
    [
        ("06/01/20", 18414, True),
        ("03/31/2022", 19082, False),
        ("21.02.2025", 20140, False),
        ("2018-12-18", 17883, False),
    ],
)
def test_dates_of_banners(date, day, asked):
    reading = read(BANNER.format(date), "", LINUX.format("00:00:00"), LINUX_ROW.format("00:00:05", "all"))
    assert reading.table("vmstat")["t_local"].to_list() == [day * 86400 + 5]
    assert ((1, "remark") in notes(reading)) is asked


def test_old_headers_have_interrupts_in_the_row_of_the_cpu():
    head = "10:00:00     CPU   %user   %nice %system %iowait    %irq   %soft   %idle    intr/s"
    reading = read(head, "10:00:05     all    1.00    0.00    2.00    3.00    0.00    0.00   94.00   1234.50")
    row = reading.table("vmstat").row(0, named=True)
    assert (row["usr"], row["sys"], row["wa"], row["intr"], row["st"]) == (1, 2, 3, 1234.5, None)
    assert reading.account.parts[0].domains[0].base is None


def test_interrupts_are_counters():
    reading = read(
        BANNER.format("2019-03-30"), "", "10:00:00  CPU  0/s  LOC/s", "10:00:05    0  1.00  5434.36", "10:00:05    1  0.00  11.00",
        "", "10:00:00  CPU  HI/s  TIMER/s", "10:00:05    0  0.00  13.09", hints=Hints(),
    )  # fmt: skip
    assert reading.account.kind == "mpstat"
    counted = reading.table("counters").select("sample", "grp", "item", "name", "value", "unit", "mode").rows()
    assert counted[1] == (1, "irq", "0", "LOC/s", 5434.36, "/s", "rate")
    assert counted[-1] == (1, "softirq", "0", "TIMER/s", 13.09, "/s", "rate")


def test_aix_has_rows_for_all_and_for_what_is_unused():
    head = "cpu  min  maj  mpc  int   cs  ics   rq  mig lpa sysc us sy wa id   pc  %ec  lcs"
    reading = read(
        "System configuration: lcpu=2 ent=1.0 mode=Uncapped", "", head,
        "  0    1    2    3  166  127   65    1    0 100   45 51 41  0  8 0.00  0.4  134",
        "  1    0    0    0   10    0    0    0    0   -    0  0 17  0 83 0.00  0.2   10",
        "  U    -    -    -    -    -    -    -    -   -    -  -  -  0 99 0.99 99.4    -",
        "ALL    1    2    3  176  127   65    1    0 100   45  0  0  0 100 0.01  0.6  144",
        "-----------------------------------------------------------------------------",
        "  0    0    0    0  166  127   65    1    0 100   45 51 41  0  8 0.00  0.4  134",
        hints=Hints(),
    )  # fmt: skip
    assert reading.account.parts[0].variant == "aix"
    table = reading.table("mpstat")
    assert table.select("sample", "cpu", "csw", "migr", "usr", "ec").rows() == [
        (1, 0, 127, 0, 51, 0.4),
        (1, 1, 0, 0, 0, 0.2),
        (2, 0, 127, 0, 51, 0.4),
    ]
    host = reading.table("vmstat").row(0, named=True)
    assert (host["sample"], host["cs"], host["intr"], host["scall"], host["idle"], host["pc"]) == (
        1,
        127,
        176,
        45,
        100,
        0.01,
    )
    unused = reading.table("counters").filter(pl.col("item") == "U")
    assert dict(unused.select("name", "value").iter_rows()) == {"wa": 0, "id": 99, "pc": 0.99, "%ec": 99.4}
    assert table["first"].to_list() == [None, None, False]
    assert reading.account.account.unknown == 0


def report(cpus):
    load = {
        "usr": 2.15,
        "nice": 12.5,
        "sys": 1.84,
        "iowait": 0.12,
        "irq": 0.34,
        "soft": 0.19,
        "steal": 0.0,
        "guest": 0.0,
        "gnice": 0.0,
        "idle": 82.88,
    }
    return {
        "cpu-load": [{"cpu": c, **load} for c in cpus],
        "sum-interrupts": [{"cpu": c, "intr": 35.5} for c in cpus],
        "soft-interrupts": [{"cpu": "0", "intr": [{"name": "HI", "value": 0.5}, {"name": "TIMER", "value": 13.09}]}],
    }


@pytest.mark.parametrize("indent", [None, 1])
def test_json_of_any_layout(indent):
    times = ("23:59:58", "00:00:03")
    host = {"nodename": "db1", "release": "4.15.0", "number-of-cpus": 2, "date": "2019-03-30"}
    host["statistics"] = [{"timestamp": t, **report(["all", "0", "1"])} for t in times]
    text = json.dumps({"sysstat": {"hosts": [host]}}, indent=indent)
    reading = read(text, hints=Hints())
    assert reading.account.parts[0].variant == "json"
    table = reading.table("mpstat")
    assert table.select("sample", "cpu", "usr", "wa", "idle").rows() == [
        (s, c, 2.15, 0.12, 82.88) for s in (1, 2) for c in (0, 1)
    ]
    assert reading.table("vmstat")["t_local"].to_list() == [1553990398, 1553990403]
    assert reading.table("vmstat")["interval_s"].to_list() == [None, 5]
    counted = (
        reading.table("counters").select("grp", "item", "name", "value").unique().sort("grp", "item", "name").rows()
    )
    assert counted == [
        ("softirq", "0", "HI", 0.5),
        ("softirq", "0", "TIMER", 13.09),
        ("sum", "0", "intr", 35.5),
        ("sum", "1", "intr", 35.5),
        ("sum", "all", "intr", 35.5),
    ]
    assert reading.account.account.unknown == 0


def test_a_paste_on_one_line_is_cut_where_it_adds_up():
    reading = read(" ".join(" ".join([HEAD, *ROWS]).split()), hints=Hints())
    assert reading.account.kind == "mpstat"
    assert reading.table("mpstat").select("line_no", "cpu", "sys").rows() == [(1, 0, 35), (1, 1, 2)]
    assert (1, "repaired") in notes(reading)


def test_wrapped_rows_are_joined():
    cut = [part for row in (HEAD, *ROWS) for part in (row[:48], row[48:])]
    assert read(*cut).table("mpstat").select("line_no", "line_end", "idle").rows() == [(3, 4, 49), (5, 6, 98)]


def test_fused_rows_are_parted():
    flat = " ".join(" ".join([HEAD, *ROWS]).split()).replace("0 49 1 10", "0 491 10")
    assert read(flat).table("mpstat").select("cpu", "idle").rows() == [(0, 49), (1, 98)]


def test_rows_without_a_header_are_proved_by_their_shares():
    reading = read(*ROWS, ROWS[1].replace("  1 ", "  2 ", 1), hints=Hints())
    assert reading.account.kind == "mpstat"
    assert reading.table("mpstat").select("cpu", "sys", "first").rows() == [
        (0, 35, False),
        (1, 2, False),
        (2, 2, False),
    ]
    assert (1, "repaired") in notes(reading)


def test_lost_leading_blanks_tabs_and_collapsed_blanks():
    plain = read(HEAD, *ROWS).table("mpstat")
    for change in (str.strip, lambda x: " ".join(x.split()), lambda x: "\t".join(x.split())):
        assert read(change(HEAD), *map(change, ROWS)).table("mpstat").equals(plain)


def test_a_cut_row_is_damaged_and_a_change_of_state_a_log_line():
    reading = read(HEAD, ROWS[0], "<<processors removed: 1, 3>>", HEAD, ROWS[0], ROWS[1][:50])
    assert reading.table("mpstat")["line_no"].to_list() == [2, 5]
    assert reading.account.account.damaged == 1
    assert reading.table("logs")["text"].to_list() == ["<<processors removed: 1, 3>>"]


def test_a_decimal_comma():
    row = LINUX_ROW.format("10:00:05", "all").replace(".", ",")
    reading = read(BANNER.format("21.02.2025"), "", LINUX.format("10:00:00"), row)
    assert reading.table("vmstat").select("usr", "idle").rows() == [(2.71, 94.14)]


def test_a_file_cut_into_runs_is_read_alike():
    blocks = []
    for second in range(0, 50, 5):
        blocks += ["", LINUX.format(f"23:59:{second:02}")]
        blocks += [LINUX_ROW.format(f"23:59:{second + 5:02}", x) for x in ("all", "0", "1")]
    text = [BANNER.format("2019-03-30"), *blocks]
    whole, parts = (read(*text, limits=Limits(run_bytes=size)) for size in (10**6, 900))
    assert whole.table("mpstat").equals(parts.table("mpstat"))
    assert whole.table("vmstat").equals(parts.table("vmstat"))
    assert whole.account.account == parts.account.account
