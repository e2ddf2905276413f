"""Columns of tools that no format reads: beyond the bound that a manual or a practice states, else silent."""

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
ATOP = """ATOP - web9              2026/02/03  09:00:10             -----------------              10s elapsed
CPU | sys       5% | user     20% | irq       0% | idle    300% | wait     70% | curf 2.00GHz | curscal 100% |
DSK |          sdc | busy     {busy}% | read     500 | write     20 | KiB/w      8 | MBr/s    3.0 | avio 41.0 ms |
DSK |          sdd | busy      2% | read       5 | write     10 | KiB/w      8 | MBr/s    0.1 | avio 0.50 ms |
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
            TURBOSTAT.format(busy="97.0"),
            "busy processors ran 59.8 % below their nominal clock (Bzy_MHz against TSC_MHz), in 3 of 3 samples",
            "frequency-throttled",
        ),
        (ATOP.format(busy="99"), "sdc was 99 % busy, the other one 2 %", "disk-saturated"),
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
    ],
)
def test_a_healthy_host_says_nothing(text: str) -> None:
    assert seen(text) == []
