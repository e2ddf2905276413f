"""Tests of vmstat beyond the corpus: generated rows read back, dialects without a sample, damage."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parsers.text.source import Hints, Limits
from tests.draw import examples
from tests.parsers.formats.evidence import read_bytes

LINUX = (
    "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----\n"
    " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st"
)
LINUX_ROWS = (
    " 2  0      0 2794468   2108 741208    0    0     1     3   29   57  0  0 99  1  0",
    " 0  1      4 2794460   2108 741210    0    0    10    30  290  570 10  5 80  5  0",
)
SOLARIS = (
    " kthr      memory            page            disk          faults      cpu\n"
    " r b w   swap  free  re  mf pi po fr de sr s0 s1 s2 --   in   sy   cs us sy id"
)
AIX = (
    "System configuration: lcpu=8 mem=2048MB ent=0.20 mode=Uncapped\n\n"
    "kthr    memory              page              faults              cpu\n"
    "----- ----------- ------------------------ ------------ -----------------------\n"
    " r  b   avm   fre  re  pi  po  fr   sr  cy  in   sy  cs us sy id wa    pc    ec"
)
AIX_ROW = " 2  0 393884 91900   0   1   0   0    0   7 104 4201 515 40  9 51  0  0.16  81.2"


def read(*lines, hints=None, limits=None):
    return read_bytes("\n".join([*lines, ""]).encode(), hints or Hints(kind="vmstat"), limits)


def notes(reading):
    return [(n.line_from, n.kind) for n in reading.account.notes]


COUNT = st.integers(0, 10**7)
SHARES = st.integers(0, 100).flatmap(lambda u: st.integers(0, 100 - u).map(lambda s: (u, s, 100 - u - s)))


@given(rows=st.lists(st.tuples(st.lists(COUNT, min_size=19, max_size=19), SHARES), min_size=1, max_size=6))
@settings(max_examples=examples(40), deadline=None, database=None)
def test_tokens_of_solaris_come_back(rows):
    reading = read(SOLARIS, *(" ".join(map(str, [*head, *shares])) for head, shares in rows))
    table, disks = reading.table("vmstat"), reading.table("iostat")
    pages = "r b w swap_free_kb free_kb re mf pi_kbps po_kbps fr_kbps de_kb sr".split()
    rest = "intr scall cs usr sys idle".split()
    assert disks["device"].to_list() == ["s0", "s1", "s2", "4"] * len(rows)
    for place, (head, shares) in enumerate(rows):
        cells = list(table.select(pages).row(place)) + disks["io_ps"].to_list()[place * 4 : place * 4 + 4]
        assert [*cells, *table.select(rest).row(place)] == [*head, *shares]
    assert table["first"].to_list() == [True] + [False] * (len(rows) - 1)


@given(rows=st.lists(st.tuples(st.lists(COUNT, min_size=12, max_size=12), SHARES), min_size=1, max_size=6))
@settings(max_examples=examples(40), deadline=None, database=None)
def test_tokens_of_linux_with_stamps_come_back(rows):
    texts = [
        " ".join(map(str, [*head, *shares, 0, 0])) + f" 2021-09-16 23:59:{10 * i:02}"
        for i, (head, shares) in enumerate(rows)
    ]
    reading = read(LINUX + "                 UTC", *texts)
    names = (
        "r b swap_used_kb free_kb buff_kb cache_kb si_kbps so_kbps bi_kbps bo_kbps intr cs usr sys idle wa st".split()
    )
    assert [list(r) for r in reading.table("vmstat").select(names).rows()] == [[*h, *s, 0, 0] for h, s in rows]
    assert reading.table("vmstat")["interval_s"].to_list() == [None] + [10.0] * (len(rows) - 1)
    assert [(d.kind, d.zone) for d in reading.account.parts[0].domains] == [("wall-local", "UTC")]


def test_units_of_aix_are_pages_and_the_partition_is_a_host():
    reading = read(AIX, AIX_ROW, AIX_ROW)
    row = reading.table("vmstat").row(0, named=True)
    assert (row["avm_kb"], row["free_kb"], row["pi_kbps"], row["pc"], row["ec"]) == (1575536, 367600, 4, 0.16, 81.2)
    # Whether the first row is since boot depends on release and options.
    assert reading.table("vmstat")["first"].to_list() == [None, False]
    assert (
        reading.table("counters").filter(pl.col("name") == "cy").select("value", "unit").rows() == [(7, "cycles")] * 2
    )
    host = reading.table("hosts").row(0, named=True)
    assert (host["ncpu"], host["mem_kb"], host["ent"], host["capped"]) == (8, 2048 * 1024, 0.2, False)


def test_partitions_of_aix_are_not_the_host():
    head = AIX.replace("kthr ", "wpar kthr ").replace(" r  b", "      r  b")
    reading = read(head, "System" + AIX_ROW, "wpar1 " + AIX_ROW.replace("0.16  81.2", "   -     -"))
    assert reading.table("vmstat")["usr"].to_list() == [40]
    wpar = reading.table("counters").filter(pl.col("grp") == "wpar")
    assert wpar["item"].unique().to_list() == ["wpar1"]
    assert dict(wpar.select("name", "value").iter_rows())["scall"] == 4201
    assert reading.account.account.unknown == 0


def test_columns_of_aix_I_W():
    head = " r  b  p  w   avm   fre  fi  fo  pi  po  fr   sr  in   sy  cs us sy id wa"
    reading = read(head, " 1  2  3  4 181682 835636   5   6   0   0   0    0   5  271  73  0  0 99  1")
    assert reading.account.parts[0].variant == "aix"
    row = reading.table("vmstat").row(0, named=True)
    assert (row["r"], row["b"], row["p"], row["w"], row["wa"]) == (1, 2, 3, None, 1)
    counted = reading.table("counters").select("name", "value", "unit").rows()
    assert counted == [("w", 4, "threads"), ("fi", 5, "pages/s"), ("fo", 6, "pages/s")]


def test_columns_of_hpux():
    head = (
        "         procs           memory                   page                              faults       cpu\n"
        "    r     b     w      avm    free   re   at    pi   po    fr   de    sr     in     sy    cs  us sy id"
    )
    reading = read(
        head, "    2     0     0    95618   20210    1    2     3    4     5    6     7    508   3051   320   7  3 90"
    )
    assert reading.account.parts[0].variant == "hpux"
    row = reading.table("vmstat").row(0, named=True)
    assert (row["avm_kb"], row["pi_kbps"], row["sr"], row["scall"], row["sys"]) == (95618 * 4, 12, 7, 3051, 3)
    assert reading.table("counters").select("name", "value").rows() == [("at", 2), ("de", 6)]


def test_sizes_of_freebsd_have_suffixes():
    head = (
        " procs    memory    page                      disks     faults       cpu\n"
        " r  b  w  avm  fre  flt  re  pi  po   fr   sr ada0 pas0   in   sy   cs us sy id"
    )
    reading = read(head, " 0  0  0 524M 1.5G  281   0   0   0  305   12    1    0   14  240  197  1  1 98")
    row = reading.table("vmstat").row(0, named=True)
    assert (row["avm_kb"], row["free_kb"], row["mf"], row["sr"]) == (524 * 1024, 1.5 * 1024 * 1024, 281, 12)
    assert reading.account.parts[0].variant == "bsd"


def test_paging_of_solaris_p():
    head = (
        "     memory           page          executable      anonymous      filesystem\n"
        "   swap  free  re  mf  fr  de  sr  epi  epo  epf  api  apo  apf  fpi  fpo  fpf"
    )
    reading = read(head, " 2876068 2470716 77 324 0 0 0 1 2 3 44 55 6 7 8 9")
    row = reading.table("vmstat").row(0, named=True)
    assert (row["swap_free_kb"], row["api_kbps"], row["apo_kbps"], row["usr"]) == (2876068, 44, 55, None)
    assert dict(reading.table("counters").select("name", "value").iter_rows())["fpf"] == 9


@pytest.mark.parametrize(("unit", "kb"), [("k", 1000 / 1024), ("K", 1), ("m", 1e6 / 1024), ("M", 1024)])
def test_the_prompt_tells_what_linux_S_counts_in(unit, kb):
    reading = read(LINUX, *LINUX_ROWS, hints=Hints(kind="vmstat", command=f"vmstat -t -S {unit} 5", interval_s=5))
    table = reading.table("vmstat")
    assert table["free_kb"][0] == pytest.approx(2794468 * kb)
    assert table["bo_kbps"].to_list() == [3, 30]
    assert table["t_local"].to_list() == [0, 5]


def test_columns_in_another_order_and_new_ones():
    reading = read(" us sy id wa st gu  r  b   free zz   in   cs", "  1  2 96  1  0  3  4  5  12345  6  100  200")
    row = reading.table("vmstat").row(0, named=True)
    assert (row["r"], row["usr"], row["gu"], row["free_kb"], row["cs"]) == (4, 1, 3, 12345, 200)
    assert reading.table("counters").select("name", "value").rows() == [("zz", 6)]


def test_sums_since_boot_of_linux_and_aix():
    reading = read(
        "      2041456 K total memory",
        "       100 K used memory",
        "  5000 non-nice user cpu ticks",
        "  77 CPU context switches",
    )
    rows = reading.table("counters").select("grp", "name", "value", "unit", "mode").rows()
    assert rows[0] == ("vmstat_s", "total memory", 2041456, "kB", "level")
    assert rows[3] == ("vmstat_s", "CPU context switches", 77, None, "total")
    reading = read(
        "     4980736 memory pages", "     4784448 lruable pages", "        80.0 maxperm percentage", hints=Hints()
    )
    assert reading.account.parts[0].variant == "aix"
    assert reading.table("counters")["grp"].unique().to_list() == ["vmstat_v"]


def test_disks_of_linux_d_have_rates_between_stamps():
    head = (
        "disk- ------------reads------------ ------------writes----------- -----IO------ -----timestamp-----\n"
        "       total merged sectors      ms  total merged sectors      ms    cur    sec                 UTC"
    )
    one = "sda    100      0    1000     400    200      0    4000     800      1     10 2021-09-16 20:32:28"
    two = "sda    150      0    3000     500    200      0    4000     800      0     15 2021-09-16 20:32:38"
    row = read(head, one, head, two).table("iostat").row(1, named=True)
    assert (row["sample"], row["interval_s"], row["r_ps"], row["w_ps"]) == (2, 10, 5, 0)
    assert (row["r_kbps"], row["r_resp_ms"], row["w_resp_ms"], row["busy_pct"]) == (100, 2, None, 50)


def test_a_paste_on_one_line_is_cut_where_it_adds_up():
    flat = " ".join(" ".join([LINUX, *LINUX_ROWS]).split())
    reading = read(flat, hints=Hints())
    assert reading.account.kind == "vmstat"
    table = reading.table("vmstat")
    assert table.select("line_no", "cs", "idle").rows() == [(1, 57, 99), (1, 570, 80)]
    assert (1, "repaired") in notes(reading)


@pytest.mark.parametrize("width", [72, 60, 48])
def test_wrapped_rows_are_joined(width):
    def wrap(text):
        words, lines = text.split(), [""]
        for word in words:
            if len(lines[-1]) + len(word) >= width:
                lines.append("")
            lines[-1] += " " + word
        return lines

    lines = [LINUX.split("\n")[0], *wrap(LINUX.split("\n")[1]), *wrap(LINUX_ROWS[0]), *wrap(LINUX_ROWS[1])]
    table = read(*lines).table("vmstat")
    assert table.select("free_kb", "cs", "idle", "st").rows() == [(2794468, 57, 99, 0), (2794460, 570, 80, 0)]
    assert (table["line_end"] >= table["line_no"]).all()


def test_rows_that_do_not_add_up_are_not_taken_out_of_a_stream():
    flat = " ".join(" ".join([LINUX, *LINUX_ROWS]).split()).replace(" 99 ", " 44 ")
    reading = read(flat, hints=Hints(kind="vmstat", variant="linux"))
    assert "vmstat" not in reading.tables


def test_lost_leading_blanks_tabs_and_collapsed_blanks():
    plain = read(LINUX, *LINUX_ROWS).table("vmstat")
    for change in (str.strip, lambda x: " ".join(x.split()), lambda x: "\t".join(x.split())):
        assert read(*map(change, LINUX.split("\n")), *map(change, LINUX_ROWS)).table("vmstat").equals(plain)


def test_rows_without_a_header_are_proved_by_their_shares():
    reading = read(*LINUX_ROWS, hints=Hints())
    assert reading.account.kind == "vmstat"
    assert reading.table("vmstat").select("cs", "wa", "first").rows() == [(57, 1, False), (570, 5, False)]
    assert (1, "repaired") in notes(reading)
    reading = read(*(r.replace(" 99 ", " 44 ").replace(" 80 ", " 44 ") for r in LINUX_ROWS), hints=Hints())
    assert reading.error is not None


def test_a_word_too_many_keeps_pages_and_shares():
    row = " 5 3 0 2876068 2470716 77 324 0 0  0  0 89 21  0  1  0  580 7 8397  904  3  5 92"
    reading = read(SOLARIS, row)
    got = reading.table("vmstat").row(0, named=True)
    assert (got["sr"], got["usr"], got["idle"]) == (89, 3, 92)
    assert (got["scall"], got["intr"]) == (None, None)
    assert (3, "repaired") in notes(reading)


def test_a_cut_row_is_damaged():
    reading = read(LINUX, *LINUX_ROWS, LINUX_ROWS[0][:40])
    assert len(reading.table("vmstat")) == 2
    assert reading.account.account.damaged == 1


def test_a_header_in_the_middle_is_no_new_run():
    table = read(LINUX, *LINUX_ROWS, LINUX, *LINUX_ROWS).table("vmstat")
    assert table["first"].to_list() == [True, False, False, False]
    assert table["sample"].to_list() == [1, 2, 3, 4]


def test_midnight_is_a_new_day_and_a_step_back_is_not():
    rows = [f"{AIX_ROW} {t}" for t in ("23:59:50", "23:59:55", "00:00:00", "00:00:05", "00:00:01")]
    reading = read(AIX + " hr mi se", *rows, hints=Hints(kind="vmstat", date="2019-03-30"))
    t = reading.table("vmstat")["t_local"]
    assert (t - t[0]).to_list() == [0, 5, 10, 15, 11]
    assert reading.table("vmstat")["interval_s"].to_list() == [None, 5, 5, 5, None]
    assert t[0] == 1553990390


def test_a_changed_zone_is_another_clock():
    dates = ["Sun Nov  3 01:59:50 EDT 2013", "Sun Nov  3 01:00:00 EST 2013"]
    row = " 5 3 0 2876068 2470716 77 324 0 0  0  0 89 21  0  1  0  580 2862  904  3  5 92"
    reading = read(SOLARIS, dates[0], row, dates[1], row, hints=Hints(kind="vmstat", interval_s=10))
    assert [(d.zone, d.lines) for d in reading.account.parts[0].domains] == [("EDT", [(4, 4)]), ("EST", [(6, 6)])]


def test_values_that_cannot_be_are_left_out():
    reading = read(AIX, AIX_ROW.replace("   0    0   7", "   0 4636223281790821470   7"))
    row = reading.table("vmstat").row(0, named=True)
    assert (row["sr"], row["usr"]) == (None, 40)
    assert (6, "damaged") in notes(reading)


def test_decimal_commas_of_a_german_locale():
    row = read(AIX.replace("0.20", "0,20"), AIX_ROW.replace(".", ",")).table("vmstat").row(0, named=True)
    assert (row["pc"], row["ec"]) == (0.16, 81.2)


def test_a_change_of_state_is_a_log_line():
    row = " 5 3 0 2876068 2470716 77 324 0 0  0  0 89 21  0  1  0  580 2862  904  3  5 92"
    reading = read(SOLARIS, row, "<<device added: sd0>>", row)
    assert reading.table("logs").select("line_no", "source", "text").rows() == [(4, "tool", "<<device added: sd0>>")]
    assert len(reading.table("vmstat")) == 2


def test_a_file_cut_into_runs_is_read_alike():
    text = "\n".join([AIX + " hr mi se", *[f"{AIX_ROW} 23:{m:02}:00" for m in range(40)], f"{AIX_ROW} 00:01:00"] * 3)
    whole, parts = (read(text, limits=Limits(run_bytes=size)) for size in (10**6, 700))
    assert whole.table("vmstat").equals(parts.table("vmstat"))
    assert whole.account.account == parts.account.account
