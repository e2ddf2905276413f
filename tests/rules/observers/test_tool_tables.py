"""Tests of columns of tools that no format reads: they stand out beyond the bound of a manual or of practice."""

from __future__ import annotations

import pytest

from rules.case.case import Case
from rules.observers.observer import Sighting
from rules.observers.tool_tables import observe
from rules.signatures.signatures import recognise
from tests.parsers.formats.evidence import read_bytes

GSTAT = """dT: 1.003s  w: 1.000s
 L(q)  ops/s    r/s   kBps   ms/r    w/s   kBps   ms/w   %busy Name
    0     61     30   2400    6.0     31   1900    1.5   22.0| da0
    {queue}     40     20   1600  {read}     20   1200    2.0   {busy}| da1
    0     60     30   2410    6.2     30   1890    1.4   21.5| da2
"""
NTPQ = """     remote           refid      st t when poll reach   delay   offset  jitter
==============================================================================
*198.51.100.1    .PPS.            1 u   10   64  377    0.300  {offset}   0.050
+198.51.100.2    198.51.100.1     2 u   20   64  377    0.400  {offset}   0.060
"""
XENTOP = """      NAME  STATE   CPU(sec) CPU(%)     MEM(k) MEM(%)  MAXMEM(k) MAXMEM(%) VCPUS NETS
     shop1 -----r     90211 {busy}   8388608    6.2    8389632       6.2     4    1
     shop2 --b---      1021    2.1   4194304    3.1    4195328       3.1     1    1
"""
ESXTOP = """      ID      GID NAME             NWLD   %USED    %RUN    %SYS   %WAIT %VMWAIT    %RDY   %IDLE  %OVRLP   %CSTP  %MLMTD  %SWPWT
   30011    30011 shop1              10  200.00  205.00    0.90  700.00    0.00  {ready}   50.00    1.00    0.00    0.00    0.00
   30012    30012 shop2              10  100.00  101.00    0.90  800.00    0.00   12.00   60.00    1.00    0.00    0.00    0.00
"""
DSTAT = """----total-usage---- -dsk/total- -net/total-
usr sys idl wai stl| read  writ| recv  send
  5   2  {idle}  {wait}   0|  10k   40M|   9k   12k
  4   3  {idle}  {wait}   0|  12k   41M|   8k   11k
"""
TURBOSTAT = """$ turbostat --quiet --interval 5
Core    CPU     Avg_MHz Busy%   Bzy_MHz TSC_MHz IRQ
-       -       900     {busy}    1000    2500    9000
0       0       910     {busy}    1010    2500    4500
1       1       905     {busy}    1005    2500    4500
"""
MONGOSTAT = """\
insert query update delete getmore command dirty used flushes vsize   res qrw arw net_in net_out conn                time
    12    *0    220     *0       0   20|0 {dirty}% {used}%       0 9.10G 7.80G 0|118 1|0  3.1m   2.0m  512 Mar  1 10:00:01.120
    10    *0    180     *0       0   18|0 {dirty}% {used}%       0 9.10G 7.80G 0|121 1|0  3.0m   1.9m  514 Mar  1 10:00:02.121
"""
ATOP = """ATOP - web9              2026/02/03  09:00:10             -----------------              10s elapsed
CPU | sys       5% | user     20% | irq       0% | idle    300% | wait     70% | curf 2.00GHz | curscal 100% |
DSK |          sdc | busy     {busy}% | read     500 | write     20 | KiB/w      8 | MBr/s    3.0 | avio 41.0 ms |
DSK |          sdd | busy      2% | read       5 | write     10 | KiB/w      8 | MBr/s    0.1 | avio 0.50 ms |
"""
VM_STAT = """Mach Virtual Memory Statistics: (page size of 16384 bytes)
    free   active   specul inactive throttle    wired  prgable   faults     copy    0fill cmprssed cmprssor  swapins swapouts
    9120   412033     1810   310221        0   290221       41 71022110   812201 40221101  1810221   601221 90201102 91102211
    8990   411800     1790   309980        0   290300       22    31022      210    12021  1820110   603310      {ins}    {outs}
    8890   411801     1790   309981        0   290301       22    31023      211    12022  1820111   603311      {ins}    {outs}
"""
ZPOOL = """              capacity     operations     bandwidth    total_wait     disk_wait
pool        alloc   free   read  write   read  write   read  write   read  write
----------  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----
bakery      1.20T  2.40T     90     12  4.10M   310K   {wait}    2ms    9ms  900us
  sdx           -      -     45      6  2.00M   150K   10ms    2ms    8ms  900us
  sdy           -      -     45      6  2.10M   160K   {wait}    2ms  {own}  950us
"""
PLOCKSTAT = """Mutex block

Count     nsec Lock                         Caller
-------------------------------------------------------------------------------
  900   200000 bake`oven_lock               bake`open_oven+0x1c
  100   100000 libc.so.1`_uberdata          libc.so.1`thr_create+0x88
"""
HANDLES = """Handles  NPM(K)    PM(K)      WS(K)     CPU(s)     Id  SI ProcessName
-------  ------    -----      -----     ------     --  -- -----------
 {handles}      91  1210221    1102210     110.22   4102   0 bakesvc
    410      40   110221      99012     210.11   1102   0 svchost
"""


def seen(text: str) -> list[Sighting]:
    return list(observe(Case.of_tables({"rows": read_bytes(text.encode()).table("rows").to_dicts()})))


@pytest.mark.parametrize(
    ("text", "headline", "mechanism"),
    [
        (
            GSTAT.format(queue=8, read="350.0", busy="85.0"),
            "da1 answered reads in 350 ms (ms/r), the middle one of the 2 others 6.10 ms",
            "disk-latency",
        ),
        (
            NTPQ.format(offset="-912.4"),
            "the clock is 912.4 ms away from 198.51.100.1 (offset), the other one 912.4 ms",
            "clock-off",
        ),
        (
            ESXTOP.format(ready="250.00"),
            "shop1 was ready to run and got no processor for 25 % of the time, per world (%RDY by NWLD), the other one 1.20 %",
            "cpu-stolen",
        ),
        (
            XENTOP.format(busy="397.9"),
            "shop1 used 99.5 % of its virtual processors (CPU(%) by VCPUS), the other one 2.10 %",
            "cpu-saturated",
        ),
        (
            TURBOSTAT.format(busy="97.0"),
            "busy processors ran 59.8 % below their nominal clock (Bzy_MHz against TSC_MHz), in 3 of 3 samples",
            "frequency-throttled",
        ),
        (
            MONGOSTAT.format(dirty="3.0", used="96.5"),
            "96.5 % of the cache of MongoDB was in use (used): operations have to make room themselves, in 2 of 2 samples",
            "buffer-shortage",
        ),
        (
            MONGOSTAT.format(dirty="21.5", used="80.1"),
            "21.5 % of the cache of MongoDB was not written yet (dirty): operations have to write themselves, in 2 of 2 samples",
            "buffer-shortage",
        ),
        (ATOP.format(busy="99"), "sdc was 99 % busy, the other one 2 %", "disk-saturated"),
        (
            VM_STAT.format(ins="    9012", outs="   21022"),
            "21,022 pages went to swap between two samples (swapouts), in 2 of 2 samples",
            "paging",
        ),
        (
            ZPOOL.format(wait="  2s", own="412ms"),
            "sdy itself answered reads in 412 ms (disk_wait), the middle one of the 2 others 8.50 ms",
            "disk-latency",
        ),
        (
            PLOCKSTAT,
            "Threads waited 900 times for the lock bake`oven_lock, 0.180 s together, 94.7 % of all",
            "lock-contention",
        ),
        (HANDLES.format(handles=812345), "bakesvc has 812,345 handles open, the other one 410", "descriptor-leak"),
    ],
)
def test_a_column_beyond_its_bound(text: str, headline: str, mechanism: str) -> None:
    made = seen(text)
    assert made[0].headline == headline
    assert recognise(**made[0].seen[0])[0].mechanism == mechanism


def test_time_without_a_processor_to_run_on_is_told_of_all_samples() -> None:
    (made,) = seen(DSTAT.format(idle=40, wait=53))
    assert made.headline.startswith("Processors were idle with reads or writes under way 53 % of the time (wai)")
    assert (made.name, made.n) == ("cpu_wait_io_pct", 2)


@pytest.mark.parametrize(
    "text",
    [
        GSTAT.format(queue=1, read="7.0", busy="25.0"),
        NTPQ.format(offset="-0.412"),
        ESXTOP.format(ready="15.00"),
        DSTAT.format(idle=90, wait=3),
        TURBOSTAT.format(busy="3.0"),  # an idle processor may be slow
        ATOP.format(busy="30").replace("41.0 ms", "2.0 ms"),
        VM_STAT.format(ins="       0", outs="       2"),
        ZPOOL.format(wait="12ms", own="  8ms"),
        HANDLES.format(handles=9100),
        MONGOSTAT.format(dirty="4.9", used="80.2"),
    ],
)
def test_a_healthy_host_says_nothing(text: str) -> None:
    assert seen(text) == []


BTT = """             ALL           MIN           AVG           MAX           N
--------------- ------------- ------------- ------------- -----------

Q2Q               0.000000047   0.000854417   2.045437760      100100
D2C               0.000081490   {device}   1.045437760      100100
Q2C               0.000083200   0.040000000   1.045444120      100100
"""


@pytest.mark.parametrize(
    ("device", "subject", "mechanism"),
    [("0.038000000", "D2C", "disk-latency"), ("0.002000000", "Q2D", "disk-saturated")],
)
def test_the_stage_that_holds_the_requests_to_a_disk(device: str, subject: str, mechanism: str) -> None:
    rows = read_bytes(BTT.format(device=device).encode()).tables["rows"].to_dicts()
    (made,) = observe(Case.of_tables({"rows": rows}))
    assert (made.subject, [line.line_from for line in made.lines], made.normal) == (subject, [5, 6], False)
    assert made.headline.startswith(
        "A request to the disk took 40 ms on average (Q2C, at most 1.045 s, 100,100 requests)"
    )
    assert recognise(**made.seen[0] if isinstance(made.seen, tuple) else made.seen)[0].mechanism == mechanism


def test_quick_requests_to_a_disk_are_within_bounds() -> None:
    rows = (
        read_bytes(BTT.format(device="0.001").replace("0.040000000", "0.001200000").encode()).tables["rows"].to_dicts()
    )
    (made,) = observe(Case.of_tables({"rows": rows}))
    assert made.normal
    assert made.share is None


ATOPSAR_C = """
08:00:00  cpu  %usr %nice %sys %irq %softirq  %steal %guest  %wait %idle  _cpu_
08:10:00  all    40     0  300    0        4       0      0     12    44
            0     9     0   77    0        1       0      0      2    11
            1     9     0   71    0        1       0      0      4    15
"""
ATOPSAR_D = """
08:00:00  disk           busy read/s KB/read  writ/s KB/writ avque avserv _dsk_
08:10:00  vda             97%    9.1    12.5    80.2     5.5  22.7  33.10 ms
          vdb              2%    0.4     4.0     1.2     5.5   1.0   0.61 ms
08:20:00  vda             95%    8.1    12.1    82.2     5.4  21.7  32.90 ms
          vdb              1%    0.4     4.0     1.1     5.5   1.0   0.62 ms
"""
ATOPSAR_S = """
08:00:00  pagescan/s   swapin/s  swapout/s oomkill     commitspc  commitlim  _page_
08:10:00     9120.10    1000.00    2100.00       0          901M       801M
"""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (ATOPSAR_C, "The kernel took 76 % of the processors (%sys, %irq, %softirq of all)"),
        (ATOPSAR_D, "vda was 96 % busy (busy), the other one 1.50 %"),
        (ATOPSAR_D, "vda took 33 ms for each request (avserv)"),
        (ATOPSAR_S, "4,000 kB per s came back from swap"),
    ],
)
def test_reports_of_atopsar(text: str, words: str) -> None:
    rows = read_bytes(text.lstrip().encode()).tables["rows"].to_dicts()
    made = list(observe(Case.of_tables({"rows": rows})))
    assert any(words in s.headline for s in made), [s.headline for s in made]


COLLECTL = """#Name       KBytes Merged  IOs Size  Wait  KBytes Merged  IOs Size  Wait  RWSize  QLen  Wait SvcTim Util
sdf             90      0    9   10     {wait}    4000     90  100   40    {wait}      36     2    {wait}      2   {util}
sdg              0      0    0    0     0      12      1    2    6     1       6     0     1      0    0
"""
JOBS = """JOB UNIT               TYPE  STATE
 91 srv-photos.mount   start {state}
 90 remote-fs.target   start waiting
  7 multi-user.target  start waiting
"""


def test_disks_of_collectl_are_busy_and_slow() -> None:
    assert {s.name for s in seen(COLLECTL.format(wait=310, util=99))} == {"disk_busy_pct", "disk_response_ms"}
    assert seen(COLLECTL.format(wait=2, util=9)) == []


def test_a_start_job_that_runs_holds_up_those_that_wait() -> None:
    (made,) = seen(JOBS.format(state="running"))
    assert made.headline == "The start of srv-photos.mount still runs, and 2 others wait for it"
    assert seen(JOBS.format(state="waiting")) == []


def test_a_guest_that_waits_half_of_the_time_that_it_wants() -> None:
    """Most worlds of a guest are no virtual processors, so the mean of all worlds says little."""
    made = seen(ESXTOP.format(ready=" 90.00").replace("205.00", " 99.00"))
    assert [s.headline for s in made if s.name == "vm_waited_pct"] == [
        "shop1 waited for processors 47.6 % of the time in which it wanted them (%RDY beside %RUN)"
    ]


def test_reads_that_windows_could_not_correct() -> None:
    text = (
        "DeviceId ReadErrorsUncorrected Wear\n-------- --------------------- ----\n"
        "7        {n}                      3\n8        0                      2\n"
    )
    (made,) = seen(text.format(n=9))
    assert made.headline.startswith("disk 7 counts 9 reads that could not be corrected")
    assert seen(text.format(n=0)) == []
