"""Tests of prstat, top and topas: rows rebuilt from the columns, and the effect of damage."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from parsers.text.source import Hints, Limits
from tests.draw import examples
from tests.parsers.formats.evidence import parse_bytes, read_bytes

HEAD = "   PID USERNAME  SIZE   RSS STATE  PRI NICE      TIME  CPU PROCESS/NLWP\n"
MICRO = "   PID USERNAME USR SYS TRP TFL DFL LCK SLP LAT VCX ICX SCL SIG PROCESS/LWPID\n"
ROW = st.tuples(
    st.integers(1, 99999),
    st.sampled_from(["root", "oracle", "cut_nam*"]),
    st.integers(1, 9999),
    st.sampled_from(["K", "M", "G"]),
    st.sampled_from(["sleep", "run", "cpu12", "zombie"]),
    st.one_of(st.none(), st.integers(-20, 19)),
    st.integers(0, 400_000_000),
    st.integers(0, 99),
    st.sampled_from(["java", "my prog", "a/b", "x.y-z"]),
    st.integers(1, 999),
)
FACTOR = {"K": 1.0, "M": 1024.0, "G": 1024.0**2}


@settings(max_examples=examples(60), deadline=None, database=None)
@given(rows=st.lists(ROW, min_size=1, max_size=6))
def test_the_tokens_come_out_of_the_columns_again(rows):
    text = HEAD
    for pid, user, size, suffix, state, nice, time, cpu, name, threads in rows:
        clock = f"{time // 3600}:{time // 60 % 60:02d}:{time % 60:02d}"
        shown = "-" if nice is None else nice
        text += f"{pid:6d} {user:8} {size}{suffix} {size}K {state:6} {59:3d} {shown:>4} {clock:>9} {cpu}% {name}/{threads}\n"
    found = parse_bytes(text.encode(), "prstat", "prstat").tables["ps"]
    columns = ("pid", "login", "vsz_kb", "rss_kb", "state", "cpu_no", "nice", "cpu_time_s", "cpu_pct", "comm", "nlwp")
    assert found.select(columns).rows() == [
        (
            p,
            u,
            n * FACTOR[k],
            float(n),
            "cpu" if s == "cpu12" else s,
            12 if s == "cpu12" else None,
            i,
            float(t),
            float(c),
            a,
            w,
        )
        for p, u, n, k, s, i, t, c, a, w in rows
    ]


def test_counts_are_rates_only_where_the_interval_is_known():
    text = (MICRO + " 74241 root     4.9 4.9 0.0 0.0 0.0 0.0  90 0.5 917  15 11K   0 dnx/29\n").encode()
    plain = read_bytes(text)
    assert plain.table("microstates").select("vcx", "scl", "slp", "lwp").rows() == [(None, None, 90.0, 29)]
    assert any("interval" in n.text for n in plain.account.notes)
    microstates = read_bytes(text, Hints(command="prstat -mLc 5 12")).table("microstates")
    assert microstates.select("vcx", "icx", "scl", "sig", "first").rows() == [(183.4, 3.0, 2200.0, 0.0, True)]


def test_a_decimal_comma_is_read():
    text = (MICRO + "   255 root     0,1 0,2 0,0 0,0 0,0 0,0 100 0,0   5   0  12   0 xntpd/1\n").encode()
    assert read_bytes(text).table("microstates").select("usr", "sys", "slp").rows() == [(0.1, 0.2, 100.0)]


def test_the_head_of_top_says_what_the_host_does():
    text = b"""top - 23:59:58 up 2 min,  2 users,  load average: 0.23, 0.22, 0.09
Tasks: 112 total,   1 running, 111 sleeping,   0 stopped,   0 zombie
%Cpu(s):  5.9 us,  1.9 sy,  0.5 ni, 88.2 id,  0.1 wa,  0.2 hi,  0.3 si,  0.4 st
MiB Mem :   3770.8 total,   3365.7 free,    211.9 used,    193.3 buff/cache
MiB Swap:   2048.0 total,   2047.0 free,      1.0 used.   3339.2 avail Mem

   PID USER      PR  NI    VIRT    RES    SHR S %CPU %MEM     TIME+ COMMAND
     1 root      rt   0  161888   2.1g   1520 R  6.2  0.1   1:01.50 top

top - 00:00:01 up 2 min,  2 users,  load average: 0.33, 0.22, 0.09
"""
    reading = read_bytes(text, Hints(date="2015-06-10"))
    host = reading.table("vmstat")
    assert host["t_local"].to_list() == [86398.0] * 4 + [86401.0]
    assert host["sample"].to_list() == [1, 1, 1, 1, 2]
    assert host.select("usr", "sys", "nice", "idle", "wa", "irq", "soft", "st").row(1) == (
        5.9,
        1.9,
        0.5,
        88.2,
        0.1,
        0.2,
        0.3,
        0.4,
    )
    assert host["free_kb"][2] == pytest.approx(3365.7 * 1024)
    assert host.select("swap_free_kb", "swap_used_kb").row(3) == (2047.0 * 1024, 1024.0)
    memory = dict(reading.table("meminfo").select("name", "value").rows())
    assert {k: round(v / 1024, 1) for k, v in memory.items()} == {
        "MemTotal": 3770.8,
        "MemFree": 3365.7,
        "MemUsed": 211.9,
        "BuffCache": 193.3,
        "SwapTotal": 2048.0,
        "SwapFree": 2047.0,
        "SwapUsed": 1.0,
        "MemAvailable": 3339.2,
    }
    assert reading.table("meminfo").select("line_no", "sample", "unit").unique().sort("line_no").rows() == [
        (4, 1, "kb"),
        (5, 1, "kb"),
    ]
    process = reading.table("ps").row(0, named=True)
    assert (process["vsz_kb"], process["rss_kb"], process["cpu_time_s"], process["pri"]) == (
        161888.0,
        2.1 * 1024**2,
        61.5,
        None,
    )
    assert reading.account.account.unknown == 0
    assert reading.account.parts[0].domains[0].base == "2015-06-10T00:00:00"


@pytest.mark.parametrize(
    ("head", "row", "expected"),
    [
        ("  PID USERNAME  THR PRI NICE   SIZE    RES STATE   C   TIME   WCPU COMMAND",
         "23318 root  1  76  0  3632K  1744K CPU1  1  0:07  0.98% sh", (23318, "root", 3632.0, "cpu", 1)),
        ("     PID USER     %CPU PRI NICE TIME COMMAND USERNAME WCPU", "7 root 1.5 20 0 0:01 sh root 0.1%", (7, "root", None, None, None)),
    ],
)  # fmt: skip
def test_tops_of_other_systems(head, row, expected):
    got = parse_bytes(f"{head}\n{row}\n".encode(), "prstat", "top").tables["ps"].row(0, named=True)
    assert tuple(got[c] for c in ("pid", "login", "vsz_kb", "state", "cpu_no")) == expected


def test_sums_by_user_are_counters():
    text = (
        HEAD
        + " 16609 oracle   1216M 1100M cpu12   20    0  99:59:59  20% oracle/11\n NPROC USERNAME  SWAP   RSS MEMORY      TIME  CPU\n"
        "     2 oracle   1216M 1100M    13%  99:59:59  20%\n"
    )
    counters = read_bytes(text.encode()).table("counters")
    assert counters["item"].unique().to_list() == ["oracle"]
    assert dict(counters.select("name", "value").iter_rows()) == {
        "processes": 2.0,
        "swap": 1216.0 * 1024,
        "rss": 1100.0 * 1024,
        "memory_pct": 13.0,
        "cpu_time": 359999.0,
        "cpu_pct": 20.0,
    }


def test_a_wrapped_row_is_unknown_not_wrong():
    text = (
        HEAD
        + "  2023 root     4800K 3424K run     20    0\n0:18:51  37% qq10/1\n  2044 root     6032K 5496K run      0   19   0:13:55  31% pgn/1\n"
    )
    reading = read_bytes(text.encode())
    assert reading.table("ps")["pid"].to_list() == [2044]
    assert reading.account.account.unknown == 2


SCREEN = """Topas Monitor for host:    aix1                 EVENTS/QUEUES    FILE/TTY
Mon Mar 12 10:00:{second:02d} 2012   Interval:  2         Cswitch {cs:7d}  Readch     4840
                                                Syscall {scall:7d}  Writech    1204
CPU  User%  Kern%  Wait%  Idle%  Physc   Entc   Reads        12  Rawin         0
{cpu:4} {usr:6.1f} {sys:6.1f}    0.0   {idle:4.1f}   0.04    8.1   Writes        4  Ttyout      390
                                                Forks         0  Igets         0
Disk    Busy%     KBPS     TPS KB-Read KB-Writ  Execs         0  Namei        20
hdisk0   {busy:4.1f}     12.0     3.0     8.0     4.0  Runqueue    1.5  Dirblk        0
Total    {busy:4.1f}     12.0     3.0     8.0     4.0  Waitqueue   0.5

Name            PID  CPU%  PgSp Owner           PAGING           MEMORY
{comm:15} {pid:6d} {share:4.1f}   1.5 root            Faults      120  Real,MB    4096
                                                PgspOut      10  % Comp     35
"""
SCREENS = st.lists(
    st.fixed_dictionaries(
        {
            "cs": st.integers(0, 9_999_999), "scall": st.integers(0, 9_999_999), "cpu": st.sampled_from(["ALL", "0", "cpu3"]),
            "usr": st.integers(0, 99).map(float), "sys": st.integers(0, 99).map(float), "idle": st.integers(0, 99).map(float),
            "busy": st.integers(0, 99).map(float), "comm": st.sampled_from(["topas", "oracle", "java"]), "pid": st.integers(1, 999_999),
            "share": st.integers(0, 99).map(float),
        }
    ),
    min_size=1,
    max_size=4,
)  # fmt: skip


@settings(max_examples=examples(40), deadline=None, database=None)
@given(screens=SCREENS, collapsed=st.booleans(), block_bytes=st.sampled_from([120, 1_000_000]))
def test_the_figures_of_a_topas_screen_come_back_wherever_it_is_cut(screens, collapsed, block_bytes):
    text = "".join(SCREEN.format(second=2 * n, **screen) for n, screen in enumerate(screens))
    if collapsed:
        text = "\n".join(" ".join(line.split()) for line in text.split("\n"))
    reading = read_bytes(text.encode(), Hints(kind="prstat", variant="topas"), Limits(block_bytes=block_bytes))
    assert reading.account.account.unknown == 0
    host, first = reading.table("vmstat"), 1331546400.0
    assert host.drop_nulls("cs").select("sample", "t_local", "cs").rows() == [
        (n, first + 2 * (n - 1), float(screen["cs"])) for n, screen in enumerate(screens, start=1)
    ]
    assert host.drop_nulls("po_kbps")["po_kbps"].to_list() == [40.0] * len(screens)
    cpus = reading.tables["mpstat"].select("sample", "cpu", "usr").rows() if "mpstat" in reading.tables else []
    whole = host.drop_nulls("usr").select("sample", pl.lit(None), "usr").rows()
    assert sorted([*cpus, *whole]) == [
        (n, {"ALL": None, "0": 0, "cpu3": 3}[screen["cpu"]], screen["usr"]) for n, screen in enumerate(screens, start=1)
    ]
    disks = reading.table("iostat").select("device", "busy_pct", "r_kbps").rows()
    assert disks == [("hdisk0", screen["busy"], 8.0) for screen in screens]
    rows = reading.table("ps").select("comm", "pid", "cpu_pct", "login").rows()
    assert rows == [(screen["comm"], screen["pid"], screen["share"], "root") for screen in screens]


CPUS = st.lists(st.tuples(*[st.integers(0, 1000)] * 4), min_size=1, max_size=5)


@settings(max_examples=examples(30), deadline=None, database=None)
@given(cpus=CPUS, form=st.sampled_from(["new", "old", "comma", "freebsd"]), wide=st.booleans())
@example(cpus=[(1000, 0, 0, 0)], form="old", wide=False)  # a share of 100 % leaves no blank after the colon
def test_each_cpu_that_top_lists_is_a_row(cpus, form, wide):
    def share(tenths):
        return f"{tenths / 10:5.1f}".replace(".", "," if form == "comma" else ".")

    def line(cpu, us, sy, ni, idle):
        if form == "freebsd":
            return f"CPU {cpu}: {share(us)}% user, {share(ni)}% nice, {share(sy)}% system,   0.0% interrupt, {share(idle)}% idle"
        if form == "old":
            return f"Cpu{cpu}  :{share(us)}%us,{share(sy)}%sy,{share(ni)}%ni,{share(idle)}%id,  0.0%wa,  0.0%hi,  0.0%si,  0.0%st"
        front = f"%Cpu{cpu}  :"
        return (
            f"{front} {share(us)} us,{share(sy)} sy,{share(ni)} ni,{share(idle)} id,  0.0 wa,  0.0 hi,  0.0 si,  0.0 st"
        )

    lines = [line(n, *cpu) for n, cpu in enumerate(cpus)]
    if wide and form == "new":
        lines = ["   ".join(lines[i : i + 2]) for i in range(0, len(lines), 2)]
    text = "top - 11:24:50 up 2 min,  2 users,  load average: 0.23, 0.22, 0.09\n" + "\n".join(lines) + "\n"
    reading = read_bytes(text.encode(), Hints(kind="prstat", variant="top"))
    rows = reading.table("mpstat").select("sample", "cpu", "usr", "sys", "nice", "idle").rows()
    assert rows == [(1, n, us / 10, sy / 10, ni / 10, idle / 10) for n, (us, sy, ni, idle) in enumerate(cpus)]
    assert reading.account.account.unknown == 0


def test_older_heads_of_top_give_the_same_figures_of_memory_and_those_of_other_systems_none():
    line = "top - 10:00:00 up 1 day,  load average: 0.23, 0.22, 0.09\n"
    old = f"{line}Mem:   8053800k total,  7262704k used,   791096k free,   200500k buffers\n"
    old += "Swap:  4194300k total,     1200k used,  4193100k free,  5100200k cached\n"
    memory = dict(read_bytes(old.encode(), PLAIN_TOP).table("meminfo").select("name", "value").rows())
    assert (memory["MemTotal"], memory["Buffers"], memory["Cached"]) == (8053800.0, 200500.0, 5100200.0)
    solaris = "load averages:  0.02,  0.03,  0.05;  up 10+02:03:04   10:00:00\n"
    solaris += "Memory: 64G phys mem, 12G free mem, 8G total swap, 8G free swap\n"
    assert "meminfo" not in read_bytes(solaris.encode(), PLAIN_TOP).tables


PLAIN_TOP = Hints(kind="prstat", variant="top")


@pytest.mark.parametrize(
    ("text", "share", "processor"),
    [
        (" PID  PPID USER     STAT   VSZ %VSZ CPU %CPU COMMAND\n  41     2 root     RW       0  0.0   3 24.8 [worker]\n", True, 3),
        (HEAD + "  2023 root     4800K 3424K cpu5    20    0   0:18:51  37% jobs/1\n", True, 5),
        ("  PID USER      PR  NI    VIRT    RES    SHR S  %CPU %MEM     TIME+ COMMAND\n"
         "    7 root      20   0    4800   3424    100 R  37.0  0.1   0:18.51 jobs\n", None, None),
    ],
)  # fmt: skip
def test_shares_of_all_processors_are_marked(text: str, share: bool | None, processor: int | None) -> None:
    rows = read_bytes(text.encode()).table("ps")
    assert rows.select("cpu_all", "cpu_no").row(0) == (share, processor)


def test_the_memory_of_a_bsd_head_is_read_with_its_cache_and_swap():
    text = (
        "last pid: 41;  load averages:  0.10,  0.20,  0.30    up 3+01:00:00  10:00:00\n"
        "Mem: 300M Active, 1G Inact, 90G Wired, 64K Buf, 2.5G Free\n"
        "ARC: 8G Total, 3G MFU, 4G MRU\n     2100M Compressed, 8400M Uncompressed, 4.10:1 Ratio\n"
        "Swap: 4G Total, 10M Used, 4086M Free\n"
    )
    rows = read_bytes(text.encode()).table("meminfo")
    kb = dict(rows.select("name", "value").iter_rows())
    assert kb["Mem Wired"] == 90 * 1024**2
    assert (kb["Mem Buf"], kb["Mem Free"], kb["ARC Total"]) == (64.0, 2.5 * 1024**2, 8 * 1024**2)
    assert (kb["Swap Used"], kb["Swap Total"]) == (10240.0, 4 * 1024**2)
    assert rows["line_no"].to_list() == sorted(rows["line_no"])
    assert rows["unit"].unique().to_list() == ["kb"]


def test_rows_of_top_are_read_without_their_heading() -> None:
    text = (
        b" 1204 app       20   0 5123456  1.2g  30512 R  98,7  7.5  12:01.33 java -Xmx1g\n"
        b"    9 root      rt   0       0      0      0 S   0.3  0.0   0:01.20 migration/0\n"
    )
    reading = read_bytes(text)
    assert reading.account.kind == "prstat"
    rows = reading.table("ps").sort("line_no").to_dicts()
    assert [(row["pid"], row["state"], row["cpu_pct"]) for row in rows] == [(1204, "R", 98.7), (9, "S", 0.3)]
    assert rows[0]["args"] == "java -Xmx1g"


def test_a_list_of_another_tool_is_no_top_without_a_heading() -> None:
    text = b"1204 app 20 0 5123456 12 30512 R 98.7 7.5 java\n17 items of 3 kinds\n"
    assert read_bytes(text).account.kind != "prstat"
