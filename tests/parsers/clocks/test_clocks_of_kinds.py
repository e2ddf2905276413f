"""Test the clock domains of all kinds: the clock of each sample, the questions about it, and the effect of an answer."""

from __future__ import annotations

import dataclasses
from datetime import datetime
from pathlib import Path

import polars as pl
import pytest

from parsers.text.source import Hints
from tests.parsers.formats.evidence import Reading, read_bytes, read_path

CORPUS = Path(__file__).parents[2] / "corpus"

# kind/sample: kind of clock, what its stamps mark, resolution in seconds, questions
CLOCKS = {
    "alert_log/11g-xe-windows-startup-parameters": ("wall-local", "moment", 1.0, ["tz"]),
    "alert_log/19c-iso-instance-terminated-603": ("wall-utc", "moment", 1e-6, []),
    "awr/awr-text-11g-io-bound": ("wall-local", "end", 1.0, ["tz"]),
    "awr/v-session-listing-px-idle": ("none", None, None, []),
    "cgroup/derived-v2-grep": ("none", None, None, []),
    "conntime/tnsping-linux-30ms": ("wall-local", "start", 1.0, ["tz"]),
    "conntime/seed001-ism-0150ms": ("none", None, None, []),
    "csv/epoch-pairs": ("wall-utc", "moment", 1.0, ["columns"]),
    "csv/tabs-ambiguous-date": ("wall-local", None, 1.0, ["columns", "date_order", "tz"]),
    "dtrace/toolkit-cputimes-intervals": ("wall-local", "end", 1.0, ["tz"]),
    "dtrace/toolkit-lastwords-bash": ("trace-relative", "moment", 1e-9, []),
    "errpt/derived-aix-short": ("wall-local", "moment", 60.0, ["tz"]),
    "errpt/derived-fmdump": ("wall-local", "moment", 0.1, ["year", "tz"]),
    "fdmap/derived-lsof": ("none", None, None, []),
    "flamegraph/derived-collapsed-perf": ("none", None, None, []),
    "iostat/derived-solaris-Td-tty-cpu": ("wall-local", "end", 1.0, []),
    "iostat/linux-ct-cpu-only-timestamps": ("wall-local", "end", 1.0, ["date_order", "tz"]),
    "iostat/aix-dD-block-layout": ("interval", None, None, []),
    "ipcs/solaris-J-project": ("wall-local", "moment", 1.0, ["tz"]),
    "ipcs/linux-m": ("none", None, None, []),
    "json_lines/probe-connects": ("wall-utc", None, 1.0, ["columns"]),
    "listener_log/11g-xe-windows-japanese": ("wall-local", "end", 1.0, ["tz"]),
    "listener_log/11g-xml-service-register-12508": ("wall-utc", "end", 1e-3, []),
    "lockstat/derived-solaris-contention": ("none", None, None, []),
    "meminfo/derived-proc": ("none", None, None, []),
    "meminfo/derived-proc-oswatcher-cut": ("wall-local", "moment", 1.0, ["tz"]),
    "mpstat/linux-sysstat-U-epoch": ("wall-utc", "end", 1.0, ["date_order"]),
    "mpstat/linux-sysstat-ampm-A-2-5": ("wall-local", "end", 1.0, ["date_order", "tz"]),
    "mpstat/solaris-T-d-x64-15s": ("wall-local", "end", 1.0, []),
    "mpstat/solaris-2cpu-two-samples": ("interval", None, None, ["interval_s"]),
    "netdev/derived-ethtool-S": ("none", None, None, []),
    "netstat/derived-solaris-s-twice": ("wall-local", "moment", 1.0, []),
    "nmon/linux-13g-120x1s": ("wall-local", "end", 1.0, ["tz"]),
    "nsswitch/derived-netsvc": ("none", None, None, []),
    "oracle_trace/derived-8i-hundredths": ("boot-relative", "end", 0.01, []),
    "packets/derived-tcpdump-n-handshake": ("wall-local", "moment", None, ["date", "tz"]),
    "packets/derived-capture-cut": ("wall-utc", "moment", 1e-6, []),
    "packets/derived-snoop-delta": ("trace-relative", "moment", None, []),
    "perf/script-default": ("boot-relative", "moment", 1e-6, []),
    "perf/run-stat-I": ("trace-relative", "end", 1e-9, []),
    "perf/trace-ls": ("trace-relative", "start", 1e-6, []),
    "ping/linux-D-hole-and-loss": ("wall-utc", "end", 1e-6, []),
    "prstat/linux-top-b-n3-first": ("wall-local", "end", 1.0, ["date", "tz"]),
    "prstat/smartos-mLc-one-process": ("interval", None, None, ["interval_s"]),
    "ps/derived-two-snapshots-under-marks": ("wall-local", "moment", 1.0, []),
    "sar/solaris10-u-day": ("wall-local", "end", 1.0, ["tz"]),
    "sar/linux-sadf-d-semicolon-utc": ("wall-utc", "end", 1.0, []),
    "sqlnet/seed001-client-1872ms": ("wall-local", "moment", 1e-3, ["tz"]),
    "strace/f-ttt-T-o-ipc": ("wall-utc", "start", 1e-6, []),
    "strace/old-perl-t": ("wall-local", "start", 1.0, ["date", "tz"]),
    "strace/f-r-stderr": ("trace-relative", "start", 1e-6, []),
    "syslog/derived-solaris-messages": ("wall-local", "moment", 1.0, ["year", "tz"]),
    "syslog/derived-journal-iso-dst": ("wall-utc", "moment", 1.0, []),
    "syslog/derived-dmesg": ("boot-relative", "moment", None, []),
    "truss/dbakevin-shmat-dism": ("trace-relative", "end", 1e-4, []),
    "vmstat/aix-t-header-only-line": ("wall-local", "end", 1.0, ["date", "tz"]),
    "vmstat/exawatcher-2021-busy": ("wall-local", "end", 1.0, ["tz"]),
    "vmstat/linux-1s-repeated-header": ("interval", None, None, ["interval_s"]),
    "vmstat/linux-default-single": ("interval", None, None, []),
    "vmstat/linux-dt-disk-mode-timestamp": ("wall-local", "end", 1.0, []),
    "vmstat/solaris-T-u-epoch-headerless-start": ("wall-utc", "end", 1.0, []),
}


def clock_of(reading: Reading):
    return reading.account.parts[0].domains[0]


def asked(reading: Reading, part: int = 0) -> dict[str, dict]:
    return {q["ask"]: q for q in reading.account.parts[part].facts.get("questions", [])}


@pytest.mark.parametrize("sample", CLOCKS)
def test_a_kind_has_its_clock(sample):
    kind, stamps, resolution_s, asks = CLOCKS[sample]
    reading = read_path(CORPUS / f"{sample}.txt")
    clock = clock_of(reading)
    assert (clock.kind, clock.stamps) == (kind, stamps)
    if resolution_s is not None:
        assert clock.resolution_s == resolution_s
    assert list(asked(reading)) == asks
    for question in asked(reading).values():
        assert question["reason"]
        assert question["text"]
        assert isinstance(question["default"], str)


def test_newest_first_is_a_direction():
    reading = read_path(CORPUS / "errpt/derived-aix-short.txt")
    assert clock_of(reading).direction == "backward"
    assert clock_of(read_path(CORPUS / "nmon/linux-13g-120x1s.txt")).direction == "forward"


def test_a_domain_of_an_older_manifest_is_still_read():
    from parsers.tables.rows import Domain

    assert Domain(domain=1, kind="none", base=None, zone=None).stamps is None
    assert {"resolution_s", "direction", "stamps"} <= {f.name for f in dataclasses.fields(Domain)}


# --- questions and what their answers do


def wall(text: str) -> float:
    return (datetime.fromisoformat(text) - datetime(1970, 1, 1)).total_seconds()


SYSSTAT = "Linux 5.4.0 (db1) \t07/04/07 \t_x86_64_\t(2 CPU)\n\n"
ROWS = (
    "10:00:00     CPU     %user     %nice   %system   %iowait    %steal     %idle\n"
    "10:10:00     all      1.00      0.00      1.00      0.00      0.00     98.00\n"
    "10:20:00     all      1.00      0.00      1.00      0.00      0.00     98.00\n"
)
MPSTAT = (
    "10:00:00     CPU    %usr   %nice    %sys %iowait    %irq   %soft  %steal  %guest  %gnice   %idle\n"
    "10:10:00     all    1.00    0.00    1.00    0.00    0.00    0.00    0.00    0.00    0.00   98.00\n"
)
IOSTAT = (
    "07/04/07 10:10:00\n"
    "avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n"
    "           1.00    0.00    1.00    0.00    0.00   98.00\n"
    "\n"
    "Device             tps    kB_read/s    kB_wrtn/s    kB_read    kB_wrtn\n"
    "sda               1.00         1.00         1.00          1          1\n"
    "\n"
)
JSON = """{"sysstat": {
  "hosts": [{
    "nodename": "db1", "sysname": "Linux", "release": "5.4.0", "machine": "x86_64", "number-of-cpus": 2, "date": "07/04/07",
    "statistics": [
      {"timestamp": "10:10:00", "cpu-load": [
        {"cpu": "all", "usr": 1.00, "nice": 0.00, "sys": 1.00, "iowait": 0.00, "irq": 0.00, "soft": 0.00, "steal": 0.00, "guest": 0, "gnice": 0, "idle": 98.0}
      ]}
    ]
  }]
}}
"""


@pytest.mark.parametrize(
    ("kind", "text"),
    [("sar", SYSSTAT + ROWS), ("mpstat", SYSSTAT + MPSTAT), ("iostat", SYSSTAT + IOSTAT), ("mpstat", JSON)],
    ids=["sar", "mpstat", "iostat", "mpstat-json"],
)
def test_day_or_month_first_is_asked_and_followed(kind, text):
    plain = read_bytes(text.encode(), Hints(kind=kind))
    question = asked(plain)["date_order"]
    assert (question["default"], question["choices"]) == ("mdy", ["mdy", "dmy"])
    assert "07/04/07" in question["text"]
    assert plain.table("vmstat")["t_local"][0] == wall("2007-07-04T10:10:00")
    for order, day in (("dmy", "2007-04-07"), ("mdy", "2007-07-04")):
        told = read_bytes(text.encode(), Hints(kind=kind, date_order=order, tz="Asia/Tokyo"))
        assert "questions" not in told.account.parts[0].facts
        assert told.table("vmstat")["t_local"][0] == wall(f"{day}T10:10:00")


def test_an_unambiguous_banner_is_not_asked():
    for date in ("07/13/07", "2007-04-07", "07.04.2007"):
        reading = read_bytes((SYSSTAT.replace("07/04/07", date) + ROWS).encode())
        assert "date_order" not in asked(reading)


AIX = (
    "kthr    memory              page              faults              cpu          time\n"
    "----- ----------- ------------------------ ------------ ----------- --------\n"
    " r  b   avm   fre  re  pi  po  fr   sr  cy  in   sy  cs us sy id wa hr mi se\n"
    " 1  0 22478  1677   0   0   0   0    0   0 188 1380 157 57 32  0 10 23:59:50\n"
    " 1  0 22506  1609   0   0   0   0    0   0 214 1476 186 48 37  0 16 00:00:00\n"
)
TOP = (
    "top - 23:59:58 up 1 day,  2:03,  1 user,  load average: 0.10, 0.20, 0.30\n"
    "Tasks:   1 total,   1 running,   0 sleeping,   0 stopped,   0 zombie\n"
    "%Cpu(s):  1.0 us,  1.0 sy,  0.0 ni, 98.0 id,  0.0 wa,  0.0 hi,  0.0 si,  0.0 st\n"
    "\n"
    "    PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND\n"
    "      1 root      20   0    1000    500    100 S   0.0   0.1   0:01.00 init\n"
)
STRACE = '23:59:59.900000 read(3, "a", 1) = 1\n00:00:00.100000 read(3, "b", 1) = 1\n'
PACKETS = (
    "23:59:59.900000 IP 10.0.0.1.1521 > 10.0.0.2.4000: Flags [.], ack 1, win 100, length 0\n"
    "00:00:00.100000 IP 10.0.0.2.4000 > 10.0.0.1.1521: Flags [.], ack 1, win 100, length 0\n"
)
UPTIME = " 11:59pm  up 12 days,  3:04,  5 users,  load average: 1.23, 0.98, 0.77\n"
UNDATED = {
    "vmstat": (AIX, "vmstat", [86390.0, 86400.0]),
    "prstat": (TOP + "\n" + TOP.replace("23:59:58", "00:00:01"), "vmstat", [86398.0, 86401.0]),
    "strace": (STRACE, "syscalls", [86399.9, 86400.1]),
    "packets": (PACKETS, "packets", [86399.9, 86400.1]),
    "hostinfo": (UPTIME, "vmstat", [86340.0]),
}


@pytest.mark.parametrize("kind", UNDATED)
def test_the_day_is_asked_where_none_is_printed_and_midnight_is_a_new_day(kind):
    text, table, times = UNDATED[kind]
    plain = read_bytes(text.encode(), Hints(kind=kind))
    assert clock_of(plain).base is None
    assert asked(plain)["date"]["default"] == ""
    assert plain.table(table)["t_local"].unique().sort().to_list() == pytest.approx(times)
    told = read_bytes(text.encode(), Hints(kind=kind, date="2015-06-10", tz="Asia/Tokyo"))
    assert "questions" not in told.account.parts[0].facts
    clock = clock_of(told)
    assert clock.zone == "Asia/Tokyo"
    first = told.table(table)["t_local"].min() + wall(clock.base)
    assert first == pytest.approx(wall("2015-06-10") + times[0])


SYSLOG = "Dec 31 23:59:59 db1 cron[1]: a\nJan  1 00:00:01 db1 cron[1]: b\n"


def test_the_year_is_asked_where_none_is_printed():
    assert asked(read_bytes(SYSLOG.encode(), Hints(kind="syslog")))["year"]["default"] == ""
    told = read_bytes(SYSLOG.encode(), Hints(kind="syslog", year=2015, tz="Europe/Warsaw"))
    assert "questions" not in told.account.parts[0].facts
    assert told.table("logs")["t_local"].to_list() == [wall("2015-12-31T23:59:59"), wall("2016-01-01T00:00:01")]


AIX_IPCS = (
    "IPC status from /dev/mem as of Mon Jul 23 10:19:42\n"
    "T        ID     KEY        MODE       OWNER    GROUP\n"
    "Shared Memory:\n"
    "m         0 0x0000cace --rw-rw-rw-     root   system\n"
)


def test_a_banner_without_a_year_asks_for_it():
    plain = read_bytes(AIX_IPCS.encode(), Hints(kind="ipcs"))
    assert "year" in asked(plain)
    told = read_bytes(AIX_IPCS.encode(), Hints(kind="ipcs", year=2018, tz="Europe/Berlin"))
    assert "questions" not in told.account.parts[0].facts
    assert told.table("ipcs_shm")["t_local"].to_list() == [wall("2018-07-23T10:19:42")]


VMSTAT = (
    "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----\n"
    " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n"
) + "".join(f" {n}  0      0 100000  10000 500000    0    0     1     1  100  200  1  1 98  0  0\n" for n in (1, 2, 3))
MPSTAT_SOLARIS = "".join(
    "CPU minf mjf xcal  intr ithr  csw icsw migr smtx  srw syscl  usr sys  wt idl\n"
    f"  0    {n}   0    0   345  224  589    1    0    0    0   123    2   3   0  95\n"
    for n in (1, 2, 3)
)
IOSTAT_SOLARIS = "".join(
    "                    extended device statistics\n"
    "    r/s    w/s   kr/s   kw/s wait actv wsvc_t asvc_t  %w  %b device\n"
    f"    {n}.0    2.0    8.0   16.0  0.0  0.1    0.0    5.0   0   1 c0t0d0\n"
    for n in (1, 2, 3)
)
PRSTAT = "".join(
    "   PID USERNAME  SIZE   RSS STATE  PRI NICE      TIME  CPU PROCESS/NLWP\n"
    f"  {n}00 oracle     10M    8M sleep   59    0   0:00:01 0.1% oracle/1\n"
    "Total: 1 processes, 1 lwps, load averages: 0.10, 0.20, 0.30\n"
    for n in (1, 2, 3)
)
UNSTAMPED = {
    "vmstat": (VMSTAT, "vmstat", "vmstat"),
    "mpstat": (MPSTAT_SOLARIS, "mpstat", "mpstat"),
    "iostat": (IOSTAT_SOLARIS, "iostat", "iostat -xn"),
    "prstat": (PRSTAT, "ps", "prstat"),
}


@pytest.mark.parametrize("kind", UNSTAMPED)
def test_the_interval_is_asked_and_taken_from_a_person_or_the_prompt(kind):
    text, table, command = UNSTAMPED[kind]
    plain = read_bytes(text.encode(), Hints(kind=kind))
    assert clock_of(plain).kind == "interval"
    assert asked(plain)["interval_s"]["default"] == ""
    assert plain.table(table)["t_local"].null_count() == 3
    said = read_bytes(text.encode(), Hints(kind=kind, interval_s=5.0))
    prompted = read_bytes(f"$ {command} 5 3\n{text}".encode(), Hints(kind=kind))
    for told in (said, prompted):
        assert "interval_s" not in asked(told)
        assert told.table(table)["t_local"].to_list() == [0.0, 5.0, 10.0]
        assert (clock_of(told).t_begin, clock_of(told).t_end) == (0.0, 10.0)


def test_one_sample_needs_no_interval():
    one = "\n".join(VMSTAT.split("\n")[:3]) + "\n"
    assert asked(read_bytes(one.encode(), Hints(kind="vmstat"))) == {}


# --- zones


def stamped_vmstat(*stamps: str, zone: str = "UTC") -> bytes:
    """Return output of `vmstat -t` with these local stamps; its header names the zone."""
    head = (
        "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu----- -----timestamp-----\n"
        f" r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st                 {zone}\n"
    )
    row = " 1  0      0 100000  10000 500000    0    0     1     1  100  200  1  1 98  0  0 "
    return (head + "".join(f"{row}{stamp}\n" for stamp in stamps)).encode()


def sar_at(*times: str, date: str) -> bytes:
    rows = "".join(f"{t}     all      1.00      0.00      1.00      0.00      0.00     98.00\n" for t in times[1:])
    head = ROWS.split("\n", maxsplit=1)[0].replace("10:00:00", times[0])
    return f"Linux 5.4.0 (db1) \t{date} \t_x86_64_\t(2 CPU)\n\n{head}\n{rows}".encode()


def test_a_zone_is_asked_for_once_a_part_and_a_hint_answers_it():
    text = sar_at("10:00:00", "10:10:00", date="2016-04-14")
    question = asked(read_bytes(text))["tz"]
    assert question["line"] == 4
    assert "no zone is printed" in question["reason"]
    told = read_bytes(text, Hints(tz="Europe/Warsaw"))
    assert "tz" not in asked(told)
    assert clock_of(told).zone == "Europe/Warsaw"


def test_a_printed_name_of_one_offset_is_its_own_default():
    text = stamped_vmstat("2016-07-14 10:00:00", "2016-07-14 10:00:05", zone="CEST")
    question = asked(read_bytes(text))["tz"]
    assert (question["default"], question["choices"]) == ("Etc/GMT-2", ["Etc/GMT-2"])
    assert clock_of(read_bytes(text)).zone == "CEST"
    assert clock_of(read_bytes(text, Hints(tz="Europe/Warsaw"))).zone == "Europe/Warsaw"


def test_a_printed_name_of_several_offsets_has_no_default():
    question = asked(read_bytes(stamped_vmstat("2016-01-14 10:00:00", "2016-01-14 10:00:05", zone="CST")))["tz"]
    assert question["default"] == ""
    assert {"Etc/GMT+6", "Etc/GMT-8"} <= set(question["choices"])


def test_a_printed_zone_that_is_one_is_not_asked_nor_overruled():
    reading = read_bytes(stamped_vmstat("2016-07-14 10:00:00"), Hints(tz="Europe/Warsaw"))
    assert clock_of(reading).zone == "UTC"


# --- hours that come twice or never, falls


def remarks(reading: Reading, words: str) -> list[tuple[int, int]]:
    return [(n.line_from, n.line_to) for n in reading.account.notes if n.kind == "remark" and words in n.text]


def test_rows_in_the_hour_that_comes_twice_are_noted_and_asked():
    text = sar_at("01:50:00", "01:55:00", "02:10:00", "02:50:00", "03:10:00", date="2016-10-30")
    reading = read_bytes(text, Hints(tz="Europe/Warsaw"))
    assert remarks(reading, "twice on 2016-10-30") == [(5, 6)]
    question = asked(reading)["tz"]
    assert question["default"] == "Europe/Warsaw"
    assert question["choices"] == ["Europe/Warsaw", "Etc/GMT-2", "Etc/GMT-1"]
    answered = read_bytes(text, Hints(tz="Etc/GMT-1"))
    assert asked(answered) == {}
    assert remarks(answered, "twice") == []


def test_rows_in_an_hour_that_does_not_exist_are_noted_and_asked():
    reading = read_bytes(sar_at("01:50:00", "01:55:00", "02:30:00", date="2016-03-27"), Hints(tz="Europe/Warsaw"))
    assert remarks(reading, "no such hour on 2016-03-27") == [(5, 5)]
    assert asked(reading)["tz"]["default"] == "Europe/Warsaw"


@pytest.mark.parametrize(("date", "zone"), [("2016-10-29", "Europe/Warsaw"), ("2016-10-30", "Asia/Tokyo")])
def test_other_nights_are_not_asked(date, zone):
    reading = read_bytes(sar_at("01:50:00", "02:10:00", "02:50:00", date=date), Hints(tz=zone))
    assert asked(reading) == {}


FALLS = {
    "sar": lambda times, date: (sar_at("01:40:00", *times, date=date), "vmstat"),
    "vmstat": lambda times, date: (stamped_vmstat(*(f"{date} {t}" for t in times), zone=""), "vmstat"),
    "nmon": lambda times, date: (nmon_at(times, date), "vmstat"),
}


def nmon_at(times: list[str], date: str) -> bytes:
    day = datetime.fromisoformat(date).strftime("%d-%b-%Y").upper()
    head = "AAA,progname,nmon\nAAA,interval,600\nCPU_ALL,CPU Total db1,User%,Sys%,Wait%,Idle%,Busy,CPUs\n"
    return (
        head
        + "".join(
            f"ZZZZ,T{n:04},{t},{day}\nCPU_ALL,T{n:04},1.0,1.0,0.0,98.0,,2\n" for n, t in enumerate(times, start=1)
        )
    ).encode()


@pytest.mark.parametrize("kind", FALLS)
@pytest.mark.parametrize("zone", ["Europe/Warsaw", None])
def test_a_fall_of_an_hour_in_the_night_of_the_switch_is_one_clock(kind, zone):
    text, table = FALLS[kind](["02:30:00", "02:50:00", "02:00:00", "02:20:00"], "2016-10-30")
    reading = read_bytes(text, Hints(kind=kind, tz=zone))
    assert len(reading.account.parts[0].domains) == 1
    assert len(remarks(reading, "goes back by 3000 s: the end of daylight saving time")) == 1
    assert reading.table(table).height == 4


@pytest.mark.parametrize("kind", FALLS)
@pytest.mark.parametrize(
    ("date", "times"),
    [
        ("2016-10-29", ["02:30:00", "02:50:00", "02:00:00", "02:20:00"]),
        ("2016-10-30", ["09:30:00", "09:50:00", "04:00:00", "04:20:00"]),
    ],
)
def test_another_fall_begins_a_clock_of_its_own(kind, date, times):
    text, table = FALLS[kind](times, date)
    reading = read_bytes(text, Hints(kind=kind, tz="Europe/Warsaw"))
    one, two = reading.account.parts[0].domains
    rows = reading.table(table).sort("line_no")
    assert (one.t_end, two.t_begin) == (wall(f"{date}T{times[1]}"), wall(f"{date}T{times[2]}"))
    third = rows["line_no"][2]
    assert any(a <= third <= b for a, b in two.lines)
    assert not any(a <= third <= b for a, b in one.lines)
    assert len(remarks(reading, "a clock of its own")) == 1


def test_top_that_falls_by_less_than_half_a_day_is_another_run():
    text = TOP.replace("23:59:58", "10:00:00") + "\n" + TOP.replace("23:59:58", "09:00:00")
    reading = read_bytes(text.encode())
    assert [d.t_begin for d in reading.account.parts[0].domains] == [36000.0, 32400.0]


# --- twelve hours, names of months


@pytest.mark.parametrize(
    ("said", "seconds"), [("12:05:00 AM", 300.0), ("12:05:00 PM", 43500.0), ("01:05:00 PM", 47100.0)]
)
def test_twelve_hours(said, seconds):
    rows = ROWS.replace("10:00:00 ", f"{said} ").split("\n")[0]
    body = f"{said}     all      1.00      0.00      1.00      0.00      0.00     98.00\n"
    reading = read_bytes(f"Linux 5.4.0 (db1) \t2016-04-14 \t_x86_64_\t(2 CPU)\n\n{rows}\n{body}".encode())
    assert reading.table("vmstat")["t_local"].to_list() == [wall("2016-04-14") + seconds]


@pytest.mark.parametrize("months", ["Apr", "avr.", "апр", "kwi"])
def test_months_of_other_languages(months):
    text = f"{months} 14 05:58:39 db1 cron[1]: a\n{months} 14 05:58:40 db1 cron[1]: b\n"
    reading = read_bytes(text.encode(), Hints(kind="syslog", variant="bsd", year=2016))
    assert reading.table("logs")["t_local"].to_list() == [wall("2016-04-14T05:58:39"), wall("2016-04-14T05:58:40")]


def test_a_mark_in_another_language():
    text = "zzz ***mer. févr. 29 11:01:52 CET 2012\n" + (CORPUS / "meminfo/derived-proc.txt").read_text()
    rows = read_bytes(text.encode(), Hints(kind="meminfo")).table("meminfo")
    assert rows["t_local"].unique().to_list() == [wall("2012-02-29T11:01:52")]


def test_the_first_domain_of_a_large_file_keeps_its_questions(monkeypatch):
    """Questions of several runs are merged, one of each name."""
    from parsers.text.source import Limits

    text = (SYSSTAT + ROWS).replace("\n\n", "\n") * 30
    whole = read_bytes(text.encode(), Hints(kind="sar"))
    parts = read_bytes(text.encode(), Hints(kind="sar"), Limits(run_bytes=600, block_bytes=600))
    assert asked(whole) == asked(parts)
    assert list(asked(parts)) == ["date_order", "tz"]
    assert isinstance(parts.table("vmstat"), pl.DataFrame)
